"""Where a found seed holds what was asked for: the ante, and the shop card, pack or tag.

    >>> [str(place) for place in places("voucher:Telescope@1 and tag:'Negative Tag'@2", "111111A3")]
    ['Telescope: ante 1, voucher', 'Negative Tag: ante 2, for skipping the Big Blind']

Shop cards and packs are counted as they come: two of each per shop, before any reroll.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules.chance.streams import SEED_COUNT, seed_number
from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, EDITIONS, JOKERS, PACKS, TAGS, VOUCHERS
from jimbot.games.balatro.seeds import preview_kernel as view
from jimbot.games.balatro.seeds.finding import Ante, Condition, Item, SeedPreview, preview, search, wanted
from jimbot.games.balatro.view.names import find_deck, find_stake
from jimbot.games.balatro.view.things import item_text
from jimbot.machine import usable_cores

_SKIPPED = ("Small", "Big")
_SOUL = "c_soul"


@dataclass(frozen=True)
class Place:
    """One thing that was asked for, and where it is first."""

    thing: str
    ante: int
    spot: str

    def __str__(self) -> str:
        return f"{self.thing}: ante {self.ante}, {self.spot}"


def places(
    expression: str, seed: str, antes: int = 8, shop_cards: int = 4, packs: int = 4, **options: Any
) -> list[Place]:
    """The first place of everything `expression` asks for and `seed` holds, in the order asked; options as of `search`.

    What is asked not to be there has no place.
    """
    seen = preview(seed, antes, shop_cards=shop_cards, first_packs=packs, later_packs=packs, **options)
    found = (next(_places_of(condition, seen), None) for condition in wanted(expression, antes))
    return list(dict.fromkeys(place for place in found if place is not None))


def _places_of(condition: Condition, seen: SeedPreview) -> Iterator[Place]:
    for ante in seen.antes[condition.first - 1 : condition.last]:
        for thing, spot in _spots(condition, ante, seen.legendary):
            yield Place(thing, ante.ante, spot)


def _spots(condition: Condition, ante: Ante, legendary: str) -> Iterator[tuple[str, str]]:
    kind, item = condition.kind, condition.item
    if kind == view.ASK_BOSS and BLINDS.id(ante.boss) == item:
        yield BLINDS.name(item), "boss"
    elif kind == view.ASK_VOUCHER and VOUCHERS.id(ante.voucher) == item:
        yield VOUCHERS.name(item), "voucher"
    elif kind == view.ASK_TAG:
        for blind, tag in zip(_SKIPPED, ante.tags, strict=True):
            if TAGS.id(tag) == item:
                yield TAGS.name(item), f"for skipping the {blind} Blind"
    elif kind == view.ASK_PACK:
        for number, pack in enumerate(ante.packs, 1):
            if PACKS.id(pack.key) == item:
                yield PACKS.name(item), f"pack {number}"
    elif kind == view.ASK_LEGENDARY and JOKERS.id(legendary) == item:
        yield from ((JOKERS.name(item), f"The Soul in {spot}") for card, spot in _on_display(ante) if card.key == _SOUL)
    elif kind in (view.ASK_JOKER, view.ASK_CONSUMABLE):
        yield from ((item_text(card).plain, spot) for card, spot in _on_display(ante) if _is(card, condition))


def _on_display(ante: Ante) -> Iterator[tuple[Item, str]]:
    for number, card in enumerate(ante.shop, 1):
        yield card, f"shop card {number}"
    for number, pack in enumerate(ante.packs, 1):
        for place, card in enumerate(pack.cards, 1):
            yield card, f"pack {number} ({PACKS.row(pack.key)['name']}), card {place}"


def _is(card: Item, condition: Condition) -> bool:
    table = JOKERS if condition.kind == view.ASK_JOKER else CONSUMABLES
    edition = EDITIONS.id(f"e_{card.edition}") if card.edition else 0
    return (
        card.key in table
        and condition.item in (view.ANY, table.id(card.key))
        and condition.edition in (view.ANY, edition)
    )


CHOSEN = {"antes": 8, "deck": "Red Deck", "stake": "White Stake", "shop_cards": 4, "packs": 4}
SEARCHED = {**CHOSEN, "start": "", "max_seeds": SEED_COUNT}


def preview_seed(seed: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a seed holds; options: antes, deck, stake, shop_cards and packs (per ante)."""
    return seed_preview(seed, options).as_dict()


def seed_preview(seed: str, options: Mapping[str, Any]) -> SeedPreview:
    """The same as a record."""
    chosen = _chosen(options, CHOSEN)
    packs = chosen.pop("packs")
    return preview(seed, first_packs=packs, later_packs=packs, **chosen)


def search_seeds(question: str, limit: int, options: Mapping[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Seeds that answer a question; options as for a preview, and start (a seed) and max_seeds."""
    chosen = _chosen(options, SEARCHED)
    first = chosen.pop("start")
    start = seed_number(str(first)) if first else secrets.randbelow(SEED_COUNT)
    return search(question, limit, start=start, threads=usable_cores(), **chosen)


def seed_places(question: str, seed: str, options: Mapping[str, Any]) -> list[str]:
    """Where a seed has what a question asks for; options as for a search."""
    chosen = _chosen(options, SEARCHED)
    del chosen["start"], chosen["max_seeds"]
    return [str(place) for place in places(question, seed, **chosen)]


def _chosen(options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in known:
            raise UnknownNameError("option of a seed", name, known)
    chosen = {**known, **options}
    return {**chosen, "deck": find_deck(str(chosen["deck"])), "stake": find_stake(chosen["stake"])}
