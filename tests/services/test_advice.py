"""Advice in the decision service: asked in words, inside the deadline, told in the answer; never needed."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.adviser.adviser import Adviser, open_adviser
from jimbot.adviser.ledger import Ledger
from jimbot.adviser.metrics import ANSWERED
from jimbot.adviser.question import Question
from jimbot.adviser.reply import Advice, NoAdviceError
from jimbot.adviser.settings import AdviserSettings
from jimbot.clients import EventBusClient
from jimbot.games.contract import game_entry, make
from jimbot.policies.contract import Decision
from jimbot.proto.events_pb2 import Choosing, GameState, LearningDecisionRequest, StrategyRequest
from jimbot.services.decision import DecisionService, ServedPolicy
from jimbot.services.orchestrator import RayLearningOrchestrator
from jimbot.services.prometheus import Collector
from jimbot.services.serving import Offer, load
from tests.adviser.messages_api import last_listed, playing_the_api, table_of
from tests.services.asking import probe_request


class Unsure:
    name, digest = "unsure", "unsure".ljust(16, "0")

    def act(self, observation: np.ndarray, legal_mask: np.ndarray, deterministic: bool = True, key: Any = None):
        chances = legal_mask / legal_mask.sum(axis=1, keepdims=True)
        return Decision(legal_mask.argmax(axis=1), chances.astype(np.float32), np.zeros(len(chances), np.float32))


class Last:
    """Advises the last move told, after a while."""

    name, edition, used_llm = "last", "last", True

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.questions, self.left = seconds, [], threading.Event()

    def ask(self, question: Question, seconds: float) -> Advice:
        self.questions.append(question)
        self.left.wait(self.seconds)
        move = question.moves[-1]
        return Advice(move.action, move.label, move.words, "It is the last.", self.name, True)


class Nobody(Last):
    def ask(self, question: Question, seconds: float) -> Advice:
        raise NoAdviceError("unreachable")


def service_with(source: Any, decided: int = 1000, **settings: Any) -> tuple[DecisionService, Adviser]:
    """A service that has decided so much already that it may ask."""
    service = DecisionService()
    service.add(ServedPolicy.make(game_entry("probe"), Unsure()))
    adviser = Adviser(source, AdviserSettings(**settings))
    adviser.when.note(decided)
    service.advise("probe", adviser)
    return service, adviser


def snapshot(seed: int = 0) -> GameState:
    game = make("probe", 1)
    game.reset(np.array([seed], np.uint64))
    body = io.BytesIO()
    np.savez(body, **game.snapshot(np.arange(1)))
    return GameState(snapshot=body.getvalue())


def request(seed: int = 0, **rest: Any) -> LearningDecisionRequest:
    return LearningDecisionRequest(game="probe", game_state=snapshot(seed), **rest)


def test_advice_is_taken_and_told() -> None:
    service, adviser = service_with(source := Last())
    answer = service.decide(request())
    told = source.questions[0]
    assert answer.used_llm
    assert answer.selected_action.number == told.moves[-1].action
    assert answer.advice == "last: It is the last."
    assert "side of door" in told.state
    assert told.moves[0].action in [other.action.number for other in answer.alternatives]
    assert (adviser.metrics.asked, adviser.metrics.followed, adviser.metrics.changed) == (1, 1, 1)
    again = service.decide(request())
    assert again.cached
    assert again.used_llm
    service.close()


def test_the_same_over_an_event_loop() -> None:
    service, _ = service_with(Last())
    answer = asyncio.run(service.decide_async(request(3)))
    assert answer.used_llm
    service.close()


def test_available_actions_bound_advice_too() -> None:
    service, _ = service_with(source := Last())
    legal = np.flatnonzero(_legal(5))
    answer = service.decide(request(5, available_actions=legal[:2].tolist()))
    assert answer.selected_action.number == legal[1]
    assert len(source.questions[0].moves) == 2
    service.close()


def _legal(seed: int) -> np.ndarray:
    game = make("probe", 1)
    game.reset(np.array([seed], np.uint64))
    return game.legal_mask[0]


@pytest.mark.parametrize("over_loop", [False, True])
def test_an_adviser_that_is_slow_never_costs_the_deadline(over_loop: bool) -> None:
    service, adviser = service_with(source := Last(seconds=30))
    asked = request(time_limit_ms=300)
    answer = asyncio.run(service.decide_async(asked)) if over_loop else service.decide(asked)
    assert len(source.questions) == 1
    assert not adviser.metrics.outcomes  # the answer came while the adviser was still thinking
    assert not answer.used_llm
    assert not answer.advice
    source.left.set()  # it answers after all, and is heard the next time
    while adviser.metrics.outcomes["answered"] < 1:
        time.sleep(0.01)
    assert service.decide(request()).used_llm
    service.close()


def test_a_caller_that_leaves_while_advice_is_sought_leaves_an_answer_behind() -> None:
    service, _ = service_with(Last(seconds=30))

    async def leave_and_return() -> Any:
        first = asyncio.create_task(service.decide_async(request(request_id="one", time_limit_ms=9000)))
        await asyncio.sleep(0.2)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        return await service.decide_async(request(request_id="one", time_limit_ms=9000))

    answer = asyncio.run(leave_and_return())
    assert answer.selected_action.number == int(_legal(0).argmax())
    service.close()


def test_without_advice_the_answers_are_those_of_the_policy() -> None:
    plain = DecisionService()
    plain.add(ServedPolicy.make(game_entry("probe"), Unsure()))
    service, adviser = service_with(Nobody())
    for seed in range(5):
        one, other = plain.decide(request(seed)), service.decide(request(seed))
        assert one.selected_action == other.selected_action
        assert one.alternatives == other.alternatives
        assert not other.used_llm
    assert adviser.metrics.outcomes == {"unreachable": 5}
    plain.close()
    service.close()


def test_nobody_is_asked_without_words_for_luck_or_about_more_than_a_twentieth() -> None:
    service, adviser = service_with(source := Last(), decided=0)
    for number in range(30):
        assert not service.decide(probe_request(number)).used_llm  # an observation tells no words
    assert adviser.metrics.outcomes == {"no_words": 30}
    assert not service.decide(request(1, choosing=Choosing(sample=True))).used_llm
    assert service.decide(request(2)).used_llm
    assert not service.decide(request(3)).used_llm
    assert len(source.questions) == 1
    assert adviser.metrics.decisions == 32
    service.close()


def test_the_planner_stands_in_for_requests_that_carry_a_game() -> None:
    service, _ = service_with(Last())
    adviser = open_adviser(AdviserSettings(source="planner", rollouts=32), Unsure())
    adviser.when.note(100)
    service.advise("probe", adviser)
    answer = service.decide(request(4, time_limit_ms=9000))
    assert adviser.metrics.outcomes == {"answered": 1}
    assert not answer.used_llm
    assert answer.advice.startswith("planner: 32 simulations")
    service.close()


def test_every_counter_is_a_metric() -> None:
    service, _ = service_with(Last())
    service.decide(request())
    found = {
        (sample.name, sample.labels.get("outcome")): sample.value
        for family in Collector(service).collect()
        for sample in family.samples
        if sample.name.startswith("jimbot_adviser_")
    }
    assert found["jimbot_adviser_asked_total", None] == 1
    assert found["jimbot_adviser_decisions_total", None] == 1001
    assert found["jimbot_adviser_outcomes_total", "answered"] == 1
    assert {"jimbot_adviser_dollars_total", "jimbot_adviser_tokens_total", "jimbot_adviser_changed_total",
            "jimbot_adviser_followed_total", "jimbot_adviser_retries_total"} <= {name for name, _ in found}  # fmt: skip
    service.close()


def test_serve_gives_every_game_of_one_player_an_adviser() -> None:
    from jimbot.services.serving import Offer, load

    service, told = DecisionService(), []
    offer = Offer(policies=("random",), game="probe", adviser=AdviserSettings(source="planner"))
    assert load(service, offer, told.append) is None
    assert list(service.advising.advisers) == ["probe"]
    assert service.find("probe", "").reader.describes
    assert "planner" in told[0]
    service.close()


# --- over the bus ---


def test_advice_is_asked_for_over_the_bus_as_the_first_design_writes_it(tmp_path: Any) -> None:
    address = f"embedded:{tmp_path / 'bus.sqlite'}"

    async def work() -> None:
        service, _ = service_with(Last())
        async with RayLearningOrchestrator(EventBusClient(address), service) as orchestrator:
            game_state = snapshot(7)
            assert await orchestrator.request_claude_advice(game_state, confidence_threshold=0.7) is None  # it is sure
            orchestrator.decision_confidence = 0.4
            advice = await orchestrator.request_claude_advice(game_state, confidence_threshold=0.7)
            assert advice is not None
            assert advice.used_llm
            assert _legal(7)[advice.actions[0].action]
            assert advice.actions[0].reason == advice.advice == "It is the last."
            again = await orchestrator.request_claude_advice(game_state)
            assert again.source == "cache"
            orchestrator.answers["OK"] = 59  # with 2 asked, a third is more than a twentieth
            assert await orchestrator.request_claude_advice(game_state) is None
            await orchestrator.event_bus.close()
        service.close()

    asyncio.run(work())


def test_questions_that_cannot_be_advised_are_answered_with_the_reason(tmp_path: Any) -> None:
    address = f"embedded:{tmp_path / 'bus.sqlite'}"

    async def work() -> None:
        service, _ = service_with(Nobody())
        async with RayLearningOrchestrator(EventBusClient(address), service) as orchestrator:
            bus = orchestrator.event_bus
            state = probe_request(1).game_state
            for asked, code in (
                (StrategyRequest(game="probe", game_state=snapshot()), "UNAVAILABLE"),
                (StrategyRequest(game="probe", game_state=state), "INVALID_ARGUMENT"),
                (StrategyRequest(game="chess", game_state=state), "NOT_FOUND"),
                (StrategyRequest(game="probe"), "INVALID_ARGUMENT"),
            ):
                answer = await bus.publish_and_wait(asked, 10)
                assert answer.refusal.code_name == code
            await bus.close()
        service.close()

    asyncio.run(work())


def test_a_server_with_an_adviser_asks_claude_over_the_wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `jimbot serve random --game probe --adviser` puts it together: gRPC in front, HTTP behind, books beside."""
    grpc = pytest.importorskip("grpc")
    pytest.importorskip("anthropic")
    from jimbot.proto.decisions_pb2_grpc import DecisionServiceStub
    from tests.services.running import running

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
    monkeypatch.setenv("JIMBOT_ADVISER_LEDGER", str(tmp_path / "adviser.sqlite"))
    with playing_the_api(last_listed) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address)
        service = DecisionService()
        load(service, Offer(policies=("random",), game="probe", adviser=AdviserSettings(dollars_per_run=1.0)))
        with running(service) as server, grpc.insecure_channel(server.address) as channel:
            stub = DecisionServiceStub(channel)
            for number in range(20):
                assert not stub.GetDecision(probe_request(number, time_limit_ms=9000), timeout=20).used_llm
            answer = stub.GetDecision(request(5, time_limit_ms=9000), timeout=20)
        service.close()
    assert answer.used_llm
    assert answer.advice.startswith("claude-haiku-5-5: It wins.")
    [asked] = api.requests
    assert answer.selected_action.label == table_of(asked)["legal_moves"][-1]["action"]
    books = Ledger(tmp_path / "adviser.sqlite").books()
    assert (books.balanced, books.outcomes) == (True, {"answered": 1})


