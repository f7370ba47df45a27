"""The left side of the table: blind and score, money, hands and discards, what is left in the deck, poker hands."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from jimbot.games.balatro.rules.content import (
    BLINDS,
    DECKS,
    HAND_CHIPS,
    HAND_LEVEL_CHIPS,
    HAND_LEVEL_MULT,
    HAND_MULT,
    HANDS,
    LETTER_OF_RANK,
    STAKES,
    STONE,
    VOUCHERS,
)
from jimbot.games.balatro.rules.state import CARD_FACE_DOWN, IN_DECK, SELECTING_HAND
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.things import (
    BOSS_STYLE,
    ENHANCEMENT_STYLES,
    MONEY_STYLE,
    SUIT_SIGNS,
    SUIT_STYLES,
    TAG_STYLE,
    VOUCHER_STYLE,
)
from jimbot.games.balatro.view.tiles import DIM

WIDTH = 30
_INSIDE = WIDTH - 4


def _line(name: str, value: str, style: str = "bold") -> Text:
    return Text.assemble((f"{name} ", DIM), (value, style))


def _blind_lines(g: Any) -> list[Text]:
    blind = BLINDS.rows[int(g.blind)]
    boss = blind["type"] == "boss"
    lines = [Text(blind["name"], style=BOSS_STYLE if boss else "bold")]
    if boss:
        lines.append(Text("disabled" if g.blind_disabled else blind["effect"], style=DIM))
    share = min(1.0, float(g.score) / float(g.requirement)) if g.requirement > 0 else 0.0
    full = round(share * _INSIDE)
    lines.append(_line("score", f"{words.number(float(g.score))} / {words.number(float(g.requirement))}"))
    lines.append(Text.assemble(("━" * full, "green"), ("━" * (_INSIDE - full), "grey30")))
    return lines


def _deck_lines(g: Any) -> list[Text]:
    """What is still undrawn, by suit and rank, from what the player can count. Face-down cards count as undrawn."""
    slots = g.cards[: g.card_count]
    unseen = [int(slot) for slot in slots if g.card_place[slot] == IN_DECK or g.card_flags[slot] & CARD_FACE_DOWN]
    plain = [slot for slot in unseen if g.card_enhancement[slot] != STONE]
    suits = np.bincount([int(g.card_suit[slot]) for slot in plain], minlength=4)
    ranks = np.bincount([int(g.card_rank[slot]) for slot in plain], minlength=15)
    text = Text()
    for suit in range(4):
        text.append(f"{SUIT_SIGNS[suit]}{suits[suit]} ", style=SUIT_STYLES[suit])
    if len(plain) < len(unseen):
        text.append(f"▒{len(unseen) - len(plain)}", style=ENHANCEMENT_STYLES[STONE])
    order = range(14, 1, -1)
    letters = Text(" ".join(LETTER_OF_RANK[rank] for rank in order), style=DIM)
    counts = Text(" ".join(str(ranks[rank]) if ranks[rank] < 10 else "+" for rank in order))
    return [_line("deck", f"{int(g.pile_count)}/{int(g.card_count)}"), text, letters, counts]


def _level_lines(g: Any) -> list[Text]:
    """Poker hands that were played or raised, strongest first, with what they are worth now."""
    lines = []
    for hand in range(len(HANDS)):
        level, played = int(g.hand_level[hand]), int(g.hand_played[hand])
        if level == 1 and not played:
            continue
        chips = HAND_CHIPS[hand] + HAND_LEVEL_CHIPS[hand] * (level - 1)
        mult = HAND_MULT[hand] + HAND_LEVEL_MULT[hand] * (level - 1)
        name = HANDS.key(hand).replace(" of a Kind", " Kind").replace("Straight Flush", "Str. Flush")
        worth = f"{words.number(float(chips))}×{words.number(float(mult))}"
        text = Text.assemble((f"{name:<11}", ""), (f"{level:>2} ", "bold" if level > 1 else DIM), (f"{worth:>8}", DIM))
        lines.append(text)
    return lines


def side(g: Any, figures: Any) -> RenderableType:
    """The whole side as one panel."""
    goal = f"/{int(g.win_ante)}" if g.ante <= g.win_ante else ""
    lines: list[RenderableType] = [
        Text.assemble(
            ("ante ", DIM),
            (f"{int(g.ante)}{goal}", "bold"),
            ("  round ", DIM),
            (str(int(g.rounds)), "bold"),
        ),
        Text.assemble(
            (words.dollars(int(g.money)), f"{MONEY_STYLE}"), ("   hand size ", DIM), str(int(figures.hand_limit))
        ),
    ]
    if g.phase == SELECTING_HAND:
        lines += _blind_lines(g)
    else:
        lines.append(Text.assemble(("boss ", DIM), (BLINDS.name(int(g.boss)), BOSS_STYLE)))
    lines.append(
        Text.assemble(
            ("hands ", DIM),
            (str(int(g.hands_left)), "bold #4aa8ff"),
            ("  discards ", DIM),
            (str(int(g.discards_left)), "bold #fe5f55"),
        )
    )
    lines += _deck_lines(g)
    if g.tag_count:
        lines.append(Text(", ".join(words.tag(g, i) for i in range(g.tag_count)), style=TAG_STYLE))
    owned = [VOUCHERS.name(i) for i, yes in enumerate(g.voucher_owned) if yes]
    if owned:
        lines.append(Text(", ".join(owned), style=VOUCHER_STYLE))
    lines += _level_lines(g)
    seed = bytes(g.seed[: g.seed_length]).decode()
    deck = f"{DECKS.name(int(g.deck)).removesuffix(' Deck')}, {STAKES.name(int(g.stake)).removesuffix(' Stake')}"
    return Panel(Group(*lines), title=f"[bold]{seed}[/]", subtitle=f"[dim]{deck}[/]", border_style=DIM, width=WIDTH)
