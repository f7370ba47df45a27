"""`jimbot mcp`: games and policies as tools for assistants."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import RUNS, RunsDirOption, TokenFileOption
from jimbot.cli.shared.stopping import until_stopped

EPILOG = """Examples:

jimbot mcp   (an assistant starts it and talks over standard input and output)

jimbot mcp --policy my-run --runs-dir runs

jimbot mcp --http --port 8931   (at http://127.0.0.1:8931/mcp)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(mcp)


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Answer over HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="With --http: where to listen; others than this machine need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http.")] = 8931,
    policy: Annotated[str, typer.Option(help="Who gives advice where nobody else is named.")] = "",
    live: Annotated[
        str, typer.Option(metavar="URL", help="Where the bought game is, for games started with live: true.")
    ] = "",
    runs_dir: RunsDirOption = RUNS,
    token_file: TokenFileOption = None,
) -> None:
    """Offer games and policies to assistants that speak the Model Context Protocol.

    Start games, see tables, list and make moves, ask policies, look into seeds and things, judge policies.
    """
    from jimbot.doors.listening import listener
    from jimbot.services.mcp.server import http_server, serve_stdio
    from jimbot.services.mcp.tools import Tools

    if not http:
        serve_stdio(Tools(runs_dir, policy, live))
        return
    tools = Tools(runs_dir, policy, live)
    server, place = http_server(tools, host, port, token_file), listener(host, port)
    terminal.note(f"Tools at http://{host}:{place.getsockname()[1]}/mcp; Ctrl+C ends.")
    try:
        until_stopped(server.run, sockets=[place])
    finally:
        tools.close()
