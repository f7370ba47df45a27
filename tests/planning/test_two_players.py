"""Plans in battles: either side tries orders out against a heuristic opponent, and reads nothing the opponent hides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import UsageError
from jimbot.evaluation.matches import both_seats, play_matches
from jimbot.games import make
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.games.seeds import VALIDATION, bank_seeds
from jimbot.planning import Planner, PlanSettings, planning
from jimbot.planning.rollouts import Rollouts, Simulations
from jimbot.policies.contract import decide
from jimbot.policies.heuristics import heuristic_policy
from jimbot.policies.players import find_player
from tests.planning.test_planner import Stubborn

BATTLES = 4
SETTINGS = PlanSettings(rollouts=8, candidates=2, depth=0, certain=1.0, margin=0.0)


@pytest.fixture
def battles() -> Iterator[BatchGame]:
    """After the teams were chosen, before the first orders."""
    game = make("vgc", BATTLES, options={"opponent": "self", "workers": 1})
    game.reset(bank_seeds(VALIDATION, BATTLES))
    game.step(heuristic_policy("heuristic", "vgc").act(game.observation, game.legal_mask).actions)
    yield game
    game.close()


def test_a_plan_of_either_side_does_not_depend_on_what_the_other_hides(battles: BatchGame) -> None:
    planner = Planner(Stubborn(), settings=SETTINGS, copies=16)
    before = battles.snapshot()
    for side in (0, 1):
        rows, plans = np.arange(BATTLES) * 2 + side, []
        for luck in (1, 2):
            battles.redraw_hidden(rows, np.arange(BATTLES, dtype=np.uint64) + 1000 * luck)
            plans.append(decide(planner, battles, rows=rows))
            battles.restore(before)
        one, other = plans
        assert np.array_equal(one.actions, other.actions)
        assert np.array_equal(one.values, other.values)
        assert battles.legal_mask[rows, one.actions].all()
    assert planner.report.planned == 4 * BATTLES
    planner.close()


def test_a_try_is_the_turn_that_would_be_played_against_the_opponent(battles: BatchGame) -> None:
    """In a known world: the same rewards as in a battle in which both sides' orders are given by hand."""
    opponent = heuristic_policy("heuristic", "vgc")
    rows = np.arange(BATTLES) * 2 + 1
    moves = Stubborn().act(battles.observation[rows], battles.legal_mask[rows]).actions
    worlds, before = np.arange(BATTLES, dtype=np.uint64) + 7, battles.snapshot()
    rollouts = Rollouts(battles, Stubborn(), gamma=1.0, copies=BATTLES, player=opponent, opponent=opponent)
    brought = rollouts.returns(
        battles, Simulations(rows, moves, worlds, np.full(BATTLES, 1000), np.ones(BATTLES, np.int64))
    )
    rollouts.close()
    battles.restore(before)
    battles.redraw_hidden(rows, worlds)
    actions = opponent.act(battles.observation, battles.legal_mask).actions
    actions[rows] = moves
    earned, over = np.zeros(BATTLES), np.zeros(BATTLES, bool)
    while not over.all():
        battles.step(actions, hold=np.repeat(over, 2))
        earned += np.where(over, 0.0, battles.reward[rows])
        over |= battles.terminated[rows] | battles.truncated[rows]
        actions = opponent.act(battles.observation, battles.legal_mask).actions
    assert np.allclose(brought, earned)
    assert (np.abs(earned) > 0.9).all(), "played to the end"


def test_matches_are_planned_by_the_side_that_plans() -> None:
    planner = Planner(Stubborn(), settings=SETTINGS, copies=16)
    opponent = heuristic_policy("heuristic", "vgc")
    seeds = bank_seeds(VALIDATION, 2)
    played = play_matches("vgc", [planner, opponent], ["planner", "opponent"], both_seats(seeds, [(0, 1)]))
    planner.close()
    assert np.isfinite(played.scores).all()
    assert not played.illegal.any()
    assert planner.report.decisions == played.decisions[0]
    assert 0 < planner.report.planned <= planner.report.decisions


def test_a_game_whose_table_names_no_opponent_has_no_plans(battles: BatchGame, monkeypatch: pytest.MonkeyPatch) -> None:
    player = find_player("random", "vgc")
    assert planning(player, 16).name == "random +16"
    entry = game_entry("vgc")
    monkeypatch.setattr("jimbot.planning.planner.game_entry", lambda game: replace(entry, plans=None))
    with pytest.raises(UsageError, match="names nobody who sits opposite"):
        planning(player, 16)
    with pytest.raises(UsageError, match="names nobody who sits opposite"):
        decide(Planner(Stubborn(), settings=SETTINGS), battles, rows=np.arange(2))


def test_the_command_judges_a_plan_against_an_opponent(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("evaluate", "random", "--game", "vgc", "--plan", "4", "--games", "2", "--opponent", "random")
    assert run(asked) == 0
    told = capsys.readouterr()
    assert "random +4" in told.out
    assert "The plan: planned" in told.err + told.out
