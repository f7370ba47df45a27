"""What the options add for learning: helpers in the observation, later starts, rewards `stages` and `wins`."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from jimbot.errors import SnapshotError
from jimbot.games import make
from jimbot.games import seeds as seedbank
from jimbot.games.hackmatrix import HackMatrix, Options, make_state
from jimbot.games.hackmatrix.helpers import helpers
from jimbot.games.hackmatrix.heuristic.layout import ATTACK, HP, OUT, OWNED, SIPHONS, SIZE, STAGE
from jimbot.games.hackmatrix.heuristic.search import worth
from jimbot.games.hackmatrix.heuristic.settings import Weights
from jimbot.games.hackmatrix.rewards import POINTS_PER_LOGIT, held_by_winners
from jimbot.games.hackmatrix.spec import HELPERS, REWARD_TERMS, SPEC
from jimbot.games.hackmatrix.stages import first_opening, opening
from jimbot.games.hackmatrix.state import State
from tests.games.hackmatrix.playing import data, enemy, program, transmission

WAYS = ("up", "down", "left", "right", "stay")
FIRST_WAY = 6 + 23
_help = jax.jit(helpers)


def helped(**situation: Any) -> np.ndarray:
    return np.asarray(_help(make_state(**situation)._replace(history=None)))


def way(values: np.ndarray, name: str) -> dict[str, float]:
    """What the helpers say of one way to spend a turn."""
    start = FIRST_WAY + 5 * WAYS.index(name)
    names = ("walks", "kills", "hurts", "now", "later")
    return dict(zip(names, values[start : start + 5].round(3).tolist(), strict=True))


def test_helpers_are_observed_only_where_they_are_asked_for() -> None:
    helping, plain = HackMatrix(Options(helpers=True)).spec, HackMatrix().spec
    assert plain.observation.fingerprint == SPEC.observation.fingerprint
    assert helping.observation.size == SPEC.observation.size + HELPERS
    assert [field.name for field in helping.observation.fields] == ["player", "programs", "grid", "helpers"]


def test_clocks_say_when_the_next_enemy_comes() -> None:
    values = helped(player=(0, 0), turn=4, next_turn=10, interval=9)
    assert values[:2].round(3).tolist() == [0.5, 0.75]


def test_usable_programs_are_those_of_the_mask() -> None:
    situation: dict[str, Any] = {"player": (0, 0), "hp": 2, "energy": 4, "owned_programs": ["RESET", "CRASH", "STEP"]}
    usable = helped(**situation)[6:FIRST_WAY]
    mask = np.asarray(HackMatrix().legal_mask(make_state(**situation)._replace(history=None)))
    assert usable.tolist() == mask[5:].tolist()


def test_a_step_beside_two_enemies_is_told_apart_from_one_that_shoots() -> None:
    values = helped(player=(0, 0), enemies=[enemy("daemon", 1, 1), enemy("daemon", 0, 3, hp=1)])
    assert way(values, "up") == {"walks": 1, "kills": 0, "hurts": 0, "now": pytest.approx(0.333), "later": 0.25}
    assert way(values, "right") == {"walks": 0, "kills": 1, "hurts": 0, "now": 0, "later": 0.25}
    assert way(values, "stay") == {"walks": 0, "kills": 0, "hurts": 0, "now": 0, "later": 0.25}


def test_a_virus_reaches_two_steps_unless_somebody_stands_between() -> None:
    assert way(helped(player=(0, 0), enemies=[enemy("virus", 2, 0)]), "stay")["now"] == pytest.approx(0.333)
    blocked = helped(player=(0, 0), enemies=[enemy("virus", 2, 0)], blocks=[data(1, 0, 3)])
    assert way(blocked, "stay")["now"] == 0
    assert way(helped(player=(0, 0), enemies=[enemy("virus", 2, 0)]), "up")["now"] == 0  # the shot stuns it


def test_a_transmission_beside_the_player_threatens_the_turn_after() -> None:
    assert way(helped(player=(0, 0), transmissions=[transmission(0, 1)]), "stay")["later"] == 0.25
    assert way(helped(player=(0, 0), transmissions=[transmission(0, 1)]), "right")["later"] == 0


def test_unseen_cryptogs_are_not_told() -> None:
    assert way(helped(player=(0, 0), enemies=[enemy("cryptog", 1, 1)]), "stay")["later"] == 0
    assert way(helped(player=(0, 0), enemies=[enemy("cryptog", 1, 1)], show=True), "stay")["later"] == 0.25


def test_a_siphon_is_priced_before_it_is_used() -> None:
    values = helped(
        player=(0, 0), blocks=[program(1, 0, "RESET"), data(1, 1, 5)], owned_programs=["PUSH"],
        resources=[{"row": 0, "col": 0, "credits": 2}, {"row": 0, "col": 1, "energy": 3}],
    )  # fmt: skip
    here, right = (values[start : start + 4].astype(float).round(3).tolist() for start in (HELPERS - 20, HELPERS - 4))
    assert here == [0.2, 0.3, 0.2, 0.5]
    assert right == [0.2, 0.3, 0.5, 0]


def openings(bank: str, starts: float) -> State:
    halves = np.stack(seedbank.split(seedbank.bank_seeds(bank, 64)))
    return jax.jit(lambda seeds: opening(seeds, starts))(halves)


def test_only_training_games_begin_later_and_only_by_the_share() -> None:
    assert (np.asarray(openings(seedbank.HELD_OUT, 1.0).stage) == 1).all()
    later = openings(seedbank.TRAIN, 1.0)
    assert (np.asarray(later.stage) > 1).all()
    assert np.asarray(later.owned).any()
    assert (np.asarray(later.interval) == 13 - np.asarray(later.stage)).all()
    share = (np.asarray(openings(seedbank.TRAIN, 0.5).stage) > 1).mean()
    assert 0.3 < share < 0.7


def test_games_that_begin_at_the_start_are_those_of_always() -> None:
    halves = np.stack(seedbank.split(seedbank.bank_seeds(seedbank.HELD_OUT, 64)))
    for plain, chosen in zip(first_opening(halves), openings(seedbank.HELD_OUT, 0.5), strict=True):
        if plain is not None:
            np.testing.assert_array_equal(plain, chosen)


def terms_of(preset: str, action: int, **situation: Any) -> dict[str, float]:
    """What a step pays under a preset, without the terms that are 0."""
    _, transition = HackMatrix(Options(reward=preset)).step(make_state(**situation), action)
    named = zip(REWARD_TERMS, np.asarray(transition.reward_terms).round(3).tolist(), strict=True)
    return {name: value for name, value in named if value}


def test_a_stage_is_one_point_under_both_presets() -> None:
    leaving: dict[str, Any] = {"player": (5, 4), "exit": (5, 5), "hp": 3}
    expected = {"stage_completion": 1.0, "distance_shaping": 0.02}
    assert terms_of("stages", 3, **leaving) == pytest.approx(expected)
    assert terms_of("wins", 3, **leaving) == pytest.approx(expected)
    assert terms_of("wins", 3, **leaving, stage=8)["victory"] == 4.0


def test_a_program_pays_what_it_did_for_winning_under_wins() -> None:
    siphoning: dict[str, Any] = {"player": (0, 0), "data_siphons": 1, "blocks": [program(0, 1, "CRASH")]}
    assert terms_of("stages", 4, **siphoning)["resource_gain"] == pytest.approx(0.1 - 0.08, abs=1e-3)
    assert terms_of("wins", 4, **siphoning)["resource_gain"] == pytest.approx(0.4 * (2.0 - 0.1), abs=1e-3)


@pytest.mark.parametrize("programs", [["CRASH"], ["STEP", "PUSH"], ["ROW", "WARP", "CALM"]])
def test_what_is_held_weighs_as_much_as_the_scripted_player_thinks(programs: list[str]) -> None:
    def logit(state: State) -> float:
        row = np.zeros(SIZE, np.int64)
        for place, value in ((HP, 2), (STAGE, 4), (OUT, 1)):
            row[place] = value
        row[ATTACK], row[OWNED], row[SIPHONS] = int(state.attack), int(state.owned), int(state.siphons)
        chance = worth(row, Weights())
        return float(np.log(chance / (1 - chance)))

    poor = make_state(player=(0, 0))
    rich = make_state(player=(0, 0), owned_programs=programs, attack_damage=2, data_siphons=3)
    gained = float(held_by_winners(rich) - held_by_winners(poor)) / POINTS_PER_LOGIT
    assert gained == pytest.approx(logit(rich) - logit(poor), abs=1e-4)


def test_a_position_is_the_same_whatever_is_paid_and_shown() -> None:
    plain, helped_too = make("hackmatrix", 2), make("hackmatrix", 2, options={"helpers": True, "reward": "wins"})
    plain.reset(seedbank.bank_seeds(seedbank.VALIDATION, 2))
    helped_too.reset(seedbank.bank_seeds(seedbank.HELD_OUT, 2))
    helped_too.restore(plain.snapshot())
    size = plain.observation.shape[1]
    np.testing.assert_array_equal(helped_too.observation[:, :size], plain.observation)
    older = {**plain.snapshot(), "game": np.array("hackmatrix v1 Options(profile='training')")}
    helped_too.restore(older)
    with pytest.raises(SnapshotError, match="profile='reference'"):
        plain.restore({**older, "game": np.array("hackmatrix v1 Options(profile='reference')")})
