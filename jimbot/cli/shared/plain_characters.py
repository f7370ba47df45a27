"""Output for terminals and pipes that know fewer characters than our tables: each becomes one that looks like it.

One character becomes one character, because tables were measured before they are written.
"""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata
from typing import TextIO, cast

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
