"""`jimbot bus`: look at the event bus, put an event on it, read its log again."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds_family
from jimbot.cli.shared.common import JsonOption
from jimbot.errors import UsageError
from jimbot.foreign_text import visible_line

if TYPE_CHECKING:
    from jimbot.cli.learn.record import Target
    from jimbot.proto.events_pb2 import Event

EXAMPLES = """jimbot bus tail   (everything that is published from now on)
jimbot bus tail game.* --bus nats://127.0.0.1:4222 --json
jimbot bus publish knowledge.update '{"game": "balatro", "kind": "synergy", "subjects": ["Blueprint", "Brainstorm"]}'
jimbot bus replay game.result --since 10m
jimbot bus replay game.* --from 1 --to nats://127.0.0.1:4222   (copies them there)
jimbot bus play balatro --policy grpc://127.0.0.1:50051/balatro   (for jimbot train balatro --from-bus embedded)
jimbot bus stats
jimbot bus stop   (this machine's server; it ends by itself when nobody uses it)
train, evaluate, watch and serve publish with --bus. Here, without it: JIMBOT_BUS, else embedded (in runs/bus.nats)."""

BusAddressOption = Annotated[
    str | None, "--bus", "embedded (this machine), embedded:FILE or nats://HOST:PORT.", "ADDRESS"
]
TopicsArgument = Annotated[list[str] | None, typer.Argument(metavar="topic", help="game.result, game.*, …; none: all.")]
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def tail(
    topics: TopicsArgument = None,
    bus: BusAddressOption = None,
    count: Annotated[int | None, "Stop after so many events."] = None,
    as_json: JsonOption = False,
) -> None:
    """Show events as they are published, until Ctrl+C."""
    from jimbot.clients import EventBusClient

    terminal.require_positive(count=count)
    patterns = _patterns(topics)

    async def work() -> None:
        left, done = count, asyncio.Event()

        async def show(event: Event) -> None:
            nonlocal left
            if left is None or left > 0:
                _print(event, as_json)
            left = None if left is None else left - 1
            if left is not None and left <= 0:
                done.set()

        async with EventBusClient(bus) as client:
            await client.subscribe(patterns, show)
            terminal.note(f"Listening on {client.address}.")
            await done.wait()

    asyncio.run(work())


def publish(
    topic: Annotated[str, "A topic, like knowledge.update; a wrong one is answered with all."],
    message: Annotated[str, "The topic's message as JSON; - reads it from standard input."],
    bus: BusAddressOption = None,
    order_key: Annotated[str, "Events of one key (a game) keep their order."] = "",
    event_id: Annotated[str, "Published once, however often it is tried."] = "",
    wait: Annotated[float | None, "Of a question: wait so many seconds for the answer."] = None,
) -> None:
    """Publish one event, and say its place in the log once it is safe."""
    from google.protobuf.json_format import ParseDict, ParseError

    from jimbot.clients import EventBusClient
    from jimbot.errors import UnreadableError
    from jimbot.proto.events_pb2 import Event
    from jimbot.proto.topics import message_class
    from jimbot.reading.plain import json_value

    carried = message_class(topic)()
    text = sys.stdin.read() if message == "-" else message
    try:
        ParseDict(json_value(text.encode()), carried)
    except (ParseError, UnreadableError, AttributeError) as problem:
        why = " ".join(str(problem).split())
        raise UsageError(f"This is no {carried.DESCRIPTOR.name}, which '{topic}' carries: {why}.") from problem
    event = Event(topic=topic, order_key=order_key, event_id=event_id)
    event.payload.Pack(carried)

    async def work() -> None:
        async with EventBusClient(bus) as client:
            if wait is None:
                terminal.print_json({"event_id": event.event_id, "sequence": await client.publish(event)})
            else:
                _print(await client.publish_and_wait(event, wait), True)

    asyncio.run(work())


def replay(
    topics: TopicsArgument = None,
    bus: BusAddressOption = None,
    first: Annotated[int, "--from", "The first sequence number."] = 0,
    since: Annotated[str | None, "Only the last 30s, 10m, 2h or 7d."] = None,
    to: Annotated[str | None, "Publish them on this bus instead.", "ADDRESS"] = None,
    as_json: JsonOption = False,
) -> None:
    """Read the log again: from a place, or from a time on, to its end."""
    from jimbot.clients import EventBusClient

    start = first if since is None else time.time() - _seconds(since)
    patterns = _patterns(topics)

    async def work() -> None:
        copied = 0
        async with EventBusClient(bus) as client:
            other = EventBusClient(to) if to is not None else None
            async for event in client.replay(patterns, start):
                if other is None:
                    _print(event, as_json)
                else:
                    event.sequence = event.attempt = 0
                    await other.publish(event)
                    copied += 1
            if other is not None:
                await other.close()
                terminal.note(f"{copied:,} events copied to {to}; those it had already changed nothing.")

    asyncio.run(work())


def stats(bus: BusAddressOption = None, as_json: JsonOption = False) -> None:
    """What the log holds, and how far its durable readers are."""
    from jimbot.clients import EventBusClient

    async def work() -> dict[str, Any]:
        async with EventBusClient(bus) as client:
            return await client.stats()

    found = asyncio.run(work())
    if as_json:
        terminal.print_json(found)
        return
    console = terminal.console()
    console.print(f"{found['bus']}: {found['events']:,} events, {found['bytes'] / 1e6:.1f} MB, last {found['end']:,}.")
    for title, key, columns in (("topic", "topics", ("events",)), ("reader", "readers", ("position", "lag", "live"))):
        if found[key]:
            table = Table(title, *columns)
            for name, about in found[key].items():
                table.add_row(name, *(str(about[column]) for column in columns))
            console.print(table)


def play(
    game: Annotated[str, "Game to play (see: jimbot doctor)."],
    bus: BusAddressOption = None,
    policy: Annotated[str, "Who plays: a heuristic player, random, a run, checkpoint, or grpc://HOST:PORT/GAME."] = (
        "heuristic"
    ),
    games: Annotated[int, "Games to play."] = 1000,
    seed: Annotated[str, "Fixes which games of the train bank are played."] = "0",
    stochastic: Annotated[bool, "Draw the player's actions."] = False,
    noise: Annotated[float, "Share of moves played at random, so that others are tried, too."] = 0.0,
    option: common.OptionOption = None,
    num_envs: common.NumEnvsOption = 16,
    runs_dir: common.RunsDirOption = common.RUNS,
    as_json: JsonOption = False,
) -> None:
    """Play games and publish every state, action and result, for those who learn from them.

    Only seeds of the train bank are played. Ctrl+C ends it; games that have begun stay without an end.
    """
    from jimbot.clients import EventBusClient
    from jimbot.policies.players import find_player
    from jimbot.services.bus.playing import play_games
    from jimbot.services.bus.publisher import open_publisher
    from jimbot.training.session.interrupts import stop_requests

    terminal.require_positive(games=games, num_envs=num_envs)
    if not 0 <= noise <= 1:
        raise UsageError(f"--noise is {noise}; expected a share of the moves, 0 to 1.")
    choice = find_player(policy, game, terminal.pairs(option or []), runs_dir)
    if choice.entry.two_sides is not None:
        raise UsageError(f"Game '{game}' has two sides; jimbot bus play is for games of one player.")
    number = terminal.seed_of(choice.entry, seed)
    publisher = open_publisher(EventBusClient(bus).address)
    try:
        with (
            common.showing_progress(f"{choice.name} plays", quiet=as_json) as progress,
            stop_requests(lambda: terminal.note("Ending…")) as stop,
        ):
            returns = play_games(
                game, choice.policy, publisher, games, options=choice.options, num_envs=num_envs, seed=number or 0,
                deterministic=not stochastic, noise=noise, progress=progress, stopped=lambda: stop.reason,
            )  # fmt: skip
    finally:
        publisher.close()
    mean = float(returns.mean()) if len(returns) else None
    told = {"games": len(returns), "mean_return": mean, "published": publisher.published}
    if as_json:
        terminal.print_json({**told, "dropped": publisher.dropped.total()})
    else:
        shown = "" if mean is None else f", mean return {mean:.2f}"
        terminal.say(f"{len(returns):,} games of {game} by {choice.name}{shown}; {publisher.published:,} events.")


def stop(bus: BusAddressOption = None) -> None:
    """End the server that this machine runs for the bus; who uses the bus next starts it again."""
    from jimbot.clients import EventBusClient
    from jimbot.services.bus import embedded, local_server

    address = EventBusClient(bus).address
    if not address.startswith(embedded.SCHEME):
        raise UsageError(f"The bus {address} is not run by JimBot; stop it where it was started.")
    ran = local_server.stop(embedded.store_of(address))
    terminal.note(f"The server of {address} {'has ended' if ran else 'was not running'}.")


WORDS = "Look at the event bus, put an event on it, read its log again."
register = adds_family("bus", WORDS, EXAMPLES, tail, publish, replay, play, stats, stop)


def _patterns(topics: list[str] | None) -> list[str]:
    """What is listened to; a wrong name is refused before a bus is opened, which may start a server."""
    from jimbot.proto.topics import ANY, check_pattern

    for name in topics or ():
        check_pattern(name)
    return topics or [ANY]


def _print(event: Event, as_json: bool) -> None:
    from google.protobuf.json_format import MessageToDict

    from jimbot.clients.event_bus import unpacked

    body = MessageToDict(unpacked(event), preserving_proto_field_name=True)
    if as_json:
        import json

        about = {name: getattr(event, name) for name in ("topic", "event_id", "sequence", "source", "correlation_id")}
        about["time"] = event.timestamp_ns / 1e9
        terminal.say(json.dumps({**about, "message": body}))
        return
    text = " ".join(f"{name}={value}" for name, value in body.items())
    clock = time.strftime("%H:%M:%S", time.localtime(event.timestamp_ns / 1e9))
    terminal.say(visible_line(f"{clock} {event.sequence or '-':>8} {event.topic}  {text[:300]}"))


def _seconds(text: str) -> float:
    try:
        return float(text[:-1]) * UNITS[text[-1:]]
    except (ValueError, KeyError):
        raise UsageError(f"--since is '{text}'; expected a number with s, m, h or d, like 10m.") from None


def record_bus(game: str, address: str, target: Target, options: Mapping[str, Any], start: int) -> None:
    """Reads the log of the bus from its place `start` to its end."""
    from jimbot.cli.learn.record import suggest_clone
    from jimbot.games.contract import game_entry
    from jimbot.services.bus.games import PublishedGames
    from jimbot.training.imitation.played import write_played

    entry = game_entry(game)
    path = target.path(f"{game}-bus.npz")
    games = PublishedGames(entry, options)
    try:
        info = write_played(entry.spec, _games(games, address, start), path, policy="bus", options=options)
    finally:
        games.close()
        for reason, count in games.left_out.items():
            terminal.note(f"{count} games left out: {reason}")
    if games.unfinished:
        terminal.note(f"{games.unfinished} games have not ended yet.")
    if target.as_json:
        more = {"left_out": dict(games.left_out), "policies": dict(games.policies), "unfinished": games.unfinished}
        terminal.print_json({"dataset": str(path), **more, **info.model_dump(exclude={"chunks"})})
        return
    players = ", ".join(f"{name} ({count:,})" for name, count in games.policies.most_common(5))
    console = terminal.console()
    console.print(
        f"{path}: {info.games:,} games of {info.game} by {players}, {info.rows:,} decisions in "
        f"{path.stat().st_size / 1e6:.1f} MB. Mean return {info.mean_return:.2f}. Next:"
    )
    suggest_clone(path)


def published_games(game: str, address: str) -> Iterator[Any]:
    """Whole games in the log of a bus, from its beginning."""
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
