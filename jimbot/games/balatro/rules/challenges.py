"""The 20 challenges as arrays indexed by challenge id; row 0 is an ordinary run without any of their rules.

A challenge is played with a plain deck at White Stake. Its custom rules are single numbers here (0: rule absent), its
bans are looked up wherever something is drawn, and its cards are created in the order of their codes like any deck.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.state import ETERNAL, PINNED

KEEP = -1  # in START_*: the challenge does not change this value


def _rule(name: str, default: int = 1) -> np.ndarray:
    """(challenge,) the value of a custom rule, 0 where it does not hold."""
    out = np.zeros(content.CHALLENGES.size, np.int64)
    for row in content.CHALLENGES:
        for rule in row["custom_rules"]:
            if rule["id"] == name:
                out[content.CHALLENGES.id(row["id"])] = rule.get("value", default)
    return out


def _no_reward_for(blind: str) -> np.ndarray:
    out = _rule("no_reward")
    for row in content.CHALLENGES:
        if {"id": "no_reward_specific", "value": blind} in row["custom_rules"]:
            out[content.CHALLENGES.id(row["id"])] = 1
    return out


def _banned(field: str, table: content.ContentTable) -> np.ndarray:
    """(challenge, id) bool."""
    out = np.zeros((content.CHALLENGES.size, table.size), np.bool_)
    for row in content.CHALLENGES:
        for key in row[field]:
            if key in table:
                out[content.CHALLENGES.id(row["id"]), table.id(key)] = True
    return out


def _start(name: str) -> np.ndarray:
    out = content.CHALLENGES.column(lambda row: row["modifiers"].get(name, KEEP), np.int64)
    out[0] = KEEP
    return out


def _lists(field: str, number: Any, width: int) -> np.ndarray:
    """(challenge, width) of ids, -1 behind the end."""
    out = np.full((content.CHALLENGES.size, width), -1, np.int64)
    for row in content.CHALLENGES:
        for place, entry in enumerate(row[field]):
            out[content.CHALLENGES.id(row["id"]), place] = number(entry)
    return out


# Custom rules
NO_REWARD_SMALL = _no_reward_for("Small")
NO_REWARD_BIG = _no_reward_for("Big")
NO_REWARD_BOSS = _rule("no_reward")
NO_EXTRA_HAND_MONEY = _rule("no_extra_hand_money")
NO_INTEREST = _rule("no_interest")
CHIPS_CAPPED_BY_MONEY = _rule("chips_dollar_cap")
FLIPPED_ONE_IN = _rule("flipped_cards")
DOLLARS_PER_LOST_HAND_SIZE = _rule("minus_hand_size_per_X_dollar")
ALL_ETERNAL = _rule("all_eternal")
DEBUFF_PLAYED_CARDS = _rule("debuff_played_cards")
ETERNAL_AFTER_ANTE = _rule("set_eternal_ante")
NO_SLOTS_AFTER_ANTE = _rule("set_joker_slots_ante")
INFLATION = _rule("inflation")
NO_SHOP_JOKERS = _rule("no_shop_jokers")
DISCARD_COST = _rule("discard_cost")

# Bans
BANNED_JOKER = _banned("banned_cards", content.JOKERS)
BANNED_CONSUMABLE = _banned("banned_cards", content.CONSUMABLES)
BANNED_VOUCHER = _banned("banned_cards", content.VOUCHERS)
BANNED_PACK = _banned("banned_cards", content.PACKS)
BANNED_TAG = _banned("banned_tags", content.TAGS)
BANNED_BLIND = _banned("banned_blinds", content.BLINDS)

# Start values, KEEP where the challenge leaves the usual one
START_MONEY = _start("dollars")
START_HANDS = _start("hands")
START_DISCARDS = _start("discards")
START_HAND_SIZE = _start("hand_size")
START_JOKER_SLOTS = _start("joker_slots")

# Start cards
START_JOKER = _lists("jokers", lambda entry: content.JOKERS.id(entry["id"]), 5)
START_JOKER_EDITION = _lists("jokers", lambda entry: content.EDITIONS.id(f"e_{entry.get('edition', 'base')}"), 5)
START_JOKER_FLAGS = _lists(
    "jokers", lambda entry: ETERNAL * entry.get("eternal", False) | PINNED * entry.get("pinned", False), 5
)
START_CONSUMABLE = _lists("consumables", content.CONSUMABLES.id, 2)
START_VOUCHER = _lists("vouchers", content.VOUCHERS.id, 2)


def _deck_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Per challenge: number of cards (0: the standard 52), then front index, enhancement and seal in creation order."""
    size = np.zeros(content.CHALLENGES.size, np.int64)
    front = np.zeros((content.CHALLENGES.size, 52), np.int64)
    enhancement = np.zeros((content.CHALLENGES.size, 52), np.int64)
    seal = np.zeros((content.CHALLENGES.size, 52), np.int64)
    for row in content.CHALLENGES:
        if isinstance(row["deck"], str):
            continue
        number = content.CHALLENGES.id(row["id"])
        size[number] = len(row["deck"])
        for place, text in enumerate(sorted(row["deck"])):
            code, _, extra = text.partition("+")
            front[number, place] = content.FRONTS.index(code)
            if extra.startswith("seal:"):
                seal[number, place] = content.SEALS.id(extra.removeprefix("seal:"))
            elif extra:
                enhancement[number, place] = content.ENHANCEMENTS.id(extra)
    return size, front, enhancement, seal


DECK_SIZE, DECK_FRONT, DECK_ENHANCEMENT, DECK_SEAL = _deck_tables()
