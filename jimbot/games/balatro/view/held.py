"""What the player holds, as pieces that the large and the small table put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from jimbot.games.balatro.rules.state import CARD_FORCED, FACE_DOWN
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.things import consumable_style, joker_style
from jimbot.games.balatro.view.tiles import DIM

Named = tuple[str, str]
"""A name and its style."""


def joker_names(g: Any) -> list[Named]:
    return [
        (words.joker(g, i), DIM if g.joker_flags[i] & FACE_DOWN else joker_style(int(g.joker_id[i])))
        for i in range(g.joker_count)
    ]


def consumable_names(g: Any) -> list[Named]:
    return [(words.consumable(g, i), consumable_style(int(g.consumable_id[i]))) for i in range(g.consumable_count)]


def numbered(things: Sequence[Named]) -> list[Text]:
    """Things by number, each in its style."""
    return [Text.assemble((f"{number} ", DIM), thing) for number, thing in enumerate(things, 1)]


def hand_number(g: Any, place: int) -> Text:
    """The number of a hand card: ▲ where it is selected, ! where it must be played."""
    if int(g.selected) >> place & 1:
        return Text(f"▲{place + 1}", style="bold reverse")
    if int(g.card_flags[g.hand[place]]) & CARD_FORCED:
        return Text(f"!{place + 1}", style="bold red")
    return Text(str(place + 1), style=DIM)
