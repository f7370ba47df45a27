"""A moment of a game as plain values to be drawn, by the terminal (`drawing`) and by the page in the browser.

A game gives one of a few kinds of scenes through the hook `scene`, and a renderer knows the kinds, not the games: a
new game of cards, on a board or between two sides looks like the others at once. A game without a scene is shown in the
words of `describe`. Scenes hold what the player may know, ready for JSON; all texts are plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from jimbot.games.batch_game import BatchGame
    from jimbot.games.entry import GameEntry

Tone = Literal["", "good", "bad", "money", "energy", "quiet", "strong", "a", "b", "c", "d"]
"""How something is coloured; `a` to `d` tell kinds apart and mean nothing by themselves."""


class Stat(TypedDict):
    """One number beside the table."""

    name: str
    value: str
    of: NotRequired[str]
    """What it is measured by: a score by its requirement."""
    share: NotRequired[float]
    """0 to 1, where a bar says more."""
    note: NotRequired[str]
    """What it means for the player now."""
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
    tone: NotRequired[Tone]
    """Of the foot: whether a price can be paid."""
    marks: NotRequired[list[str]]
    state: NotRequired[Literal["", "chosen", "weak", "hidden", "forced"]]


class Zone(TypedDict):
    """Cards that lie together."""

    name: str
    title: str
    cards: list[Card]
    note: NotRequired[str]
    held: NotRequired[bool]
    """The player owns these and knows what they do: where room is short, their names are enough."""


class CardScene(TypedDict):
    """A card table."""

    kind: Literal["cards"]
    title: NotRequired[str]
    """Which game it is: its seed."""
    about: NotRequired[str]
    stats: list[Stat]
    zones: list[Zone]
    lists: NotRequired[list[List]]


class Thing(TypedDict):
    """A figure or thing on a cell."""

    label: str
    tone: Tone
    title: str
    lies: NotRequired[bool]
    """It lies on the ground, below a figure that stands there."""


class Cell(TypedDict):
    row: int
    col: int
    ground: str
    """Cells of a ground look alike; nothing is the empty one."""
    label: NotRequired[str]
    """A short name, then more about it."""
    things: list[Thing]


class BoardScene(TypedDict):
    """A board of cells, row 0 at the bottom."""

    kind: Literal["board"]
    rows: int
    cols: int
    cells: list[Cell]
    stats: list[Stat]
    lists: NotRequired[list[List]]


class Member(TypedDict):
    """One of a side's fighters."""

    name: str
    health: float
    out: bool
    """Whether it is on the field now."""
    slot: NotRequired[str]
    """Where on the field."""
    item: NotRequired[str]
    tags: list[str]
    notes: list[str]
    moves: list[str]


class Side(TypedDict):
    title: str
    notes: list[str]
    members: list[Member]


class BattleScene(TypedDict):
    """Two sides, the opponent first."""

    kind: Literal["battle"]
    sides: list[Side]
    stats: list[Stat]


class List(TypedDict):
    """Names under a title: programs, levels, vouchers."""

    title: str
    items: list[str]


class TextScene(TypedDict):
    kind: Literal["text"]
    text: str


Scene = CardScene | BoardScene | BattleScene | TextScene


def scene_of(entry: GameEntry, game: BatchGame, row: int = 0) -> Scene:
    """What the player of a row sees: the game's scene, or its words where it has none."""
    return {"kind": "text", "text": game.describe(row)} if entry.scene is None else entry.scene(game, row)
