"""A bot that plays the hosted game for as long as it is let, with decisions of the service and now and then advice.

A program of its own, as anybody's bot is: `python -m tools.stack_bot GAME SERVICE HOST FILE`. What it came to
stands in the file, and is counted on when it is started again.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from jimbot.adviser import AdviserSettings
from jimbot.adviser.advised_policy import AdvisedPolicy
from jimbot.adviser.adviser import open_adviser
from jimbot.adviser.metrics import AdviceMetrics
from jimbot.errors import JimbotError
from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import LiveRun
from jimbot.policies.players import find_player
from jimbot.processes import end_with_parent
from jimbot.runs.files import read_text, write_atomically
from jimbot.services.live_play.client import LiveClient
from jimbot.services.live_play.driver import LiveDriver
from jimbot.services.live_play.player import LeftError, LivePlayer, PlayedLive, Thought

PAUSE = 0.25  # seconds between two moves, as a mod's animations would take
ADVICE = AdviserSettings(source="planner", rollouts=4, confidence_threshold=0.9, least_stake=0.0, seconds=5.0)
"""The stand-in that needs no key; 5 % of all decisions is the most anybody is asked."""


@dataclass
class Played:
    """What the bot came to."""

    games: int = 0
    moves: int = 0
    troubles: int = 0
    """Times something it needs was away, and it had to begin again."""
    decided: int = 0
    asked: int = 0
    followed: int = 0


def read_played(path: Path) -> Played:
    """What a bot came to so far; nothing where it has not begun."""
    text = read_text(path)
    return Played(**json.loads(text)) if text else Played()


class Bot:
    """Plays until it is ended; goes on where the game stands after whatever was away is back."""

    def __init__(self, game: str, service: str, host: str, path: Path) -> None:
        self.played = read_played(path)
        self._game, self._service, self._host, self._path = game, service, host, path
        self._figures, self._before = AdviceMetrics(), replace(self.played)
        self._written = 0.0
        self._over = threading.Event()

    def stop(self) -> None:
        self._over.set()

    def decided(self, run: LiveRun, thought: Thought, played: PlayedLive) -> int | None:
        self.played.moves += 1
        self._write()
        if self._over.wait(PAUSE):
            raise LeftError("The time is over.")
        return None

    def ended(self, played: PlayedLive) -> None:
        self.played.games += played.finished

    def run(self) -> None:
        join = self.played.moves > 0
        while not self._over.is_set():
            try:
                self._play(join)
                join = False  # what could not be gone on with is left for a new one
            except LeftError:
                return
            except (JimbotError, OSError):
                join = True
            self.played.troubles += 1
            self._over.wait(1.0)

    def _write(self) -> None:
        """With what this adviser was asked on top of those before it; once a second is enough."""
        for name, count in (("decided", "decisions"), ("asked", "asked"), ("followed", "followed")):
            setattr(self.played, name, getattr(self._before, name) + getattr(self._figures, count))
        if time.monotonic() - self._written >= 1.0:
            write_atomically(self._path, json.dumps(asdict(self.played)).encode())
            self._written = time.monotonic()

    def _play(self, join: bool) -> None:
        entry = game_entry(self._game)
        assert entry.live is not None
        assert entry.live.play is not None
        player = find_player(f"grpc://{self._service}/{self._game}", self._game)
        adviser = open_adviser(ADVICE, player.policy, player.manifest, "soak")
        self._figures, self._before = adviser.metrics, replace(self.played)
        advised = AdvisedPolicy(player.policy, adviser)
        driver = LiveDriver(LiveClient(self._host), entry.live.play)
        try:
            driver.connect()
            playing = LivePlayer(entry, replace(player, policy=advised), driver, deterministic=False, audience=self)
            while not self._over.is_set():
                one = playing.play(join=join and self._in_a_game(driver))
                join = False
                if not one.finished:
                    return
        finally:
            self._write()
            advised.close()

    def _in_a_game(self, driver: LiveDriver) -> bool:
        from jimbot.games.hooks.programs import Standing

        return driver.play.standing(driver.settled()) is Standing.ASKING


if __name__ == "__main__":
    end_with_parent()
    Bot(*sys.argv[1:4], Path(sys.argv[4])).run()
