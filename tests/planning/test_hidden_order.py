"""Plans in a game with a hidden pile, hidden shops and hidden luck: the same table gives the same plan."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.games.contract import game_entry, make
from jimbot.games.seeds import VALIDATION, bank_seeds
from jimbot.planning import Planner, PlanTable
from jimbot.policies.heuristics import heuristic_policy
from tests.planning.test_planner import Stubborn

GAME, ROWS = "balatro", 4


@pytest.fixture(scope="module")
def tables():
    """Games in the middle of their first antes, some in shops, some in rounds."""
    game = make(GAME, ROWS, options={"helpers": True})
    game.reset(bank_seeds(VALIDATION, ROWS))
    player = heuristic_policy("heuristic", GAME)
    for turn in range(14):
        holding = np.arange(ROWS) * 3 + 3 <= turn  # they stop at different moments
        game.step(player.act(game.observation, game.legal_mask)[0], hold=holding)
    yield game
    game.close()


@pytest.mark.parametrize("played_on_by", [None, "heuristic"])
@pytest.mark.parametrize("share", [{}, {"share": 1.0}], ids=["shops", "everything"])
def test_what_a_plan_decides_does_not_depend_on_what_is_hidden(tables, played_on_by: str | None, share: dict) -> None:
    asked = {"rollouts": 12, "depth": 3, "certain": 1.0, "margin": 0.0, **share}
    player = None if played_on_by is None else heuristic_policy(played_on_by, GAME)
    planner = Planner(Stubborn(), settings=PlanTable(game_entry(GAME), asked=asked), copies=32, player=player)
    everyone, before = np.ones(ROWS, bool), tables.snapshot()
    own = Stubborn().act(tables.observation, tables.legal_mask)
    plans = []
    for luck in (1, 2):
        tables.redraw_hidden(np.arange(ROWS), np.arange(ROWS, dtype=np.uint64) + 1000 * luck)
        plans.append(planner.plan(tables, everyone, own))
    tables.restore(before)
    planner.close()
    first, second = plans
    assert first.planned.any()
    assert np.array_equal(first.decision.actions, second.decision.actions)
    assert np.array_equal(first.decision.values, second.decision.values)
    assert np.array_equal(first.improved, second.improved)
    choice = tables.legal_mask.sum(axis=1) > 1
    assert np.array_equal(first.planned, choice if share else choice & ~_at_hand(tables))


def _at_hand(game) -> np.ndarray:
    plans = game_entry(GAME).plans
    assert plans is not None
    return plans.find(game.observation, game.legal_mask) == plans.kinds.index("hand")
