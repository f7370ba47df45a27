"""What came back, read as if it were hostile: one call of one tool that names one legal move, or nothing.

Nothing an answer says is carried out but a move of the list it was given; its reason is shown and stored as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jimbot.adviser.metrics import OUTCOMES
from jimbot.adviser.question import Move, Question, quoted
from jimbot.errors import JimbotError

TOOL = "choose_move"
LONGEST_REASON, MOST_STEPS = 500, 6


class NoAdviceError(JimbotError):
    """There is no advice; `outcome` is why, one of `metrics.OUTCOMES`."""

    def __init__(self, outcome: str, details: str = "") -> None:
        super().__init__(f"{OUTCOMES[outcome]}.{' ' + details if details else ''}")
        self.outcome = outcome


@dataclass(frozen=True)
class Advice:
    """One legal move, and why."""

    action: int
    label: str
    words: str
    reason: str
    source: str
    """Who said it: a model's name, or planner."""
    used_llm: bool
    then: tuple[str, ...] = ()
    """A plan: the moves that shall follow, in words, each only if it is legal then."""
    cached: bool = False

    def again(self) -> Advice:
        return replace(self, cached=True)


def tool() -> dict[str, Any]:
    """The one tool. It is the same for every question, so that the service's cache can keep it; which moves are legal
    is sent with the table and checked here."""
    return {
        "name": TOOL,
        "description": "Name the move to make now. Call it exactly once.",
        "input_schema": {
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "description": "The move to make now: the `action` of one of legal_moves, letter by letter.",
                },
                "reason": {"type": "string", "description": "Why, in one or two sentences."},
                "then": {
                    "type": "array",
                    "items": {"type": "string"},
                    "maxItems": MOST_STEPS,
                    "description": "Only for a plan, as in a shop: the `action` of other legal_moves to make after "
                    "it, in order. Leave it out where chance decides in between.",
                },
            },
            "required": ["action", "reason"],
        },
    }


def read_reply(message: Any, question: Question, source: str) -> Advice:
    """A message of the Messages API (as plain values) → advice; a NoAdviceError says why it is none."""
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list):
        raise NoAdviceError("malformed")
    stopped = message.get("stop_reason")
    if stopped == "refusal":
        raise NoAdviceError("declined")
    if stopped == "max_tokens":
        raise NoAdviceError("cut_off")
    calls = [part for part in message["content"] if isinstance(part, Mapping) and part.get("type") == "tool_use"]
    if not calls or any(call.get("name") != TOOL for call in calls):
        raise NoAdviceError("no_tool_call")
    if len(calls) > 1:
        raise NoAdviceError("several_calls")
    said = calls[0].get("input")
    if not isinstance(said, Mapping) or not isinstance(said.get("action"), str):
        raise NoAdviceError("bad_call")
    move = find_move(said["action"], question)
    reason = said.get("reason")
    reason = quoted(" ".join(reason.split()), LONGEST_REASON) if isinstance(reason, str) else ""
    return Advice(move.action, move.label, move.words, reason, source, True, _plan(said.get("then"), move, question))


def find_move(named: str, question: Question) -> Move:
    """The legal move of this label, or the only one of these words."""
    named = " ".join(named.split())
    for move in question.moves:
        if move.label == named:
            return move
    fitting = [move for move in question.moves if " ".join(move.words.split()) == named]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise NoAdviceError("ambiguous_move", f"'{quoted(named, 60)}' fits {len(fitting)} legal moves.")
    known = named in question.entry.spec.actions.labels
    raise NoAdviceError("illegal_move" if known else "unknown_move", f"It named '{quoted(named, 60)}'.")


def _plan(then: Any, first: Move, question: Question) -> tuple[str, ...]:
    """The steps of a plan in words, as far as each is a legal move of now; the rest is left out."""
    steps: list[str] = []
    for named in then[:MOST_STEPS] if isinstance(then, list) else ():
        try:
            move = find_move(named, question) if isinstance(named, str) else first
        except NoAdviceError:
            break
        if move is first:
            break
        steps.append(move.words)
    return tuple(steps)
