"""Small boxes for the terminal, and playing cards drawn as such: in full, half hidden by the next, or from the back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from jimbot.games.balatro.rules.content import SEALS, STONE
from jimbot.games.balatro.view.describe import STICKERS
from jimbot.games.balatro.view.things import (
    EDITION_MARKS,
    EDITION_STYLES,
    ENHANCEMENT_MARKS,
    ENHANCEMENT_STYLES,
    SEAL_STYLES,
    SUIT_SIGNS,
    SUIT_STYLES,
    rank_text,
)

DIM = "dim"
WIDE, SLIM = 7, 4  # widths of a playing card
_BACK = "░"
_BACK_STYLE = "#5c7aa8"


class Face(NamedTuple):
    """The front of a playing card."""

    rank: int
    suit: int
    enhancement: int
    edition: int
    seal: int

    @classmethod
    def of(cls, g: Any, slot: int) -> Face:
        return cls(*(int(g[f"card_{name}"][slot]) for name in cls._fields))


# --- tiles: small boxes of lines, set side by side ---

Tile = list[Text]


def tile(lines: Sequence[Text], width: int, style: str, foot: Text | None = None) -> Tile:
    """A box of lines, each centred and cut to fit; `foot` stands centred below it."""
    out = [Text(f"╭{'─' * (width - 2)}╮", style=style)]
    for line in lines:
        cut = line.copy()
        cut.truncate(width - 2)
        room = width - 2 - cut.cell_len
        out.append(Text.assemble(("│", style), " " * (room // 2), cut, " " * (room - room // 2), ("│", style)))
    out.append(Text(f"╰{'─' * (width - 2)}╯", style=style))
    if foot is not None:
        room = max(0, width - foot.cell_len)
        out.append(Text.assemble(" " * (room // 2), foot, " " * (room - room // 2)))
    return out


def rows(tiles: Sequence[Tile], per_row: int) -> RenderableType:
    """Tiles side by side, as many rows as it takes."""
    lines = []
    for first in range(0, len(tiles), per_row):
        row = tiles[first : first + per_row]
        for number in range(max(map(len, row))):
            lines.append(Text.assemble(*(tile[number] if number < len(tile) else "" for tile in row), no_wrap=True))
    return Group(*lines)


def folded(name: str, width: int, lines: int) -> list[str]:
    """A name on a fixed number of lines, broken between words, and inside words that are wider than a line.

    >>> folded("Constellation", 11, 2), folded("To the Moon", 11, 2), folded("Merry Andy", 11, 2)
    (['Constellat-', 'ion'], ['To the Moon', ''], ['Merry Andy', ''])
    """
    out = [""]
    for word in name.split():
        if out[-1] and len(out[-1]) + 1 + len(word) > width and len(out) < lines:
            out.append(word)
        else:
            out[-1] = f"{out[-1]} {word}".strip()
    if max(map(len, out)) > width and lines > 1:
        out = [f"{name[: width - 1]}-", *folded(name[width - 1 :].strip(), width, lines - 1)]
    return out + [""] * (lines - len(out))


def marks(edition: int, stickers: int) -> Text:
    """Edition and stickers in a few letters."""
    text = Text()
    if edition:
        text.append(EDITION_MARKS[edition], style=EDITION_STYLES[edition])
    for flag, word in STICKERS:
        if stickers & flag:
            text.append((" " if text else "") + word[:3], style="italic")
    return text


# --- playing cards ---


def _front(face: Face) -> tuple[str, str, str]:
    """Rank, sign and style of a card's front; a Stone Card shows neither."""
    if face.enhancement == STONE:
        return "", "▒", ENHANCEMENT_STYLES[STONE]
    return rank_text(face.rank), SUIT_SIGNS[face.suit], f"bold {SUIT_STYLES[face.suit]}"


def wide_card(face: Face, foot: Text, debuffed: bool = False) -> Tile:
    """A playing card in full: rank and seal, suit, enhancement, edition on its lower edge."""
    _, _, enhancement, edition, seal = face
    letters, sign, style = _front(face)
    if debuffed:
        style = "dim strike"
    edge = EDITION_STYLES[edition].replace(" reverse", "") if edition else DIM
    seal_mark = Text(f"●{SEALS.key(seal)[0]}" if seal else "  ", style=SEAL_STYLES[seal])
    mark = "debuf" if debuffed else ENHANCEMENT_MARKS[enhancement]
    mark_style = "red" if debuffed else ENHANCEMENT_STYLES[enhancement]
    box = tile(
        [
            Text.assemble((letters.ljust(3), style), seal_mark),
            Text(sign, style=style),
            Text(mark, style=mark_style),
        ],
        WIDE,
        edge,
        foot,
    )
    if edition:
        mark = EDITION_MARKS[edition].center(WIDE - 2, "─")
        box[4] = Text.assemble(("╰", edge), (mark, EDITION_STYLES[edition]), ("╯", edge))
    return box


def hidden_card(foot: Text, width: int = WIDE) -> Tile:
    """The back of a card."""
    return tile([Text(_BACK * (width - 2), style=_BACK_STYLE)] * 3, width, DIM, foot)


def slim_card(face: Face, foot: Text, debuffed: bool) -> Tile:
    """A playing card in a crowded hand: first letters of its enhancement and edition, its seal on the edge."""
    _, _, enhancement, edition, seal = face
    letters, sign, style = _front(face)
    if debuffed:
        style = "dim strike"
    marks = Text.assemble(
        (ENHANCEMENT_MARKS[enhancement][:1] or " ", ENHANCEMENT_STYLES[enhancement]),
        (EDITION_MARKS[edition][:1] or " ", EDITION_STYLES[edition]),
    )
    return tile([Text(letters, style=style), Text(sign, style=style), marks], SLIM, SEAL_STYLES[seal] or DIM, foot)


def small_card(face: Face | None, number: Text, width: int, debuffed: bool) -> Tile:
    """A playing card of three rows: its place on the upper edge, first letters of enhancement and edition on the lower
    one. None is the back of a card."""
    if face is None:
        edge, front, below = DIM, Text(_BACK * (width - 2), style=_BACK_STYLE), Text()
    else:
        letters, sign, style = _front(face)
        edge = SEAL_STYLES[face.seal] or DIM
        front = Text(f"{letters}{sign}".center(width - 2), style="dim strike" if debuffed else style)
        below = Text.assemble(
            (ENHANCEMENT_MARKS[face.enhancement][:1], ENHANCEMENT_STYLES[face.enhancement]),
            (EDITION_MARKS[face.edition][:1], EDITION_STYLES[face.edition]),
        )

    def line(left: str, inside: Text, right: str) -> Text:
        return Text.assemble((left, edge), inside, ("─" * (width - 2 - inside.cell_len), edge), (right, edge))

    return [line("╭", number, "╮"), Text.assemble(("│", edge), front, ("│", edge)), line("╰", below, "╯")]
