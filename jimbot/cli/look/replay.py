"""`jimbot replay`: a recorded game, move by move in words, as data, or as the table at one step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.start import keep_compiled
from jimbot.errors import UnreadableError, UsageError

EPILOG = """Examples:

jimbot replay game.json

jimbot replay game.json --step 12   (the table before move 13)

jimbot replay game.json --json   (every move with what it did and the state after it)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(replay)


def replay(
    file: Annotated[Path, typer.Argument(help="A game recorded by play or watch (--record), or from Python.")],
    step: Annotated[int | None, typer.Option(help="Show the table after this many moves.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Play a recorded game again.

    Every move is checked against the rules, and the end against the recorded one.
    """
    if not file.exists():
        raise UsageError(f"'{file}' does not exist; expected a transcript.")
    from jimbot.foreign_text import Terminal
    from jimbot.games import game_entry
    from jimbot.games.recording import read_recording

    recorded = read_recording(_read(file), f"'{file}'")
    if step is not None and not 0 <= step <= recorded.count:
        raise UsageError(f"--step is {step}; expected 0 to {recorded.count}, the number of moves.")
    keep_compiled(game_entry(recorded.game))
    # Played to its end first: whatever is wrong is told before anything is printed.
    with Terminal(stderr=True, quiet=as_json).status("Playing (the first start on a machine compiles the game)…"):
        if as_json:
            document = recorded.document(step)
        else:
            shown = list(recorded.lines() if step is None else recorded.picture(step))
    if as_json:
        terminal.print_json(document)
        return
    console = terminal.console()
    if step is None:
        console.print(recorded.title(), style="bold", soft_wrap=True)
    for number, part in enumerate(shown, 1):
        ending = step is None and number == len(shown)
        console.print(part, soft_wrap=True, style="bold" if ending else None)


def _read(file: Path) -> str:
    from jimbot.reading.plain import LARGEST_TEXT, file_text

    try:
        return file_text(file, LARGEST_TEXT)
    except UnreadableError as problem:
        raise UsageError(f"'{file}' cannot be read ({problem}); expected a transcript in JSON.") from problem
