"""Plans in the decision service: made from the game a request carries, inside its deadline, told in the answer."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import numpy as np
import pytest

from jimbot.adviser.settings import AdviserSettings
from jimbot.errors import UsageError
from jimbot.games.contract import game_entry, make
from jimbot.planning import Planner, PlanSettings
from jimbot.proto.events_pb2 import Choosing, LearningDecisionRequest
from jimbot.services.decision import DecisionService, ServedPolicy, stages
from jimbot.services.serving import Offer, load
from tests.planning.test_planner import Right, Stubborn
from tests.services.asking import LEGAL, probe_request
from tests.services.asking import request as hackmatrix_request
from tests.services.test_advice import request


@pytest.fixture
def service():
    served = ServedPolicy.make(game_entry("probe"), Stubborn())
    service = DecisionService()
    service.add(served)
    settings = PlanSettings(rollouts=24, candidates=4, depth=0)
    service.look_ahead(served, Planner(served.policy, settings=settings, copies=32))
    service.metrics.plans.clear()
    yield service
    service.close()


def right(seed: int) -> int:
    game = make("probe", 1)
    game.reset(np.array([seed], np.uint64))
    return int(Right().act(game.observation, game.legal_mask).actions[0])


def ask(service: DecisionService, over_loop: bool, asked: LearningDecisionRequest) -> Any:
    return asyncio.run(service.decide_async(asked)) if over_loop else service.decide(asked)


@pytest.mark.parametrize("over_loop", [False, True])
def test_a_plan_answers_and_says_what_it_changed(service: DecisionService, over_loop: bool) -> None:
    answers = [ask(service, over_loop, request(seed, time_limit_ms=9000)) for seed in range(6)]
    assert [answer.selected_action.number for answer in answers] == [right(seed) for seed in range(6)]
    changed = [answer for answer in answers if "instead of" in answer.advice]
    assert all(answer.advice.startswith("plan: ") and not answer.used_llm for answer in answers)
    assert service.metrics.plans["probe", "changed"] == len(changed) > 0
    assert service.metrics.plans["probe", "kept"] == 6 - len(changed)


def test_a_plan_stays_inside_what_is_available(service: DecisionService) -> None:
    game = make("probe", 1)
    game.reset(np.array([5], np.uint64))
    others = [int(action) for action in np.flatnonzero(game.legal_mask[0]) if action != right(5)]
    answer = service.decide(request(5, available_actions=others, time_limit_ms=9000))
    assert answer.selected_action.number in others


def test_what_carries_no_game_is_answered_without_a_plan_and_said_once(
    service: DecisionService, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "jimbot.services"):
        for number in range(3):
            assert not service.decide(probe_request(number)).advice
    assert len([line for line in caplog.messages if "observation only" in line]) == 1
    assert service.metrics.plans["probe", "no_game"] == 3


def test_draws_are_not_planned(service: DecisionService) -> None:
    assert not service.decide(request(1, choosing=Choosing(sample=True))).advice


def test_no_time_no_plan(service: DecisionService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "LEAST_SECONDS", 1e6)
    assert not service.decide(request(2)).advice


def test_a_busy_planner_costs_no_deadline(service: DecisionService) -> None:
    (table,) = service.plans._tables.values()
    with table.lock:
        answer = service.decide(request(3, time_limit_ms=200))
    assert not answer.advice
    assert service.metrics.plans["probe", "busy"] == 1
    assert service.decide(request(3, time_limit_ms=9000)).advice  # the answer without a plan was not kept


def test_what_is_hidden_does_not_change_an_answer(service: DecisionService) -> None:
    """The same sight with other luck behind it: another snapshot, the same plan."""
    game = make("probe", 1)
    game.reset(np.array([4], np.uint64))
    (table,) = service.plans._tables.values()
    own = Stubborn().act(game.observation, game.legal_mask)
    found = []
    for luck in range(3):
        game.redraw_hidden(np.arange(1), np.array([luck], np.uint64))
        at = table.game.stand([game.snapshot(np.arange(1))], game.observation, game.legal_mask)
        plan = table.planner.plan(at, np.ones(1, bool), own)
        found.append((plan.decision.actions.tolist(), plan.decision.values.tolist(), plan.improved.tolist()))
    assert found[0] == found[1] == found[2]


def test_serve_looks_ahead_where_it_is_asked_to() -> None:
    service, told = DecisionService(), []
    load(service, Offer(policies=("random",), game="probe", plan=8), told.append)
    assert any("looks ahead" in line for line in told)
    assert service.find("probe", "").reader.describes
    service.close()
    with pytest.raises(UsageError, match="give one of them"):
        load(DecisionService(), Offer(policies=("random",), game="probe", plan=8, adviser=AdviserSettings()))


def test_a_search_that_needs_no_game_plans_from_an_observation() -> None:
    service = DecisionService()
    load(service, Offer(policies=("heuristic",), game="hackmatrix", plan=24))
    answers = [service.decide(hackmatrix_request(row, time_limit_ms=9000)) for row in range(1, 5)]
    service.close()
    assert any("simulations found" in answer.advice for answer in answers)
    assert all(LEGAL[row, answer.selected_action.number] for row, answer in enumerate(answers, 1))
