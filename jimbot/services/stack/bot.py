"""A bot that plays the hosted game for as long as it is let, with decisions of the service and now and then advice."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from jimbot.advisor import AdviserSettings
from jimbot.advisor.advised_policy import AdvisedPolicy
from jimbot.advisor.adviser import open_adviser
from jimbot.errors import JimbotError
from jimbot.games.contract import game_entry
from jimbot.games.hooks import LiveRun
from jimbot.policies.players import find_player
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


class Bot:
    """Plays from a thread until closed; goes on where the game stands after whatever was away is back."""

    def __init__(self, game: str, service: str, host: str) -> None:
        self.played = Played()
        self._game, self._service, self._host = game, service, host
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jimbot-bot", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join(60)

    def decided(self, run: LiveRun, thought: Thought, played: PlayedLive) -> int | None:
        self.played.moves += 1
        if self._over.wait(PAUSE):
            raise LeftError("The time is over.")
        return None

    def ended(self, played: PlayedLive) -> None:
        self.played.games += played.finished

    def _run(self) -> None:
        join = False
        while not self._over.is_set():
            try:
                self._play(join)
            except LeftError:
                return
            except (JimbotError, OSError):
                self.played.troubles += 1
                join = True
                self._over.wait(1.0)

    def _play(self, join: bool) -> None:
        entry = game_entry(self._game)
        assert entry.live is not None
        assert entry.live.play is not None
        player = find_player(f"grpc://{self._service}/{self._game}", self._game)
        adviser = open_adviser(ADVICE, player.policy, player.manifest, "soak")
        advised = AdvisedPolicy(player.policy, adviser)
        driver = LiveDriver(LiveClient(self._host), entry.live.play)
        try:
            driver.connect()
            playing = LivePlayer(entry, replace(player, policy=advised), driver, deterministic=False, audience=self)
            while not self._over.is_set():
                one = playing.play(join=join and self._in_a_game(driver))
                join = False
                if not one.finished:
                    self.played.troubles += 1
                    return
        finally:
            self.played.decided += adviser.figures.decisions
            self.played.asked += adviser.figures.asked
            self.played.followed += adviser.figures.followed
            advised.close()

    def _in_a_game(self, driver: LiveDriver) -> bool:
        from jimbot.games.hooks import Standing

        return driver.play.standing(driver.settled()) is Standing.ASKING
