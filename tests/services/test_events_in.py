"""`jimbot host events`: real clients over sockets, and what becomes of what they push."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websockets.sync.client as ws
from websockets.exceptions import ConnectionClosed, InvalidStatus

from jimbot.cli import main
from jimbot.clients import EventBusClient
from jimbot.clients.event_bus import unpacked
from jimbot.errors import UsageError
from jimbot.services import events_in
from jimbot.services.bus.publisher import BackgroundPublisher

PLAYED = {"type": "hand_played", "timestamp": 1763350000.5, "game_id": "g1", "data": {"hand": "Flush", "score": 420}}


class Door:
    """A running server on a bus of its own."""

    def __init__(self, bus: Path, most_waiting: int) -> None:
        self.address = f"embedded:{bus}"
        self.publisher = BackgroundPublisher(self.address, most_waiting)
        self.ingest = events_in.Ingest(self.publisher)
        self.server = events_in.event_server(self.ingest, "127.0.0.1", 0)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def socket(self, path: str = "/events", **more: Any) -> Any:
        return ws.connect(f"ws://127.0.0.1:{self.port}{path}", **more)

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("POST", path, data, headers)
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        self.publisher.close()

    def published(self) -> list[Any]:
        """Everything on the bus, after the door is closed."""
        self.stop()

        async def read() -> list[Any]:
            async with EventBusClient(self.address) as client:
                return [(event.order_key, unpacked(event)) async for event in client.replay(["live.event"], 0)]

        return asyncio.run(read())


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    door = Door(tmp_path / "bus.sqlite", 1000)
    yield door
    door.stop()


def test_events_pushed_over_a_socket_are_acknowledged_and_published(door: Door) -> None:
    with door.socket() as socket:
        socket.send(json.dumps(PLAYED))
        assert json.loads(socket.recv(10)) == {
            "type": "ack", "status": "ok", "accepted": 1, "dropped": 0, "refused": [],
        }  # fmt: skip
        batch = [{**PLAYED, "type": kind, "game_id": "g2"} for kind in sorted(events_in.TYPES)]
        socket.send(json.dumps({"events": batch, "batch_id": "b7"}).encode())
        answer = json.loads(socket.recv(10))
        assert (answer["accepted"], answer["batch_id"]) == (len(events_in.TYPES), "b7")
    events = door.published()
    assert len(events) == 1 + len(events_in.TYPES)
    key, first = events[0]
    assert (key, first.type, first.game_id, first.timestamp) == ("g1", "hand_played", "g1", 1763350000.5)
    assert dict(first.data) == {"hand": "Flush", "score": 420}
    assert [event.type for _, event in events[1:]] == sorted(events_in.TYPES)  # in the order they were sent


def test_the_same_over_http_with_an_honest_status(door: Door) -> None:
    assert door.post("/api/v1/events", PLAYED)[0] == 200
    status, answer = door.post("/api/v1/events/batch", [PLAYED, {"type": "hand_plaid"}, "nonsense"])
    assert (status, answer["status"], answer["accepted"]) == (200, "partial", 1)
    assert [one["index"] for one in answer["refused"]] == [1, 2]
    assert "Did you mean 'hand_played'?" in answer["refused"][0]["error"]
    assert door.post("/api/v1/events", {"type": "nothing"})[0] == 400
    assert door.post("/api/v1/events", b'{"type": "hand_')[0] == 400
    assert door.post("/api/v1/events", b" " * (events_in.LARGEST_MESSAGE + 1))[0] == 413
    assert door.ingest.stats()["accepted"] == 2
    assert len(door.published()) == 2


def test_a_mod_that_writes_otherwise_is_understood(door: Door) -> None:
    """Capitals, `payload`, milliseconds as fractions, `{}` for a list: the mod that pushes over HTTP."""
    event = {"type": "GAME_STATE", "source": "BalatroMCP", "payload": {"game_id": 12, "jokers": {}, "chips": 1e300},
             "event_id": "e1", "timestamp": 5123.25, "version": 1, "new_key": True}  # fmt: skip
    batch = {"batch_id": "b", "events": [event, event], "source": "BalatroMCP", "timestamp": 1}
    assert door.post("/api/v1/events/batch", batch)[1]["accepted"] == 2
    assert door.post("/api/v1/events/batch", {"events": {}})[1]["accepted"] == 0
    (key, told), *others = door.published()
    assert (key, told.type, told.timestamp) == ("12", "game_state", 5123.25)
    assert not others, "an event that is sent again under its id is published once"


def test_what_does_not_fit_is_dropped_counted_and_told(tmp_path: Path) -> None:
    door = Door(tmp_path / "no" / "bus.sqlite", 5)  # a bus that cannot be opened takes nothing
    (tmp_path / "no").write_text("a file where its folder should be")
    with door.socket("/") as socket:
        socket.send(json.dumps([PLAYED] * 9))
        answer = json.loads(socket.recv(10))
    assert answer["accepted"] + answer["dropped"] == 9
    assert answer["dropped"] >= 4
    assert answer["status"] == "partial"
    status, answer = door.post("/api/v1/events", PLAYED)
    assert (status, answer["dropped"]) == (503, 1)
    assert door.ingest.stats()["dropped"] >= 5
    door.stop()


def test_a_page_in_a_browser_may_not_push(door: Door) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)):
        door.socket(origin="https://example.com").recv(10)
    assert door.post("/api/v1/events", PLAYED, Origin="https://example.com")[0] == 403
    assert door.post("/api/v1/events", PLAYED, Origin="http://localhost:3000")[0] == 403
    assert door.post("/api/v1/events", PLAYED, Origin=f"http://127.0.0.1:{door.port}")[0] == 200


def test_a_socket_that_sends_nonsense_stays_open(door: Door) -> None:
    with door.socket() as socket:
        for body, words in (
            ("{", "not JSON"), ("[1]", "expected an object"), ("7", "expected an event"), ('"x"', "expected an event"),
            ('{"events": 3}', "expected a list"), ('{"type": "action", "timestamp": NaN}', "NaN"),
            (b"\xff\xfe", "UTF-8"), (json.dumps([PLAYED] * (events_in.MOST_EVENTS + 1)), "are the most"),
            (json.dumps({**PLAYED, "data": {"x": "y" * events_in.LARGEST_EVENT}}), "are the most"),
        ):  # fmt: skip
            socket.send(body)
            answer = json.loads(socket.recv(10))
            assert answer["status"] == "error"
            assert words in answer["refused"][0]["error"]
        socket.send(json.dumps(PLAYED))
        assert json.loads(socket.recv(10))["accepted"] == 1


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"timestamp": 1}, "Unknown type of event 'None'"),
        ({"type": "action", "timestamp": True}, "'timestamp' is True"),
        ({"type": "action", "timestamp": "yesterday"}, "a date like"),
        ({"type": "action", "data": [1]}, "'data' of a action is [1]"),
        ({"type": "action", "game_id": {"a": 1}}, "'game_id' is {'a': 1}"),
        ({"type": "action", "event_id": "x" * 300}, "'event_id' is 'xxx"),
    ],
)
def test_a_wrong_event_is_refused_in_a_sentence(event: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        events_in.read_event(event)
    assert words in str(refused.value)


def test_dates_and_numbers_are_times() -> None:
    assert events_in.read_event({"type": "action", "timestamp": "1970-01-01T00:01:00+00:00"}).timestamp == 60
    assert events_in.read_message('{"type": "ACTION", "game_id": 5}').events[0].game_id == "5"


def test_the_command_refuses_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    for words, sentence in (
        (["--host", "0.0.0.0"], "listen on 127.0.0.1"),
        (["--bus", "kafka://x"], "kafka"),
        (["--queue-size", "0"], "--queue-size"),
    ):
        assert main.run(["host", "events", *words]) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
    assert main.run(["host", "balatr"]) == 2
    assert "Did you mean 'balatro'?" in capsys.readouterr().err
