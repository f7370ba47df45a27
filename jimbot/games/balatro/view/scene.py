"""Balatro as a scene: the card table for the page in the browser (see `jimbot.games.scenes`).

Shows what the player may know and no more, as the table of the terminal does (`table.py`).
"""

from __future__ import annotations

from typing import Any

from jimbot.games.balatro.rules.content import (
    BLINDS,
    CONSUMABLES,
    HAND_CHIPS,
    HAND_LEVEL_CHIPS,
    HAND_LEVEL_MULT,
    HAND_MULT,
    HANDS,
    JOKERS,
    PACKS,
    SEALS,
    STONE,
    TAGS,
    VOUCHERS,
)
from jimbot.games.balatro.rules.state import (
    BLIND_SELECT,
    CARD_DEBUFFED,
    CARD_FACE_DOWN,
    CARD_FORCED,
    CURRENT,
    DEBUFFED,
    DEFEATED,
    ETERNAL,
    FACE_DOWN,
    FIRST_PACK_OFFER,
    OFFER_CARD,
    OFFER_JOKER,
    PACK,
    PERISHABLE,
    RENTAL,
    ROUND_EVAL,
    SELECTABLE,
    SELECTING_HAND,
    SHOP,
    SKIPPED,
)
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.figures import read_figures
from jimbot.games.balatro.view.things import EDITION_MARKS, ENHANCEMENT_MARKS, SUIT_SIGNS, rank_text
from jimbot.games.batch_game import BatchGame
from jimbot.games.scenes import Card, CardScene, Figure, List, Scene, Zone

RARITIES = ("", "common", "uncommon", "rare", "legendary")
SEAL_MARKS = ("", *(f"{key.lower()} seal" for key in SEALS.keys))
STICKERS = ((ETERNAL, "eternal"), (PERISHABLE, "perishable"), (RENTAL, "rental"))
BLIND_STATES = {SELECTABLE: "up next", CURRENT: "now", SKIPPED: "skipped", DEFEATED: "defeated"}
PAYOUT = ("blind", "hands and discards left", "jokers", "tags", "interest")


def scene(game: BatchGame, row: int) -> Scene:
    """The table of a row."""
    return scene_of(game.games[row])  # ty: ignore[missing-attribute]


def scene_of(g: Any) -> CardScene:
    """The table of a record."""
    figures = read_figures(g)
    zones = [_jokers(g, figures)]
    if g.consumable_count:
        zones.append(_consumables(g, figures))
    if g.phase == BLIND_SELECT:
        zones.append(_blinds(g, figures))
    elif g.phase == SHOP:
        zones += _shop(g, figures)
    elif g.phase == PACK:
        zones.append(_pack(g))
    elif g.phase == ROUND_EVAL:
        zones.append(_payout(g))
    if g.hand_count:
        zones.append(_hand(g))
    return {"kind": "cards", "figures": _figures(g, figures), "zones": zones, "lists": _lists(g)}


def _figures(g: Any, figures: Any) -> list[Figure]:
    found: list[Figure] = [
        {"name": "ante", "value": str(int(g.ante)), "of": str(int(g.win_ante))},
        {"name": "round", "value": str(int(g.rounds))},
        {"name": "money", "value": words.dollars(int(g.money)), "tone": "money"},
        {"name": "hands", "value": str(int(g.hands_left)), "tone": "b"},
        {"name": "discards", "value": str(int(g.discards_left)), "tone": "bad"},
        {"name": "deck", "value": str(int(g.pile_count)), "of": str(int(g.card_count))},
        {"name": "hand size", "value": str(int(figures.hand_limit))},
    ]
    if g.phase == SELECTING_HAND:
        share = min(1.0, float(g.score) / float(g.requirement)) if g.requirement > 0 else 0.0
        goal = words.number(float(g.requirement))
        found.insert(0, {"name": "score", "value": words.number(float(g.score)), "of": goal, "share": share})
        found.insert(0, {"name": "blind", "value": BLINDS.name(int(g.blind)), "tone": "strong"})
    else:
        found.insert(0, {"name": "boss", "value": BLINDS.name(int(g.boss)), "tone": "strong"})
    return found


