"""The observation's table: every field with its columns, from which all offsets derive.

One numbering of cards runs through all id fields: 0 nothing or unknown, then the 52 fronts, Stone, the jokers, the
consumables. So a network can give a joker the same embedding in the shop and in play.
"""

from __future__ import annotations

from dataclasses import replace

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.state import MAX_BOOSTERS, MAX_PACK_CARDS, MAX_SHOP_CARDS, PHASE_NAMES
from jimbot.games.spec import Field, ObservationSpec

# How many of each are shown; what lies beyond still counts in `run`.
HAND_ROWS, JOKER_ROWS, CONSUMABLE_ROWS, VOUCHER_ROWS = 16, 10, 5, 4
SHOP_ROWS, PACK_ROWS, BOOSTER_ROWS = MAX_SHOP_CARDS, MAX_PACK_CARDS, MAX_BOOSTERS

FRONT_COUNT = 52
STONE_ITEM = 1 + FRONT_COUNT  # a Stone Card shows neither rank nor suit
FIRST_JOKER_ITEM = STONE_ITEM + 1
FIRST_CONSUMABLE_ITEM = FIRST_JOKER_ITEM + len(content.JOKERS)
CARD_IDS = FIRST_JOKER_ITEM
ITEM_IDS = FIRST_CONSUMABLE_ITEM + len(content.CONSUMABLES)

PACK_SIZES = ("normal", "jumbo", "mega")
PACK_IDS = 1 + len(content.PACK_KINDS) * len(PACK_SIZES)

_KINDS_OF_CARDS = (
    *(f"enhancement {key}" for key in content.ENHANCEMENTS.keys),
    *(f"edition {key}" for key in content.EDITIONS.keys[1:4]),  # playing cards are never Negative
    *(f"seal {key}" for key in content.SEALS.keys),
)

_WORTH = ("typical", "best")  # log-ratio of scores over typical hands, and of the best of them

_AFTER = ("money", "interest_lost")  # once it is bought

COLUMNS: dict[str, tuple[str, ...]] = {
    "hand": ("present", "face_down", "debuffed", "selected", "forced", "played_this_ante", "extra_chips", "grabbed"),
    "jokers": (
        "present", "face_down", "debuffed", "eternal", "perishable", "rental", "pinned", "rounds_left", "value",
        "counter", "sell_value", "grabbed",
    ),
    "consumables": ("present", "negative", "sell_value", "grabbed"),
    "shop": ("present", "price", "affordable", "room", "eternal", "perishable", "rental"),
    "pack": ("present", "room", "eternal", "perishable", "rental"),
    "vouchers_on_sale": ("present", "price", "affordable"),
    "boosters": ("present", "price", "affordable"),
    "shopping": ("reroll_price", "reroll_affordable", "free_rerolls", "boss_reroll", "picks_left"),
    "hands": (
        "level", "played", "played_this_round", "chips", "mult", "most_played", "blocked_by_boss", "on_to_do_list",
    ),
    "blind": (
        "requirement", "boss_requirement", "score", "score_share", "missing", "hands_left", "discards_left",
        "hands_played", "discards_used", "disabled", "small_up", "big_up", "boss_up",
    ),
    "money": ("money", "spendable", "interest", "interest_cap", "interest_per_five", "payout", "discount"),
    "run": (
        "ante", "antes_to_win", "won", "endless", "rounds", "steps", "hands_per_round", "discards_per_round",
        "hand_limit", "hand_count", "pile_count", "card_count", "cards_lost", "joker_slots", "joker_count",
        "consumable_slots", "consumable_count", "shop_slots", "edition_rate", "odds", "skips", "hands_played",
        "unused_discards", "tarots_used", "planets_used", "ectoplasm_uses", "michel_extinct", "sort_by_suit",
        "reorderings",
    ),
    "deck_left_kinds": _KINDS_OF_CARDS,
    "deck_total_kinds": _KINDS_OF_CARDS,
    "joker_worth": _WORTH,
    "shop_worth": _WORTH,
    "pack_worth": _WORTH,
    "best_plays": ("score", "share_of_missing"),
    "best_play": ("score", "share_of_missing"),
    "hand_kin": ("rank_in_hand", "suit_in_hand", "rank_left", "suit_left"),
    "shop_after": _AFTER,
    "voucher_after": _AFTER,
    "booster_after": _AFTER,
    "reroll_after": _AFTER,
    "build": ("typical", "best", "coming_blind", "boss", "next_ante", "next_boss"),
    "draws": ("chance", "expected_share"),
}  # fmt: skip


