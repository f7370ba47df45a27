"""Text that others wrote (names, tags, notes, events, messages of the bus) on the way to a terminal.

A terminal obeys what it prints: an escape sequence in a run's note could clear the screen, set the window's title or
answer in the user's place. So whatever this package shows goes through `Terminal` or `visible`, where control
characters become pictures of themselves, and square brackets are brackets, never rich's markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

# Control characters but for tab and newline, marks that turn the direction of writing, and halves of characters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: object) -> str:
    r"""The same text with everything a terminal would obey shown instead.

    >>> visible("a\x1b[2Jb"), visible("red\u202efil"), visible("two\nlines")
    ('a␛[2Jb', 'red\\u202efil', 'two\nlines')
    """
    return _HIDDEN.sub(_shown, str(text))


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else f"\\u{code:04x}"


def visible_line(text: object) -> str:
    r"""The same for one line of a list: foreign text cannot begin a line of its own.

    >>> visible_line("seed 1\nwon\t3")
    'seed 1␊won␉3'
    """
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def visible_json(text: str) -> str:
    r"""JSON text in which characters that a terminal would obey are written as JSON's own escapes.

    >>> visible_json('"a\u009b2J"')
    '"a\\u009b2J"'
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def marked(template: str, *values: object) -> Text:
    """A template in rich's markup, filled with foreign text that stays text.

    >>> marked("[bold]{}[/] ended", "[red]run").plain
    '[red]run ended'
    """
    return Text.from_markup(template.format(*(escape(visible(value)) for value in values)))


class Terminal(Console):
    """A console on which foreign text can do nothing but be read. `markup` is off: use `marked` for our own."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control is None and _HIDDEN.search(segment.text):
                segment = Segment(visible(segment.text), segment.style)
            yield segment
