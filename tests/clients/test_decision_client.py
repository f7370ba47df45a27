"""The client: patience without end to nobody, retries that do no harm, a policy that lives elsewhere."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("grpc")


from jimbot.clients import AsyncDecisionClient, DecisionClient
from jimbot.clients.decision_client import DecisionError
from jimbot.clients.remote_policy import RemotePolicy, parse
from jimbot.clients.resilience import AdaptiveTimeout, Attempts, CircuitBreaker, RetryBudget, RetryPolicy
from jimbot.errors import UnknownNameError, UsageError
from jimbot.evaluation import evaluate
from jimbot.policies.portable import load_policy
from jimbot.proto import decisions_pb2 as wire
from jimbot.proto.decisions_pb2 import DecisionBatch
from tests.services.asking import (
    GAME,
    LEGAL,
    OBSERVATION,
    Scripted,
    probe_request,
    request,
    serve,
    service_of,
    shipped,
)
from tests.services.running import Running, running

QUICK = RetryPolicy(deadline=1.0, attempts=3, first_pause=0.01, failures=3, rest=0.2)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(service_of(shipped(), serve(Scripted()))) as opened:
        yield opened


def test_a_decision_and_the_list_of_policies(server: Running) -> None:
    with DecisionClient(server.address) as client:
        answer = client.decide(request(3))
        assert answer.selected_action.label
        assert len(answer.request_id) == 32, "every request has an id, so that it may be repeated"
        assert len(client.policies().policies) == 2


def test_the_same_from_an_event_loop(server: Running) -> None:
    async def ask() -> Any:
        async with AsyncDecisionClient(server.address) as client:
            answers = await asyncio.gather(*(client.decide(request(row)) for row in range(20)))
            return answers, await client.policies(GAME)

    answers, policies = asyncio.run(ask())
    assert len(answers) == 20
    assert [about.identity.game for about in policies.policies] == [GAME]


def test_what_cannot_help_is_not_tried_again(server: Running) -> None:
    with DecisionClient(server.address, patience=QUICK) as client:
        with pytest.raises(DecisionError, match="version 9") as caught:
            client.decide(request(game_version=9))
        assert caught.value.code == "FAILED_PRECONDITION"
        assert client.retries == 0
        assert not client.breaker.is_open


def test_a_restarted_server_is_found_again() -> None:
    opened = Running(service_of(serve(Scripted())))
    opened.do(opened.server.ready())
    port = opened.server.port
    with DecisionClient(
        opened.address, patience=RetryPolicy(deadline=20, attempts=40, budget=40, failures=100)
    ) as client:
        assert client.decide(probe_request(1)).selected_action.number == 5
        opened.stop()
        again: list[Running] = []

        def restart() -> None:
            time.sleep(0.5)
            again.append(Running(service_of(serve(Scripted())), port=port))

        restarting = threading.Thread(target=restart)
        restarting.start()
        assert client.decide(probe_request(2)).selected_action.number == 5
        assert client.retries > 0
        restarting.join()
        again[0].stop()


def test_nobody_there_is_one_sentence_and_then_silence() -> None:
    with DecisionClient("127.0.0.1:9", patience=QUICK) as client:
        with pytest.raises(DecisionError, match=r"No decision service answers at 127\.0\.0\.1:9") as caught:
            client.decide(request())
        assert caught.value.code == "UNAVAILABLE"
        assert client.breaker.is_open
        with pytest.raises(DecisionError, match="failed 3 times in a row"):
            client.decide(request())


def test_a_lost_attempt_is_repeated_under_the_same_id() -> None:
    policy = Scripted()
    with running(service_of(serve(policy), cache_size=0)) as opened:
        with DecisionClient(opened.address, patience=RetryPolicy(deadline=5, cap=0.2, attempts=8, budget=5)) as client:
            client.decide(probe_request(1))
            policy.batches.clear()
            policy.gate.clear()
            threading.Timer(0.5, policy.gate.set).start()
            assert client.decide(probe_request(2)).selected_action.number == 5
            assert client.retries >= 1
        assert sum(policy.batches) == 1, "decided once, however often it was asked"


def test_a_stream_that_says_nothing_is_ended_and_asked_again_under_the_same_id() -> None:
    policy = Scripted()
    with running(service_of(serve(policy))) as opened:
        patience = RetryPolicy(deadline=5, cap=0.2, attempts=8, budget=5)
        with DecisionClient(opened.address, patience=patience) as client:
            stream = client.stream()
            state = probe_request(1).game_state.observation
            asked = DecisionBatch(game="probe", observations=state, batch_id="mine", time_limit_ms=4000)
            policy.gate.clear()
            threading.Timer(0.5, policy.gate.set).start()
            assert list(stream.ask(asked).actions) == [5]
            assert client.retries >= 1
            policy.gate.clear()
            client.patience = RetryPolicy(deadline=0.3, cap=0.2, attempts=2)
            asked.batch_id = "another"
            with pytest.raises(DecisionError) as late:
                stream.ask(asked)
            policy.gate.set()
            stream.close()
    assert late.value.code in ("CANCELLED", "DEADLINE_EXCEEDED")


def test_answers_are_kept_until_the_policy_changes() -> None:
    service = service_of(serve(Scripted("one"), "run"))
    with running(service) as opened, DecisionClient(opened.address, cache_seconds=60) as client:
        first = client.decide(probe_request(1))
        again = client.decide(probe_request(1))
        assert (first.cached, again.cached, client.cache_hits) == (False, True, 1)
        service.replace(serve(Scripted("two"), "run"))
        assert client.decide(probe_request(2)).policy.hash.startswith("two")
        assert client.decide(probe_request(1)).policy.hash.startswith("two"), "what the old one said is forgotten"


def test_more_calls_than_may_be_open_are_refused_here_and_at_once() -> None:
    policy = Scripted()
    patience = RetryPolicy(deadline=9, cap=9, at_once=2)
    with running(service_of(serve(policy))) as opened, DecisionClient(opened.address, patience=patience) as client:
        policy.gate.clear()
        with ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(client.decide, probe_request(number)) for number in range(2)]
            while client._open_calls < 2:
                time.sleep(0.01)
            with pytest.raises(DecisionError, match=r"2 calls .* are open") as refused:
                client.decide(probe_request(3))
            policy.gate.set()
            assert all(one.result(9).selected_action.number == 5 for one in asked)
        assert refused.value.code == "RESOURCE_EXHAUSTED"
        assert client.decide(probe_request(3)).selected_action.number == 5


def test_retries_keep_within_their_budget() -> None:
    budget = RetryBudget(0.1, most=2)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    for _ in range(11):
        budget.earn()
    assert [budget.spend(), budget.spend()] == [True, False]


def test_a_circuit_opens_rests_and_lets_one_try() -> None:
    now = [0.0]
    breaker = CircuitBreaker(2, 5.0, lambda: now[0])
    breaker.failed()
    assert breaker.may_call()
    breaker.failed()
    assert not breaker.may_call()
    now[0] = 6.0
    assert [breaker.may_call(), breaker.may_call()] == [True, False]
    breaker.succeeded()
    assert breaker.may_call()


def test_the_timeout_follows_what_answers_take() -> None:
    timeout = AdaptiveTimeout(0.05, 2.0)
    assert timeout.seconds == 2.0, "nothing is known yet"
    for _ in range(100):
        timeout.note(0.1)
    assert timeout.seconds == pytest.approx(0.4)
    for _ in range(200):
        timeout.note(0.0001)
    assert timeout.seconds == 0.05
    for _ in range(200):
        timeout.note(9.0)
    assert timeout.seconds == 2.0


def test_attempts_end_with_the_deadline() -> None:
    now = [0.0]
    attempts = Attempts(RetryPolicy(deadline=1.0), RetryBudget(1), AdaptiveTimeout(0.1, 0.4), lambda: now[0])
    assert attempts.next_timeout() == 0.4
    pause = attempts.retry_in()
    assert pause is not None
    assert 0.01 <= pause <= 0.02
    assert attempts.retry_in(hint=0.3) == 0.3, "the service knows best when"
    now[0] = 0.9
    assert attempts.next_timeout() == pytest.approx(0.1)
    assert attempts.retry_in(hint=0.3) is None


def test_attempts_become_more_patient_up_to_the_cap() -> None:
    """A service that became slow is in time again, sooner or later."""
    quick = AdaptiveTimeout(0.05, 2.0)
    for _ in range(40):
        quick.note(0.001)
    attempts = Attempts(RetryPolicy(deadline=60.0, cap=1.0, attempts=100), RetryBudget(1), quick, lambda: 0.0)
    assert [attempts.next_timeout() for _ in range(6)] == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8, 1.0])


def test_a_remote_policy_answers_as_the_one_it_stands_for(server: Running) -> None:
    remote = RemotePolicy(f"grpc://{server.address}/{GAME}")
    local, manifest = load_policy(GAME)
    expected, found = local.act(OBSERVATION, LEGAL), remote.act(OBSERVATION, LEGAL)
    assert (found.actions == expected.actions).all()
    assert np.allclose(found.probabilities, expected.probabilities, atol=1e-5)
    assert np.allclose(found.values, expected.values, rtol=1e-4)
    assert remote.digest == getattr(local, "digest", "")[:16]
    assert manifest is not None
    assert remote.trained_with == manifest.game_options
    twice = [remote.act(OBSERVATION, LEGAL, False, np.random.default_rng(3)).actions for _ in range(2)]
    assert (twice[0] == twice[1]).all(), "the same key, the same luck"
    assert LEGAL[np.arange(len(LEGAL)), twice[0]].all()
    remote.close()


@pytest.mark.parametrize("reference", ["grpc://", "grpc://host/balatro", "grpc://h:1/", "http://h:1/x", "grpc://h:x/y"])
def test_a_wrong_reference_says_what_is_expected(reference: str) -> None:
    with pytest.raises(UsageError, match="expected grpc://host:port/game"):
        parse(reference)


@pytest.mark.parametrize(
    "text", ["[" * 5000, '{"n": ' + "9" * 5000 + "}", '{"n": NaN}', "{", "[1]", '{"a": "\\ud800"}']
)
def test_options_from_a_server_are_read_as_anything_from_outside(
    server: Running, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    hostile = wire.PolicyDescription(options_json=text)
    monkeypatch.setattr(RemotePolicy, "_described", lambda policy: hostile)
    with pytest.raises(UsageError, match=f"The service at {server.address} sent "):
        RemotePolicy(f"grpc://{server.address}/{GAME}")


def test_a_policy_nobody_serves_is_named(server: Running) -> None:
    with pytest.raises(UnknownNameError, match="hackmatrix/shipped"):
        RemotePolicy(f"grpc://{server.address}/{GAME}/shiped")


def test_whatever_plays_a_policy_plays_one_elsewhere(server: Running) -> None:
    address = f"grpc://{server.address}/probe"
    there, here = (evaluate(policy, "probe", 16, num_envs=8).to_dict() for policy in (address, Scripted()))
    assert there["mean_return"] == here["mean_return"]
    with pytest.raises(UsageError, match="plays game 'probe'"):
        evaluate(address, GAME, 4)
