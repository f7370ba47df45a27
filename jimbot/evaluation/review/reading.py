"""Files that hold games: our own recordings, and logs that other programs wrote."""

from __future__ import annotations

import tempfile
from pathlib import Path

from jimbot.errors import JimbotError, TranscriptError, UnreadableError, UsageError
from jimbot.games.contract import available_games, game_entry
from jimbot.games.hooks.people import LoggedGame
from jimbot.games.recording import read_recording
from jimbot.reading.plain import LARGEST_TEXT, file_text, json_value

_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".log", ".html", ".txt")


def read_games(path: Path) -> list[LoggedGame]:
    """All games in a file; one sentence where there is none."""
    if not path.is_file():
        raise UsageError(f"'{path}' is no file; expected a recorded game, or a log of games.")
    if (own := _recording(path)) is not None:
        return [own]
    complaints = []
    for game in available_games():
        form = game_entry(game).recording
        if form is None or form.logs is None:
            continue
        try:
            return form.logs(path)
        except JimbotError as problem:
            complaints.append(str(problem))
    raise TranscriptError(
        complaints[0] if len(complaints) == 1 else f"'{path}' is no recorded game, and no log that any game here knows."
    )


def games_in_text(text: str) -> list[LoggedGame]:
    """The same of a file that came over a wire, whose name nobody knows."""
    with tempfile.TemporaryDirectory(prefix="jimbot-review-") as folder:
        path = Path(folder) / "game.jsonl"
        path.write_text(text)
        try:
            return [game._replace(player="") for game in read_games(path)]
        except JimbotError as problem:
            raise TranscriptError(str(problem).replace(f"'{path}'", "It").replace(str(path), "It")) from problem


def _recording(path: Path) -> LoggedGame | None:
    """A file of `--record`; None where it is something else."""
    try:
        text = file_text(path, LARGEST_TEXT)
        document = json_value(text)
    except UnreadableError:
        return None
    if not isinstance(document, dict) or not str(document.get("format", "")).startswith("jimbot-"):
        return None
    return LoggedGame(read_recording(text, f"'{path}'"), str(document.get("player", "")) or path.resolve().parent.name)


def files_of(folder: Path) -> list[Path]:
    """Every file below a folder that may hold games."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(_ENDINGS))
