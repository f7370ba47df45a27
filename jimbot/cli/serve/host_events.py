"""`jimbot host events`: takes what mods push of games that run elsewhere, and puts it on the bus."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import JsonOption, TokenFileOption
from jimbot.cli.shared.stopping import until_stopped


def events(
    port: Annotated[int, typer.Option(help="WebSocket and HTTP; 0: any free one.")] = 8765,
    address: Annotated[
        str, typer.Option("--host", help="Address to listen on; others than this machine's need a token.")
    ] = "127.0.0.1",
    bus: Annotated[
        str,
        typer.Option("--bus", metavar="ADDRESS", help="Where events go: embedded, embedded:FILE or nats://HOST:PORT."),
    ] = "embedded",
    queue_size: Annotated[
        int, typer.Option(help="Events that may wait for the bus; more are dropped and counted.")
    ] = 10_000,
    token_file: TokenFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take events that mods push: {type, timestamp, game_id, data}, one or many per message.

    WebSocket at / and /events, POST /api/v1/events and /api/v1/events/batch; every message is acknowledged. They are
    published as live.event (jimbot bus tail live.event shows them). /health has the figures.
    """
    terminal.require_positive(queue_size=queue_size)
    from jimbot.doors.access import check_exposure
    from jimbot.doors.listening import listener
    from jimbot.services.bus.publisher import BackgroundPublisher, check_bus
    from jimbot.services.events_in.ingest import Ingest
    from jimbot.services.events_in.server import event_server

    check_exposure(address, token_file is not None)
    check_bus(bus)
    place = listener(address, port)
    publisher = BackgroundPublisher(bus, queue_size)
    ingest = Ingest(publisher)
    server, port = event_server(ingest, address, port, token_file), place.getsockname()[1]
    terminal.note(f"Events go from ws://{address}:{port}/events to the bus {bus}; Ctrl+C ends it.")
    try:
        until_stopped(server.run, sockets=[place])
    finally:
        publisher.close()
        figures = ingest.figures()
        if as_json:
            terminal.print_json(figures)
        else:
            told = "{accepted:,} events taken, {published:,} published, {dropped:,} dropped, {refused:,} refused."
            terminal.console().print(told.format(**figures))
