"""Games in play: bounded in number, each used by one call at a time."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.contract import BatchGame, GameEntry, game_entry, make, named_game
from jimbot.games.hooks.people import RecordedGame
from jimbot.games.hooks.programs import Standing
from jimbot.games.recording import begin_recording
from jimbot.games.seeds import seed_name, seed_number
from jimbot.services.live_play.client import LiveClient
from jimbot.services.live_play.driver import LiveDriver

MOST_OPEN = 16


class OpenGame:
    """One simulated game, from its first move to its end."""

    live = False

    def __init__(self, entry: GameEntry, options: Mapping[str, Any], seed: int) -> None:
        self.entry, self.options = entry, dict(options)
        self.game: BatchGame = make(entry.spec.id, 1, options=options, checked=True)
        self.game.reset(np.full(1, seed, np.uint64))
        self.seed = seed_name(entry, int(self.game.seeds[0]), options)
        self.turn, self.total, self.over = 0, 0.0, False
        self.stats: dict[str, float] = {}
        self.outcome = ""
        self._recorder = begin_recording(self.game, int(self.game.seeds[0]), options)

    def recorded(self) -> RecordedGame:
        """The game so far, as it was played."""
        return self._recorder.finish(self.total)

    @property
    def not_read(self) -> tuple[str, ...]:
        """What had to be assumed; of a simulated game nothing."""
        return ()

    def metrics(self) -> dict[str, float]:
        """Where the game stands; once it is over, what its statistics say of that."""
        found = self.entry.metrics(self.game, self.stats if self.over else None)
        return {name: float(value) for name, value in found.items()}

    def words(self) -> str:
        return self.outcome if self.over else self.game.describe(0)

    def legal(self) -> np.ndarray:
        return np.zeros(0, np.int64) if self.over else np.flatnonzero(self.game.legal_mask[0])

    def act(self, action: int) -> float:
        """Plays a legal action; its reward."""
        self._recorder.note(action)
        self.game.step(np.array([action]))
        reward = float(self.game.reward[0])
        self.turn, self.total = self.turn + 1, self.total + reward
        if self.game.terminated[0] or self.game.truncated[0]:
            self._end()
        return reward

    def close(self) -> None:
        self.game.close()

    def _end(self) -> None:
        spec = self.entry.spec
        self.over = True
        self.stats = dict(zip(spec.episode_stats, self.game.final_stats[0].tolist(), strict=True))
        how = "won" if self.stats.get("won") else "cut off by its step limit" if self.game.truncated[0] else "over"
        measured = ", ".join(f"{name} {value:g}" for name, value in self.stats.items())
        self.outcome = f"The game is {how} after {self.turn} moves with a return of {self.total:+.2f}: {measured}."


class OpenGames:
    """All of them, by handle."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        self._most = most
        self._numbers = itertools.count(1)
        self._games: dict[str, tuple[OpenGame, threading.Lock]] = {}
        self._lock = threading.Lock()

    def start(self, game: str, seed: str, options: Mapping[str, Any]) -> str:
        """Begins a game; its handle."""
        entry = game_entry(named_game(game))
        chosen = seed_number(entry, seed) if seed else secrets.randbelow(2**32)
        return self.add(OpenGame(entry, options, chosen))

    def add(self, game: OpenGame) -> str:
        with self._lock:
            if len(self._games) < self._most:
                handle = f"{game.entry.spec.id}-{next(self._numbers)}"
                self._games[handle] = (game, threading.Lock())
                return handle
            handles = sorted(self._games)
        game.close()
        raise UsageError(f"{self._most} games are open, which is the most; close one of {', '.join(handles)} first.")

    @contextmanager
    def use(self, handle: str) -> Generator[OpenGame]:
        """A game for the length of one call."""
        with self._lock:
            if handle not in self._games:
                raise UnknownNameError("game in play", handle, self._games, "Start one with start_game.")
            game, lock = self._games[handle]
        with lock:
            yield game

    def handles(self) -> list[str]:
        with self._lock:
            return list(self._games)

    def close(self, handle: str) -> None:
        with self.use(handle) as game:
            with self._lock:
                self._games.pop(handle, None)
            game.close()

    def close_all(self) -> None:
        for handle in self.handles():
            self.close(handle)


# A game that runs elsewhere, as one more game in play: every move goes through the protocol of the bought edition.


class LiveGame(OpenGame):
    """One run of the bought game; states that cannot be read are listed, never guessed."""

    live = True

    def __init__(self, entry: GameEntry, options: Mapping[str, Any], seed: str, address: str) -> None:
        if entry.live is None or entry.live.play is None:
            raise UsageError(f"Game '{entry.spec.id}' cannot be played live; leave live out.")
        self.entry, self.options = entry, dict(options)
        self._driver = LiveDriver(LiveClient(address), entry.live.play)
        dialect, parsed = self._driver.connect(), entry.spec.parse_options(self.options)
        state = self._driver.begin(parsed, seed)
        self._run = entry.live.play.follow(dialect, parsed)
        self._run.see(state)
        self.game = self._run.game
        self.seed = entry.live.play.seed(state)
        self.turn, self.total, self.over = 0, 0.0, False
        self.stats, self.outcome = {}, ""

    @property
    def not_read(self) -> tuple[str, ...]:
        return tuple(self._run.assumed)

    def recorded(self) -> RecordedGame:
        raise UsageError("A live game is written down by jimbot play --live; give the text of that file.")

    def legal(self) -> np.ndarray:
        return np.zeros(0, np.int64) if self.over else np.flatnonzero(self._run.playable_mask())

    def act(self, action: int) -> float:
        call, before = self._run.request(action), self.total
        self.turn += 1
        if call is None:
            return 0.0
        answer = self._driver.make(call)
        known = answer is not None and self._run.expects(answer, call)
        state = answer if known else self._driver.settled()
        self._run.see(state, call)
        result = self._run.result()
        if result is not None:
            self.total = result.total_return
        if self._driver.play.standing(state) is not Standing.ASKING and result is not None:
            self.over = True
            self.stats = dict(zip(self.entry.spec.episode_stats, result.stats.tolist(), strict=True))
            how = "won" if self.stats.get("won") else "over"
            self.outcome = f"The live game is {how} after {self.turn} moves with a return of {self.total:+.2f}."
        return self.total - before

    def close(self) -> None:
        """The bought game stays as it is."""
