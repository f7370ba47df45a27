"""Numbers of the observation as the player needs them: places in the row, and the scales taken back."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.fields import places, start, stride

PHASE = start("phase")
HAND_CARD, HAND_ENHANCEMENT, HAND_EDITION, HAND_SEAL = (
    start(name) for name in ("hand_card", "hand_enhancement", "hand_edition", "hand_seal")
)
CARD_PRESENT, CARD_DOWN, CARD_WEAK, CARD_SELECTED, CARD_FORCED, CARD_USED, CARD_CHIPS, CARD_GRABBED = places("hand")
CARD_STRIDE = stride("hand")
JOKER_ID, JOKER_EDITION = start("joker_id"), start("joker_edition")
(
    JOKER_PRESENT, JOKER_DOWN, JOKER_WEAK, JOKER_ETERNAL, JOKER_PERISHABLE, JOKER_RENTAL, JOKER_PINNED, JOKER_ROUNDS,
    JOKER_VALUE, JOKER_COUNTER, JOKER_SELLS, JOKER_GRABBED,
) = places("jokers")  # fmt: skip
JOKER_STRIDE = stride("jokers")
CONSUMABLE_ID = start("consumable_id")
SHOP_ITEM, SHOP_EDITION = start("shop_item"), start("shop_edition")
SHOP_PRESENT, SHOP_PRICE, SHOP_AFFORDABLE, SHOP_ROOM, SHOP_ETERNAL, SHOP_PERISHABLE, SHOP_RENTAL = places("shop")
SHOP_STRIDE = stride("shop")
PACK_ITEM, PACK_ENHANCEMENT, PACK_EDITION, PACK_SEAL = (
    start(name) for name in ("pack_item", "pack_enhancement", "pack_edition", "pack_seal")
)
VOUCHER_ID, VOUCHER_STRIDE = start("voucher_id"), stride("vouchers_on_sale")
VOUCHER_PRICE = places("vouchers_on_sale")[1]
PACK_ETERNAL, PACK_PERISHABLE, PACK_RENTAL = places("pack")[2:]
PACK_STRIDE = stride("pack")
BOOSTER_ID, BOOSTER_PRICE, BOOSTER_STRIDE = start("booster_id"), places("boosters")[1], stride("boosters")
REROLL_PRICE = places("shopping")[0]
DECK_LEFT, DECK_TOTAL = start("deck_left"), start("deck_total")
BONUSES, MULTS, WILDS, GLASSES, STEELS, STONES, GOLDS, LUCKIES = places("deck_total_kinds")[:8]
HAND_LEVEL, HAND_PLAYED, HAND_THIS_ROUND, HAND_CHIPS, HAND_MULT, _, HAND_BLOCKED, _ = places("hands")
HAND_STRIDE = stride("hands")
BLIND_ID, BOSS_ID = start("blind_id"), start("boss_id")
REQUIREMENT, BOSS_REQUIREMENT, SCORE, SCORE_SHARE, MISSING, HANDS_LEFT, DISCARDS_LEFT = places("blind")[:7]
DISABLED, SMALL_UP, BIG_UP, BOSS_UP = places("blind")[9:13]
MONEY, SPENDABLE, _, INTEREST_CAP, INTEREST_PER_FIVE = places("money")[:5]
RUN = start("run")
ANTE, HAND_LIMIT, PILE_COUNT, CARDS_LOST = (places("run")[index] for index in (0, 8, 10, 12))
JOKER_SLOTS, JOKER_COUNT, CONSUMABLE_SLOTS, CONSUMABLE_COUNT = (places("run")[index] for index in (13, 14, 15, 16))
SKIPS, TAROTS_USED, HANDS_PER_ROUND, DISCARDS_PER_ROUND = (places("run")[index] for index in (20, 23, 6, 7))
IDOL, ANCIENT = start("idol_card"), start("target_suits")
JOKER_WORTH, SHOP_WORTH, PACK_WORTH = start("joker_worth"), start("shop_worth"), start("pack_worth")
WORTH_STRIDE = stride("shop_worth")
BEST_PLAYS, BEST_PLAY, BEST_CARDS = start("best_plays"), start("best_play"), start("best_play_cards")
BEST_STRIDE = stride("best_plays")


@njit
def count(scaled):
    """A whole number out of its logarithm (`scaling.count_log`)."""
    size = np.int64(np.round(np.expm1(4.0 * abs(scaled))))
    return -size if scaled < 0 else size


@njit
def amount(scaled):
    """A number that need not be whole (`scaling.value_log`)."""
    return np.expm1(4.0 * scaled)


@njit
def score(scaled):
    """A score out of its logarithm (`scaling.symlog`)."""
    return np.expm1(8.0 * scaled)


@njit
def ante(o):
    return np.int64(np.round(8.0 * o[ANTE]))
