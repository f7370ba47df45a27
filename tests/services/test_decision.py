"""The decision core: what a request may carry, what an answer holds, and what is refused."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given, settings
from hypothesis import strategies as st

from jimbot.clients.request_json import read_request
from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.games.hackmatrix import make_state, to_dict
from jimbot.games.hooks.programs import Sight
from jimbot.policies.portable import load_policy
from jimbot.proto.events_pb2 import ForeignState, GameState, LearningDecisionRequest, Observation
from jimbot.runs.arrays import write_npz
from jimbot.services.decision import Code, DecisionService, RefusedError, ServedPolicy, register_state_form
from jimbot.services.decision.served import golden_states
from jimbot.services.decision.states import check_rows
from tests.conftest import needs
from tests.services.asking import (
    GAME,
    LEGAL,
    OBSERVATION,
    SPEC,
    Scripted,
    observation,
    probe_request,
    request,
    sampling,
    serve,
    service_of,
    shipped,
)


@pytest.fixture(scope="module")
def service() -> Iterator[DecisionService]:
    opened = service_of(shipped())
    yield opened
    opened.close()


def refused(service: DecisionService, asked: LearningDecisionRequest) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        service.decide(asked)
    return caught.value


def by_keys(values: dict[str, Any]) -> GameState:
    state = Struct()
    state.update(values)
    return GameState(by_keys=state)


def test_the_answer_is_the_policys_own_and_says_everything(service: DecisionService) -> None:
    answer = service.decide(request(3, request_id="all", game_version=SPEC.version))
    policy, _ = load_policy(GAME)
    expected = policy.act(OBSERVATION[3:4], LEGAL[3:4])
    assert answer.selected_action.number == expected.actions[0]
    assert answer.selected_action.label == SPEC.actions.label(int(expected.actions[0]))
    assert answer.confidence == pytest.approx(expected.probabilities[0].max(), abs=1e-5)
    assert answer.value == pytest.approx(expected.values[0], rel=1e-4)
    assert (answer.request_id, answer.used_llm, answer.fallback) == ("all", False, 0)
    assert (answer.policy.game, answer.policy.name, answer.policy.game_version) == (GAME, "shipped", SPEC.version)
    assert len(answer.policy.hash) == 16
    assert answer.strategy_name == "hackmatrix/shipped"
    assert answer.timing.total_ms >= answer.timing.inference_ms > 0
    chances = [other.probability for other in answer.alternatives]
    assert chances == sorted(chances, reverse=True)
    assert answer.selected_action.number not in [other.action.number for other in answer.alternatives]


def test_a_state_by_keys_is_seen_as_the_game_sees_it(service: DecisionService) -> None:
    state = make_state(
        player=(3, 3), enemies=[{"type": "virus", "row": 4, "col": 3}], owned_programs=["WAIT"], energy=1
    )
    game: Any = game_entry(GAME).make(1)
    game.reset()
    game.rows = game.rows._replace(state=jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))
    game.restore(game.snapshot())  # looks at it
    by_hand = LearningDecisionRequest(
        game=GAME, game_state=GameState(observation=observation(0, SPEC, game.observation, game.legal_mask))
    )
    asked = LearningDecisionRequest(game=GAME, game_state=by_keys(to_dict(state)))
    assert service.decide(asked).selected_action.number == service.decide(by_hand).selected_action.number

    file = io.BytesIO()
    write_npz(file, game.snapshot(np.arange(1)))
    restored = LearningDecisionRequest(game=GAME, game_state=GameState(snapshot=file.getvalue()))
    answer = service.decide(restored)
    assert answer.selected_action.number == service.decide(by_hand).selected_action.number
    assert answer.selected_action.words == game.describe_action(0, answer.selected_action.number)


@pytest.mark.parametrize("game", ["probe", "hackmatrix", "balatro", "vgc"])
def test_a_service_has_read_a_state_in_every_form_before_it_is_asked(game: str) -> None:
    needs(game)
    entry = game_entry(game)
    service = service_of(ServedPolicy.make(entry, Scripted()))
    reader = service.find(game, "").reader
    assert reader.warmed == {"observation", "snapshot", *(["by_keys"] if entry.states else []), *entry.foreign_states}
    compiled: list[str] = []
    states = reader._samples()

    def heard(event: str, seconds: float, **more: Any) -> None:
        compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        for state in states:
            service.decide(LearningDecisionRequest(game=game, game_state=state, time_limit_ms=9000))
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)
    assert not [event for event in compiled if "backend_compile" in event], "the first question compiles nothing"
    service.close()


def test_a_game_whose_states_cannot_be_read_here_is_served_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def absent(*rest: Any, **more: Any) -> Any:
        raise UsageError("The simulator is not installed.")

    service = service_of(ServedPolicy.make(replace(game_entry("probe"), make=absent), Scripted()))
    assert "simulator is not installed" in caplog.text
    assert service.decide(probe_request(1)).selected_action.number == 5
    service.close()


def test_a_row_of_vgc_is_a_state_by_keys() -> None:
    service = service_of(ServedPolicy.make(game_entry("vgc"), Scripted()))
    row = {"fields": {}, "legal": [3, 5]}
    answer = service.decide(LearningDecisionRequest(game="vgc", game_state=by_keys(row)))
    assert answer.selected_action.number == 5
    assert "slot a" in answer.selected_action.words
    for bad, sentence in (({"fields": {}}, "needs 'fields'"), ({**row, "legal": [30_000]}, "outside"),
                          ({**row, "team": []}, "Unknown key")):  # fmt: skip
        problem = refused(service, LearningDecisionRequest(game="vgc", game_state=by_keys(bad)))
        assert (problem.code, sentence in str(problem)) == (Code.INVALID_ARGUMENT, True), problem
    service.close()


def test_a_foreign_state_is_read_by_whoever_registered_it(service: DecisionService) -> None:
    register_state_form("rows/1", GAME, lambda body, _: Sight(OBSERVATION[int(body)], LEGAL[int(body)]))
    asked = LearningDecisionRequest(game=GAME, game_state=GameState(foreign=ForeignState(form="rows/1", body=b"7")))
    assert service.decide(asked).selected_action.number == service.decide(request(7)).selected_action.number
    asked.game_state.foreign.form = "rows/2"
    assert "Did you mean 'rows/1'" in str(refused(service, asked))
    asked.game_state.foreign.form, asked.game_state.foreign.body = "rows/1", b"not a number"
    assert refused(service, asked).code == Code.INVALID_ARGUMENT


def test_a_game_brings_dialects_of_other_programs_along() -> None:
    def read(body: bytes, options: Any) -> Sight:
        row = json.loads(body)["row"]
        return Sight(OBSERVATION[row], LEGAL[row], lambda action: "so be it")

    entry = replace(game_entry(GAME), foreign_states={"json/1": read})
    service = service_of(ServedPolicy.make(entry, *load_policy(GAME)))
    asked = read_request(json.dumps({"game": GAME, "form": "json/1", "body": {"row": 7}}), "The question")
    answer = service.decide(asked)
    assert answer.selected_action.number == service.decide(request(7)).selected_action.number
    assert answer.selected_action.words == "so be it"
    assert "json/1" in service.policies().policies[0].state_forms
    service.close()


def test_available_actions_limit_the_choice(service: DecisionService) -> None:
    legal = np.flatnonzero(LEGAL[40]).tolist()
    best = service.decide(request(40)).selected_action.number
    others = [action for action in legal if action != best]
    answer = service.decide(request(40, available_actions=others))
    assert answer.selected_action.number in others
    assert {other.action.number for other in answer.alternatives} <= set(others)
    one = service.decide(request(40, available_labels=[SPEC.actions.label(others[0])]))
    assert (one.selected_action.number, one.confidence) == (others[0], 1)


def test_an_empty_intersection_is_refused(service: DecisionService) -> None:
    row = 2
    illegal = np.flatnonzero(~LEGAL[row])[:3].tolist()
    problem = refused(service, request(row, available_actions=illegal))
    assert problem.code == Code.INVALID_ARGUMENT
    assert "None of the 3 available actions is legal" in str(problem)


def test_the_same_seed_draws_the_same_action() -> None:
    service = service_of(serve(Scripted()), cache_size=0)

    def drawn(seeds: range, temperature: float = 0.0) -> list[int]:
        asked = [probe_request(seed, choosing=sampling(seed, temperature)) for seed in seeds]
        return [service.decide(one).selected_action.number for one in asked]

    first = drawn(range(1, 60))
    assert set(first) == {4, 5, 6, 7}
    assert first == drawn(range(1, 60))
    together = asyncio.run(_together(service, [probe_request(n, choosing=sampling(n)) for n in range(1, 60)]))
    assert first == together, "alone or in company"
    assert drawn(range(1, 60), 0.01) == [5] * 59
    assert drawn(range(1, 60), 500.0).count(5) < first.count(5)


async def _together(service: DecisionService, asked: list[LearningDecisionRequest]) -> list[int]:
    answers = await asyncio.gather(*map(service.decide_async, asked))
    return [answer.selected_action.number for answer in answers]


BAD = {
    "no state": (LearningDecisionRequest(game=GAME), Code.INVALID_ARGUMENT, "carries no state"),
    "unknown game": (LearningDecisionRequest(game="hackmatri"), Code.NOT_FOUND, "Did you mean 'hackmatrix'"),
    "unknown policy": (request(policy="shippd"), Code.NOT_FOUND, "Did you mean 'shipped'"),
    "other version": (request(game_version=99), Code.FAILED_PRECONDITION, "version 99"),
    "long id": (request(request_id="x" * 500), Code.INVALID_ARGUMENT, "500 characters"),
    "action outside": (request(available_actions=[10**6]), Code.INVALID_ARGUMENT, "is not one of"),
    "unknown label": (request(available_labels=["jump"]), Code.INVALID_ARGUMENT, "Unknown action 'jump'"),
    "temperature": (request(choosing=sampling(1, float("nan"))), Code.INVALID_ARGUMENT, "temperature is nan"),
    "cold": (request(choosing=sampling(1, -1.0)), Code.INVALID_ARGUMENT, "temperature is -1.0"),
    "snapshot": (
        LearningDecisionRequest(game=GAME, game_state=GameState(snapshot=b"PK\x03\x04junk")),
        Code.INVALID_ARGUMENT,
        "snapshot does not fit",
    ),
    "unknown key": (
        LearningDecisionRequest(game=GAME, game_state=by_keys({"playr": [0, 0]})),
        Code.INVALID_ARGUMENT,
        "playr",
    ),
    "wrong value": (
        LearningDecisionRequest(game=GAME, game_state=by_keys({"player": [0, 99]})),
        Code.INVALID_ARGUMENT,
        "both 0..5",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_get_the_right_code_and_one_sentence(service: DecisionService, case: str) -> None:
    asked, code, sentence = BAD[case]
    problem = refused(service, asked)
    assert (problem.code, sentence in str(problem)) == (code, True), str(problem)


def test_bad_numbers_and_masks_are_refused(service: DecisionService) -> None:
    values, legal = OBSERVATION[:1].copy(), LEGAL[:1].copy()
    for wrong in (np.nan, np.inf, -np.inf):
        values[0, 5] = wrong
        asked = LearningDecisionRequest(
            game=GAME, game_state=GameState(observation=observation(0, SPEC, values, legal))
        )
        assert "not finite" in str(refused(service, asked))
    nothing = observation(0, SPEC, OBSERVATION[:1], np.zeros_like(legal))
    assert "no legal action" in str(
        refused(service, LearningDecisionRequest(game=GAME, game_state=GameState(observation=nothing)))
    )


@pytest.mark.parametrize("name", ["boss_id", "fool_copies"])
def test_an_id_that_nothing_has_is_the_requests_fault(name: str) -> None:
    spec = game_entry("balatro").spec
    values, legal = golden_states(spec, 3)
    check_rows(values, legal, spec)
    for wrong in (-1, spec.observation[name].ids):
        values[2, spec.observation.span(name)] = wrong
        with pytest.raises(RefusedError, match=f"Row 2 of the observation has {wrong} in '{name}'") as caught:
            check_rows(values, legal, spec)
        assert caught.value.code == Code.INVALID_ARGUMENT


@given(values=st.binary(max_size=64), mask=st.binary(max_size=16), rows=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_wrong_shapes_never_get_further_than_the_door(values: bytes, mask: bytes, rows: int) -> None:
    service = _shared()
    asked = LearningDecisionRequest(
        game=GAME, game_state=GameState(observation=Observation(values=values, legal_mask=mask, rows=rows))
    )
    assert refused(service, asked).code == Code.INVALID_ARGUMENT


@given(body=st.binary(max_size=300))
@settings(max_examples=100)
def test_fuzzed_snapshots_are_refused(body: bytes) -> None:
    asked = LearningDecisionRequest(game=GAME, game_state=GameState(snapshot=body))
    assert refused(_shared(), asked).code == Code.INVALID_ARGUMENT


_service: list[DecisionService] = []


def _shared() -> DecisionService:
    if not _service:
        _service.append(service_of(shipped()))
    return _service[0]


def test_a_deep_or_huge_state_is_refused(service: DecisionService) -> None:
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    assert "nests deeper" in str(refused(service, LearningDecisionRequest(game=GAME, game_state=by_keys({"a": deep}))))


def test_what_is_served_can_be_listed(service: DecisionService) -> None:
    (about,) = service.policies().policies
    assert about.status == "serving"
    assert list(about.state_forms)[:3] == ["observation", "snapshot", "by_keys"]
    assert about.observation_fingerprint == SPEC.observation.fingerprint
    assert not service.policies("balatro").policies
