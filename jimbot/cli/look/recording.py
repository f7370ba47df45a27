"""`--record FILE` of `play` and `watch`: the game as a file that `jimbot replay` reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jimbot.cli.shared import terminal

if TYPE_CHECKING:
    from jimbot.games import BatchGame

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