def _rows(name: str, rows: int, meaning: str) -> Field:
    return Field(name, (rows, len(COLUMNS[name])), f"{meaning}: {', '.join(COLUMNS[name])}")


def _numbers(name: str, meaning: str) -> Field:
    return Field(name, (len(COLUMNS[name]),), f"{meaning}: {', '.join(COLUMNS[name])}")


def _ids(name: str, rows: int, count: int, meaning: str) -> Field:
    return Field(name, (rows,), meaning, ids=count, vocabulary="item" if count == ITEM_IDS else "")


def _about(items: str, *fields: Field) -> tuple[Field, ...]:
    """Fields that tell about the same things, row by row."""
    return tuple(replace(field, items=items) for field in fields)


FIELDS: tuple[Field, ...] = (
    Field("phase", (len(PHASE_NAMES),), f"one-hot: {', '.join(PHASE_NAMES)}"),
    # --- what is held ---
    *_about(
        "hand",
        _ids("hand_card", HAND_ROWS, CARD_IDS, "hand cards in order: 1 + 4 (rank - 2) + suit, 53 Stone, 0 unknown"),
        _ids("hand_enhancement", HAND_ROWS, content.ENHANCEMENTS.size, "their enhancements"),
        _ids("hand_edition", HAND_ROWS, len(content.EDITIONS), "their editions"),
        _ids("hand_seal", HAND_ROWS, content.SEALS.size, "their seals"),
        _rows("hand", HAND_ROWS, "hand cards"),
    ),
    *_about(
        "jokers",
        _ids("joker_id", JOKER_ROWS, ITEM_IDS, "jokers left to right: 54 + joker, 0 unknown"),
        _ids("joker_edition", JOKER_ROWS, len(content.EDITIONS), "their editions"),
        _ids("joker_copies", JOKER_ROWS, ITEM_IDS, "the joker a Blueprint or Brainstorm copies at its place, 0 none"),
        _rows("jokers", JOKER_ROWS, "jokers"),
    ),
    *_about(
        "consumables",
        _ids("consumable_id", CONSUMABLE_ROWS, ITEM_IDS, "consumables left to right: 204 + consumable"),
        _rows("consumables", CONSUMABLE_ROWS, "consumables"),
    ),
    # --- what is on offer ---
    *_about(
        "shop",
        _ids("shop_item", SHOP_ROWS, ITEM_IDS, "cards in the shop"),
        _ids("shop_enhancement", SHOP_ROWS, content.ENHANCEMENTS.size, "their enhancements"),
        _ids("shop_edition", SHOP_ROWS, len(content.EDITIONS), "their editions"),
        _ids("shop_seal", SHOP_ROWS, content.SEALS.size, "their seals"),
        _rows("shop", SHOP_ROWS, "cards in the shop"),
    ),
    _ids("open_pack", 1, PACK_IDS, "the open pack: 1 + 3 kind + size, 0 none"),
    *_about(
        "pack",
        _ids("pack_item", PACK_ROWS, ITEM_IDS, "cards of the open pack"),
        _ids("pack_enhancement", PACK_ROWS, content.ENHANCEMENTS.size, "their enhancements"),
        _ids("pack_edition", PACK_ROWS, len(content.EDITIONS), "their editions"),
        _ids("pack_seal", PACK_ROWS, content.SEALS.size, "their seals"),
        _rows("pack", PACK_ROWS, "cards of the open pack"),
    ),
    *_about(
        "vouchers_on_sale",
        _ids("voucher_id", VOUCHER_ROWS, 1 + len(content.VOUCHERS), "vouchers on sale: 1 + voucher"),
        _rows("vouchers_on_sale", VOUCHER_ROWS, "vouchers on sale"),
    ),
    *_about(
        "boosters",
        _ids("booster_id", BOOSTER_ROWS, PACK_IDS, "boosters on sale: 1 + 3 kind + size"),
        _rows("boosters", BOOSTER_ROWS, "boosters on sale"),
    ),
    _numbers("shopping", "rerolls and picks"),
    # --- the deck ---
    Field(
        "deck_left", (13, len(content.SUITS)), "cards not seen since the shuffle, by rank and suit; / 4; no Stone Cards"
    ),
    Field("deck_total", (13, len(content.SUITS)), "cards owned, by rank and suit; / 4; no Stone Cards"),
    _numbers("deck_left_kinds", "cards not seen since the shuffle, by kind"),
    _numbers("deck_total_kinds", "cards owned, by kind"),
    # --- poker hands ---
    _rows("hands", len(content.HANDS), "poker hands, strongest first"),
    _ids("last_hand", 1, 1 + len(content.HANDS), "the poker hand played last: 1 + hand"),
    # --- the blind ---
    _ids("blind_id", 1, 1 + len(content.BLINDS), "the blind being played, or the next one: 1 + blind"),
    _ids("boss_id", 1, 1 + len(content.BLINDS), "the ante's boss: 1 + blind"),
    _numbers("blind", "the blind"),
    _ids("skip_tag", 2, 1 + len(content.TAGS), "what skipping the Small and the Big Blind still gives: 1 + tag"),
    _ids("skip_tag_hand", 2, 1 + len(content.HANDS), "the poker hand of these if they are Orbital Tags: 1 + hand"),
    Field("tags", (len(content.TAGS),), "tags held, by kind; log counts"),
    # --- the run ---
    Field("vouchers", (len(content.VOUCHERS),), "vouchers owned"),
    _numbers("money", "the purse"),
    _numbers("run", "the run"),
    _ids("deck", 1, 1 + len(content.DECKS), "1 + deck"),
    _ids("stake", 1, content.STAKES.size, "stake 1..8"),
    _ids("challenge", 1, content.CHALLENGES.size, "challenge, 0 none"),
    _ids("idol_card", 1, CARD_IDS, "the card The Idol looks for"),
    _ids("mail_rank", 1, 15, "the rank Mail-In Rebate looks for"),
    _ids("target_suits", 2, 1 + len(content.SUITS), "the suits of Ancient Joker and Castle: 1 + suit"),
    _ids("fool_copies", 1, ITEM_IDS, "the Tarot or Planet The Fool would copy"),
    # --- helpers; all 0 when they are switched off ---
    *_about("jokers", _rows("joker_worth", JOKER_ROWS, "what a joker adds to the score of typical hands")),
    *_about("shop", _rows("shop_worth", SHOP_ROWS, "what a joker or Planet in the shop would add")),
    *_about("pack", _rows("pack_worth", PACK_ROWS, "what a joker or Planet of the open pack would add")),
    _rows("best_plays", len(content.HANDS), "the best certain score per poker hand, strongest hand first"),
    _numbers("best_play", "the best certain score of all"),
    *_about("hand", Field("best_play_cards", (HAND_ROWS,), "1 for the hand cards of that play")),
)

