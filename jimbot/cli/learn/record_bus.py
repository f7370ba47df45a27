"""`jimbot record GAME --from-bus …`: what others played and told of on the bus, as a dataset for `jimbot clone`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jimbot.cli.shared import terminal
from jimbot.errors import UsageError


def record_bus(
    game: str, address: str, output: Path | None, options: Mapping[str, Any], start: int, overwrite: bool, as_json: bool
) -> None:
    """Reads the log of the bus from its place `start` to its end."""
    from jimbot.games.contract import game_entry
    from jimbot.services.bus.games import PublishedGames
    from jimbot.training.imitation.played import write_played

    entry = game_entry(game)
    path = output or Path(f"{game}-bus.npz")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already. Give another --output, or --overwrite to replace it.")
    games = PublishedGames(entry, options)
    try:
        info = write_played(entry.spec, _games(games, address, start), path, policy="bus", options=options)
    finally:
        games.close()
        for reason, count in games.left_out.items():
            terminal.note(f"{count} games left out: {reason}")
    if games.unfinished:
        terminal.note(f"{games.unfinished} games have not ended yet.")
    if as_json:
        terminal.print_json(
            {"dataset": str(path), "left_out": dict(games.left_out), "policies": dict(games.policies),
             "unfinished": games.unfinished, **info.model_dump(exclude={"chunks"})}
        )  # fmt: skip
        return
    players = ", ".join(f"{name} ({count:,})" for name, count in games.policies.most_common(5))
    console = terminal.console()
    console.print(
        f"{path}: {info.games:,} games of {info.game} by {players}, {info.rows:,} decisions in "
        f"{path.stat().st_size / 1e6:.1f} MB. Mean return {info.mean_return:.2f}. Next:"
    )
    terminal.print_next([(f"jimbot clone {terminal.quoted(path)}", "a policy that does the same")])


def told_games(game: str, address: str) -> Iterator[Any]:
    """Whole games that the log of a bus tells of, from its beginning."""
    from jimbot.games.contract import game_entry
    from jimbot.services.bus.games import PublishedGames

    games = PublishedGames(game_entry(game), {})
    try:
        yield from _games(games, address, 0)
    finally:
        games.close()
        for reason, count in games.left_out.items():
            terminal.note(f"{count} games left out: {reason}")


def _games(games: Any, address: str, start: int) -> Iterator[Any]:
    """Whole games, one after another; the bus is read as they are wanted."""
    from jimbot.clients import EventBusClient
    from jimbot.services.bus.games import TOPICS

    loop = asyncio.new_event_loop()
    bus = EventBusClient(address)
    events = bus.replay(TOPICS, start)
    try:
        while True:
            try:
                event = loop.run_until_complete(anext(events))
            except StopAsyncIteration:
                return
            if (game := games.take(event)) is not None:
                yield game
    finally:
        loop.run_until_complete(events.aclose())
        loop.run_until_complete(bus.close())
        loop.close()
