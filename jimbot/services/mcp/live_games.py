"""A game that runs elsewhere, as one more game in play: every move goes through the protocol of the bought edition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.entry import GameEntry
from jimbot.games.hooks import Standing
from jimbot.services.live_play.client import LiveClient
from jimbot.services.live_play.driver import LiveDriver
from jimbot.services.mcp.open_games import OpenGame


class LiveGame(OpenGame):
    """One run of the bought game; states that cannot be read are told, never guessed."""

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
        return tuple(self._run.unknown)

    def legal(self) -> np.ndarray:
        return np.zeros(0, np.int64) if self.over else np.flatnonzero(self._run.playable())

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
