"""Balatro as a scene: the card table of terminal and page (see `jimbot.games.scenes`).

Shows what the player may know and no more: face-down cards show their backs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules import state as r
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.derived import read_derived
from jimbot.games.balatro.view.things import EDITION_MARKS, ENHANCEMENT_MARKS, SUIT_SIGNS, rank_text
from jimbot.games.batch_game import BatchGame
from jimbot.games.scenes import Card, CardScene, List, Scene, Stat, Tone, Zone

RARITIES = ("", "common", "uncommon", "rare", "legendary")
SEAL_MARKS = ("", *(f"{key.lower()} seal" for key in content.SEALS.keys))
STICKERS = ((r.ETERNAL, "eternal"), (r.PERISHABLE, "perishable"), (r.RENTAL, "rental"))
BLIND_STATES = {r.SELECTABLE: "up next", r.CURRENT: "now", r.SKIPPED: "skipped", r.DEFEATED: "defeated"}
PAYOUT = ("blind", "left over", "jokers", "tags", "interest")
ENDINGS: dict[int, Stat] = {
    r.GAME_OVER: {"name": "run", "value": "GAME OVER", "tone": "bad"},
    r.WON: {"name": "run", "value": "YOU WON", "tone": "good"},
}


def scene(game: BatchGame, row: int) -> Scene:
    """The table of a row."""
    return scene_of(game.games[row])  # ty: ignore[missing-attribute]


def scene_of(g: Any) -> CardScene:
    """The table of a record."""
    derived = read_derived(g)
    zones = [_jokers(g, derived)]
    if g.consumable_count:
        zones.append(_consumables(g, derived))
    if g.phase == r.BLIND_SELECT:
        zones.append(_blinds(g, derived))
    elif g.phase == r.SHOP:
        zones += _shop(g, derived)
    elif g.phase == r.PACK:
        zones.append(_pack(g))
    elif g.phase == r.ROUND_EVAL:
        zones.append(_payout(g))
    if g.hand_count:
        zones.append(_hand(g))
    deck, stake = (
        content.DECKS.name(int(g.deck)).removesuffix(" Deck"),
        content.STAKES.name(int(g.stake)).removesuffix(" Stake"),
    )
    return {
        "kind": "cards",
        "title": bytes(g.seed[: g.seed_length]).decode(),
        "about": f"{deck}, {stake}",
        "stats": _stats(g, derived),
        "zones": zones,
        "lists": _lists(g),
    }


def _stats(g: Any, derived: Any) -> list[Stat]:
    found: list[Stat] = [
        _ante(g),
        {"name": "round", "value": str(int(g.rounds))},
        {"name": "money", "value": words.dollars(int(g.money)), "tone": "money"},
        {"name": "hands", "value": str(int(g.hands_left)), "tone": "b"},
        {"name": "discards", "value": str(int(g.discards_left)), "tone": "bad"},
        {"name": "deck", "value": str(int(g.pile_count)), "of": str(int(g.card_count))},
        {"name": "hand size", "value": str(int(derived.hand_limit))},
    ]
    if g.phase in ENDINGS:
        found.insert(0, ENDINGS[int(g.phase)])
    if g.phase in (r.SELECTING_HAND, r.GAME_OVER):
        share = min(1.0, float(g.score) / float(g.requirement)) if g.requirement > 0 else 0.0
        goal = words.number(float(g.requirement))
        found.insert(0, {"name": "score", "value": words.number(float(g.score)), "of": goal, "share": share})
        found.insert(0, _blind(g))
    else:
        found.insert(0, {"name": "boss", "value": content.BLINDS.name(int(g.boss)), "tone": "strong"})
    return found


def _ante(g: Any) -> Stat:
    found: Stat = {"name": "ante", "value": str(int(g.ante))}
    return found | {"of": str(int(g.win_ante))} if g.ante <= g.win_ante else found


def _blind(g: Any) -> Stat:
    row = content.BLINDS.rows[int(g.blind)]
    if row["type"] != "boss":
        return {"name": "blind", "value": row["name"], "tone": "strong"}
    note = "disabled" if g.blind_disabled else str(row["effect"])
    return {"name": "blind", "value": row["name"], "tone": "bad", "note": note}


def _lists(g: Any) -> list[List]:
    levels = []
    for hand in range(len(content.HANDS)):
        level = int(g.hand_level[hand])
        if level > 1 or g.hand_played[hand]:
            chips = content.HAND_CHIPS[hand] + content.HAND_LEVEL_CHIPS[hand] * (level - 1)
            mult = content.HAND_MULT[hand] + content.HAND_LEVEL_MULT[hand] * (level - 1)
            levels.append(
                f"{content.HANDS.key(hand)} {level}: {words.number(float(chips))} × {words.number(float(mult))}"
            )
    owned = [content.VOUCHERS.name(number) for number, yes in enumerate(g.voucher_owned) if yes]
    tags = [words.tag(g, index) for index in range(g.tag_count)]
    found: list[List] = [
        {"title": "Deck", "items": _undrawn(g)},
        {"title": "Poker hands", "items": levels},
        {"title": "Vouchers", "items": owned},
        {"title": "Tags", "items": tags},
    ]
    return [one for one in found if one["items"]]


def _undrawn(g: Any) -> list[str]:
    """What is still in the deck, by suit and rank, from what the player can count: face-down cards count as undrawn."""
    slots = g.cards[: g.card_count]
    unseen = slots[(g.card_place[slots] == r.IN_DECK) | (g.card_flags[slots] & r.CARD_FACE_DOWN > 0)]
    plain = unseen[g.card_enhancement[unseen] != content.STONE]
    suits = np.bincount(g.card_suit[plain], minlength=4)
    ranks = np.bincount(g.card_rank[plain], minlength=15)
    stones = [f"▒{len(unseen) - len(plain)}"] if len(plain) < len(unseen) else []
    counted = [f"{rank_text(rank)}:{ranks[rank]}" for rank in range(14, 1, -1)]
    return [f"{sign}{count}" for sign, count in zip(SUIT_SIGNS, suits, strict=True)] + stones + counted


# --- what is held ---


def _jokers(g: Any, derived: Any) -> Zone:
    cards = [_joker(g, index, int(derived.jokers[index])) for index in range(g.joker_count)]
    return {
        "name": "jokers",
        "title": f"Jokers {int(g.joker_count)}/{int(g.joker_slots)}",
        "cards": cards,
        "held": True,
    }


def _joker(g: Any, index: int, sell: int) -> Card:
    flags, foot = int(g.joker_flags[index]), f"{index + 1}"
    if flags & r.FACE_DOWN:
        return {"name": "face down", "kind": "joker", "foot": foot, "state": "hidden"}
    number = int(g.joker_id[index])
    value = "debuffed" if flags & r.DEBUFFED else words.joker_value(g, index)
    return {
        "name": content.JOKERS.name(number),
        "kind": f"joker {RARITIES[content.JOKERS.rows[number]['rarity']]}",
        "text": str(content.JOKERS.rows[number]["effect"]),
        "marks": [mark for mark in (value, *_marks(int(g.joker_edition[index]), flags)) if mark],
        "foot": f"{foot} · sells {words.dollars(sell)}",
        "state": "weak" if flags & r.DEBUFFED else "",
    }


def _consumables(g: Any, derived: Any) -> Zone:
    cards = []
    for index in range(g.consumable_count):
        card = _consumable(int(g.consumable_id[index]))
        card["foot"] = f"{index + 1} · sells {words.dollars(int(derived.consumables[index]))}"
        cards.append(card)
    title = f"Consumables {int(g.consumable_count)}/{int(g.consumable_slots)}"
    return {"name": "consumables", "title": title, "cards": cards, "held": True}


def _consumable(number: int) -> Card:
    row = content.CONSUMABLES.rows[number]
    return {"name": content.CONSUMABLES.name(number), "kind": str(row["set"]).lower(), "text": str(row["effect"])}


def _marks(edition: int, flags: int) -> list[str]:
    found = [EDITION_MARKS[edition].lower()] if edition else []
    return found + [name for flag, name in STICKERS if flags & flag]


def face(rank: int, suit: int, enhancement: int, edition: int, seal: int) -> Card:
    """A playing card."""
    marks = [ENHANCEMENT_MARKS[enhancement], EDITION_MARKS[edition].lower(), SEAL_MARKS[seal]]
    name = words.playing_card(rank, suit, enhancement, edition, seal)
    card: Card = {"name": name, "kind": "card", "marks": [mark for mark in marks if mark]}
    if enhancement != content.STONE:
        card |= {"rank": rank_text(rank), "suit": SUIT_SIGNS[suit]}
    return card


def _hand(g: Any) -> Zone:
    cards = [_hand_card(g, place) for place in range(g.hand_count)]
    order = "suit" if g.sort_by_suit else "rank"
    return {"name": "hand", "title": f"Hand {int(g.hand_count)}", "cards": cards, "note": f"sorted by {order}"}


def _hand_card(g: Any, place: int) -> Card:
    slot = int(g.hand[place])
    flags = int(g.card_flags[slot])
    chosen = bool(int(g.selected) >> place & 1)
    if flags & r.CARD_FACE_DOWN:
        card: Card = {"name": "face down", "kind": "card", "state": "hidden"}
    else:
        card = face(
            int(g.card_rank[slot]), int(g.card_suit[slot]), int(g.card_enhancement[slot]), int(g.card_edition[slot]),
            int(g.card_seal[slot]),
        )  # fmt: skip
        if flags & r.CARD_DEBUFFED:
            card["marks"] = ["debuffed", *card["marks"]]
        card["state"] = (
            "chosen" if chosen else "forced" if flags & r.CARD_FORCED else "weak" if flags & r.CARD_DEBUFFED else ""
        )
    card["foot"] = str(place + 1)
    return card


# --- what is on offer ---


def _blinds(g: Any, derived: Any) -> Zone:
    cards: list[Card] = []
    for place in range(3):
        boss = place == 2
        effect = (
            str(content.BLINDS.rows[int(g.boss)]["effect"])
            if boss
            else f"skip: {content.TAGS.name(int(g.skip_tag[place]))}"
        )
        cards.append(
            {
                "name": words.blind_name(g, place),
                "kind": "blind boss" if boss else "blind",
                "text": effect,
                "marks": [f"score {words.number(float(derived.requirements[place]))}"],
                "foot": f"reward {words.dollars(int(derived.rewards[place]))}",
                "state": "chosen" if int(g.blind_state[place]) == r.SELECTABLE else "weak",
            }
        )
    states = ", ".join(BLIND_STATES.get(int(state), "upcoming") for state in g.blind_state)
    return {"name": "blinds", "title": "Blinds", "cards": cards, "note": states}


def _offer(g: Any, place: int, foot: str) -> Card:
    kind, number, edition = int(g.offer_kind[place]), int(g.offer_id[place]), int(g.offer_edition[place])
    card: Card
    if kind == r.OFFER_CARD:
        card = face(
            number, int(g.offer_suit[place]), int(g.offer_enhancement[place]), edition, int(g.offer_seal[place])
        )
    elif kind == r.OFFER_JOKER:
        row = content.JOKERS.rows[number]
        card = {
            "name": content.JOKERS.name(number),
            "kind": f"joker {RARITIES[row['rarity']]}",
            "text": str(row["effect"]),
            "marks": _marks(edition, int(g.offer_flags[place])),
        }
    else:
        card = _consumable(number)
        card["marks"] = _marks(edition, 0)
    card["foot"] = foot
    return card


def _shop(g: Any, derived: Any) -> list[Zone]:
    shop = [_offer(g, place, "") | _price(g, place, derived.offers[place]) for place in range(g.shop_count)]
    vouchers: list[Card] = [
        {
            "name": content.VOUCHERS.name(int(g.shop_voucher[index])),
            "kind": "voucher",
            "text": str(content.VOUCHERS.rows[int(g.shop_voucher[index])]["effect"]),
        }
        | _price(g, index, derived.vouchers[index])
        for index in range(g.voucher_count)
    ]
    packs: list[Card] = []
    for index in range(g.booster_count):
        row = content.PACKS.rows[int(g.booster_id[index])]
        pack: Card = {
            "name": row["name"],
            "kind": f"pack {row['kind'].lower()}",
            "text": f"{row['picks']} of {row['cards']}",
        }
        packs.append(pack | _price(g, index, derived.boosters[index]))
    found: list[Zone] = [
        {"name": "shop", "title": "Shop", "cards": shop, "note": f"reroll {words.dollars(int(derived.reroll))}"},
        {"name": "vouchers", "title": "Voucher", "cards": vouchers},
        {"name": "packs", "title": "Packs", "cards": packs},
    ]
    return [zone for zone in found if zone["cards"] or zone["name"] == "shop"]


def _price(g: Any, place: int, price: int) -> Any:
    tone: Tone = "money" if price <= g.money else "quiet"
    return {"foot": f"{place + 1} · {words.dollars(int(price))}", "tone": tone}


def _pack(g: Any) -> Zone:
    cards = [_offer(g, r.FIRST_PACK_OFFER + place, str(place + 1)) for place in range(g.pack_count)]
    name = content.PACKS.rows[int(g.pack_id)]["name"]
    return {"name": "pack", "title": name, "cards": cards, "note": f"{int(g.pack_picks)} to pick"}


def _payout(g: Any) -> Zone:
    parts = zip(PAYOUT, g.payout_part.tolist(), strict=True)
    cards: list[Card] = [
        {"name": name, "kind": "pay", "foot": words.dollars(amount), "tone": "money"}
        for name, amount in parts
        if amount
    ]
    return {"name": "payout", "title": f"Round won   Cash out {words.dollars(int(g.payout))}", "cards": cards}