@pytest.mark.parametrize("game", ["hackmatrix"])
def test_a_state_by_keys_is_told_in_the_words_of_its_game(game: str) -> None:
    entry = game_entry(game)
    assert entry.states is not None
    assert entry.states.tell is not None
    played = make(game, 1)
    played.reset(np.array([3], np.uint64))
    values = entry.states.write(played, 0)
    assert entry.states.tell(values, entry.spec.parse_options({})) == played.describe(0)


def test_a_planner_is_warm_before_it_is_asked_and_leaves_questions_whose_time_is_over(tmp_path: Path) -> None:
    """The first simulations compile for longer than a decision has; questions that wait for it fill all places."""
    settings = AdviserSettings(source="planner", ledger=str(tmp_path / "ledger"), rollouts=2)
    adviser = open_adviser(settings, Unsure())
    planner: Any = adviser.source
    adviser.warm(game_entry("probe"), {})
    assert planner._game is not None
    service = DecisionService()
    service.add(ServedPolicy.make(game_entry("probe"), Unsure()))
    service.advise("probe", adviser)
    adviser.when.note(1000)
    with planner._lock:  # busy with a long plan
        for seed in range(2 * settings.at_once):
            service.decide(request(seed, time_limit_ms=200))
        assert _becomes(lambda: adviser.metrics.outcomes["timeout"] + adviser.metrics.outcomes["busy"] >= 4)
        assert _becomes(lambda: adviser._open.acquire(blocking=False)), "nobody waits whose time is over"
        adviser._open.release()
    answer = service.decide(request(99, time_limit_ms=5000))
    assert answer.advice == "" or "simulations" in answer.advice
    assert _becomes(lambda: adviser.metrics.outcomes[ANSWERED] == 1)
    service.close()


def _becomes(true: Any) -> bool:
    from jimbot.processes import wait_for

    return wait_for(true, 10)
