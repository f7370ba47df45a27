"""Whole games from the log of a bus as they are published, each once: what `jimbot train --from-bus` learns from.

The log is read by its sequence numbers, without a durable reader of its own: the place lies in the run's checkpoint,
beside what was made of the events, so that both are always of one moment. A run that goes on reads again from the first
event of the games that were open then; games whose end lay before that place are in its replay already and are passed
over, and so are those that somebody publishes a second time.

A bus that is away is waited for, with one warning. One whose log is another (`created`) is read from its beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import numpy as np

from jimbot.background import GRACE, LoopThread
from jimbot.clients.bus_contract import BusSettings
from jimbot.clients.event_bus import open_bus
from jimbot.clients.nats_bus import NatsBus
from jimbot.errors import BusError
from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import PlayedGame
from jimbot.services.bus.games import TOPICS, PublishedGames
from jimbot.services.bus.publisher import check_bus

MOST_EVENTS = 20_000  # of one call
LONGEST_OPEN = 250_000  # events after which a game is given up whose end has not come
IMPATIENT = BusSettings(publish_seconds=2.0)
_log = logging.getLogger("jimbot.services")


class BusGames:
    """The games of one bus, from the beginning of its log on."""

    def __init__(self, address: str, game: str, options: Mapping[str, Any]) -> None:
        check_bus(address)
        self.address = address
        self.position = 0
        """The last event taken."""
        self.missed = 0
        """Events that the log had dropped before they were read."""
        self.end = 0
        self._created = 0
        self._taken_before = 0  # place up to which ended games are in the replay of a continued run
        self._games = PublishedGames(game_entry(game), options)
        self._loop, self._bus, self._away = LoopThread("jimbot-games"), None, False

    def take(self, most_steps: int) -> list[PlayedGame]:
        """The games that ended next, of about so many steps in all; none where nothing new is there."""
        try:
            found = self._loop.submit(self._take(most_steps)).result()
        except BusError as problem:
            if not self._away:
                _log.warning("%s The run waits for it; nothing is lost.", problem)
            self._away = True
            return []
        self._away = False
        return found

    async def _take(self, most_steps: int) -> list[PlayedGame]:
        self._bus = bus = self._bus or await open_bus(self.address, IMPATIENT)
        await self._look(bus)
        found: list[PlayedGame] = []
        steps = events = 0
        if self.end <= self.position:
            return found
        async with aclosing(bus.replay(TOPICS, self.position + 1)) as log:
            async for event in log:
                known = event.sequence <= self._taken_before
                game = self._games.take(event, event.sequence, known)
                self.position = event.sequence
                events += 1
                if game is not None:
                    found.append(game)
                    steps += len(game.action)
                if steps >= most_steps or events >= MOST_EVENTS:
                    break
            else:
                self.position = max(self.position, self.end)  # the rest was of other topics
        self._games.give_up_before(self.position - LONGEST_OPEN)
        return found

    async def _look(self, bus: NatsBus) -> None:
        """What the log holds now, and whether it is the one that was read so far."""
        about = await bus.bounds()
        self.end = about.last
        if self._created and about.created != self._created:
            _log.warning("The bus %s has another log than before; it is read from its beginning.", self.address)
            self.position = self._taken_before = 0
            self._games.forget_open()
        elif self.position > about.last:
            _log.warning("The log of the bus %s has lost its end; the run goes on with what comes now.", self.address)
            self.position = self._taken_before = about.last
        elif self.position and about.first > self.position + 1:
            self.missed += about.first - self.position - 1
            self.position = about.first - 1
        self._created = about.created

    def metrics(self) -> dict[str, float]:
        """For a log row."""
        return {
            "stream/position": float(self.position),
            "stream/lag": float(max(0, self.end - self.position)),
            "stream/missed": float(self.missed),
            "stream/open_games": float(self._games.unfinished),
            "stream/left_out": float(self._games.left_out.total()),
        }

    @property
    def left_out(self) -> Mapping[str, int]:
        """Why games were not learned from, and how many."""
        return self._games.left_out

    def arrays(self) -> dict[str, np.ndarray]:
        """The place in the log, for a checkpoint."""
        begin, first = self.position + 1, self._games.first_open
        begin = begin if first is None else min(begin, first)
        taken = max(self.position, self._taken_before)
        return {
            "place": np.array([self._created, begin, taken, self.missed], np.int64),
            "ended": np.fromiter(self._games.ended, np.uint64),
        }

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Goes on where `arrays` was taken."""
        self._created, begin, position, self.missed = (int(value) for value in arrays["place"])
        self.position, self._taken_before = begin - 1, position
        self._games.forget_open()
        self._games.remember(arrays["ended"].tolist())

    def close(self) -> None:
        if self._bus is not None:
            self._loop.submit(self._bus.close()).result(GRACE)
        self._loop.close()
        self._games.close()
