"""`jimbot mcp`: games and policies as tools for assistants."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import RUNS, RunsDirOption

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
    host: Annotated[str, typer.Option(help="With --http: where to listen; this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http.")] = 8931,
    policy: Annotated[str, typer.Option(help="Who gives advice where nobody else is named.")] = "",
    live: Annotated[
        str, typer.Option(metavar="URL", help="Where the bought game is, for games started with live: true.")
    ] = "",
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Offer games and policies to assistants that speak the Model Context Protocol.

    Start games, see tables, list and make moves, ask policies, look into seeds and things, judge policies.
    """
    from jimbot.errors import UsageError
    from jimbot.services.access import is_loopback
    from jimbot.services.mcp.server import serve_http, serve_stdio
    from jimbot.services.mcp.tools import Tools

    if not http:
        serve_stdio(Tools(runs_dir, policy, live))
        return
    if not is_loopback(host):
        raise UsageError(f"--host {host} can be reached by other machines, and anybody could play here. Use 127.0.0.1.")
    terminal.note(f"Tools at http://{host}:{port}/mcp; Ctrl+C ends.")
    serve_http(Tools(runs_dir, policy, live), host, port)
