"""A league made from settings, and one that comes back from a checkpoint: the same members, scores, seats and luck."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import CheckpointError, JimbotError
from jimbot.policies.heuristics import RandomPolicy
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.training.framework import create_trainer, learner_class
from jimbot.training.jax_ppo.program import network_for
from jimbot.training.league import (
    MOST_PAST_SELVES,
    League,
    Member,
    Seats,
    league_state,
    open_league,
    past_self,
    restore_league,
)
from jimbot.training.session.session import JUDGED_RETURN, TRAINED_RETURN
from jimbot.training.settings.layers import resolve_settings
from jimbot.training.settings.record import load_settings
from tests.envs.duel import SPEC, Duel
from tests.training.small import SMALL, small_settings

GAMES = 12


def model() -> bytes:
    network = network_for(small_settings(), SPEC)
    params = {name: np.asarray(value) for name, value in network.init(1).items()}
    return onnx_from_params(network.description, params, SPEC.observation.size, SPEC.actions.size)


def seated(seed: int, mix: dict[str, float] | None = None) -> Seats:
    game = Duel(GAMES, seed=3)
    game.reset()
    league = League(mix)
    league.add(Member("random", "exploiter", RandomPolicy()))
    return Seats(game, league, seed)


def who_sits(seats: Seats) -> list[tuple[str, int]]:
    return [(member.name, seat) for member, seat in seats.met]


def play(seats: Seats, steps: int) -> list[list[int]]:
    """What the opponents did; the learner always shows the first legal hand."""
    game, moves = seats.game, []
    everybody = np.arange(game.num_rows)
    for _ in range(steps):
        actions = game.legal_mask.argmax(axis=1)
        seats.act(everybody, actions)
        moves.append(actions.tolist())
        game.step(actions)
        seats.after(everybody)
    return moves


def test_a_restored_league_goes_on_as_if_nothing_had_happened() -> None:
    first, mix = model(), {"self": 0.2, "past": 0.4, "exploiter": 0.4}
    seats = seated(1, mix)
    seats.league.add(past_self(5, first))
    play(seats, 11)
    state, game_state = league_state(seats), seats.game.snapshot()
    expected = play(seats, 11)

    again = seated(99, mix)
    again.game.restore(game_state)
    restore_league(again, state, "probe")
    assert play(again, 11) == expected
    assert who_sits(again) == who_sits(seats)
    assert [vars(m) | {"policy": 0} for m in again.league.members] == [
        vars(m) | {"policy": 0} for m in seats.league.members
    ]
    assert again.league.metrics() == seats.league.metrics()


def test_a_retired_past_self_finishes_its_game() -> None:
    seats, portable = seated(1, {"past": 1.0}), model()
    seats.league.add(past_self(1, portable))
    seats.league.add(past_self(2, portable))
    retired = seats.league.members[-1]
    seats.sit(0, retired, 1)
    for update in range(3, MOST_PAST_SELVES + 2):
        seats.league.add(past_self(update, portable))
    assert retired not in seats.league.members
    again = seated(2)
    restore_league(again, league_state(seats), "probe")
    assert who_sits(again) == who_sits(seats)
    assert [member.name for member in again.league.members] == [member.name for member in seats.league.members]


def test_fewer_games_keep_their_seats() -> None:
    seats = seated(1)
    game = Duel(GAMES // 2, seed=3)
    fewer = Seats(game, League(), seed=7)
    restore_league(fewer, league_state(seats, GAMES // 2), "probe")
    assert who_sits(fewer) == who_sits(seats)[: GAMES // 2]
    with pytest.raises(CheckpointError, match=f"seats {GAMES} games"):
        restore_league(fewer, league_state(seats), "probe")


def test_a_checkpoint_without_a_league_is_told() -> None:
    with pytest.raises(CheckpointError, match="no league"):
        restore_league(seated(1), {}, "probe")


def test_the_best_of_a_judged_run_is_chosen_by_judged_games(tmp_path: Path) -> None:
    """Training return rises while the judged one falls: where a run is judged, the first checkpoint stays the best."""
    best = {}
    for metric in (TRAINED_RETURN, JUDGED_RETURN):
        trainer = create_trainer("probe", SMALL | {"run_name": metric.partition("/")[0]}, root=tmp_path)
        trainer.session.judge_by(metric)
        trainer.create_model()
        for trained, judged in ((1.0, 0.5), (2.0, 0.25)):
            trainer.session.latest_metrics = {TRAINED_RETURN: trained}
            trainer.session.evaluated(int(trained), judged, 0.0)
            assert trainer.session.judged(int(trained))
            trainer.steps_learned = int(trained)
            path = trainer.save_model()
        best[metric] = trainer.session.store.best() == path
        trainer.close()
    assert best == {TRAINED_RETURN: True, JUDGED_RETURN: False}


def test_members_come_from_the_settings(tmp_path: Path) -> None:
    settings = resolve_settings(None, {"game": "vgc", "league_members": "max_power, random"})
    assert settings.plays_league
    members = {member.name: member.kind for member in open_league(settings, tmp_path).members}
    assert members == {"self": "self", "max_power": "exploiter", "random": "exploiter"}


def test_choosing_one_opponent_turns_the_league_off() -> None:
    settings = resolve_settings(None, {"game": "vgc", "game_options": {"opponent": "max_power"}})
    assert settings.league.shares
    assert not settings.plays_league


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"game": "vgc", "league_members": ["heuristik"]}, "heuristik.*heuristic"),
        ({"game": "vgc", "bc_model": "no-such-run"}, "no-such-run"),
        ({"game": "vgc", "league": {"selves": 1.0}}, "selves"),
        ({"game": "probe", "league": {"self": 1.0}}, "probe.*opponent"),
        ({"game": "vgc", "league": {"self": 1.0}, "learner": "sb3"}, "sb3.*opponent=heuristic"),
        ({"game": "vgc", "buffer_size": 10}, "10.*64"),
        ({"game": "vgc", "bc_model": "a", "init_from": "b"}, "a run begins with one"),
    ],
)
def test_a_league_that_cannot_be_is_one_sentence(given: dict, words: str, tmp_path: Path) -> None:
    def begin() -> None:
        settings = resolve_settings(None, given)
        learner_class(settings)
        open_league(settings, tmp_path)

    with pytest.raises(JimbotError, match=words) as caught:
        begin()
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_buffer_size_counts_the_decisions_of_one_side() -> None:
    league = resolve_settings(None, {"game": "vgc", "buffer_size": 2048, "num_envs": 64})
    assert league.num_steps == 32
    alone = {"game": "vgc", "buffer_size": 2048, "num_envs": 64, "game_options": {"opponent": "heuristic"}}
    assert resolve_settings(None, alone).num_steps == 32


def test_an_option_given_by_a_flag_leaves_the_others_of_a_preset_alone() -> None:
    settings = load_settings({"game_options": {"a": 1, "b": 2}}, {"game_options": {"b": 3}})
    assert settings.game_options == {"a": 1, "b": 3}
