"""Requests in company: batches, deadlines, the bounded queue, repeated ids, fallbacks, trials of new policies."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from jimbot.errors import CheckpointError, SettingsError, UsageError
from jimbot.games.contract import game_entry
from jimbot.proto import events_pb2 as messages
from jimbot.proto.decisions_pb2 import DecisionBatch
from jimbot.runs.resources import CPU, TRAINING, ResourceCoordinator
from jimbot.services.decision import (
    CanaryRule,
    Code,
    DecisionService,
    RefusedError,
    ServedPolicy,
    ServiceSettings,
    batcher,
)
from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.decision.slots import Canary
from tests.services.asking import (
    GAME,
    LEGAL,
    PROBE,
    Scripted,
    batch,
    observation,
    probe_request,
    request,
    serve,
    service_of,
    shipped,
)


def many(service: DecisionService, requests: list[Any]) -> list[Any]:
    """All at once, from one event loop; errors as values."""

    async def ask() -> list[Any]:
        return await asyncio.gather(*(service.decide_async(one) for one in requests), return_exceptions=True)

    return asyncio.run(ask())


def held(policy: Scripted, service: DecisionService) -> threading.Thread:
    """Somebody whose decision takes until the gate opens."""
    policy.gate.clear()
    waiting = threading.Thread(target=lambda: service.decide(probe_request(99, time_limit_ms=9000)))
    waiting.start()
    time.sleep(0.05)
    return waiting


def test_requests_that_wait_together_are_computed_together() -> None:
    policy = Scripted(seconds=0.02)
    service = service_of(serve(policy), cache_size=0)
    policy.batches.clear()
    answers = many(service, [probe_request(number) for number in range(40)])
    assert all(answer.selected_action.number == 5 for answer in answers)
    assert sum(policy.batches) == 40
    assert len(policy.batches) <= 5
    assert max(answer.timing.batch_size for answer in answers) > 8


class Observed(Scripted):
    """Notes which thread computes."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.threads: list[int] = []

    def act(self, *arguments: Any, **rest: Any) -> Any:
        self.threads.append(threading.get_ident())
        return super().act(*arguments, **rest)


@pytest.mark.parametrize(("longest", "in_loop"), [(1e6, True), (0.0, False)])
def test_an_event_loop_computes_what_is_quick_and_is_not_held_up_by_what_is_not(
    longest: float, in_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher, "LONGEST_IN_LOOP_MS", longest)
    policy = Observed()
    service = service_of(serve(policy), cache_size=0)

    async def play() -> list[int]:
        for number in range(4):  # what it takes is learned
            await service.decide_async(probe_request(number))
        policy.threads = []
        await asyncio.gather(*(service.decide_async(probe_request(number)) for number in range(4, 12)))
        return policy.threads

    threads = asyncio.run(play())
    assert (set(threads) == {threading.get_ident()}) == in_loop
    assert len(threads) < 8, "together"
    service.close()


def test_who_goes_away_finds_the_answer_when_it_asks_again() -> None:
    policy = Scripted()
    service = service_of(serve(policy), cache_size=0)

    async def play() -> None:
        policy.gate.clear()
        asking = asyncio.create_task(service.decide_async(probe_request(1, request_id="mine")))
        await asyncio.sleep(0.02)
        asking.cancel()
        policy.gate.set()
        policy.batches.clear()
        assert (await service.decide_async(probe_request(1, request_id="mine"))).selected_action.number == 5

    asyncio.run(play())
    assert policy.batches == [1]
    service.close()


def test_a_window_gathers_and_a_batch_is_never_larger_than_set() -> None:
    policy = Scripted()
    service = service_of(serve(policy), window_ms=200.0, batch_size=8, cache_size=0)
    policy.batches.clear()
    many(service, [probe_request(number) for number in range(16)])
    assert policy.batches == [8, 8]


def test_a_lone_request_is_not_delayed_beyond_the_window() -> None:
    policy = Scripted()
    service = service_of(serve(policy), window_ms=20.0, batch_size=64)
    answer = service.decide(probe_request(time_limit_ms=5000))
    assert answer.timing.batch_size == 1
    assert answer.timing.queue_ms >= 15


def test_one_bad_item_fails_alone() -> None:
    policy = Scripted(seconds=0.02)
    service = service_of(serve(policy), cache_size=0)
    policy.poison, policy.not_numbers = 7.0, 9.0
    answers = many(service, [probe_request(number) for number in range(12)])
    for number, answer in enumerate(answers):
        if number in (7, 9):
            assert isinstance(answer, RefusedError)
            assert answer.code == Code.INTERNAL
        else:
            assert answer.selected_action.number == 5
    assert service.metrics.faults["probe", "scripted"] == 2


