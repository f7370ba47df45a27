"""What a seed holds as zones of cards, ante by ante: for the page in the browser (see `jimbot.games.scenes`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.seeds.finding import Ante, Item
from jimbot.games.balatro.seeds.places import seed_preview
from jimbot.games.balatro.view.scene import RARITIES, face
from jimbot.games.balatro.view.things import EDITION_MARKS
from jimbot.games.scenes import Card, Zone

SHOWN = {"shop_cards": 12, "packs": 6}
"""More than a search looks at."""


def chapters(seed: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The page of a seed: `{"title", "words", "chapters": [{"title", "zones"}]}`."""
    view = seed_preview(seed, {**SHOWN, **options})
    deck, stake = content.DECKS.row(view.deck)["name"], content.STAKES.row(view.stake)["name"]
    legendary = content.JOKERS.row(view.legendary)["name"]
    return {
        "title": view.seed,
        "words": f"{deck}, {stake}; the first Soul brings {legendary}.",
        "chapters": [{"title": f"Ante {ante.ante}", "zones": _zones(ante)} for ante in view.antes],
    }


def choices() -> dict[str, list[str]]:
    """What can be chosen about a seed."""
    return {"deck": list(content.DECKS.names), "stake": list(content.STAKES.names), "antes": list("87654321")}


def _zones(ante: Ante) -> list[Zone]:
    skipped = zip(ante.tags, ("Small Blind", "Big Blind"), strict=True)
    tags = [_named("tag", content.TAGS.row(tag), f"skips the {blind}") for tag, blind in skipped]
    zones: list[Zone] = [
        {"name": "boss", "title": "Boss", "cards": [_named("boss", content.BLINDS.row(ante.boss))]},
        {"name": "voucher", "title": "Voucher", "cards": [_named("voucher", content.VOUCHERS.row(ante.voucher))]},
        {
            "name": "tag",
            "title": "Tags",
            "cards": tags,
        },
        {"name": "shop", "title": "Shop, as its cards come", "cards": [_item(item) for item in ante.shop]},
    ]
    for pack in ante.packs:
        row, cards = content.PACKS.row(pack.key), [_item(card) for card in pack.cards]
        zones.append(
            {"name": "pack", "title": row["name"], "note": f"{row['picks']} of {row['cards']}", "cards": cards}
        )
    return [zone for zone in zones if zone["cards"]]


def _named(kind: str, row: Mapping[str, Any], foot: str = "") -> Card:
    return {"name": row["name"], "kind": kind, "text": str(row["effect"]), "foot": foot}


def _item(item: Item) -> Card:
    edition = content.EDITIONS.id(f"e_{item.edition}") if item.edition else 0
    if item.card:
        enhancement = content.ENHANCEMENTS.id(item.enhancement) if item.enhancement else 0
        return face(
            *content.parse_card(item.card), enhancement, edition, content.SEALS.id(item.seal) if item.seal else 0
        )
    marks: list[str] = [EDITION_MARKS[edition].lower()] if edition else []
    marks += [name for name in ("eternal", "perishable", "rental") if getattr(item, name)]
    if item.key in content.JOKERS:
        row = content.JOKERS.row(item.key)
        kind = f"joker {RARITIES[row['rarity']]}"
    else:
        row = content.CONSUMABLES.row(item.key)
        kind = str(row["set"]).lower()
    return {"name": row["name"], "kind": kind, "text": str(row["effect"]), "marks": marks}


def things() -> dict[str, list[str]]:
    """What questions may ask for by name, jokers first."""
    bosses = [str(row["name"]) for row in content.BLINDS.rows if row["type"] == "boss"]
    kinds = {
        "joker": content.JOKERS.names,
        "voucher": content.VOUCHERS.names,
        "tag": content.TAGS.names,
        "boss": bosses,
    }
    return {kind: sorted({str(name) for name in names if name}) for kind, names in kinds.items()}
