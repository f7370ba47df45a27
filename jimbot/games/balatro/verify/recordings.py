"""Finding and reading recordings: which files of a directory are checked, and by whom.

The kind of a file is told by how its name begins, so that `seeds_white_2.json` or `scoring-more.json.gz` are checked
like the files they stand beside. A file of another name, given by itself, is taken for a recording of live games
(`live/recorded.py`), which bots call what they like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jimbot.errors import UnreadableError, UsageError
from jimbot.games.balatro.verify.real_game import check_real_game
from jimbot.games.balatro.verify.recorded_games import check_traces
from jimbot.games.balatro.verify.recorded_hands import check_scoring
from jimbot.games.balatro.verify.recorded_numbers import check_pools, check_rng_units
from jimbot.games.balatro.verify.recorded_seeds import check_seeds
from jimbot.games.verification import FileReport
from jimbot.plugins import provided
from jimbot.reading.plain import LARGEST_TEXT, as_text, file_bytes, gunzipped, json_value


@dataclass(frozen=True)
class Kind:
    """One kind of recording."""

    prefix: str
    check: Callable[[Any, FileReport], None]
    shape: type
    """What the JSON document must be."""
    part: str = ""
    """A field it cannot do without."""
    lines: bool = False
    """One JSON object per line instead of one document."""
    numbered: bool = False
    """Its lines are checked together with their numbers."""


def check_live(lines: list[tuple[int, Any]], report: FileReport) -> None:
    """Live games are a door, which registers its check."""
    provided("jimbot.live.balatro", "check_recording")(lines, report)


KINDS = (
    Kind("pools", check_pools, dict),
    Kind("rng_units", check_rng_units, dict),
    Kind("seeds", check_seeds, dict, "seeds"),
    Kind("scoring", check_scoring, list),
    Kind("traces", check_traces, list, lines=True),
    Kind("real_game", check_real_game, dict),
    Kind("live", check_live, list, lines=True, numbered=True),
    Kind("balatro-", check_live, list, lines=True, numbered=True),
    Kind("gamestates", check_live, list, lines=True, numbered=True),
    Kind("requests", check_live, list, lines=True, numbered=True),
)
LIVE = Kind("", check_live, list, lines=True, numbered=True)
_ANSWERS = ("request", "response")


def _suffixes(kind: Kind) -> tuple[str, ...]:
    plain = ".jsonl" if kind.lines else ".json"
    return plain, f"{plain}.gz"


def kind_of(name: str) -> Kind | None:
    """The kind of a file by its name; None for anything else."""
    return next((kind for kind in KINDS if name.startswith(kind.prefix) and name.endswith(_suffixes(kind))), None)


def _kind_of_file(path: Path) -> Kind | None:
    """As `kind_of`; another file of JSON is one of live games."""
    known = kind_of(path.name)
    return known or (LIVE if path.name.endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz")) else None)


def find_recordings(place: Path) -> list[Path]:
    """The recordings in a directory, in the order of `KINDS`; a single file may be given, too."""
    if not place.exists():
        raise UsageError(f"'{place}' does not exist; expected a directory of recordings.")
    if place.is_file() and _kind_of_file(place) is LIVE:
        return [place]
    files = [place] if place.is_file() else sorted(path for path in place.iterdir() if path.is_file())
    found = [path for kind in KINDS for path in files if kind_of(path.name) == kind]
    if not found:
        names = ", ".join(f"{kind.prefix}*{_suffixes(kind)[0]}" for kind in KINDS)
        raise UsageError(f"'{place}' holds no recording; expected files named {names} (or the same with .gz).")
    return found


def read_recording(path: Path) -> Any:
    """The document in a file, or its lines; what cannot be read is one sentence with the file's name."""
    kind = _kind_of_file(path)
    if kind is None:
        raise UsageError(f"'{path.name}' is no recording by its name; see the names in tests/golden/balatro/README.md.")
    if kind.numbered:
        return numbered_lines(path)
    text = _text(path)
    if kind.lines:
        document: Any = [_parse(path, line, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if not document:
            raise UsageError(f"'{path}' is empty; expected one JSON object per line.")
        return document
    document = _parse(path, text, None)
    if not isinstance(document, kind.shape) or (kind.part and kind.part not in document):
        wanted = "an object" if kind.shape is dict else "a list of objects"
        part = f" with the field '{kind.part}'" if kind.part else ""
        raise UsageError(f"'{path}' does not look like a {kind.prefix} recording; expected {wanted}{part}.")
    return document


def _text(path: Path) -> str:
    try:
        raw = file_bytes(path, LARGEST_TEXT)
        return as_text(gunzipped(raw) if path.suffix == ".gz" else raw)
    except UnreadableError as problem:
        raise UsageError(f"'{path}' cannot be read ({problem}); expected JSON in UTF-8.") from problem


def numbered_lines(path: Path) -> list[tuple[int, Any]]:
    """The lines of a live recording; requests and answers may be two files. A last line cut short ends it."""
    lines = _lines_of(path)
    for one, other in (_ANSWERS, _ANSWERS[::-1]):
        beside = path.with_name(path.name.replace(one, other))
        if one in path.name and beside.exists():
            # Answers come after their requests: whatever is paired by id keeps the place of its request.
            more = [(number, line) for number, line in _lines_of(beside)]
            return [*lines, *more] if one == "request" else [*more, *lines]
    return lines


def _lines_of(path: Path) -> list[tuple[int, Any]]:
    text = _text(path)
    if path.name.endswith((".json", ".json.gz")):
        document = _parse(path, text, None)
        if isinstance(document, dict):
            document = next((part for part in document.values() if isinstance(part, list)), [document])
        return list(enumerate(document, 1)) if isinstance(document, list) else []
    written = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not written:
        raise UsageError(f"'{path}' is empty; expected one JSON object per line.")
    whole = text.endswith("\n")
    return [
        (number, _parse(path, line, number))
        for number, line in written
        if whole or number != written[-1][0] or _is_json(line)
    ]


def _is_json(line: str) -> bool:
    try:
        json_value(line, constants=True)
    except UnreadableError:
        return False
    return True


def _parse(path: Path, text: str, line: int | None) -> Any:
    try:
        value = json_value(text)
    except UnreadableError as problem:
        where = str(problem) if line is None else f"line {line}, {str(problem).removeprefix('line 1, ')}"
        raise UsageError(f"'{path}' is not JSON: {where}.") from problem
    if line is not None and not isinstance(value, dict):
        raise UsageError(f"'{path}' has something else than a JSON object in line {line}.")
    return value


def verify_file(path: Path) -> FileReport:
    """Checks the simulator against one file."""
    document = read_recording(path)
    kind = _kind_of_file(path)
    assert kind is not None  # read_recording has refused other names
    report = FileReport(path.name, kind.prefix or "live")
    kind.check(document, report)
    if not report.entries:
        raise UsageError(f"'{path}' holds nothing to compare; a recording without entries proves nothing.")
    return report


def verify_directory(place: Path) -> Iterator[FileReport]:
    """Checks the simulator against every recording in a directory; all files are read before the first is checked."""
    files = find_recordings(place)
    for path in files:
        read_recording(path)
    for path in files:
        yield verify_file(path)