def test_a_bad_observation_is_refused_alone_and_the_others_are_computed_together() -> None:
    policy = Scripted(seconds=0.02)
    service = service_of(serve(policy), cache_size=0, fallback="first")
    asked = [probe_request(number) for number in range(1, 13)]
    values = np.frombuffer(asked[3].game_state.observation.values, "<f4").copy()
    values[0] = np.nan
    asked[3].game_state.observation.values = values.tobytes()
    asked[6].game_state.observation.legal_mask = bytes(len(asked[6].game_state.observation.legal_mask))
    policy.gate.clear()
    first = held(policy, service)
    policy.batches.clear()
    threading.Timer(0.2, policy.gate.set).start()
    answers = many(service, asked)
    first.join()
    for number, sentence in (3, "not finite"), (6, "no legal action"):
        problem = answers.pop(number if number == 3 else number - 1)
        assert isinstance(problem, RefusedError)
        assert problem.code == Code.INVALID_ARGUMENT
        assert sentence in str(problem)
    assert {answer.selected_action.number for answer in answers} == {5}
    assert not any(answer.fallback for answer in answers)
    assert max(policy.batches) == len(answers)
    service.close()


def test_answers_kept_for_repeated_ids_are_not_searched_for_garbage() -> None:
    """Tens of thousands of them, searched again and again, would stop everything for a tenth of a second."""
    service = service_of(serve(Scripted()), cache_size=0)
    service.decide(probe_request(0))
    gc.collect()
    before = len(gc.get_objects())
    for number in range(1, 501):
        service.decide(probe_request(number))
    gc.collect()
    assert len(gc.get_objects()) - before < 250
    service.close()


def test_expired_work_is_dropped_before_inference() -> None:
    policy = Scripted()
    service = service_of(serve(policy))
    waiting = held(policy, service)
    with pytest.raises(RefusedError, match="time of the request") as caught:
        service.decide(probe_request(1, time_limit_ms=30))
    policy.batches.clear()
    policy.gate.set()
    waiting.join()
    service.close()
    assert caught.value.code == Code.DEADLINE_EXCEEDED
    assert policy.batches == [1], "only the one that waited with time left"
    assert service.metrics.expired["probe"] == 1


def test_a_deadline_is_capped_by_the_service() -> None:
    policy = Scripted()
    service = service_of(serve(policy), time_limit_ms=40, time_limit_cap_ms=50)
    waiting_policy = policy.gate
    waiting_policy.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.decide, probe_request(1))
        time.sleep(0.02)
        second = pool.submit(service.decide, probe_request(2, time_limit_ms=10**6))
        with pytest.raises(RefusedError, match="time of the request"):
            second.result(5)
        waiting_policy.set()
        first.exception(5)


def test_a_full_queue_refuses_at_once_with_a_hint() -> None:
    policy = Scripted()
    service = service_of(serve(policy), queue_size=4)
    waiting = held(policy, service)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(service.decide, probe_request(number, time_limit_ms=9000)) for number in range(8)]
        refused = [one.exception(1) for one in asked if _done(one)]
        policy.gate.set()
        answered = [one for one in asked if one.exception(9) is None]
    waiting.join()
    assert len(answered) == 4
    assert len(refused) == 4
    for problem in refused:
        assert isinstance(problem, RefusedError)
        assert problem.code == Code.RESOURCE_EXHAUSTED
        assert problem.retry_after_ms > 0
    assert service.metrics.shed["probe"] == 4


def _done(future: Any) -> bool:
    try:
        future.exception(0.2)
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(("fallback", "who"), [("first", "first"), ("heuristic", "first"), ("policy", "policy")])
def test_a_fallback_is_legal_and_marked(fallback: str, who: str) -> None:
    """`probe` has no heuristic player, so the heuristic falls through to the first legal action."""
    policy = Scripted()
    service = service_of(serve(policy), fallback=fallback, cache_size=0)
    policy.broken = fallback != "policy"
    if fallback == "policy":
        policy.poison = 3.0
        answers = many(service, [probe_request(number) for number in range(6)])
        assert answers[3].fallback_reason.startswith("first"), "asked alone it failed again"
        return
    answer = service.decide(probe_request(1))
    assert answer.selected_action.number == 4
    assert answer.fallback == messages.FALLBACK_FAULT
    assert answer.fallback_reason.startswith(f"{who}: Policy 'scripted'")
    assert service.metrics.fallbacks["probe", "fault"] == 1


