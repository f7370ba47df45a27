"""Balatro as a card table for the terminal: the player's figures at the left, jokers, shop, pack and hand at the right.

Shows what the player may know and no more: face-down cards show their backs. The whole table fits 100 columns and 40
lines; what does not fit (more than nine hand cards, many jokers) is drawn smaller, never cut off. Everything can be
told without colour, too: suits have signs, editions, enhancements, seals and stickers have words or letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.align import Align
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, JOKERS, PACKS, TAGS, VOUCHERS
from jimbot.games.balatro.rules.state import (
    BLIND_SELECT,
    CARD_DEBUFFED,
    CARD_FACE_DOWN,
    CURRENT,
    DEBUFFED,
    DEFEATED,
    FACE_DOWN,
    FIRST_PACK_OFFER,
    GAME_OVER,
    OFFER_CARD,
    OFFER_CONSUMABLE,
    OFFER_JOKER,
    PACK,
    ROUND_EVAL,
    SELECTABLE,
    SHOP,
    SKIPPED,
    WON,
)
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.figures import read_figures
from jimbot.games.balatro.view.held import consumable_names, hand_number, joker_names, numbered
from jimbot.games.balatro.view.side import WIDTH as SIDE_WIDTH
from jimbot.games.balatro.view.side import side
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
from jimbot.games.balatro.view.tiles import (
    DIM,
    SLIM,
    WIDE,
    Face,
    Tile,
    folded,
    hidden_card,
    marks,
    rows,
    slim_card,
    tile,
    wide_card,
)
from jimbot.games.contract import BatchGame

WIDTH = 100
_MAIN = WIDTH - SIDE_WIDTH - 1
_TILE = 13  # width of a joker, an offer, a pack
_TILES = _MAIN // _TILE
_WIDE_CARDS = _MAIN // WIDE  # hand cards drawn in full
_SLIM_CARDS = _MAIN // SLIM  # hand cards drawn half hidden by the next


def render(game: BatchGame, row: int) -> RenderableType:
    """One game of a batch as the player sees it."""
    return picture(game.games[row])  # ty: ignore[missing-attribute]


def picture(g: Any) -> RenderableType:
    """One record as the player sees it."""
    figures = read_figures(g)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=SIDE_WIDTH)
    grid.add_column(width=_MAIN)
    grid.add_row(side(g, figures), Group(*_main(g, figures)))
    return grid


# --- jokers and consumables ---


def _joker_tile(g: Any, index: int, sell: int) -> Tile:
    flags = int(g.joker_flags[index])
    foot = Text(f"{index + 1}", style=DIM)
    if flags & FACE_DOWN:
        return tile([Text("░" * (_TILE - 2), style="#a85c5c")] * 4, _TILE, DIM, foot)
    joker = int(g.joker_id[index])
    style = "dim strike" if flags & DEBUFFED else joker_style(joker)
    lines = [Text(line, style=style) for line in folded(JOKERS.name(joker), _TILE - 2, 2)]
    value = "debuffed" if flags & DEBUFFED else words.joker_value(g, index)
    lines.append(Text(value, style="red" if flags & DEBUFFED else "bold"))
    lines.append(marks(int(g.joker_edition[index]), flags))
    return tile(lines, _TILE, joker_style(joker), foot.append(f" sells ${sell}"))


def _jokers(g: Any, figures: Any) -> RenderableType:
    count = int(g.joker_count)
    title = Text.assemble((f"Jokers {count}/{int(g.joker_slots)}", "bold"))
    if count == 0:
        return title
    if count <= _TILES:
        return Group(title, rows([_joker_tile(g, i, int(figures.jokers[i])) for i in range(count)], _TILES))
    return Group(title, Flow(numbered(joker_names(g)), "  "))


def _consumables(g: Any) -> RenderableType:
    title = Text(f"Consumables {int(g.consumable_count)}/{int(g.consumable_slots)}  ", style="bold")
    names = numbered(consumable_names(g))
    return Flow([title, *names], "  ") if names else title


# --- what is on offer ---


def _offer_tile(g: Any, place: int, foot: Text) -> Tile:
    kind, identifier = int(g.offer_kind[place]), int(g.offer_id[place])
    edition = int(g.offer_edition[place])
    if kind == OFFER_CARD:
        enhancement, seal = int(g.offer_enhancement[place]), int(g.offer_seal[place])
        return wide_card(Face(identifier, int(g.offer_suit[place]), enhancement, edition, seal), foot)
    joker = kind == OFFER_JOKER
    style = joker_style(identifier) if joker else consumable_style(identifier)
    name = (JOKERS if joker else CONSUMABLES).name(identifier)
    lines = [Text(line, style=style) for line in folded(name, _TILE - 2, 2)]
    extras = marks(edition, int(g.offer_flags[place])) or Text(_kind_word(kind, identifier), style=DIM)
    return tile([*lines, extras], _TILE, style, foot)


def _kind_word(kind: int, identifier: int) -> str:
    return "Joker" if kind == OFFER_JOKER else str(CONSUMABLES.rows[identifier]["set"])


def _price(number: int, price: int, money: int) -> Text:
    return Text.assemble((f"{number + 1} ", DIM), (words.dollars(price), MONEY_STYLE if price <= money else DIM))


def _named_tile(name: str, kind: str, style: str, foot: Text) -> Tile:
    lines = [Text(line, style=style) for line in folded(name, _TILE - 2, 2)]
    return tile([*lines, Text(kind, style=DIM)], _TILE, style, foot)


def _notes(names: Sequence[tuple[str, str]]) -> list[RenderableType]:
    """What things on offer do."""
    return [Text.assemble((f"{name}: ", "not dim"), effect, style=DIM) for name, effect in dict.fromkeys(names)]


def _effects(g: Any, places: range) -> list[tuple[str, str]]:
    tables = {OFFER_JOKER: JOKERS, OFFER_CONSUMABLE: CONSUMABLES}
    found = [(tables.get(int(g.offer_kind[place])), int(g.offer_id[place])) for place in places]
    return [(table.name(item), str(table.rows[item]["effect"])) for table, item in found if table is not None]


def _shop(g: Any, figures: Any) -> RenderableType:
    money = int(g.money)
    cards = [_offer_tile(g, i, _price(i, int(figures.offers[i]), money)) for i in range(g.shop_count)]
    below = []
    for i in range(g.voucher_count):
        name = VOUCHERS.name(int(g.shop_voucher[i]))
        below.append(_named_tile(name, "Voucher", VOUCHER_STYLE, _price(i, int(figures.vouchers[i]), money)))
    for i in range(g.booster_count):
        row = PACKS.rows[int(g.booster_id[i])]
        size, price = f"{row['picks']} of {row['cards']}", _price(i, int(figures.boosters[i]), money)
        below.append(_named_tile(row["name"], size, PACK_STYLES[row["kind"]], price))
    title = Text.assemble(("Shop", "bold"), ("   reroll ", DIM), (words.dollars(int(figures.reroll)), MONEY_STYLE))
    parts: list[RenderableType] = [title]
    parts += [rows(cards, _TILES)] if cards else [Text("  no cards left", style=DIM)]
    parts += [Text("Voucher and boosters", style="bold"), rows(below, _TILES)] if below else []
    vouchers = [VOUCHERS.rows[int(g.shop_voucher[i])] for i in range(g.voucher_count)]
    return Group(
        *parts, *_notes([*_effects(g, range(g.shop_count)), *((row["name"], row["effect"]) for row in vouchers)])
    )


def _pack(g: Any) -> RenderableType:
    row = PACKS.rows[int(g.pack_id)]
    title = Text.assemble((row["name"], f"bold {PACK_STYLES[row['kind']]}"), (f"   {int(g.pack_picks)} to pick", DIM))
    tiles = [_offer_tile(g, FIRST_PACK_OFFER + i, Text(str(i + 1), style=DIM)) for i in range(g.pack_count)]
    inside = range(FIRST_PACK_OFFER, FIRST_PACK_OFFER + g.pack_count)
    return Group(title, rows(tiles, _TILES), *_notes(_effects(g, inside)))


# --- phases ---


def _blinds(g: Any, figures: Any) -> RenderableType:
    """The ante's three blinds."""
    states = {SELECTABLE: "up next", CURRENT: "now", SKIPPED: "skipped", DEFEATED: "defeated"}
    table = Table.grid(padding=(0, 1))
    panels = []
    for place in range(3):
        state = int(g.blind_state[place])
        name = words.blind_name(g, place)
        style = BOSS_STYLE if place == 2 else "bold"
        lines = [
            Text(name, style=style),
            Text.assemble(("score ", DIM), (words.number(float(figures.requirements[place])), "bold")),
            Text.assemble(("reward ", DIM), (words.dollars(int(figures.rewards[place])), MONEY_STYLE)),
        ]
        if place < 2:
            lines.append(Text.assemble(("skip: ", DIM), (TAGS.name(int(g.skip_tag[place])), TAG_STYLE)))
        else:
            lines.append(Text(str(BLINDS.rows[int(g.boss)]["effect"]), style=DIM))
        edge = "bold yellow" if state == SELECTABLE else DIM
        title = states.get(state, "upcoming")
        panels.append(Panel(Group(*lines), title=title, border_style=edge, width=_MAIN // 3 - 1, height=9))
    table.add_row(*panels)
    return table


def _payout(g: Any) -> RenderableType:
    names = ("Blind", "Hands and discards left", "Jokers", "Tags", "Interest")
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    for name, amount in zip(names, g.payout_part.tolist(), strict=True):
        if amount:
            table.add_row(name, Text(words.dollars(amount), style=MONEY_STYLE))
    table.add_row(Text("Cash out", style="bold"), Text(words.dollars(int(g.payout)), style=f"{MONEY_STYLE} reverse"))
    return Panel(table, title="Round won", expand=False, border_style="green")


def _ending(g: Any) -> RenderableType:
    if g.phase == WON:
        return Panel(Align.center(Text("YOU WON", style="bold green")), border_style="green", width=_MAIN - 1)
    text = Text.assemble(
        ("GAME OVER", BOSS_STYLE),
        f"  {words.number(g.score)} of {words.number(g.requirement)} points against {BLINDS.name(int(g.blind))}",
    )
    return Panel(Align.center(text), border_style="red", width=_MAIN - 1)


def _hand_card(g: Any, place: int, slim: bool) -> Tile:
    slot = int(g.hand[place])
    flags = int(g.card_flags[slot])
    foot = hand_number(g, place)
    if flags & CARD_FACE_DOWN:
        return hidden_card(foot, SLIM if slim else WIDE)
    draw = slim_card if slim else wide_card
    return draw(Face.of(g, slot), foot, bool(flags & CARD_DEBUFFED))


def _hand(g: Any) -> RenderableType:
    count = int(g.hand_count)
    slim = count > _WIDE_CARDS
    title = Text.assemble((f"Hand {count}", "bold"), (f"  sorted by {'suit' if g.sort_by_suit else 'rank'}", DIM))
    tiles = [_hand_card(g, place, slim) for place in range(count)]
    return Group(title, rows(tiles, _SLIM_CARDS if slim else _WIDE_CARDS))


def _main(g: Any, figures: Any) -> list[RenderableType]:
    parts = [_jokers(g, figures), _consumables(g)]
    if g.phase == BLIND_SELECT:
        parts.append(_blinds(g, figures))
    elif g.phase == SHOP:
        parts.append(_shop(g, figures))
    elif g.phase == PACK:
        parts.append(_pack(g))
    elif g.phase == ROUND_EVAL:
        parts.append(_payout(g))
    elif g.phase in (GAME_OVER, WON):
        parts.append(_ending(g))
    if g.hand_count:
        parts.append(_hand(g))
    return parts
