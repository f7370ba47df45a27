"""`embedded` and `embedded:FILE`: the bus of this machine, on a NATS server of its own (`local_server.py`).

Its store is a folder beside FILE, `bus.nats` for `bus.sqlite`. Earlier versions kept the bus in FILE itself, a log in
SQLite; where there is one it is read into the stream once, and renamed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from google.protobuf.message import DecodeError

from jimbot.clients import nats_bus
from jimbot.clients.bus_contract import BusSettings
from jimbot.clients.nats_bus import NatsBus
from jimbot.errors import NotWritableError, UsageError
from jimbot.proto.events_pb2 import Event
from jimbot.proto.topics import topic
from jimbot.runs.files import open_database
from jimbot.services.bus import local_server

SCHEME = "embedded"
DEFAULT_PATH = Path("runs/bus.sqlite")
OLD_FORMAT = 1
BATCH = 256
_log = logging.getLogger("jimbot.services")


def file_of(address: str) -> Path:
    """The FILE of an address."""
    return Path(address.partition(":")[2] or DEFAULT_PATH).resolve()


def store_of(address: str) -> Path:
    """The folder in which the bus of an address keeps its events.

    >>> store_of("embedded:/data/bus.sqlite"), store_of("embedded:/data/other")
    (PosixPath('/data/bus.nats'), PosixPath('/data/other.nats'))
    """
    path = file_of(address)
    return path.with_name(path.name.removesuffix(".sqlite") + ".nats")


async def open_bus(address: str, settings: BusSettings = BusSettings()) -> NatsBus:
    """Joins the server of the address, or starts it."""
    start = partial(local_server.join, store_of(address), settings.power_safe)
    nats_bus.require_client()
    server = await asyncio.to_thread(start)
    bus = await nats_bus.open_bus(server.address, settings, f"{SCHEME}:{file_of(address)}", start)
    try:
        await _read_old_log(file_of(address), bus)
    except BaseException:
        await bus.close()
        raise
    return bus


async def _read_old_log(path: Path, bus: NatsBus) -> None:
    """Publishes what a log in SQLite holds, in its order, and gives its durable readers their places. An event that
    the stream has already is not published again, so a process that is killed half-way goes on where it was."""
    if not path.is_file():
        return
    known = {event.event_id: event.sequence async for event in bus.replay(["*"])}
    places: list[tuple[int, int]] = []

    async def publish(rows: list[tuple[int, bytes]]) -> None:
        events = []
        for number, body in rows:
            with suppress(DecodeError, UsageError):  # bytes of another program
                event = Event.FromString(body)
                if topic(event.topic).durable:
                    events.append((number, event))
        stored = await asyncio.gather(*(bus.store(event) for _, event in events if event.event_id not in known))
        known.update(zip((event.event_id for _, event in events if event.event_id not in known),
                         (place for place, _ in stored), strict=True))  # fmt: skip
        places.extend((number, known[event.event_id]) for number, event in events)

    try:
        with closing(open_database(path, 5.0)) as database:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version != OLD_FORMAT:
                raise UsageError(f"The bus's log {path} has format {version}; expected {OLD_FORMAT}. Move it away.")
            found = database.execute("SELECT sequence, body FROM events ORDER BY sequence")
            while rows := found.fetchmany(BATCH):
                await publish(rows)
            for name, position in database.execute("SELECT name, position FROM readers WHERE durable").fetchall():
                first = next((place for number, place in places if number > position), None)
                await bus.keep_place(name, first)
    except sqlite3.DatabaseError as problem:
        raise NotWritableError(f"{path} is no bus's log: {problem}. Name another file: embedded:FILE.") from problem
    moved = path.with_name(path.name + ".migrated")
    with suppress(FileNotFoundError):  # another process was as quick
        os.replace(path, moved)
        _log.warning("The %d events of %s are in the bus's new store now; the file is %s.", len(places), path, moved)