def test_a_fallback_answers_before_the_deadline_and_under_overload() -> None:
    policy = Scripted()
    service = service_of(serve(policy), fallback="first", queue_size=1)
    waiting = held(policy, service)
    late = service.decide(probe_request(1, time_limit_ms=60))
    full = service.decide(probe_request(2, time_limit_ms=60))
    policy.gate.set()
    waiting.join()
    assert {late.fallback, full.fallback} <= {messages.FALLBACK_DEADLINE, messages.FALLBACK_OVERLOAD}
    assert late.selected_action.number == full.selected_action.number == 4


def test_the_same_id_gets_the_same_decision_once() -> None:
    policy = Scripted(seconds=0.02)
    service = service_of(serve(policy), cache_size=0)
    policy.batches.clear()
    answers = many(service, [probe_request(1, request_id="one") for _ in range(10)])
    assert {answer.SerializeToString() for answer in answers} == {answers[0].SerializeToString()}
    policy.wish = 6
    assert service.decide(probe_request(1, request_id="one")).selected_action.number == 5
    assert sum(policy.batches) == 1
    assert service.metrics.decisions["probe", "scripted"] == 1
    with pytest.raises(RefusedError, match="'one' was used for another request") as caught:
        service.decide(probe_request(2, request_id="one"))
    assert caught.value.code == Code.ALREADY_EXISTS


def test_a_refused_id_may_be_asked_again() -> None:
    policy = Scripted()
    service = service_of(serve(policy))
    policy.broken = True
    with pytest.raises(RefusedError):
        service.decide(probe_request(1, request_id="again"))
    policy.broken = False
    assert service.decide(probe_request(1, request_id="again")).selected_action.number == 5


def test_ids_are_forgotten_after_the_window() -> None:
    policy = Scripted()
    service = service_of(serve(policy), idempotency_seconds=0.05)
    service.decide(probe_request(1, request_id="old"))
    time.sleep(0.1)
    assert service.decide(probe_request(2, request_id="old")).selected_action.number == 5


def test_a_state_decided_lately_is_not_computed_again() -> None:
    policy = Scripted()
    service = service_of(serve(policy))
    first = service.decide(probe_request(1))
    policy.batches.clear()
    again = service.decide(probe_request(1, request_id="other"))
    assert (again.cached, first.cached, policy.batches) == (True, False, [])
    assert again.selected_action == first.selected_action
    assert again.request_id == "other"
    service.replace(serve(Scripted("newer"), name="scripted"))
    assert not service.decide(probe_request(1)).cached, "another policy, another answer"
    assert service.metrics.cache_hits["probe"] == 1


def test_a_new_policy_is_swapped_in_between_two_batches() -> None:
    old, new = Scripted("run"), Scripted("run2")
    new.wish = 6
    service = service_of(serve(old, "run"), cache_size=0)
    answers: list[Any] = []
    stop = threading.Event()

    def ask() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            answers.append(service.decide(probe_request(number)))

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.05)
    service.replace(serve(new, "run"))
    time.sleep(0.05)
    stop.set()
    asking.join()
    told = [(answer.policy.hash[:4], answer.selected_action.number) for answer in answers]
    assert set(told) == {("run0", 5), ("run2", 6)}
    assert told == sorted(told), "never back"


def test_a_bad_policy_keeps_the_old_one() -> None:
    service = service_of(serve(Scripted("run"), "run"))
    bad = Scripted("bad")
    bad.broken = True
    with pytest.raises(RuntimeError):
        service.replace(serve(bad, "run"))
    numbers = Scripted("numbers")
    numbers.not_numbers = 0.0
    with pytest.raises(CheckpointError, match="golden states"):
        service.replace(serve(numbers, "run"))
    assert service.decide(probe_request(1)).policy.hash.startswith("run0")
    assert service.metrics.reloads["probe", "refused"] == 2


def test_a_canary_gets_its_share_of_games_and_keeps_them() -> None:
    service = service_of(serve(Scripted("old")), cache_size=0)
    service.try_out(serve(Scripted("new")), "old", CanaryRule(share=0.5))
    told = {
        session: {service.decide(probe_request(n, session_id=str(session))).policy.name for n in range(3)}
        for session in range(40)
    }
    assert all(len(names) == 1 for names in told.values())
    assert 8 <= sum("new" in names for names in told.values()) <= 32


