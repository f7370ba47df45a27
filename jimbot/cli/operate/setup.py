"""`jimbot setup`: installs what a game needs beside Python."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.errors import UnknownNameError

EPILOG = """Examples:

jimbot setup vgc

jimbot setup vgc --overwrite   (install again, over what is there)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(setup)


def setup(
    game: Annotated[str, typer.Argument(help="The game; vgc takes the Showdown simulator from npm, about 150 MB.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Install again even if it is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print where it is as JSON.")] = False,
) -> None:
    """Install what a game needs beside Python; once per machine, then everything runs offline."""
    from jimbot.games.contract import available_games, game_entry, games_with

    needed = game_entry(game).installation if game in available_games() else None
    if needed is None:
        raise UnknownNameError("game to set up", game, games_with("installation"), "Other games need nothing.")
    known = needed.is_installed() and not overwrite
    if not known:
        terminal.note(f"Installing {needed.name} {needed.version} {needed.how}…")
    folder = needed.install(overwrite)
    if as_json:
        terminal.print_json({"package": needed.name, "version": needed.version, "folder": str(folder)})
        return
    state = "is installed" if known else "was installed"
    terminal.console().print(
        f"{needed.name} {needed.version} {state} and works: {folder}", soft_wrap=True, style="green"
    )
