"""`jimbot ui`: the page in the browser: runs live, games move by move, seeds, comparisons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.common import RUNS, HostOption
from jimbot.cli.shared.stopping import until_stopped
from jimbot.errors import UsageError

EXAMPLES = """jimbot ui
jimbot ui --runs runs --runs /data/old-runs --port 8601
jimbot ui --host 0.0.0.0 --token-file tokens.txt   (for other machines; a line of the file is the token)"""


def ui(
    port: Annotated[int, "0: any free one."] = 8600,
    runs: Annotated[list[Path] | None, "Where runs live; may be given several times."] = None,
    host: HostOption = "127.0.0.1",
    serve: Annotated[str, "The decision service to show.", "ADDRESS"] = "127.0.0.1:50051",
    bus: Annotated[str | None, "The bus to show; default: the one beside the runs.", "ADDRESS"] = None,
    live: Annotated[str, "The hosted game to look at; default: the usual port.", "ADDRESS"] = "",
    token_file: Annotated[Path | None, "Tokens, one per line; browsers show one."] = None,
    browser: Annotated[bool, "--open/--no-open", "Show the page in the browser."] = False,
) -> None:
    """Show runs, games, seeds and comparisons in the browser.

    Everything is live: runs that train, policies that play. Files are only read, unless the user trains, renames,
    deletes, tags or notes a run on the page.
    """
    from jimbot.doors.access import Tokens, check_exposure
    from jimbot.doors.listening import listener
    from jimbot.viewer.http.server import Page, page_server

    if not 0 <= port < 2**16:
        raise UsageError(f"--port is {port}; expected 0 (any free one) to 65535.")
    check_exposure(host, token_file is not None)
    tokens = Tokens(token_file) if token_file is not None else None
    place = listener(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{place.getsockname()[1]}/"
    page = Page(runs or [RUNS], serve, bus or os.environ.get("JIMBOT_BUS", ""), live)
    terminal.console().print(f"JimBot is at {address}  (Ctrl+C ends it)", soft_wrap=True)
    if browser:
        import webbrowser

        webbrowser.open(address)
    until_stopped(page_server(page, host, port, tokens).run, sockets=[place])


register = adds(ui, EXAMPLES)