def test_a_canary_that_is_far_slower_steps_back() -> None:
    trial = Canary(CanaryRule(after=5, slower=10.0))
    trial.note_other(1.0)
    assert [trial.note(False, 9.0) for _ in range(6)] == [False] * 6
    assert True in [trial.note(False, 30.0) for _ in range(20)]
    assert "inference takes" in trial.withdrawn
    assert not trial.takes("game"), "nobody is asked of it any more"


def test_a_failing_canary_steps_back_and_harms_nobody() -> None:
    new = Scripted("new")
    service = service_of(serve(Scripted("old")), cache_size=0)
    canary = service.try_out(serve(new), "old", CanaryRule(share=1.0, after=10))
    new.broken = True
    answers = [service.decide(probe_request(number)) for number in range(30)]
    assert all(answer.policy.name == "old" and answer.selected_action.number == 5 for answer in answers)
    assert "of its 10 answers failed" in canary.withdrawn
    assert service.metrics.steps_back["probe"] == 1
    assert [about.status for about in service.policies().policies] == ["serving", "withdrawn"]


def test_an_illegal_move_is_never_sent_and_ends_a_trial_at_once() -> None:
    class Cheat(Scripted):
        cheats = False

        def act(self, observation: Any, legal_mask: Any, deterministic: bool = True, key: Any = None) -> Any:
            decision = super().act(observation, legal_mask, deterministic, key)
            if self.cheats:
                decision.probabilities[:, 0] = 0.9
                decision.actions[:] = 0
            return decision

    cheat = Cheat("cheat")
    service = service_of(serve(Scripted("old")), cache_size=0)
    canary = service.try_out(serve(cheat), "old", CanaryRule(share=1.0))
    cheat.cheats = True
    assert service.decide(probe_request(1)).selected_action.number == 5
    assert canary.withdrawn == "it gave an illegal move"
    assert service.metrics.illegal["probe"] == 1


def test_a_shadow_is_asked_and_never_heard() -> None:
    other = Scripted("other")
    other.wish = 7
    service = service_of(serve(Scripted("old")), cache_size=0)
    service.shadow(serve(other), "old")
    answers = [service.decide(probe_request(number)) for number in range(10)]
    assert {answer.selected_action.number for answer in answers} == {5}
    service.close()
    assert service.metrics.shadows["probe", "other"] == 10


def test_training_gives_way_to_a_decision() -> None:
    coordinator = ResourceCoordinator({CPU: 1})
    service = DecisionService(ServiceSettings(device_patience_ms=5000), coordinator)
    service.add(serve(Scripted()))
    turn = coordinator.request(CPU, "training", priority=TRAINING)
    seen: list[bool] = []

    def train() -> None:
        while not turn.wanted_back:
            time.sleep(0.001)
        seen.append(True)
        turn.release()

    training = threading.Thread(target=train)
    training.start()
    assert service.decide(probe_request(1, time_limit_ms=5000)).selected_action.number == 5
    training.join()
    assert seen == [True]
    assert service.metrics.beside_training == 0


def test_a_decision_does_not_wait_for_ever_for_training() -> None:
    coordinator = ResourceCoordinator({CPU: 1})
    service = DecisionService(ServiceSettings(device_patience_ms=5), coordinator)
    service.add(serve(Scripted()))
    with coordinator.request(CPU, "training", priority=TRAINING):
        assert service.decide(probe_request(1)).selected_action.number == 5
    assert service.metrics.beside_training == 1


def test_rows_of_a_message_are_one_inference_with_the_same_answers() -> None:
    service = service_of(shipped())
    answer = asyncio.run(service.decide_rows(batch(probabilities=True, batch_id="b")))
    assert answer.timing.batch_size == len(answer.actions) == 64
    alone = [service.decide(request(row)).selected_action.number for row in range(64)]
    assert list(answer.actions) == alone
    again = asyncio.run(service.decide_rows(batch(probabilities=True, batch_id="b")))
    assert again == answer
    other = asyncio.run(service.decide_rows(batch(slice(0, 3), batch_id="b")))
    assert other.refusal.code == Code.ALREADY_EXISTS
    assert asyncio.run(service.decide_rows(batch(game_version=9))).refusal.code == Code.FAILED_PRECONDITION


def rows_of_probe(rows: int, **rest: Any) -> DecisionBatch:
    values, legal = np.zeros((rows, PROBE.observation.size), np.float32), np.zeros((rows, PROBE.actions.size), bool)
    legal[:, 4:8] = True
    return DecisionBatch(game="probe", observations=observation(slice(None), PROBE, values, legal), **rest)


