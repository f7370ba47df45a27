"""The things a build is made of or meets, from the tables the rules are made of, and which of them a game has."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.content import SUITS
from jimbot.games.balatro.rules.firing_tags import fire_immediate_tags
from jimbot.games.balatro.rules.inventory import START_COUNTER, add_joker
from jimbot.games.balatro.rules.shop.vouchers import own_voucher
from jimbot.games.balatro.rules.state import PHASE_NAMES
from jimbot.games.balatro.rules.tags import gain_tag
from jimbot.games.batch_game import BatchGame
from jimbot.games.hooks.learners import Part

THIN, LARGE = 46, 58
"""Cards: at most, at least."""
_MANY = 0.36
"""Share of a deck that is of one suit; a plain deck has 0.25."""
_FACES = 0.33
_ENHANCED = 0.15
PLAIN = "plain deck"


def deck_shape(cards: np.ndarray, enhanced: int) -> str:
    """The most telling word about a deck of `cards` (13, suits), counts by rank (2 first) and suit.

    >>> deck_shape(np.ones((13, 4)), 0)
    'plain deck'
    >>> deck_shape(np.ones((13, 4)) + np.eye(4)[1] * 3, 0)
    'many Hearts'
    """
    count = max(1.0, float(cards.sum()))
    suits = cards.sum(axis=0) / count
    if suits.max() >= _MANY:
        return f"many {SUITS[int(suits.argmax())]}"
    if cards[9:12].sum() / count >= _FACES:
        return "many faces"
    if enhanced / count >= _ENHANCED:
        return "enhanced deck"
    return "thin deck" if count <= THIN else "large deck" if count >= LARGE else PLAIN


TABLES: dict[str, content.ContentTable] = {
    "joker": content.JOKERS, "consumable": content.CONSUMABLES, "voucher": content.VOUCHERS, "hand": content.HANDS,
    "boss": content.BLINDS, "deck": content.DECKS, "tag": content.TAGS,
}  # fmt: skip
_RARITIES = (1, 2, 3, 4)
_SUBJECTS = (
    "chips", "mult", "multiplies", "earns", "money", "sell", "sold", "interest", "shop", "reroll", "pack", "boosters",
    "scored", "scoring", "held", "played", "discard", "discarded", "discards", "hands", "size", "round", "blind",
    "boss", "deck", "destroyed", "destroys", "creates", "copy", "trigger", "extra", "chance", "random", "gains",
    "resets", "loses", "permanently", "face", "rank", "suit", "spades", "hearts", "clubs", "diamonds", "ace", "kings",
    "queen", "jacks", "pair", "three", "four", "straight", "flush", "stone", "steel", "glass", "gold", "lucky", "wild",
    "tarot", "planet", "spectral", "consumable", "joker", "jokers", "uncommon", "slot", "first", "last", "level",
)  # fmt: skip
"""What the sentences about jokers are about."""
_PHASES = tuple(sorted({phase for row in content.JOKERS for phase in row["phases"]}))


@cache
def parts() -> tuple[Part, ...]:
    """Jokers, consumables, vouchers, poker hands, bosses, decks and tags, each kind in the game's own order."""
    return tuple(_part(kind, table, row) for kind, table in TABLES.items() for row in table if _belongs(kind, row))


def _belongs(kind: str, row: dict[str, Any]) -> bool:
    """Small and Big Blind ask for nothing but points."""
    return kind != "boss" or row["type"] == "boss"


def _part(kind: str, table: content.ContentTable, row: dict[str, Any]) -> Part:
    key = row["name"] if kind == "hand" else row["key"]
    words = row["effect"] if "effect" in row else _hand_words(row)
    return Part(kind, key, table.name(table.id(key)), words, _features(row) if kind == "joker" else ())


def _hand_words(row: dict[str, Any]) -> str:
    start = f"{row['base_chips']} chips and {row['base_mult']} Mult at level 1"
    return f"{start}, {row['level_chips']} chips and {row['level_mult']} Mult more with every level."


def _features(row: dict[str, Any]) -> tuple[float, ...]:
    """A joker's row as numbers: rarity, price, what it may be, when it acts, its largest number, what it is about."""
    words = set(re.findall(r"[a-z]+", row["effect"].lower()))
    largest = max((abs(number) for number in _numbers(row.get("config", {}))), default=0.0)
    return (
        *(float(row["rarity"] == rarity) for rarity in _RARITIES),
        row["cost"] / 10,
        float(row["copyable"]),
        float(bool(row.get("start"))),
        math.log1p(largest) / 5,
        *(float(phase in row["phases"]) for phase in _PHASES),
        *(float(subject in words) for subject in _SUBJECTS),
    )


def _numbers(config: dict[str, Any]) -> list[float]:
    found: list[float] = []
    for value in config.values():
        if isinstance(value, dict):
            found += _numbers(value)
        elif isinstance(value, int | float):
            found.append(float(value))
    return found


def give(game: BatchGame, row: int, keys: Sequence[str]) -> None:
    """Hands jokers to a run, left to right, as if they had been bought (who holds too many finds no room for others),
    vouchers as if they had been redeemed, and tags as if a blind had been skipped."""
    g = cast(BalatroGame, game).games[row]
    for key in keys:
        if key in content.VOUCHERS:
            _give_voucher(g, content.VOUCHERS.id(key))
        elif key in content.TAGS:
            gain_tag(g, content.TAGS.id(key), int(g.hand_played.argmax()))
            fire_immediate_tags(g)
        else:
            joker = content.JOKERS.id(key)
            add_joker(g, joker, 0, 0, START_COUNTER[joker], int(g.next_serial))
            g.next_serial += 1


def _give_voucher(g: Any, voucher: int) -> None:
    """One that is owned already does nothing twice, and one that is owned is not on sale."""
    if not g.voucher_owned[voucher]:
        own_voucher(g, voucher)
        if g.ante_voucher == voucher:
            g.ante_voucher = -1


def read_state(game: BatchGame, row: int) -> dict[str, Any]:
    """Which of the parts a game has, by key, and the few numbers that say how far it is."""
    g = cast(BalatroGame, game).games[row]
    return {
        "jokers": [content.JOKERS.key(int(joker)) for joker in g.joker_id[: g.joker_count]],
        "consumables": [content.CONSUMABLES.key(int(card)) for card in g.consumable_id[: g.consumable_count]],
        "vouchers": [content.VOUCHERS.key(int(number)) for number in np.flatnonzero(g.voucher_owned)],
        "boss": content.BLINDS.key(int(g.boss)),
        "deck": content.DECKS.key(int(g.deck)),
        "levels": {content.HANDS.key(hand): int(level) for hand, level in enumerate(g.hand_level) if level != 1},
        "played": {content.HANDS.key(hand): int(count) for hand, count in enumerate(g.hand_played) if count},
        "phase": PHASE_NAMES[g.phase],
        "ante": int(g.ante),
        "round": int(g.rounds),
        "money": int(g.money),
        "joker_slots": int(g.joker_slots),
        "cards": int(g.card_count),
        "deck_shape": _deck_shape(g),
        "won": bool(g.won),
    }


def _deck_shape(g: Any) -> str:
    owned = g.cards[: g.card_count]
    counts = np.zeros((13, 4))
    np.add.at(counts, (np.clip(g.card_rank[owned] - 2, 0, 12), np.clip(g.card_suit[owned], 0, 3)), 1)
    return deck_shape(counts, int((g.card_enhancement[owned] > 0).sum()))