def _lists(g: Any) -> list[List]:
    levels = []
    for hand in range(len(HANDS)):
        level = int(g.hand_level[hand])
        if level > 1 or g.hand_played[hand]:
            chips = HAND_CHIPS[hand] + HAND_LEVEL_CHIPS[hand] * (level - 1)
            mult = HAND_MULT[hand] + HAND_LEVEL_MULT[hand] * (level - 1)
            levels.append(f"{HANDS.key(hand)} {level}: {words.number(float(chips))} × {words.number(float(mult))}")
    owned = [VOUCHERS.name(number) for number, yes in enumerate(g.voucher_owned) if yes]
    tags = [words.tag(g, index) for index in range(g.tag_count)]
    found: list[List] = [
        {"title": "Poker hands", "items": levels},
        {"title": "Vouchers", "items": owned},
        {"title": "Tags", "items": tags},
    ]
    if g.phase == SELECTING_HAND and BLINDS.rows[int(g.blind)]["type"] == "boss":
        effect = "disabled" if g.blind_disabled else str(BLINDS.rows[int(g.blind)]["effect"])
        found.insert(0, {"title": BLINDS.name(int(g.blind)), "items": [effect]})
    return [one for one in found if one["items"]]


# --- what is held ---


def _jokers(g: Any, figures: Any) -> Zone:
    cards = [_joker(g, index, int(figures.jokers[index])) for index in range(g.joker_count)]
    return {"name": "jokers", "title": f"Jokers {int(g.joker_count)} of {int(g.joker_slots)}", "cards": cards}


def _joker(g: Any, index: int, sell: int) -> Card:
    flags, foot = int(g.joker_flags[index]), f"{index + 1}"
    if flags & FACE_DOWN:
        return {"name": "face down", "kind": "joker", "foot": foot, "state": "hidden"}
    number = int(g.joker_id[index])
    value = words.joker_value(g, index)
    return {
        "name": JOKERS.name(number),
        "kind": f"joker {RARITIES[JOKERS.rows[number]['rarity']]}",
        "text": str(JOKERS.rows[number]["effect"]),
        "marks": [mark for mark in (value, *_marks(int(g.joker_edition[index]), flags)) if mark],
        "foot": f"{foot} · sells {words.dollars(sell)}",
        "state": "weak" if flags & DEBUFFED else "",
    }


def _consumables(g: Any, figures: Any) -> Zone:
    cards = []
    for index in range(g.consumable_count):
        card = _consumable(int(g.consumable_id[index]))
        card["foot"] = f"{index + 1} · sells {words.dollars(int(figures.consumables[index]))}"
        cards.append(card)
    title = f"Consumables {int(g.consumable_count)} of {int(g.consumable_slots)}"
    return {"name": "consumables", "title": title, "cards": cards}


def _consumable(number: int) -> Card:
    row = CONSUMABLES.rows[number]
    return {"name": CONSUMABLES.name(number), "kind": str(row["set"]).lower(), "text": str(row["effect"])}


def _marks(edition: int, flags: int) -> list[str]:
    found = [EDITION_MARKS[edition].lower()] if edition else []
    return found + [name for flag, name in STICKERS if flags & flag]


def face(rank: int, suit: int, enhancement: int, edition: int, seal: int) -> Card:
    """A playing card."""
    marks = [ENHANCEMENT_MARKS[enhancement], EDITION_MARKS[edition].lower(), SEAL_MARKS[seal]]
    name = words.playing_card(rank, suit, enhancement, edition, seal)
    card: Card = {"name": name, "kind": "card", "marks": [mark for mark in marks if mark]}
    if enhancement != STONE:
        card |= {"rank": rank_text(rank), "suit": SUIT_SIGNS[suit]}
    return card


def _hand(g: Any) -> Zone:
    cards = [_hand_card(g, place) for place in range(g.hand_count)]
    order = "suit" if g.sort_by_suit else "rank"
    return {"name": "hand", "title": f"Hand of {int(g.hand_count)}", "cards": cards, "note": f"sorted by {order}"}


