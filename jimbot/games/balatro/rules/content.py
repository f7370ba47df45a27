"""All content of the game as tables: JSON rows turned into stable integer ids and NumPy columns.

Ids are positions in the JSON files, which keep the game's own order; that order decides random draws, so rows are never
sorted or inserted. Arrays defined here are constants to Numba: compiled code reads them without any Python object.

Playing cards: ranks are 2..14 (J 11, Q 12, K 13, A 14); suits are 0 Spades, 1 Hearts, 2 Clubs, 3 Diamonds, which is the
order the game uses to sort hands, to look for flushes and to choose the ancient suit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError

_FOLDER = Path(__file__).resolve().parents[1] / "tables"


class ContentTable:
    """One kind of content: ids ↔ keys ↔ names, and the raw rows.

    `first` is the id of the first row: 1 where 0 means "none" (enhancements, seals), else 0.
    """

    def __init__(self, kind: str, rows: Sequence[dict[str, Any]], first: int = 0, key: str = "key") -> None:
        self.kind = kind
        self.first = first
        self.rows = tuple(rows)
        self.keys = tuple(str(row[key]) for row in rows)
        self.names = tuple(str(row.get("name", row[key])) for row in rows)
        self._ids = {text: first + index for index, text in enumerate(self.keys)}
        if len(self._ids) != len(self.keys):
            raise ValueError(f"ContentTable of {kind}s has a key twice; keys must be unique.")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __contains__(self, key: object) -> bool:
        return key in self._ids

    @property
    def size(self) -> int:
        """One more than the largest id: the length of an array indexed by id."""
        return self.first + len(self.rows)

    def id(self, key: str) -> int:
        """The integer id of a key.

        >>> JOKERS.id("j_joker"), ENHANCEMENTS.id("m_bonus")
        (0, 1)
        """
        if key not in self._ids:
            raise UnknownNameError(self.kind, key, self.keys)
        return self._ids[key]

    def key(self, identifier: int) -> str:
        """The key of an id; the inverse of `id`."""
        if not self.first <= identifier < self.size:
            raise UnknownNameError(self.kind, str(identifier), [f"{self.first}..{self.size - 1}"])
        return self.keys[identifier - self.first]

    def name(self, identifier: int) -> str:
        """The display name of an id."""
        return self.names[self._ids[self.key(identifier)] - self.first]

    def row(self, key: str) -> dict[str, Any]:
        """The JSON row of a key."""
        return self.rows[self.id(key) - self.first]

    def column(self, value: Callable[[dict[str, Any]], Any], dtype: Any) -> np.ndarray:
        """An array indexed by id; entries below `first` are 0."""
        out = np.zeros(self.size, dtype)
        for index, row in enumerate(self.rows):
            out[self.first + index] = value(row)
        return out


def _load(name: str) -> Any:
    return json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))


RATES: dict[str, Any] = _load("rates")

JOKERS = ContentTable("joker", _load("jokers"))
CONSUMABLES = ContentTable("consumable", _load("consumables"))  # 22 Tarots, then 12 Planets, then 18 Spectrals
VOUCHERS = ContentTable("voucher", _load("vouchers"))
TAGS = ContentTable("tag", _load("tags"))
BLINDS = ContentTable("blind", _load("blinds"))
DECKS = ContentTable("deck", _load("decks"))
STAKES = ContentTable("stake", _load("stakes"), first=1)
PACKS = ContentTable("pack", _load("packs"))
HANDS = ContentTable("poker hand", _load("hands"), key="name")  # strongest first
ENHANCEMENTS = ContentTable("enhancement", _load("enhancements"), first=1)
EDITIONS = ContentTable("edition", _load("editions"))
SEALS = ContentTable("seal", _load("seals"), first=1)
CHALLENGES = ContentTable("challenge", _load("challenges"), first=1, key="id")

SUITS = ("Spades", "Hearts", "Clubs", "Diamonds")
SUIT_LETTERS = "SHCD"
RANK_LETTERS = {**{str(rank): rank for rank in range(2, 10)}, "T": 10, "J": 11, "Q": 12, "K": 13, "A": 14}
LETTER_OF_RANK = {rank: letter for letter, rank in RANK_LETTERS.items()}

TAROT_COUNT = sum(row["set"] == "Tarot" for row in CONSUMABLES)
PLANET_COUNT = sum(row["set"] == "Planet" for row in CONSUMABLES)
FIRST_PLANET = TAROT_COUNT
FIRST_SPECTRAL = TAROT_COUNT + PLANET_COUNT


def card_code(rank: int, suit: int) -> str:
    """A playing card as suit letter, underscore, rank letter.

    >>> card_code(10, 0)
    'S_T'
    """
    return f"{SUIT_LETTERS[suit]}_{LETTER_OF_RANK[rank]}"


def parse_card(code: str) -> tuple[int, int]:
    """(rank, suit) of a code such as `S_T`; the inverse of `card_code`."""
    suit, _, rank = code.partition("_")
    if len(suit) != 1 or suit not in SUIT_LETTERS or rank not in RANK_LETTERS:
        raise UnknownNameError("playing card", code, ["S_A", "H_T", "C_9", "D_2"], "Suit S H C D, rank 2-9 T J Q K A.")
    return RANK_LETTERS[rank], SUIT_LETTERS.index(suit)


# The 52 fronts in the byte order of their codes: the order of every random front and of a new deck's creation.
FRONTS = tuple(sorted(f"{suit}_{rank}" for suit in SUIT_LETTERS for rank in RANK_LETTERS))
FRONT_RANK = np.array([parse_card(code)[0] for code in FRONTS], np.int64)
FRONT_SUIT = np.array([parse_card(code)[1] for code in FRONTS], np.int64)

# By rank, 0 below 2
RANK_CHIPS = np.zeros(15, np.int64)
for _letter, _rank in RANK_LETTERS.items():
    RANK_CHIPS[_rank] = RATES["rank_chips"][_letter]

# Jokers
JOKER_RARITY = JOKERS.column(lambda row: row["rarity"], np.int64)  # 1 Common .. 4 Legendary
JOKER_COST = JOKERS.column(lambda row: row["cost"], np.int64)
JOKER_COPYABLE = JOKERS.column(lambda row: row["copyable"], np.bool_)
JOKER_CAN_BE_ETERNAL = JOKERS.column(lambda row: row["eternal"], np.bool_)
JOKER_CAN_PERISH = JOKERS.column(lambda row: row["perishable"], np.bool_)
JOKER_NEEDS_ENHANCEMENT = JOKERS.column(
    lambda row: ENHANCEMENTS.id(row["needs_enhancement"]) if "needs_enhancement" in row else 0, np.int64
)
JOKER_NEEDS_EXTINCT_MICHEL = JOKERS.column(lambda row: "needs_flag" in row, np.bool_)
JOKER_BLOCKED_BY_EXTINCT_MICHEL = JOKERS.column(lambda row: "blocked_by_flag" in row, np.bool_)

# Consumables
CONSUMABLE_COST = CONSUMABLES.column(lambda row: row["cost"], np.int64)
CONSUMABLE_MIN_TARGETS = CONSUMABLES.column(lambda row: row["targets"][0], np.int64)
CONSUMABLE_MAX_TARGETS = CONSUMABLES.column(lambda row: row["targets"][1], np.int64)
PLANET_HAND = CONSUMABLES.column(lambda row: HANDS.id(row["hand"]) if "hand" in row else -1, np.int64)
NEEDS_HAND_PLAYED = CONSUMABLES.column(lambda row: row.get("needs_hand_played", False), np.bool_)
SOUL_ONLY = CONSUMABLES.column(lambda row: row.get("soul_only", False), np.bool_)
HAND_PLANET = HANDS.column(lambda row: CONSUMABLES.id(row["planet"]), np.int64)

# Poker hands
HAND_CHIPS = HANDS.column(lambda row: row["base_chips"], np.float64)
HAND_MULT = HANDS.column(lambda row: row["base_mult"], np.float64)
HAND_LEVEL_CHIPS = HANDS.column(lambda row: row["level_chips"], np.float64)
HAND_LEVEL_MULT = HANDS.column(lambda row: row["level_mult"], np.float64)
HAND_VISIBLE_AT_START = HANDS.column(lambda row: row["visible_at_start"], np.bool_)

# Vouchers, tags, packs
VOUCHER_REQUIRES = VOUCHERS.column(lambda row: VOUCHERS.id(row["requires"][0]) if row["requires"] else -1, np.int64)
VOUCHER_COST = VOUCHERS.column(lambda row: row["cost"], np.int64)
TAG_MIN_ANTE = TAGS.column(lambda row: row["min_ante"], np.int64)
TAG_PACK = TAGS.column(lambda row: PACKS.id(row["config"]["pack"]) if "pack" in row["config"] else -1, np.int64)
TAG_EDITION = TAGS.column(lambda row: EDITIONS.id(f"e_{row['config'].get('edition', 'base')}"), np.int64)
PACK_KINDS = ("Arcana", "Celestial", "Standard", "Buffoon", "Spectral")
PACK_KIND = PACKS.column(lambda row: PACK_KINDS.index(row["kind"]), np.int64)
PACK_CARDS = PACKS.column(lambda row: row["cards"], np.int64)
PACK_PICKS = PACKS.column(lambda row: row["picks"], np.int64)
PACK_COST = PACKS.column(lambda row: row["cost"], np.int64)
PACK_WEIGHT = PACKS.column(lambda row: row["weight"], np.float64)
PACK_DEALS_HAND = PACKS.column(lambda row: row["deals_hand"], np.bool_)

# Blinds
BLIND_MULT = BLINDS.column(lambda row: row["mult"], np.float64)
BLIND_REWARD = BLINDS.column(lambda row: row["reward"], np.int64)
BLIND_MIN_ANTE = BLINDS.column(lambda row: row["min_ante"] or 0, np.int64)
BLIND_SHOWDOWN = BLINDS.column(lambda row: row["showdown"], np.bool_)
BLIND_DEBUFF_SUIT = BLINDS.column(
    lambda row: SUITS.index(row["debuff"]["suit"]) if "suit" in row.get("debuff", {}) else -1, np.int64
)
SMALL_BLIND, BIG_BLIND = BLINDS.id("bl_small"), BLINDS.id("bl_big")
# Bosses in the byte order of their keys: the order in which the `boss` stream chooses.
BOSS_ORDER = np.array([BLINDS.id(key) for key in sorted(BLINDS.keys) if BLINDS.row(key)["type"] == "boss"], np.int64)

# Stakes (indexed by level 1..8)
STAKE_SCALING = STAKES.column(lambda row: row["scaling"], np.int64)
STAKE_SMALL_REWARD = STAKES.column(lambda row: row["small_blind_reward"], np.bool_)
STAKE_DISCARDS = STAKES.column(lambda row: row["discards_delta"], np.int64)
STAKE_ETERNALS = STAKES.column(lambda row: row["eternals"], np.bool_)
STAKE_PERISHABLES = STAKES.column(lambda row: row["perishables"], np.bool_)
STAKE_RENTALS = STAKES.column(lambda row: row["rentals"], np.bool_)

# Editions: price surcharge by id (0 none, 1 Foil, 2 Holographic, 3 Polychrome, 4 Negative)
EDITION_SURCHARGE = EDITIONS.column(lambda row: row["cost_surcharge"], np.int64)
FOIL, HOLOGRAPHIC, POLYCHROME, NEGATIVE = (
    EDITIONS.id(key) for key in ("e_foil", "e_holo", "e_polychrome", "e_negative")
)
BONUS, MULT, WILD, GLASS, STEEL, STONE, GOLD, LUCKY = range(1, 9)
GOLD_SEAL, RED_SEAL, BLUE_SEAL, PURPLE_SEAL = (SEALS.id(key) for key in ("Gold", "Red", "Blue", "Purple"))

# Requirement of the first eight antes by scaling table 1..3; [0] unused.
BLIND_BASE = np.zeros((4, 9), np.float64)
for _scaling, _bases in RATES["blind_base"].items():
    for _ante in range(9):
        BLIND_BASE[int(_scaling), _ante] = _bases[str(_ante)]
