"""`jimbot graph serve`: the graph as GraphQL for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli.look.graph_options import GraphGameOption, GraphOption, opened
from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import TokenFileOption
from jimbot.cli.shared.stopping import until_stopped


def serve(
    port: Annotated[int, typer.Option(help="HTTP; 0: any free one.")] = 8766,
    host: Annotated[str, typer.Option(help="Address to listen on; other machines need a token.")] = "127.0.0.1",
    token_file: TokenFileOption = None,
    graph: GraphOption = None,
    game: GraphGameOption = None,
) -> None:
    """Answer GraphQL queries over HTTP, read-only: POST /graphql; GET /graphql is the schema."""
    from jimbot.doors.listening import listener
    from jimbot.services.graph_server import graph_server

    with opened(graph, game) as client:
        server = graph_server(client, host, port, token_file)
        client.names  # noqa: B018  a graph that cannot be opened is a sentence now, not at the first query
        place = listener(host, port)
        terminal.note(f"GraphQL on http://{host}:{place.getsockname()[1]}/graphql; Ctrl+C ends it.")
        until_stopped(server.run, sockets=[place])
