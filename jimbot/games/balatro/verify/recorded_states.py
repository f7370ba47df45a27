"""Recorded games step by step: the state as the recordings write it, and their actions.

The format is described beside the recordings; it names things by the game's keys and shows face-down cards openly.
`recorded_games.py` replays recordings and compares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.content import (
    BLINDS,
    CHALLENGES,
    CONSUMABLES,
    DECKS,
    EDITIONS,
    ENHANCEMENTS,
    HANDS,
    JOKERS,
    LETTER_OF_RANK,
    PACKS,
    SEALS,
    STAKES,
    SUITS,
    TAGS,
    VOUCHERS,
    card_code,
)
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import (
    CARD_DEBUFFED,
    DEBUFFED,
    ETERNAL,
    FIRST_PACK_OFFER,
    GAME_OVER,
    OFFER_CARD,
    OFFER_JOKER,
    PACK,
    PERISHABLE,
    PHASE_NAMES,
    RENTAL,
    ROUND_EVAL,
    SELECTING_HAND,
    SHOP,
    WON,
    new_games,
)
from jimbot.games.balatro.view.figures import read_figures
from jimbot.games.balatro.view.names import find_deck, find_stake

BLIND_NAMES = ("Small", "Big", "Boss")
JOKER_VALUES = ("mult", "x_mult", "chips", "dollars", "h_size", "uses")  # names of `joker_value`, by joker
JOKER_COUNTERS = ("yorick_discards", "invis_rounds")  # names of `joker_counter`, by joker
OTHER_NAMES = {"caino_xmult": "x_mult"}  # the game's own name for what recordings call otherwise
LOYALTY_CARD, TO_DO_LIST = JOKERS.id("j_loyalty_card"), JOKERS.id("j_todo_list")
STICKERS = {"eternal": ETERNAL, "perishable": PERISHABLE, "rental": RENTAL}
PAYOUT_PARTS = ("blind", "hands", "jokers", "tags", "interest")


def _edition(identifier: int) -> str:
    return EDITIONS.key(identifier).removeprefix("e_")


def _extras(enhancement: int, edition: int, seal: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if enhancement:
        out["enh"] = ENHANCEMENTS.key(enhancement)
    if edition:
        out["ed"] = _edition(edition)
    if seal:
        out["seal"] = SEALS.key(seal)
    return out


def written_card(g: Any, slot: int) -> dict[str, Any]:
    """A playing card the player owns."""
    out: dict[str, Any] = {"c": card_code(int(g.card_rank[slot]), int(g.card_suit[slot]))}
    out |= _extras(int(g.card_enhancement[slot]), int(g.card_edition[slot]), int(g.card_seal[slot]))
    if g.card_extra_chips[slot]:
        out["perma"] = int(g.card_extra_chips[slot])
    if g.card_flags[slot] & CARD_DEBUFFED:
        out["debuff"] = 1
    return out


def _joker(g: Any, index: int, sell_value: int) -> dict[str, Any]:
    row = JOKERS.rows[int(g.joker_id[index])]
    out = {"key": row["key"], "sell": sell_value}
    if g.joker_edition[index]:
        out["ed"] = _edition(int(g.joker_edition[index]))
    out |= {name: 1 for name, flag in STICKERS.items() if g.joker_flags[index] & flag}
    if g.joker_flags[index] & DEBUFFED:
        out["debuff"] = 1
    if g.joker_flags[index] & PERISHABLE:
        out["perish_tally"] = int(g.joker_perish[index])
    return out | joker_state(g, index)


def joker_state(g: Any, index: int) -> dict[str, Any]:
    """What a joker has grown to or counts, by the names recordings use."""
    joker = int(g.joker_id[index])
    out: dict[str, Any] = {}
    for name in JOKERS.rows[joker].get("start", {}):
        name = OTHER_NAMES.get(name, name)
        if name in JOKER_VALUES:
            out[name] = round(float(g.joker_value[index]), 9)
        elif name in JOKER_COUNTERS:
            out[name] = int(g.joker_counter[index])
    if joker == TO_DO_LIST:
        out["hand"] = HANDS.key(int(g.joker_counter[index])) if g.joker_counter[index] >= 0 else ""
    elif joker == LOYALTY_CARD:
        out["hands_since_bought"] = int(g.hands_played - g.joker_counter[index])
    return out


def _consumable(g: Any, index: int, sell_value: int) -> dict[str, Any]:
    out: dict[str, Any] = {"key": CONSUMABLES.key(int(g.consumable_id[index])), "sell": sell_value}
    if g.consumable_edition[index]:
        out["ed"] = _edition(int(g.consumable_edition[index]))
    return out


def _offer(g: Any, place: int) -> dict[str, Any]:
    kind, identifier = g.offer_kind[place], int(g.offer_id[place])
    extras = _extras(int(g.offer_enhancement[place]), int(g.offer_edition[place]), int(g.offer_seal[place]))
    if kind == OFFER_CARD:
        return {"c": card_code(identifier, int(g.offer_suit[place]))} | extras
    out = {"key": (JOKERS if kind == OFFER_JOKER else CONSUMABLES).key(identifier)} | extras
    return out | {name: 1 for name, flag in STICKERS.items() if g.offer_flags[place] & flag}


def _shop(g: Any, figures: Any) -> dict[str, Any]:
    voucher = [VOUCHERS.key(int(g.shop_voucher[0])), int(figures.vouchers[0])] if g.voucher_count else None
    return {
        "cards": [_offer(g, place) | {"cost": int(figures.offers[place])} for place in range(g.shop_count)],
        "packs": [[PACKS.key(int(g.booster_id[i])), int(figures.boosters[i])] for i in range(g.booster_count)],
        "voucher": voucher,
        "reroll": int(figures.reroll),
    }


def read_state(g: Any) -> dict[str, Any]:
    """The state of a game as recordings write it."""
    figures = read_figures(g)
    out: dict[str, Any] = {
        "phase": PHASE_NAMES[g.phase],
        "ante": int(g.ante),
        "round": int(g.rounds),
        "money": int(g.money),
        "on_deck": BLIND_NAMES[g.on_deck],
        "boss": BLINDS.key(int(g.boss)),
        "tags": [TAGS.key(int(tag)) for tag in g.skip_tag],
        "held_tags": [TAGS.key(int(tag)) for tag in g.tag_id[: g.tag_count]],
        "hands_left": int(g.hands_left),
        "discards_left": int(g.discards_left),
        "score": float(g.score),
        "deck_left": int(g.pile_count),
        "deck_total": int(g.card_count),
        "hand_size": int(figures.hand_limit),
        "hand": [written_card(g, int(slot)) for slot in g.hand[: g.hand_count]],
        "jokers": [_joker(g, index, int(figures.jokers[index])) for index in range(g.joker_count)],
        "consumables": [_consumable(g, i, int(figures.consumables[i])) for i in range(g.consumable_count)],
        "levels": {HANDS.key(i): int(level) for i, level in enumerate(g.hand_level) if level != 1},
        "targets": {
            "idol": {"rank": LETTER_OF_RANK[int(g.idol_rank)], "suit": SUITS[g.idol_suit]},
            "mail": LETTER_OF_RANK[int(g.mail_rank)],
            "ancient": SUITS[g.ancient_suit],
            "castle": SUITS[g.castle_suit],
        },
    }
    if g.phase in (SELECTING_HAND, GAME_OVER, WON):
        out["blind"] = [BLINDS.key(int(g.blind)), float(g.requirement)]
        out["blind_disabled"] = bool(g.blind_disabled)
    if g.phase in (ROUND_EVAL, WON):
        out["earnings"] = dict(zip(PAYOUT_PARTS, map(int, g.payout_part), strict=True))
    if g.phase == SHOP or (g.phase == PACK and g.pack_phase == SHOP):
        out["shop"] = _shop(g, figures)
    if g.phase == PACK:
        cards = [_offer(g, FIRST_PACK_OFFER + number) for number in range(g.pack_count)]
        out["pack"] = {"key": PACKS.key(int(g.pack_id)), "left": int(g.pack_picks), "cards": cards}
    return out


_ACTION_FIELDS = ("a", "i", "cards", "targets", "area", "to")
_AREAS = {
    ("sell", "jokers"): "sell_joker",
    ("sell", "consumables"): "sell_consumable",
    ("move", "jokers"): "move_joker",
    ("move", "consumables"): "move_consumable",
    ("move", "hand"): "move_hand",
}


def read_action(action: dict[str, Any]) -> tuple[int, int, np.uint64]:
    """(kind, index, targets) of a recorded action; an action nobody knows is a UsageError."""
    for key in action:
        if key not in _ACTION_FIELDS:
            raise UnknownNameError("field of an action", key, _ACTION_FIELDS)
    name = _AREAS.get((action["a"], action.get("area", "")), action["a"])
    if name not in decisions.ACTION_KINDS:
        raise UnknownNameError("action", name, decisions.ACTION_KINDS)
    if "to" in action:
        targets = int(action["to"])
    else:
        targets = 0
        for place in action.get("cards", action.get("targets", ())):
            targets |= 1 << int(place)
    if not 0 <= targets < 2**64:
        raise UsageError(f"An action names a hand position beyond the 64 a hand can have: {action}.")
    return decisions.ACTION_KINDS.index(name), int(action.get("i", 0)), np.uint64(targets)


def start_recorded(record: dict[str, Any]) -> tuple[Any, Any]:
    """A game and its working space at step 0 of a recording."""
    g, s = new_games(1)[0], new_scratch()[0]
    g.seed, g.seed_length = seed_bytes(record["seed"])
    g.deck, g.stake = DECKS.id(find_deck(record.get("deck", "b_red"))), STAKES.id(find_stake(record.get("stake", 1)))
    g.challenge = CHALLENGES.id(record["challenge"]) if record.get("challenge") else 0
    g.endless = bool(record.get("endless", False))
    decisions.apply(g, s, decisions.START, 0, np.uint64(0))
    return g, s
