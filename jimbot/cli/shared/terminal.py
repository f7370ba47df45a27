"""What commands share when they speak to a person or a script: sentences, JSON, progress, pairs of settings.

Results go to stdout; progress and complaints go to stderr, so that `--json` output can be piped as it is.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import shlex
import sys
import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from jimbot.errors import SettingsError, UnreadableError, UsageError
from jimbot.foreign_text import Terminal, visible, visible_json

if TYPE_CHECKING:
    from jimbot.games.contract import GameEntry

NAME = "jimbot-plain"
_GROUPS = {
    "♠": "S", "♥": "H", "♦": "D", "♣": "C", "✓": "+", "✗✘×": "x", "▶▸→": ">", "◀◂←↵⏎": "<", "↑": "^", "↓": "v",
    "●◆★☆": "*", "○◇□°": "o", "■█▉▊▋▌▍▎▏▓": "#", "▒": "%", "░": ":", "…≈": "~", "·•": ".", "–—−": "-",
    "‘’‚": "'", "“”„": '"', "÷": "/", "≤": "<", "≥": ">", "±": "+", "│┃║┆┊": "|", "─━═┄┈╴╶╌": "-",
}  # fmt: skip
ALIKE = {ord(one): plain for many, plain in _GROUPS.items() for one in many}
UNKNOWN = "?"


def use_plain_characters() -> None:
    """Lets stdout and stderr write what their encoding lacks, where Python would end with an error."""
    codecs.register_error(NAME, _alike)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not knows_all(stream):
            stream.reconfigure(errors=NAME)


def knows_all(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def _alike(problem: UnicodeError) -> tuple[str, int]:
    failed = cast(UnicodeEncodeError, problem)
    return "".join(map(alike, failed.object[failed.start : failed.end])), failed.end


def alike(character: str) -> str:
    """The ASCII character that stands for another one.

    >>> "".join(map(alike, "♥ ▶ é ╭─┬─╮ …"))
    'H > e +-+-+ ~'
    """
    found = character.translate(ALIKE)
    if found.isascii():
        return found
    if "\u2500" <= character <= "\u257f":
        return "+"  # corners and crossings of boxes
    base = unicodedata.normalize("NFKD", character)[:1]
    return base if base.isascii() else UNKNOWN


PAGE = 120  # columns


def complain(sentence: str) -> None:
    """One red sentence on stderr (plain when stderr is not a terminal); what cannot be shown is spelled out."""
    encoding = sys.stderr.encoding or "utf-8"
    errors = sys.stderr.errors if sys.stderr.errors == NAME else "backslashreplace"
    typer.secho(visible(sentence).encode(encoding, errors).decode(encoding), fg="red", err=True)


def note(sentence: str) -> None:
    """A quiet remark on stderr."""
    typer.secho(visible(sentence), dim=True, err=True)


def say(text: object) -> None:
    """One line on stdout."""
    typer.echo(visible(text))


def console() -> Terminal:
    """The console for results: colours only on a terminal; in a pipe as wide as COLUMNS says, or a page."""
    fixed = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PAGE
    return Terminal(width=fixed)


def progress(quiet: bool = False) -> Progress:
    """A progress bar on stderr; shows nothing when `quiet` or when stderr is not a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Terminal(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )


PLAIN_BEAT = 5.0  # seconds between two lines of progress in a pipe