def test_trials_and_listeners_count_messages_of_many_rows_too() -> None:
    proven, trial, shadow = Scripted("proven"), Scripted("trial"), Scripted("shadow")
    trial.wish, shadow.wish = 6, 7
    service = service_of(serve(proven, "run"))
    service.try_out(serve(trial), "run", CanaryRule(share=0.5))
    service.shadow(serve(shadow), "run")
    told: list[Any] = []
    service.listeners.append(told.append)

    async def ask() -> list[int]:
        sessions = [f"game {number}" for number in range(20)]
        answers = [await service.decide_rows(rows_of_probe(3, session_id=one)) for one in (*sessions, *sessions)]
        assert [answer.actions for answer in answers[:20]] == [answer.actions for answer in answers[20:]], "they stay"
        assert list((await service.decide_rows(rows_of_probe(3))).actions) == [5] * 3, "without a session: the proven"
        trial.broken = True
        first = next(number for number, answer in enumerate(answers) if answer.actions[0] == 6)
        saved = await service.decide_rows(rows_of_probe(3, session_id=sessions[first]))
        assert list(saved.actions) == [5] * 3, "what the canary fails is answered by the proven one"
        return [answer.actions[0] for answer in answers]

    chosen = asyncio.run(ask())
    assert set(chosen) == {5, 6}
    service.close()
    assert service.metrics.shadows["probe", "other"] == 42 * 3
    assert [one.rows for one in told] == [3] * 42
    assert service.metrics.decisions["probe", "trial"] == 3 * chosen.count(6)


def test_a_message_whose_caller_went_away_may_be_sent_again() -> None:
    policy = Scripted()
    service = service_of(serve(policy), fallback="none")

    async def ask() -> None:
        policy.gate.clear()
        message = rows_of_probe(2, batch_id="mine")
        asking = asyncio.create_task(service.decide_rows(message))
        await asyncio.sleep(0.02)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        policy.gate.set()
        assert list((await service.decide_rows(message)).actions) == [5, 5]
        message.batch_id = "x" * 1000
        assert "at most 200" in (await service.decide_rows(message)).refusal.message

    asyncio.run(ask())
    service.close()


def test_a_draining_service_takes_no_new_work() -> None:
    service = service_of(serve(Scripted()))
    service.drain()
    with pytest.raises(RefusedError, match="stopping") as caught:
        service.decide(probe_request(1))
    assert caught.value.code == Code.UNAVAILABLE


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="fallback is 'hope'"):
        ServiceSettings(fallback="hope")
    with pytest.raises(SettingsError, match="queue_size is 0"):
        ServiceSettings(queue_size=0)
    service = service_of(serve(Scripted()))
    with pytest.raises(UsageError, match="are called 'scripted'"):
        service.add(serve(Scripted()))


def test_the_games_own_player_answers_in_the_policys_place() -> None:
    broken = Scripted()
    service = service_of(ServedPolicy.make(game_entry(GAME), broken), fallback="heuristic")
    broken.broken = True
    answer = service.decide(request(40))
    assert answer.strategy_name == "fallback heuristic"
    assert LEGAL[40, answer.selected_action.number]
    rows = asyncio.run(service.decide_rows(batch(slice(0, 8))))
    assert rows.fallback == messages.FALLBACK_FAULT
    assert LEGAL[np.arange(8), list(rows.actions)].all()


def test_looking_at_the_queue_and_taking_from_it_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop counts what waits while the batcher's thread takes a batch; under load both happen at once."""
    monkeypatch.setattr(batcher.Batcher, "_work", lambda self: None)  # the other thread below stands for it
    one = batcher.Batcher(serve(Scripted()), ServiceSettings(), ServiceMetrics())
    taken: list[list[batcher.Item]] = []
    other = threading.Thread(target=lambda: taken.append(one._take()))

    class Counted:
        """A mask; whoever counts its rows gives the other thread time to take it away."""

        def __len__(self) -> int:
            if other.ident is None:
                other.start()
                other.join(0.2)
            return 0  # nothing to compute, so nothing is

    waiting: Any = [batcher.Item(observation(), Counted(), time.perf_counter() + 60) for _ in range(2)]
    one.queue.extend(waiting)
    one._gather(asyncio.new_event_loop(), 2, 0)
    other.join(10)
    assert taken == [waiting]
    one.close()