def _hand_card(g: Any, place: int) -> Card:
    slot = int(g.hand[place])
    flags = int(g.card_flags[slot])
    chosen = bool(int(g.selected) >> place & 1)
    if flags & CARD_FACE_DOWN:
        card: Card = {"name": "face down", "kind": "card", "state": "hidden"}
    else:
        card = face(
            int(g.card_rank[slot]), int(g.card_suit[slot]), int(g.card_enhancement[slot]), int(g.card_edition[slot]),
            int(g.card_seal[slot]),
        )  # fmt: skip
        card["state"] = (
            "chosen" if chosen else "forced" if flags & CARD_FORCED else "weak" if flags & CARD_DEBUFFED else ""
        )
    card["foot"] = str(place + 1)
    return card


# --- what is on offer ---


def _blinds(g: Any, figures: Any) -> Zone:
    cards: list[Card] = []
    for place in range(3):
        boss = place == 2
        effect = str(BLINDS.rows[int(g.boss)]["effect"]) if boss else f"skip: {TAGS.name(int(g.skip_tag[place]))}"
        cards.append(
            {
                "name": words.blind_name(g, place),
                "kind": "blind boss" if boss else "blind",
                "text": effect,
                "marks": [f"score {words.number(float(figures.requirements[place]))}"],
                "foot": f"pays {words.dollars(int(figures.rewards[place]))}",
                "state": "chosen" if int(g.blind_state[place]) == SELECTABLE else "weak",
            }
        )
    states = ", ".join(BLIND_STATES.get(int(state), "upcoming") for state in g.blind_state)
    return {"name": "blinds", "title": "Blinds", "cards": cards, "note": states}


def _offer(g: Any, place: int, foot: str) -> Card:
    kind, number, edition = int(g.offer_kind[place]), int(g.offer_id[place]), int(g.offer_edition[place])
    card: Card
    if kind == OFFER_CARD:
        card = face(
            number, int(g.offer_suit[place]), int(g.offer_enhancement[place]), edition, int(g.offer_seal[place])
        )
    elif kind == OFFER_JOKER:
        row = JOKERS.rows[number]
        card = {
            "name": JOKERS.name(number),
            "kind": f"joker {RARITIES[row['rarity']]}",
            "text": str(row["effect"]),
            "marks": _marks(edition, int(g.offer_flags[place])),
        }
    else:
        card = _consumable(number)
        card["marks"] = _marks(edition, 0)
    card["foot"] = foot
    return card


def _shop(g: Any, figures: Any) -> list[Zone]:
    shop = [
        _offer(g, place, f"{place + 1} · {words.dollars(int(figures.offers[place]))}") for place in range(g.shop_count)
    ]
    vouchers: list[Card] = [
        {
            "name": VOUCHERS.name(int(g.shop_voucher[index])),
            "kind": "voucher",
            "text": str(VOUCHERS.rows[int(g.shop_voucher[index])]["effect"]),
            "foot": f"{index + 1} · {words.dollars(int(figures.vouchers[index]))}",
        }
        for index in range(g.voucher_count)
    ]
    packs: list[Card] = []
    for index in range(g.booster_count):
        row = PACKS.rows[int(g.booster_id[index])]
        size, price = f"{row['picks']} of {row['cards']}", words.dollars(int(figures.boosters[index]))
        packs.append({"name": row["name"], "kind": "pack", "text": size, "foot": f"{index + 1} · {price}"})
    found: list[Zone] = [
        {"name": "shop", "title": "Shop", "cards": shop, "note": f"reroll {words.dollars(int(figures.reroll))}"},
        {"name": "vouchers", "title": "Voucher", "cards": vouchers},
        {"name": "packs", "title": "Packs", "cards": packs},
    ]
    return [zone for zone in found if zone["cards"] or zone["name"] == "shop"]


def _pack(g: Any) -> Zone:
    cards = [_offer(g, FIRST_PACK_OFFER + place, str(place + 1)) for place in range(g.pack_count)]
    name = PACKS.rows[int(g.pack_id)]["name"]
    return {"name": "pack", "title": name, "cards": cards, "note": f"{int(g.pack_picks)} to pick"}


def _payout(g: Any) -> Zone:
    parts = zip(PAYOUT, g.payout_part.tolist(), strict=True)
    cards: list[Card] = [
        {"name": words.dollars(amount), "kind": "pay", "text": name} for name, amount in parts if amount
    ]
    return {"name": "payout", "title": f"Round won: {words.dollars(int(g.payout))}", "cards": cards}
