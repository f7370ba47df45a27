"""`jimbot setup`: installs what a game needs beside Python."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli import terminal
from jimbot.errors import UnknownNameError

GAMES = ("vgc",)
EPILOG = """Examples:

jimbot setup vgc

jimbot setup vgc --force   (install again, over what is there)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(setup)


def setup(
    game: Annotated[str, typer.Argument(help="The game: vgc (the Showdown simulator, from npm, about 150 MB).")],
    force: Annotated[bool, typer.Option("--force", help="Install again even if it is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print where it is as JSON.")] = False,
) -> None:
    """Install what a game needs beside Python; once per machine, then everything runs offline."""
    if game not in GAMES:
        raise UnknownNameError("game to set up", game, GAMES, "Other games need nothing.")
    from jimbot.games.vgc import simulator

    known = simulator.is_installed() and not force
    if not known:
        terminal.note(f"Installing {simulator.PACKAGE} {simulator.VERSION} with npm (half a minute)…")
    package = simulator.install(force)
    simulator.check(simulator.node_program(), package)
    if as_json:
        terminal.print_json({"package": simulator.PACKAGE, "version": simulator.VERSION, "folder": str(package)})
        return
    state = "is installed" if known else "was installed"
    terminal.console().print(
        f"{simulator.PACKAGE} {simulator.VERSION} {state} and works: {package}", soft_wrap=True, style="green"
    )