INSIGHT: tuple[Field, ...] = (  # after all others, and only with the option `insight`
    *_about("hand", _rows("hand_kin", HAND_ROWS, "how many others like a hand card there are")),
    *_about("shop", _rows("shop_after", SHOP_ROWS, "the purse after buying a card of the shop")),
    *_about("vouchers_on_sale", _rows("voucher_after", VOUCHER_ROWS, "the purse after buying a voucher")),
    *_about("boosters", _rows("booster_after", BOOSTER_ROWS, "the purse after buying a booster")),
    _numbers("reroll_after", "the purse after a reroll"),
    _numbers("build", "score of typical hands, and how a round of them compares with what blinds ask for"),
    _rows("draws", len(content.HANDS), "poker hands after one discard, strongest hand first"),
)

OBSERVATION = ObservationSpec(FIELDS)
WIDTH = OBSERVATION.size
WITH_INSIGHT = ObservationSpec((*FIELDS, *INSIGHT))


def start(name: str) -> int:
    """Where a field begins in the row."""
    return WITH_INSIGHT.offsets[name]


def stride(name: str) -> int:
    """Columns per item of a field."""
    return len(COLUMNS[name])


def places(name: str) -> range:
    """Where each column of a field lies (of its first item, if it has items)."""
    return range(start(name), start(name) + stride(name))
