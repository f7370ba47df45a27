"""Calls made safe: nothing is sent twice unless the game's own state says that it did not happen.

A call that is not answered in time, whose connection breaks, or whose answer carries another call's id may have
happened or not. Then the state is read until it stands still, and the state decides. Servers that are away are waited
for; a command of the user's may start them again.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from jimbot.background import Backoff
from jimbot.errors import UsageError
from jimbot.games.hooks.programs import LiveCall, LivePlay, Standing
from jimbot.processes import Child
from jimbot.services.live_play.client import AwayError, Exchange, LiveClient, LiveError, RefusedError, UnansweredError

STARTS = 5  # attempts to leave a run and to start one


@dataclass(frozen=True)
class Timeouts:
    """How long things are waited for, in seconds."""

    deadline: float = 30.0
    """For the answer to a call."""
    settling: float = 60.0
    """For a state that stands still and asks for something."""
    away: float = 60.0
    """For a server nobody reaches; after a restart again as long."""
    pause: float = 0.05
    """Between two looks at the state."""
    restarts: int = 3
    """How often the game may be started again."""


class LostRunError(LiveError):
    """The run that was being played is gone."""


class LiveDriver:
    """One server, safely."""

    def __init__(self, client: LiveClient, play: LivePlay, timeouts: Timeouts = Timeouts(), restart: str = "") -> None:
        self.client, self.play, self.timeouts = client, play, timeouts
        self.counts: Counter[str] = Counter()
        """Calls that were unanswered or refused, looks, restarts."""
        self._restart = _words(restart)
        self.process: Child | None = None
        self.dialect = ""
        self.made: Exchange | None = None
        """The last move as it went over the wire."""

    # --- getting there ---

    def connect(self) -> str:
        """Finds out what listens there; its dialect."""
        discovered = self._surely("rpc.discover")
        try:
            self.dialect = self.play.dialect_of(discovered)
        except UsageError as problem:
            raise LiveError(f"What listens at {self.client.address} is not the game's mod: {problem}") from problem
        return self.dialect

    def begin(self, options: Any, seed: str) -> Any:
        """Leaves whatever runs and starts a run; its first state."""
        start = self.play.start(self.dialect, options, seed)
        for _ in range(STARTS):
            state = self.settled((Standing.IDLE, Standing.ASKING, Standing.OVER))
            if self.play.standing(state) is not Standing.IDLE:
                self._try(LiveCall("menu", {}))
                continue
            self._try(start)
            state = self.settled((Standing.IDLE, Standing.ASKING, Standing.OVER))
            if self.play.standing(state) is Standing.ASKING:
                return state
        raise LiveError(f"No run could be started at {self.client.address} in {STARTS} attempts; look at the game.")

    def _try(self, call: LiveCall) -> None:
        """Makes a call whose effect the next state will show; a refusal is raised at once."""
        try:
            self.client.call(call.method, call.params)
        except UnansweredError:
            self.counts["unanswered"] += 1
        except AwayError:
            self._wait_for_server()

    # --- one move ---

    def make(self, call: LiveCall) -> Any | None:
        """Makes a move. Its answer; None: it was not answered, look at the state. A refusal is raised."""
        check_indices(call)
        try:
            return self.client.call(call.method, call.params)
        except UnansweredError:
            self.counts["unanswered"] += 1
        except RefusedError:
            self.counts["refused"] += 1
            raise
        except AwayError:
            self._wait_for_server()
        finally:
            self.made = self.client.last
        return None

    def settled(self, wanted: tuple[Standing, ...] = (Standing.ASKING, Standing.OVER, Standing.IDLE)) -> Any:
        """The state once it stands still (two looks in a row agree) and is one of those that can be acted in."""
        ends, before, state = time.monotonic() + self.timeouts.settling, None, None
        while True:
            before, state = state, self.look()
            if state is not None and state == before and self.play.standing(state) in wanted:
                return state
            if time.monotonic() > ends:
                seen = state.get("state") if isinstance(state, dict) else state
                raise LiveError(
                    f"The game at {self.client.address} did not come to rest in {self.timeouts.settling:.0f} s; its "
                    f"last state was {seen!r}. Look at its window."
                )
            time.sleep(self.timeouts.pause)

    def look(self) -> Any:
        """The state as it is now; None where a look was not answered."""
        self.counts["looks"] += 1
        try:
            return self.client.call("gamestate")
        except UnansweredError:
            self.counts["unanswered"] += 1
            return None
        except AwayError:
            self._wait_for_server()
            return None

    # --- servers that are away ---

    def close(self) -> None:
        """Lets go of a game that was started here; it goes on."""
        self.process = None

    def _surely(self, method: str) -> Any:
        """The answer to a question that changes nothing; asked again where that helps."""
        ends = time.monotonic() + self.timeouts.settling
        while True:
            try:
                return self.client.call(method)
            except UnansweredError as problem:
                if time.monotonic() > ends:
                    raise LiveError(
                        f"{problem} Is it the game's mod that listens at {self.client.address}?"
                    ) from problem
            except RefusedError as problem:
                raise LiveError(f"What listens at {self.client.address} is not the game's mod: {problem}") from problem
            except AwayError:
                self._wait_for_server()
            time.sleep(self.timeouts.pause)

    def _wait_for_server(self) -> None:
        """Until the server answers; started again by the user's command where that has been given."""
        if self._answers(self.timeouts.away if not self._restart else min(self.timeouts.away, 2.0)):
            return
        while self._restart and self.counts["restarts"] < self.timeouts.restarts:
            self.counts["restarts"] += 1
            self._start_process()
            if self._answers(self.timeouts.away):
                return
        how = f"; started again {self.counts['restarts']} times" if self._restart else ", and no --restart was given"
        raise AwayError(f"Nobody answers at {self.client.address} any more{how}. Start the game with its mod.")

    def _answers(self, seconds: float) -> bool:
        ends, failures, pauses = time.monotonic() + seconds, 0, Backoff(self.timeouts.pause, 2.0)
        while time.monotonic() < ends:
            try:
                self.client.call("health", deadline=min(5.0, self.client.deadline))
                return True
            except (AwayError, UnansweredError):
                failures += 1
                time.sleep(pauses.pause(failures))
        return False

    def _start_process(self) -> None:
        try:
            self.process = Child(self._restart, session=True)
        except OSError as problem:
            raise UsageError(f"--restart '{shlex.join(self._restart)}' cannot be run: {problem.strerror}.") from problem


def check_indices(call: LiveCall) -> None:
    """Refuses to name a card twice: the mod clicks one after the other, and a second click undoes the first."""
    for name, value in call.params.items():
        if isinstance(value, list | tuple) and len(set(value)) != len(value):
            raise UsageError(f"'{call.method}' names {name} {list(value)}, one of them twice; name each once.")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as problem:
        raise UsageError(f"--restart '{command}' cannot be read: {problem}. Quote it as in a shell.") from problem
