"""Recorded games: `--record FILE` of `play` and `watch` writes one, `jimbot replay` shows it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.common import keep_compiled
from jimbot.errors import UnreadableError, UsageError

if TYPE_CHECKING:
    from jimbot.games import BatchGame

EXAMPLES = """jimbot replay game.json
jimbot replay game.json --step 12   (the table before move 13)
jimbot replay game.json --json   (every move with what it did and the state after it)"""


def replay(
    file: Annotated[Path, "A game recorded by play or watch (--record), or from Python."],
    step: Annotated[int | None, "Show the table after this many moves."] = None,
    as_json: Annotated[bool, "--json", "Print as JSON."] = False,
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
    # Played to its end first: whatever is wrong is reported before anything is printed.
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


register = adds(replay, EXAMPLES)


def _read(file: Path) -> str:
    from jimbot.reading.plain import LARGEST_TEXT, file_text

    try:
        return file_text(file, LARGEST_TEXT)
    except UnreadableError as problem:
        raise UsageError(f"'{file}' cannot be read ({problem}); expected a transcript in JSON.") from problem


# --- `--record` ---


RECORD_HELP = "Write the game to this file, for jimbot replay."


def check_place(path: Path | None) -> None:
    """Raises before anything is played if the file could not be written."""
    from jimbot.runs.files import check_target

    if path is not None:
        check_target(path, "--record")


class GameFile:
    """One game on its way into a file; make it at the first move, call `note` with every action before its step."""

    def __init__(self, path: Path, game: BatchGame, seed: int, options: Mapping[str, Any]) -> None:
        from jimbot.games.recording import begin_recording

        self.path = path
        self._recorder = begin_recording(game, seed, options)

    def note(self, action: int) -> None:
        self._recorder.note(action)

    def write(self, total_return: float) -> str:
        """Writes what was noted and says what to type to see it."""
        from jimbot.runs.files import write_atomically

        write_atomically(self.path, self._recorder.finish(total_return).to_json().encode())
        return f"Recorded; see it again: jimbot replay {terminal.quoted(self.path)}"
