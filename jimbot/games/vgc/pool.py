"""Several simulator processes with many battles each, and what happens when one of them dies or hangs.

Work is sent and received in two calls, so that one group of battles can be simulated while a policy thinks about the
other. Every piece of work has a deadline, whose clock runs while a caller waits. A process that dies or misses it is
ended, replaced and counted by name; the battles it held are lost, and the caller gets an error, is never left
waiting.
"""

from __future__ import annotations

import itertools
import json
import logging
import selectors
import time
import weakref
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jimbot.errors import SimulatorError, UsageError
from jimbot.games.vgc import fields, wire
from jimbot.games.vgc.options import Options
from jimbot.games.vgc.wire import Kind
from jimbot.games.vgc.worker import LOT, WorkerProcess, check_greeting
from jimbot.processes import last_line

_log = logging.getLogger("jimbot.games.vgc")

START_SECONDS = 60.0
"""A process loads the game's data in a few seconds; a busy machine gets its time."""
MOST_FAILED_STARTS = 3
WHY = {
    "worker_died": "its process died",
    "worker_hung": "its process did not answer within {seconds:g} s",
}
MAKES_BATTLES = (Kind.START, Kind.RESTORE)


def settings_of(options: Options, opponent: str = "") -> dict[str, Any]:
    """What a simulator process is configured with; `opponent` names the heuristic that plays the second side."""
    return {
        "format": options.format_id,
        "open_team_sheets": options.open_team_sheets,
        "players": ["", opponent],
        "patch": options.fast_handlers,
        "turn_limit": options.turn_limit,
        "vocabulary": str(fields.VOCABULARY_FILE),
        "layout": fields.layout(),
        "teams": [],
    }


@dataclass
class Ticket:
    """A piece of work for one process."""

    number: int
    worker: int
    battles: tuple[int, ...]
    since: float
    """When the process could begin with it (time.monotonic)."""
    answer: bytes | None = None
    lost: bool = False
    refusal: str = ""

    @property
    def settled(self) -> bool:
        return self.answer is not None or self.lost or bool(self.refusal)


@dataclass
class Seat:
    """The place of a process in the pool; processes come and go."""

    process: WorkerProcess | None = None
    waiting: deque[Ticket] = field(default_factory=deque)
    holds: set[int] = field(default_factory=set)  # battles the present process knows


