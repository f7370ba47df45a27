"""`jimbot help`: the same as --help, for those who type it first."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.errors import UnknownNameError

EPILOG = """Examples:

jimbot help

jimbot help train hackmatrix   (with the defaults of the game)"""


def register(app: typer.Typer) -> None:
    app.command("help", epilog=EPILOG)(show_help)


def show_help(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="The command to explain, and a game for its defaults.")
    ] = None,
) -> None:
    """Explain JimBot, or one of its commands."""
    parent = ctx.parent
    assert parent is not None, "the command is one of jimbot's"
    words = list(command or [])
    if not words:
        typer.echo(parent.get_help())
        return
    group = parent.command
    known = group.list_commands(parent)  # ty: ignore[missing-attribute]
    if words[0] not in known:
        raise UnknownNameError("command", words[0], known)
    found = group.get_command(parent, words[0])  # ty: ignore[missing-attribute]
    found.main([*words[1:], "--help"], prog_name=f"jimbot {words[0]}", standalone_mode=False)
