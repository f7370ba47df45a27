"""The card table for little room: at most 80 columns and about a dozen rows, cards of three rows, all else in lines.

Shows what `table.py` shows, but for the deck's counts and the effects of things on offer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from jimbot.games.balatro.rules.content import BLINDS, PACKS, TAGS
from jimbot.games.balatro.rules.state import (
    BLIND_SELECT,
    CARD_DEBUFFED,
    CARD_FACE_DOWN,
    GAME_OVER,
    OFFER_CARD,
    OFFER_JOKER,
    PACK,
    ROUND_EVAL,
    SELECTING_HAND,
    SHOP,
    WON,
)
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.figures import read_figures
from jimbot.games.balatro.view.held import consumable_names, hand_number, joker_names, numbered
from jimbot.games.balatro.view.things import (
    BOSS_STYLE,
    MONEY_STYLE,
    PACK_STYLES,
    TAG_STYLE,
    VOUCHER_STYLE,
    Flow,
    consumable_style,
    joker_style,
)
from jimbot.games.balatro.view.tiles import DIM, Face, Tile, rows, small_card
from jimbot.games.contract import BatchGame

WIDTH = 80
_CARD = 5
_BAR = 20


def render(game: BatchGame, row: int) -> RenderableType:
    """One game of a batch as the player sees it."""
    return picture(game.games[row])  # ty: ignore[missing-attribute]


def picture(g: Any) -> RenderableType:
    """One record as the player sees it."""
    figures = read_figures(g)
    parts = [_standing(g), *_held(g, figures), *_situation(g, figures)]
    if g.hand_count:
        parts.append(rows([_hand_card(g, place) for place in range(g.hand_count)], WIDTH // _CARD))
    return Group(*parts)


def _standing(g: Any) -> Text:
    goal = f"/{int(g.win_ante)}" if g.ante <= g.win_ante else ""
    return Text.assemble(
        ("ante ", DIM), (f"{int(g.ante)}{goal}", "bold"), ("  round ", DIM), (str(int(g.rounds)), "bold"),
        "  ", (words.dollars(int(g.money)), MONEY_STYLE), ("  hands ", DIM), (str(int(g.hands_left)), "bold #4aa8ff"),
        ("  discards ", DIM), (str(int(g.discards_left)), "bold #fe5f55"),
        ("  deck ", DIM), f"{int(g.pile_count)}/{int(g.card_count)}",
    )  # fmt: skip


def _numbered(title: str, items: list[tuple[str, str]]) -> RenderableType:
    return Flow([Text(title, style="bold"), *numbered(items)], "  ")


def _held(g: Any, figures: Any) -> Iterator[RenderableType]:
    jokers, consumables = joker_names(g), consumable_names(g)
    yield _numbered(f"Jokers {len(jokers)}/{int(g.joker_slots)}", jokers)
    if consumables:
        yield _numbered(f"Consumables {len(consumables)}/{int(g.consumable_slots)}", consumables)


def _situation(g: Any, figures: Any) -> Iterator[RenderableType]:
    if g.phase == BLIND_SELECT:
        yield from _blinds(g, figures)
    elif g.phase in (SELECTING_HAND, GAME_OVER):
        yield from _blind(g)
    elif g.phase == SHOP:
        yield from _shop(g, figures)
    elif g.phase == PACK:
        yield _pack(g)
    elif g.phase == ROUND_EVAL:
        yield Text.assemble(("Round won", "bold green"), "  pays ", (words.dollars(int(g.payout)), MONEY_STYLE))
    elif g.phase == WON:
        yield Text("YOU WON", style="bold green")


def _blinds(g: Any, figures: Any) -> Iterator[RenderableType]:
    for place in range(3):
        boss = place == 2
        after = (str(BLINDS.rows[int(g.boss)]["effect"]), DIM)
        if not boss:
            after = (f"skip: {TAGS.name(int(g.skip_tag[place]))}", TAG_STYLE)
        yield Text.assemble(
            ("▶ " if place == g.on_deck else "  ", "bold yellow"),
            (words.blind_name(g, place), BOSS_STYLE if boss else "bold"),
            f"  {words.number(float(figures.requirements[place]))}  ",
            (words.dollars(int(figures.rewards[place])), MONEY_STYLE),
            "  ",
            after,
        )


def _blind(g: Any) -> Iterator[RenderableType]:
    blind = BLINDS.rows[int(g.blind)]
    boss = blind["type"] == "boss"
    share = min(1.0, float(g.score) / float(g.requirement)) if g.requirement > 0 else 0.0
    full = round(share * _BAR)
    yield Text.assemble(
        (blind["name"], BOSS_STYLE if boss else "bold"),
        f"  {words.number(float(g.score))} / {words.number(float(g.requirement))}  ",
        ("━" * full, "green"),
        ("━" * (_BAR - full), "grey30"),
        ("  GAME OVER" if g.phase == GAME_OVER else "", BOSS_STYLE),
    )
    if boss:
        yield Text("disabled" if g.blind_disabled else blind["effect"], style=DIM)


def _offer_style(g: Any, place: int) -> str:
    kind, item = int(g.offer_kind[place]), int(g.offer_id[place])
    return "" if kind == OFFER_CARD else joker_style(item) if kind == OFFER_JOKER else consumable_style(item)


def _shop(g: Any, figures: Any) -> Iterator[RenderableType]:
    offers = [
        (f"{words.offer(g, i)} {words.dollars(int(figures.offers[i]))}", _offer_style(g, i))
        for i in range(g.shop_count)
    ]
    yield _numbered(f"Shop (reroll {words.dollars(int(figures.reroll))})", offers)
    if g.voucher_count:
        sale = [(words.voucher_on_sale(g, figures, i), VOUCHER_STYLE) for i in range(g.voucher_count)]
        yield _numbered("Voucher", sale)
    if g.booster_count:
        packs = [
            (words.booster_on_sale(g, figures, i), PACK_STYLES[PACKS.rows[int(g.booster_id[i])]["kind"]])
            for i in range(g.booster_count)
        ]
        yield _numbered("Boosters", packs)


def _pack(g: Any) -> RenderableType:
    inside = [(words.pack_card(g, i), "bold") for i in range(g.pack_count)]
    return _numbered(f"{PACKS.name(int(g.pack_id))}, {int(g.pack_picks)} to pick:", inside)


def _hand_card(g: Any, place: int) -> Tile:
    slot = int(g.hand[place])
    flags = int(g.card_flags[slot])
    face = None if flags & CARD_FACE_DOWN else Face.of(g, slot)
    return small_card(face, hand_number(g, place), _CARD, bool(flags & CARD_DEBUFFED))