def plain_progress(what: str) -> Callable[[int, int], None]:
    """What a bar shows, as lines on stderr: how much is done, how fast, and how long it still takes."""
    began = said = time.monotonic()

    def tell(done: int, of: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said < PLAIN_BEAT or not done:
            return
        said, rate = now, done / (now - began)
        left = (of - done) / rate
        note(f"{what}: {done:,} of {of:,}, {rate:,.3g} a second, {left // 60:.0f}:{left % 60:02.0f} left")

    return tell


@contextmanager
def standing(quiet: bool) -> Generator[Callable[[str], None]]:
    """How work stands whose end nobody knows: a line on stderr that changes, in a pipe one every few seconds."""
    said = time.monotonic()

    def tell(sentence: str) -> None:
        nonlocal said
        if not quiet and time.monotonic() - said >= PLAIN_BEAT:
            said = time.monotonic()
            note(sentence)

    if quiet or not sys.stderr.isatty():
        yield tell
        return
    with Terminal(stderr=True).status("…") as status:
        yield status.update


def print_json(value: Any) -> None:
    """Strict JSON on stdout: numbers that JSON does not know (NaN, infinity) become null."""
    ascii_only = not knows_all(sys.stdout)
    typer.echo(visible_json(json.dumps(plain(value), indent=2, ensure_ascii=ascii_only, allow_nan=False)))


def plain(value: Any) -> Any:
    """The same value in plain Python: NumPy scalars and arrays, paths and tuples included."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain(value.tolist())
    if isinstance(value, str | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return str(value)


def quoted(word: object) -> str:
    r"""A word as a shell needs it, for commands that are printed to be typed.

    >>> quoted("my-run"), quoted("it's mine")
    ('my-run', '\'it\'"\'"\'s mine\'')
    """
    return shlex.quote(str(word))


def print_next(commands: Sequence[tuple[str, str]]) -> None:
    """What to type next: commands that run as they stand and are never broken, each with what it does."""
    from textwrap import wrap

    width = max(len(command) for command, _ in commands)
    out = console()
    room = out.width - width - 4
    beside = room >= 20  # else the meaning goes below its command
    margin = " " * (width + 4 if beside else 6)
    for command, meaning in commands:
        first, *more = wrap(meaning, room if beside else max(20, out.width - 6))
        gap = " " * (width + 2 - len(command)) if beside else f"\n{margin}"
        wrapped = f"\n{margin}".join([first, *more])
        out.print(Text.assemble("  ", (command, "cyan"), gap, (wrapped, "dim")), soft_wrap=True)


def pairs(values: list[str], flag: str = "--option") -> dict[str, Any]:
    """`["horizon=4"]` → `{"horizon": 4}`; values are read as YAML, so numbers and true/false come out as such.

    >>> pairs(["horizon=4", "rules=classic", "calm=true"])
    {'horizon': 4, 'rules': 'classic', 'calm': True}
    """
    from jimbot.reading.yaml_values import yaml_value

    found: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise SettingsError(
                f"'{text}' is not a setting; expected {flag} name=value, for instance {flag} horizon=4."
            )
        try:
            found[name.strip()] = yaml_value(value)
        except UnreadableError as problem:
            raise SettingsError(
                f"The value of {flag} {name} cannot be read: '{value[:80]}' ({problem}). Quote it, or simplify."
            ) from problem
    return found


def require_positive(**values: int | float | None) -> None:
    """Refuses zero and negative sizes by the name of their flag; None means not given."""
    for name, value in values.items():
        if value is not None and not value > 0:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} is {value}; expected a number above 0. Leave it out for the default.")


def check_output(path: Path, overwrite: bool) -> None:
    """Refuses a file that is there already, or that could not be written, before anything is done for it."""
    from jimbot.runs.files import check_target

    check_target(path)
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already; add --overwrite to replace it, or choose another --output.")


def seed_of(entry: GameEntry, text: str | None) -> int | None:
    """The seed that --seed means for a game; None means not given."""
    from jimbot.games.seeds import seed_number

    try:
        return None if text is None else seed_number(entry, text)
    except UsageError as problem:
        raise UsageError(f"--seed: {problem}") from problem


def game_flags(options: Mapping[str, Any]) -> str:
    """Options of a game as they are typed.

    >>> game_flags({"deck": "blue", "endless": True, "own_team": "my team.txt"})
    " --deck blue --endless --own-team 'my team.txt'"
    """
    flags = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        flags.append(
            f" --{flag}" if value is True else f" --no-{flag}" if value is False else f" --{flag} {quoted(value)}"
        )
    return "".join(flags)
