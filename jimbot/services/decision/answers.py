"""Answers as messages: the action as number, label and parts, how sure the policy is, and who it was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jimbot.advisor.reply import Advice
from jimbot.games.spec import GameSpec
from jimbot.knowledge.records import Hints, sentence
from jimbot.proto.events_pb2 import (
    Action,
    Alternative,
    Hint,
    LearningDecisionResponse,
    PolicyIdentity,
    StrategyRequest,
    StrategyResponse,
)
from jimbot.services.decision.choosing import choose
from jimbot.services.decision.fallback import Given
from jimbot.services.decision.lane import Item
from jimbot.services.decision.question import Question
from jimbot.services.decision.refusal import RefusedError
from jimbot.services.decision.served import ServedPolicy

Words = Callable[[int], str | None] | None


MOST_HINTS = 5  # of each kind
_FEW = 64  # so many numbers Python sorts as fast, and without letting go of the interpreter
_known: dict[tuple[str, int], Action] = {}  # by fingerprint of the game's actions and number


def action_message(spec: GameSpec, action: int, words: Words = None) -> Action:
    """One action in every form a caller may want; without words it is shared, so copy it."""
    key = (spec.actions.fingerprint, action)
    message = _known.get(key)
    if message is None:
        message = _known[key] = _described(spec, action)
    if words is not None and (told := words(action)):
        plain, message = message, Action(words=told)
        message.MergeFrom(plain)
    return message


def _described(spec: GameSpec, action: int) -> Action:
    number = int(spec.actions.block_of[action])
    block = spec.actions.blocks[number]
    message = Action(number=action, label=spec.actions.label(action), block=block.name)
    if block.rows:
        first = int(np.searchsorted(spec.actions.block_of, number))
        message.items.extend(block.rows[action - first])
        message.field = block.field
    return message


def fill(
    answer: LearningDecisionResponse,
    spec: GameSpec,
    action: int,
    probabilities: np.ndarray,
    value: float,
    alternatives: int,
    words: Words = None,
) -> None:
    """Writes a decision over (A,) probabilities into its message."""
    answer.selected_action.CopyFrom(action_message(spec, action, words))
    answer.confidence = float(probabilities[action])
    answer.value = float(value)
    best = [(other, value) for other, value in _best_first(probabilities, alternatives + 1) if other != action]
    for other, probability in best[:alternatives]:
        answer.alternatives.append(Alternative(action=action_message(spec, other, words), probability=probability))


def computed(question: Question, served: ServedPolicy, item: Item) -> LearningDecisionResponse:
    """What a policy answered."""
    assert item.decision is not None
    request = question.request
    probabilities = item.decision.probabilities[0]
    chosen = int(item.decision.actions[0])
    if question.choosing.sample:
        chosen = choose(probabilities, question.choosing, request.request_id)
    answer = LearningDecisionResponse(request_id=request.request_id, policy=served.identity)
    value, words = item.decision.values[0], question.sight.words
    fill(answer, served.spec, chosen, probabilities, value, question.alternatives, words)
    answer.strategy_name = strategy_name(answer.policy)
    answer.timing.queue_ms, answer.timing.inference_ms = item.queue_ms, item.inference_ms
    answer.timing.batch_size = item.batch_rows
    if question.hints is not None:
        write_hints(answer, question.hints)
    return answer


def take_advice(
    answer: LearningDecisionResponse, question: Question, served: ServedPolicy, item: Item, advice: Advice
) -> None:
    """Puts an adviser's move in the place of the policy's, which becomes an alternative."""
    assert item.decision is not None
    del answer.alternatives[:]
    probabilities, value, words = item.decision.probabilities[0], item.decision.values[0], question.sight.words
    fill(answer, served.spec, advice.action, probabilities, value, question.alternatives, words)
    answer.used_llm = advice.used_llm
    answer.advice = f"{advice.source}: {advice.reason}"


def strategy_message(request: StrategyRequest, item: Item, advice: Advice) -> StrategyResponse:
    """Advice as the bus carries it."""
    assert item.decision is not None
    answer = StrategyResponse(
        request_id=request.request_id, strategy_name="; then ".join((advice.words, *advice.then)),
        advice=advice.reason, confidence=float(item.decision.probabilities[0][advice.action]),
        used_llm=advice.used_llm, source="cache" if advice.cached else advice.source,
    )  # fmt: skip
    answer.actions.add(action=advice.action, weight=1.0, reason=advice.reason)
    return answer


def stepped_in(
    question: Question, served: ServedPolicy, given: Given, refusal: RefusedError
) -> LearningDecisionResponse:
    """What was found in place of the answer that was refused."""
    decision = given.decision
    answer = LearningDecisionResponse(
        request_id=question.request.request_id, policy=served.identity, fallback=given.reason
    )
    action = int(decision.actions[0])
    words = question.sight.words
    fill(answer, served.spec, action, decision.probabilities[0], decision.values[0], question.alternatives, words)
    answer.fallback_reason = f"{given.who}: {refusal}"
    answer.strategy_name = f"fallback {given.who}"
    if question.hints is not None:
        write_hints(answer, question.hints)
    return answer


def write_hints(answer: LearningDecisionResponse, hints: Hints) -> None:
    """What the knowledge graph says about the state."""
    if hints.strategy_name and not answer.fallback:
        answer.strategy_name = hints.strategy_name
    for kind, claims in (("synergy", hints.synergies), ("counter", hints.counters)):
        for claim in claims[:MOST_HINTS]:
            answer.hints.append(
                Hint(
                    kind=kind,
                    subjects=[claim["a"], claim["b"], *claim["others"]],
                    words=sentence(claim),
                    **{name: claim[name] for name in ("channel", "strength", "low", "high", "evidence")},
                )
            )


def strategy_name(identity: PolicyIdentity) -> str:
    """Who decided, in one word for people."""
    return f"{identity.game}/{identity.name}"


def _best_first(probabilities: np.ndarray, count: int) -> list[tuple[int, float]]:
    """The most probable actions and how probable, best first, none that is illegal."""
    top = probabilities.nonzero()[0]
    if len(top) > max(count, _FEW):
        top = top[probabilities[top].argpartition(-count)[-count:]]
    found = zip(top.tolist(), probabilities[top].tolist(), strict=True)
    return sorted(found, key=lambda one: (-one[1], one[0]))[:count]