class Pool:
    """`workers` processes configured alike; `seat_of` says which of them holds a battle."""

    def __init__(self, settings: Mapping[str, Any], workers: int, deadline: float) -> None:
        self.settings = dict(settings)
        self.deadline = deadline
        self.events: Counter[str] = Counter()
        """worker_died, worker_hung, worker_replaced, …: what went wrong, by name."""
        self._tickets = itertools.count(1)
        self._seats = [Seat() for _ in range(workers)]
        self._failed_starts = 0
        self.last_failure = ""
        """Why the last process that failed did, in words."""
        self._row = wire.row_type(self.settings["layout"]["size"])
        self._vocabulary = fields.vocabulary_fingerprint()
        self._processes: list[WorkerProcess] = []
        self._finalizer = weakref.finalize(self, _end_all, self._processes)
        for seat in self._seats:
            self._fill(seat)

    @property
    def workers(self) -> int:
        return len(self._seats)

    @property
    def pids(self) -> list[int]:
        """The processes alive now, for tests and monitors."""
        return [seat.process.pid for seat in self._seats if seat.process is not None]

    def greeting(self) -> dict[str, Any]:
        """What the first process says of itself, once it is ready."""
        self._until(lambda: self._greeted(self._seats[0]))
        process = self._seats[0].process
        return dict((process.greeted or {}) if process else {})

    def seat_of(self, battle: int) -> int:
        """Round by round, each one place further: stepping every other battle keeps all processes busy, too."""
        return (battle + battle // self.workers) % self.workers

    # --- work ---

    def send(self, kind: Kind, entries: Mapping[int, bytes]) -> list[Ticket]:
        """Hands out entries (battle → bytes), one frame per process; `receive` takes the tickets."""
        tickets = []
        for number, seat in enumerate(self._seats):
            mine = [battle for battle in entries if self.seat_of(battle) == number]
            if not mine:
                continue
            gone = [] if kind in MAKES_BATTLES else [battle for battle in mine if battle not in seat.holds]
            known = [battle for battle in mine if battle not in gone]
            if gone:  # their process was replaced since
                tickets.append(Ticket(0, number, tuple(gone), 0.0, lost=True))
            if known:
                payload = b"".join(entries[battle] for battle in known)
                tickets.append(self._post(number, kind, tuple(known), payload))
        return tickets

    def receive(self, tickets: Iterable[Ticket]) -> tuple[np.ndarray, list[int]]:
        """All rows of these tickets, and the battles that were lost with their process."""
        tickets = list(tickets)
        self._until(lambda: all(ticket.settled for ticket in tickets))
        for ticket in tickets:
            if ticket.refusal:
                raise SimulatorError(f"The simulator could not do what it was asked: {ticket.refusal}")
        parts = [np.frombuffer(ticket.answer, self._row) for ticket in tickets if ticket.answer is not None]
        lost = [battle for ticket in tickets if ticket.lost for battle in ticket.battles]
        return (np.concatenate(parts) if parts else np.empty(0, self._row)), lost

    def ask(self, question: Mapping[str, Any], battle: int = 0) -> Any:
        """A rare question, answered in JSON by the process that holds a battle."""
        ticket = self._post(self.seat_of(battle), Kind.ASK, (battle,), json.dumps(dict(question)).encode())
        self._until(lambda: ticket.settled)
        if ticket.answer is None:
            raise SimulatorError(
                f"The simulator could not answer '{question.get('what')}': {ticket.refusal or 'it died'}."
            )
        return json.loads(ticket.answer)

    def usage(self) -> list[dict[str, float]]:
        """What each process has used so far: cpu_seconds and rss_mb."""
        return [self.ask({"what": "usage"}, number) for number in range(self.workers)]

    def close(self) -> None:
        """Ends every process and waits for it (see `worker.Lot` for the exception)."""
        for seat in self._seats:
            if seat.process is not None and not seat.waiting:
                self._processes.remove(seat.process)
                LOT.leave(seat.process)
            seat.process = None
            self._lose(seat)
        self._finalizer()

    # --- inner parts ---

    def _post(self, number: int, kind: Kind, battles: tuple[int, ...], payload: bytes) -> Ticket:
        seat = self._seats[number]
        if not self._finalizer.alive or seat.process is None:
            raise UsageError("The simulator was closed, so it cannot be asked any more. Make the game anew.")
        ticket = Ticket(next(self._tickets), number, battles, time.monotonic())
        _log.debug(
            "ticket %d: %s for %d battles of process %d", ticket.number, kind.name, len(battles), seat.process.pid
        )
        seat.waiting.append(ticket)
        if kind in MAKES_BATTLES:
            seat.holds.update(battles)
        seat.process.post(kind, ticket.number, payload)
        return ticket

    def _fill(self, seat: Seat) -> None:
        seat.process = LOT.take(self.settings)
        self._processes.append(seat.process)
        _log.debug("simulator process %d has a seat", seat.process.pid)

    def _until(self, done: Any) -> None:
        """Reads and writes until `done()`, replacing processes that die or are late. What was answered meanwhile
        may be stuck in a full pipe, so no process is late before this began."""
        began = time.monotonic()
        while not done():
            limit = min(self._time_left(seat, began) for seat in self._seats)
            with selectors.DefaultSelector() as selector:
                for seat in self._seats:
                    if seat.process is None:
                        continue
                    selector.register(seat.process.output, selectors.EVENT_READ, seat)
                    if seat.process.has_mail:
                        selector.register(seat.process.input, selectors.EVENT_WRITE, seat)
                ready = {id(key.data): key.data for key, _ in selector.select(max(0.0, limit))}
            for seat in ready.values():
                self._serve(seat)
            for seat in self._seats:
                if seat.process is not None and self._time_left(seat, began) <= 0.0:
                    self._replace(seat, "worker_hung")

    def _greeted(self, seat: Seat) -> bool:
        return seat.process is not None and seat.process.greeted is not None

    def _time_left(self, seat: Seat, began: float) -> float:
        """Seconds until a caller that waits since `began` must have an answer; plenty where none waits."""
        if seat.process is None:
            return self.deadline
        now = time.monotonic()
        if seat.process.greeted is None:
            return max(seat.process.begun, began) + START_SECONDS - now
        return max(seat.waiting[0].since, began) + self.deadline - now if seat.waiting else self.deadline

    def _serve(self, seat: Seat) -> None:
        process = seat.process
        if process is None:
            return
        try:
            process.flush()
            frames, alive = process.collect()
        except (OSError, ValueError):
            frames, alive = [], False
        for kind, number, payload in frames:
            self._take(seat, process, kind, number, payload)
        if not alive:
            self._replace(seat, "worker_died")

    def _take(self, seat: Seat, process: WorkerProcess, kind: Kind, number: int, payload: bytes) -> None:
        if kind == Kind.HELLO:
            greeting = json.loads(payload)
            check_greeting(greeting, self.settings, self._vocabulary)
            process.greeted = greeting
            self._failed_starts = 0
            for ticket in seat.waiting:  # it could not work while it loaded
                ticket.since = time.monotonic()
            return
        if not seat.waiting or seat.waiting[0].number != number:
            if number == 0:
                raise SimulatorError(f"The simulator could not be set up: {json.loads(payload).get('error')}")
            return  # an answer that is not awaited any more
        ticket = seat.waiting.popleft()
        _log.debug("ticket %d: answered with %d bytes", ticket.number, len(payload))
        if kind == Kind.FAILED:
            ticket.refusal = str(json.loads(payload).get("error"))
        else:
            ticket.answer = payload

    def _replace(self, seat: Seat, reason: str) -> None:
        """Ends a process that failed, gives up what it held, and puts a new one in its place."""
        process = seat.process
        if process is None:
            return
        ready = process.greeted is not None
        complaint = process.complaint()
        self.last_failure = f"{WHY[reason].format(seconds=self.deadline)} ({last_line(complaint) or 'no reason given'})"
        process.end(kindly=False)
        self._processes.remove(process)
        seat.process = None
        self.events[reason] += 1
        _log.warning("simulator process %d: %s; %d battles are lost", process.pid, reason, len(seat.holds))
        self._lose(seat)
        if not ready:
            self._failed_starts += 1
            if self._failed_starts >= MOST_FAILED_STARTS:
                raise SimulatorError(
                    f"The simulator failed to start {self._failed_starts} times in a row: "
                    f"{last_line(complaint) or 'no reason given'}. Check it with: jimbot setup vgc"
                )
        self._fill(seat)
        self.events["worker_replaced"] += 1

    def _lose(self, seat: Seat) -> None:
        seat.holds.clear()
        while seat.waiting:
            seat.waiting.popleft().lost = True


def _end_all(processes: list[WorkerProcess]) -> None:
    while processes:
        processes.pop().end(kindly=False)
