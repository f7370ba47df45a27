"""A moment of a game as plain values to be drawn: what the page in the browser shows of a game.

A game gives one of a few kinds of scenes through the hook `scene`, and whoever draws knows the kinds, not the games: a
new game of cards, on a board or between two sides looks like the others at once. A game without a scene is shown in the
words of `describe`. Scenes hold what the player may know, ready for JSON; all texts are plain text.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Tone = Literal["", "good", "bad", "money", "energy", "quiet", "strong", "a", "b", "c", "d"]
"""How something is coloured; `a` to `d` tell kinds apart and mean nothing by themselves."""


class Figure(TypedDict):
    """One number beside the table."""

    name: str
    value: str
    of: NotRequired[str]
    """What it is measured by: a score by its requirement."""
    share: NotRequired[float]
    """0 to 1, where a bar says more."""
    tone: NotRequired[Tone]


class Card(TypedDict):
    """A card or any other thing that lies on the table."""

    name: str
    kind: str
    """Cards of a kind look alike: card, joker, tarot, planet, …"""
    rank: NotRequired[str]
    suit: NotRequired[str]
    """Sign of the suit; with it and a rank it is drawn as a playing card."""
    text: NotRequired[str]
    """What it does."""
    foot: NotRequired[str]
    """Below it: a price, a number."""
    marks: NotRequired[list[str]]
    state: NotRequired[Literal["", "chosen", "weak", "hidden", "forced"]]


class Zone(TypedDict):
    """Cards that lie together."""

    name: str
    title: str
    cards: list[Card]
    note: NotRequired[str]


class CardScene(TypedDict):
    """A card table."""

    kind: Literal["cards"]
    figures: list[Figure]
    zones: list[Zone]
    lists: NotRequired[list[List]]


class Thing(TypedDict):
    """Somebody or something on a cell."""

    label: str
    tone: Tone
    title: str


class Cell(TypedDict):
    row: int
    col: int
    ground: str
    """Cells of a ground look alike; nothing is the empty one."""
    label: NotRequired[str]
    things: list[Thing]


class BoardScene(TypedDict):
    """A board of cells, row 0 at the bottom."""

    kind: Literal["board"]
    rows: int
    cols: int
    cells: list[Cell]
    figures: list[Figure]
    lists: NotRequired[list[List]]


class Member(TypedDict):
    """One of a side's fighters."""

    name: str
    health: float
    out: bool
    """Whether it is on the field now."""
    tags: list[str]
    notes: list[str]
    moves: list[str]


class Side(TypedDict):
    title: str
    notes: list[str]
    members: list[Member]


class BattleScene(TypedDict):
    """Two sides, the rival first."""

    kind: Literal["battle"]
    sides: list[Side]
    figures: list[Figure]


class List(TypedDict):
    """Names under a title: programs, levels, vouchers."""

    title: str
    items: list[str]


class TextScene(TypedDict):
    kind: Literal["text"]
    text: str


Scene = CardScene | BoardScene | BattleScene | TextScene
