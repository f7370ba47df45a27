"""Events as mods send them: `{type, timestamp, game_id, data}`, one or many per message.

Mods differ: some write types in capitals, say `payload` for `data` (and `{}` for an empty list), or count time in
seconds since their start. What is understood is one table; everything inside `data` is the mod's own business.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from jimbot.errors import UnknownNameError, UnreadableError, UsageError
from jimbot.reading.plain import as_text, json_value

PUSHED_BY_SOCKET = (
    "game_start", "game_over", "hand_played", "shop_entered", "shop_exited", "card_purchased", "card_sold",
    "blind_selected", "blind_defeated", "joker_triggered", "action", "state_change", "round_start", "round_end",
    "ante_change", "booster_opened", "heartbeat",
)  # fmt: skip
PUSHED_BY_HTTP = (  # written in capitals there
    "game_state", "money_changed", "score_changed", "cards_discarded", "jokers_changed", "round_changed",
    "phase_changed", "round_complete", "joker_trigger", "learning_decision", "error", "connection_test",
)  # fmt: skip
TYPES = frozenset((*PUSHED_BY_SOCKET, *PUSHED_BY_HTTP))
LARGEST_MESSAGE = 2**20  # bytes
LARGEST_EVENT = 2**16
MOST_EVENTS = 1000  # of one message
DEEPEST = 32  # lists and objects inside each other; what goes on from here holds no more
LONGEST_NAME = 200  # characters of an id


class Pushed(NamedTuple):
    """One event that can be published."""

    type: str
    game_id: str
    timestamp: float
    """As it was sent; seconds since 1970 where it was a date."""
    data: dict[str, Any]
    event_id: str


class Message(NamedTuple):
    """What one message holds."""

    events: list[Pushed | str]
    """Each event, or the sentence it is refused with."""
    batch_id: str


def read_message(body: str | bytes) -> Message:
    """One event, a list of them, or `{events: [...], batch_id}`; a UsageError where the message is none of these."""
    size = len(body if isinstance(body, bytes) else body.encode(errors="replace"))
    if size > LARGEST_MESSAGE:
        raise UsageError(f"The message has {size:,} bytes; {LARGEST_MESSAGE:,} are the most. Send fewer events.")
    try:
        value = json_value(as_text(body) if isinstance(body, bytes) else body, deepest=DEEPEST)
    except UnreadableError as problem:
        raise UsageError(f"The message is not JSON: {problem}. Send an event as a JSON object.") from problem
    batch_id = ""
    if isinstance(value, Mapping) and "events" in value:
        batch_id = _name(value.get("batch_id", ""), "batch_id")
        value = value["events"] if value["events"] != {} else []  # an empty list, as Lua writes it
        if not isinstance(value, list):
            raise UsageError(f"'events' is {_shown(value)}; expected a list of events.")
    elif isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        raise UsageError(f"The message is {_shown(value)}; expected an event, or a list of events.")
    if len(value) > MOST_EVENTS:
        raise UsageError(f"The message has {len(value):,} events; {MOST_EVENTS:,} are the most. Send several messages.")
    return Message([_event_or_sentence(one) for one in value], batch_id)


def read_event(value: Any) -> Pushed:
    """One event; a UsageError that says what is wrong with it."""
    if not isinstance(value, Mapping):
        raise UsageError(f"An event is {_shown(value)}; expected an object with type, timestamp, game_id and data.")
    kind = value.get("type")
    if not isinstance(kind, str) or kind.lower() not in TYPES:
        raise UnknownNameError("type of event", str(kind)[:LONGEST_NAME], TYPES)
    data = value.get("data", value.get("payload", {}))
    if data == []:  # an empty object, as other mods write it
        data = {}
    if not isinstance(data, Mapping):
        raise UsageError(f"'data' of a {kind} is {_shown(data)}; expected an object.")
    game_id = value.get("game_id", data.get("game_id", ""))
    return Pushed(
        kind.lower(),
        _name(game_id, "game_id"),
        _time(value.get("timestamp", 0.0)),
        dict(data),
        _name(value.get("event_id", ""), "event_id"),
    )


def _event_or_sentence(value: Any) -> Pushed | str:
    try:
        return read_event(value)
    except UsageError as problem:
        return str(problem)


def _time(value: Any) -> float:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            raise UsageError(
                f"'timestamp' is '{value[:40]}'; expected a number or a date like 2026-11-17T03:00:00Z."
            ) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"'timestamp' is {_shown(value)}; expected a number of seconds or milliseconds.")
    return float(value)


def _name(value: Any, what: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise UsageError(f"'{what}' is {_shown(value)}; expected a text of at most {LONGEST_NAME} characters.")
    return value


def _shown(value: Any) -> str:
    """A value in a sentence, whatever it is."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
