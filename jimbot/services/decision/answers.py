"""Answers as messages: the action as number, label and parts, how sure the policy is, and who it was."""

from __future__ import annotations

from struct import Struct

import numpy as np

from jimbot.adviser.reply import Advice
from jimbot.games.spec import GameSpec
from jimbot.knowledge.records import Hints, sentence
from jimbot.policies.contract import Decision
from jimbot.proto import events_pb2
from jimbot.services.decision.batcher import Item
from jimbot.services.decision.question import Question, choose
from jimbot.services.decision.refusal import RefusedError
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.decision.stages import Given

MOST_HINTS = 5  # of each kind
_FEW = 64  # so many numbers Python sorts as fast, and without letting go of the interpreter
_PROBABILITY = Struct("<f")
_written: dict[tuple[str, int], tuple[bytes, bytes]] = {}  # by fingerprint of the game's actions and number


def action_message(spec: GameSpec, action: int) -> events_pb2.Action:
    """One action in every form a caller may want."""
    number = int(spec.actions.block_of[action])
    block = spec.actions.blocks[number]
    message = events_pb2.Action(number=action, label=spec.actions.label(action), block=block.name)
    if block.rows:
        first = int(np.searchsorted(spec.actions.block_of, number))
        message.items.extend(block.rows[action - first])
        message.field = block.field
    return message


def _in_bytes(spec: GameSpec, action: int) -> tuple[bytes, bytes]:
    """An action as bytes of an answer: as the selected one, and as an alternative up to its probability, which comes
    last. Making these messages anew for every answer would take longer than all the rest of it."""
    key, message = (spec.actions.fingerprint, action), action_message(spec, action)
    selected = events_pb2.LearningDecisionResponse(selected_action=message)
    other = events_pb2.LearningDecisionResponse(alternatives=[events_pb2.Alternative(action=message, probability=1)])
    _written[key] = selected.SerializeToString(), other.SerializeToString()[: -_PROBABILITY.size]
    return _written[key]


def fill(
    answer: events_pb2.LearningDecisionResponse, question: Question, spec: GameSpec, decision: Decision,
    action: int | None = None,
) -> None:  # fmt: skip
    """Writes the decision of one row into its message, which names no action yet; `action` in the place of its own."""
    action = int(decision.actions[0]) if action is None else action
    probabilities, alternatives, words = decision.probabilities[0], question.alternatives, question.sight.words
    top = probabilities.nonzero()[0]
    if len(top) > max(alternatives + 1, _FEW):
        top = top[probabilities[top].argpartition(-alternatives - 1)[-alternatives - 1 :]]
    best_first = sorted(zip((-probabilities[top]).tolist(), top.tolist(), strict=True))
    shown = [action]
    for _, other in best_first[: alternatives + 1]:
        if other != action and len(shown) <= alternatives:
            shown.append(other)
    parts, table = [], spec.actions.fingerprint
    for one in shown:
        selected, other = _written.get((table, one)) or _in_bytes(spec, one)
        parts.append(other + _PROBABILITY.pack(probabilities[one]) if parts else selected)
    answer.MergeFromString(b"".join(parts))
    if words is not None:
        messages = answer.selected_action, *(one.action for one in answer.alternatives)
        for one, message in zip(shown, messages, strict=True):
            message.words = words(one) or ""
    answer.confidence = float(probabilities[action])
    answer.value = float(decision.values[0])


def computed(question: Question, served: ServedPolicy, item: Item) -> events_pb2.LearningDecisionResponse:
    """What a policy answered."""
    assert item.decision is not None
    request = question.request
    chosen = None
    if question.choosing.sample:
        chosen = choose(item.decision.probabilities[0], question.choosing, request.request_id)
    answer = events_pb2.LearningDecisionResponse.FromString(served.signature)
    answer.request_id = request.request_id
    fill(answer, question, served.spec, item.decision, chosen)
    timing = answer.timing
    timing.queue_ms, timing.inference_ms, timing.batch_size = item.queue_ms, item.inference_ms, item.batch_rows
    if question.hints is not None:
        write_hints(answer, question.hints)
    return answer


def take_advice(
    answer: events_pb2.LearningDecisionResponse, question: Question, served: ServedPolicy, item: Item, advice: Advice
) -> None:
    """Puts an adviser's move in the place of the policy's, which becomes an alternative."""
    assert item.decision is not None
    answer.ClearField("selected_action")
    answer.ClearField("alternatives")
    fill(answer, question, served.spec, item.decision, advice.action)
    answer.used_llm = advice.used_llm
    answer.advice = f"{advice.source}: {advice.reason}"


def strategy_message(request: events_pb2.StrategyRequest, item: Item, advice: Advice) -> events_pb2.StrategyResponse:
    """Advice as the bus carries it."""
    assert item.decision is not None
    answer = events_pb2.StrategyResponse(
        request_id=request.request_id, strategy_name="; then ".join((advice.words, *advice.then)),
        advice=advice.reason, confidence=float(item.decision.probabilities[0][advice.action]),
        used_llm=advice.used_llm, source="cache" if advice.cached else advice.source,
    )  # fmt: skip
    answer.actions.add(action=advice.action, weight=1.0, reason=advice.reason)
    return answer


def stepped_in(
    question: Question, served: ServedPolicy, given: Given, refusal: RefusedError
) -> events_pb2.LearningDecisionResponse:
    """What was found in place of the answer that was refused."""
    answer = events_pb2.LearningDecisionResponse(
        request_id=question.request.request_id, policy=served.identity, fallback=given.reason
    )
    fill(answer, question, served.spec, given.decision)
    answer.fallback_reason = f"{given.who}: {refusal}"
    answer.strategy_name = f"fallback {given.who}"
    if question.hints is not None:
        write_hints(answer, question.hints)
    return answer


def write_hints(answer: events_pb2.LearningDecisionResponse, hints: Hints) -> None:
    """What the knowledge graph says about the state."""
    if hints.strategy_name and not answer.fallback:
        answer.strategy_name = hints.strategy_name
    for kind, claims in (("synergy", hints.synergies), ("counter", hints.counters)):
        for claim in claims[:MOST_HINTS]:
            answer.hints.append(
                events_pb2.Hint(
                    kind=kind,
                    subjects=[claim["a"], claim["b"], *claim["others"]],
                    words=sentence(claim),
                    **{name: claim[name] for name in ("channel", "strength", "low", "high", "evidence")},
                )
            )
