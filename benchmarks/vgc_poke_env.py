"""How fast poke-env's network players decide over a Showdown server on loopback: the baseline of `jimbot bench vgc`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from jimbot.errors import MissingExtraError, SimulatorError
from jimbot.games.vgc.poke_env_player import CyclingTeams
from jimbot.games.vgc.server import ShowdownServer

try:
    from poke_env import AccountConfiguration, ServerConfiguration
    from poke_env.player import RandomPlayer
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which the baseline of jimbot bench vgc needs,", "vgc") from problem

CONCURRENT = 16
BATTLES_AT_ONCE = 16
DEADLINE = 180.0
"""poke-env waits for ever for a lost message; nobody else should."""


class CountingPlayer(RandomPlayer):
    """Chooses at random, and counts how often it was asked."""

    decisions = 0

    def choose_move(self, battle: Any) -> Any:
        self.decisions += 1
        return super().choose_move(battle)

    def teampreview(self, battle: Any) -> Any:
        self.decisions += 1
        return super().teampreview(battle)


def measure(packed: Sequence[str], format_id: str, seconds: float, warm_up: float) -> dict[str, float]:
    """Decisions per second of two random network players on these teams, battles in groups until the time is over;
    those of the first `warm_up` seconds do not count."""
    with ShowdownServer() as server:
        players = [
            CountingPlayer(
                account_configuration=AccountConfiguration(f"bench{number}", None),
                battle_format=format_id,
                server_configuration=ServerConfiguration(server.websocket, "http://127.0.0.1/action.php?"),
                max_concurrent_battles=CONCURRENT,
                team=CyclingTeams(packed[number::2]),
                log_level=50,
            )
            for number in range(2)
        ]
        _play(players, warm_up)
        before = sum(player.decisions for player in players)
        battles, elapsed = _play(players, seconds)
        decisions = sum(player.decisions for player in players) - before
        for player in players:
            player.reset_battles()
    return {"decisions_per_second": decisions / elapsed, "battles_per_second": battles / elapsed}


def _play(players: Sequence[CountingPlayer], seconds: float) -> tuple[int, float]:
    """(battles, seconds): whole groups of battles until the time is over, at least one."""
    battles, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds or not battles:
        asyncio.run(_some_battles(players))
        battles += BATTLES_AT_ONCE
    return battles, time.perf_counter() - began


async def _some_battles(players: Sequence[CountingPlayer]) -> None:
    try:
        await asyncio.wait_for(players[0].battle_against(players[1], n_battles=BATTLES_AT_ONCE), DEADLINE)
    except TimeoutError as problem:
        raise SimulatorError(
            f"poke-env's players did not finish {BATTLES_AT_ONCE} battles in {DEADLINE:.0f} s."
        ) from problem
