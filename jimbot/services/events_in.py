"""A door for mods that push what happens in a game: `jimbot host events`, WebSocket and HTTP on one port.

What they send is read and checked, counted by `Ingest` and handed to the bus. Needs the extra `events`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from google.protobuf.struct_pb2 import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from jimbot.doors.access import Bearers, Tokens
from jimbot.doors.guard import Door, Limits
from jimbot.doors.listening import guarded_server
from jimbot.errors import UnknownNameError, UnreadableError, UsageError
from jimbot.proto.events_pb2 import LiveEvent
from jimbot.reading.plain import as_text, json_value
from jimbot.services.bus.publisher import BackgroundPublisher

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


TOPIC = "live.event"
MOST_WAITING = 10_000


class Acknowledgement(NamedTuple):
    """What became of one message."""

    accepted: int
    dropped: int
    """There was no room; sending them again later may help."""
    refused: dict[int, str]
    """By place in the message: why an event can never be taken."""
    batch_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        status = "ok" if not (self.dropped or self.refused) else "partial" if self.accepted else "error"
        refused = [{"index": index, "error": error} for index, error in self.refused.items()]
        named = {"batch_id": self.batch_id} if self.batch_id else {}
        return {
            "type": "ack", "status": status, "accepted": self.accepted, "dropped": self.dropped, "refused": refused,
            **named,
        }  # fmt: skip


class Ingest:
    """Takes messages, publishes events."""

    def __init__(self, publisher: BackgroundPublisher) -> None:
        self._publisher = publisher
        self.taken: Counter[str] = Counter()
        """By type."""
        self.dropped = self.refused = self.messages = 0

    def take(self, body: str | bytes) -> Acknowledgement:
        """One message from outside; never raises for what is in it."""
        self.messages += 1
        try:
            message = read_message(body)
        except UsageError as problem:
            self.refused += 1
            return Acknowledgement(0, 0, {0: str(problem)})
        accepted, dropped, refused = 0, 0, {}
        for index, event in enumerate(message.events):
            sentence = event if isinstance(event, str) else None
            if not isinstance(event, str):
                live = _message(event)
                if live.ByteSize() > LARGEST_EVENT:
                    sentence = f"A {event.type} has {live.ByteSize():,} bytes; {LARGEST_EVENT:,} are the most."
                elif self._publisher.offer(TOPIC, live, event.game_id, event.event_id):
                    self.taken[event.type] += 1
                    accepted += 1
                else:
                    dropped += 1
            if sentence is not None:
                refused[index] = sentence
        self.dropped, self.refused = self.dropped + dropped, self.refused + len(refused)
        return Acknowledgement(accepted, dropped, refused, message.batch_id)

    def stats(self) -> dict[str, Any]:
        """What happened so far."""
        return {
            "status": "ok", "messages": self.messages, "accepted": self.taken.total(), "by_type": dict(self.taken),
            "dropped": self.dropped, "refused": self.refused, "waiting": self._publisher.waiting,
            "published": self._publisher.published, "bus": self._publisher.address,
        }  # fmt: skip


def _message(event: Pushed) -> LiveEvent:
    data = Struct()
    data.update(event.data)
    return LiveEvent(type=event.type, game_id=event.game_id, timestamp=event.timestamp, data=data)


PING_SECONDS, PONG_SECONDS = 30.0, 10.0
RETRY_SECONDS = "1"


def event_app(ingest: Ingest) -> Starlette:
    """Everything that is answered."""

    async def socket(connection: WebSocket) -> None:
        await connection.accept()
        try:
            while True:
                message = await connection.receive()
                if message["type"] == "websocket.disconnect":
                    return
                await connection.send_json(ingest.take(message.get("text") or message.get("bytes") or b"").to_dict())
        except WebSocketDisconnect:  # gone before its acknowledgement; what it sent was taken
            return

    async def post(request: Request) -> JSONResponse:
        return _answer(ingest.take(await request.body()))

    async def health(request: Request) -> JSONResponse:
        return JSONResponse(ingest.stats())

    return Starlette(
        routes=[
            WebSocketRoute("/", socket),
            WebSocketRoute("/events", socket),
            Route("/api/v1/events", post, methods=["POST"]),
            Route("/api/v1/events/batch", post, methods=["POST"]),
            Route("/health", health),
        ]
    )


def event_server(
    ingest: Ingest, host: str, port: int, token_file: Path | None = None, limits: Limits = Limits()
) -> uvicorn.Server:
    """The server, ready to `run`; it ends in order on SIGTERM and Ctrl+C."""
    access = Bearers(Tokens(token_file)) if token_file is not None else None
    door = Door(
        access, largest_body=LARGEST_MESSAGE, untyped=True, reads_json=False, refusal=_refusal, limits=limits
    )  # fmt: skip
    return guarded_server(
        event_app(ingest), door, host, port, ws="websockets-sansio", ws_max_size=LARGEST_MESSAGE,
        ws_ping_interval=PING_SECONDS, ws_ping_timeout=PONG_SECONDS,
    )  # fmt: skip


def _answer(done: Acknowledgement) -> JSONResponse:
    """200 where something was taken or nothing was sent; mods count any 2xx as success, so loss must not be one."""
    if done.dropped:
        return JSONResponse(done.to_dict(), 503, {"Retry-After": RETRY_SECONDS})
    return JSONResponse(done.to_dict(), 400 if done.refused and not done.accepted else 200)


def _refusal(scope: Mapping[str, Any], status: int, sentence: str) -> tuple[int, bytes]:
    return status, json.dumps(Acknowledgement(0, 0, {0: sentence}).to_dict()).encode()
