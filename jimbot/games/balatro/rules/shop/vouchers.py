"""Vouchers: the ante's draw, and what each does once owned.

Effects that are plain numbers are applied here at once. Those that change another rule (Telescope, Omen Globe,
Observatory, Magic Trick's Illusion, Director's Cut, Retcon) are asked for where that rule lives.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.chance.pools import POOL_VOUCHER, choose_from_pool
from jimbot.games.balatro.rules.chance.streams import stream_id
from jimbot.games.balatro.rules.content import RATES, VOUCHERS

_ANTE_VOUCHER = stream_id("Voucher{ante}")
_TAG_VOUCHER = stream_id("Voucher_fromtag")

(
    OVERSTOCK, OVERSTOCK_PLUS, CLEARANCE_SALE, LIQUIDATION, HONE, GLOW_UP, REROLL_SURPLUS, REROLL_GLUT, CRYSTAL_BALL,
    OMEN_GLOBE, TELESCOPE, OBSERVATORY, GRABBER, NACHO_TONG, WASTEFUL, RECYCLOMANCY, TAROT_MERCHANT, TAROT_TYCOON,
    PLANET_MERCHANT, PLANET_TYCOON, SEED_MONEY, MONEY_TREE, BLANK, ANTIMATTER, MAGIC_TRICK, ILLUSION, HIEROGLYPH,
    PETROGLYPH, DIRECTORS_CUT, RETCON, PAINT_BRUSH, PALETTE,
) = range(len(VOUCHERS))  # fmt: skip


def _config(name: str, kind: type) -> np.ndarray:
    return VOUCHERS.column(lambda row: row["config"].get(name, 0), kind)


_EXTRA, _AMOUNT, _SLOTS = _config("extra", np.float64), _config("extra", np.int64), _config("slots", np.int64)
_TAROT_WEIGHT, _PLANET_WEIGHT = RATES["shop_weights"]["Tarot"], RATES["shop_weights"]["Planet"]


@njit
def draw_ante_voucher(g):
    """The voucher of the current ante, at run start and after each boss."""
    g.ante_voucher = choose_from_pool(g, POOL_VOUCHER, _ANTE_VOUCHER)


@njit
def add_tag_voucher(g):
    """One more voucher on sale (Voucher Tag)."""
    if g.voucher_count < state.MAX_SHOP_VOUCHERS:
        g.shop_voucher[g.voucher_count] = choose_from_pool(g, POOL_VOUCHER, _TAG_VOUCHER)
        g.voucher_count += 1


@njit
def _apply_shop_voucher(g, voucher):
    if voucher == OVERSTOCK or voucher == OVERSTOCK_PLUS:
        g.shop_slots = min(state.MAX_SHOP_CARDS, g.shop_slots + _SLOTS[voucher])
    elif voucher == CLEARANCE_SALE or voucher == LIQUIDATION:
        g.discount_percent = _AMOUNT[voucher]
    elif voucher == HONE or voucher == GLOW_UP:
        g.edition_rate = _EXTRA[voucher]
    elif voucher == REROLL_SURPLUS or voucher == REROLL_GLUT:
        g.reroll_base -= _AMOUNT[voucher]
        if g.d6_shop:  # whose base is 0: only the reroll on offer gets cheaper
            g.reroll_rebate += _AMOUNT[voucher]
    elif voucher == TAROT_MERCHANT or voucher == TAROT_TYCOON:
        g.shop_weight[state.WEIGHT_TAROT] = _TAROT_WEIGHT * _EXTRA[voucher]
    elif voucher == PLANET_MERCHANT or voucher == PLANET_TYCOON:
        g.shop_weight[state.WEIGHT_PLANET] = _PLANET_WEIGHT * _EXTRA[voucher]
    elif voucher == MAGIC_TRICK or voucher == ILLUSION:
        g.shop_weight[state.WEIGHT_PLAYING_CARD] = _EXTRA[voucher]


@njit
def _apply_run_voucher(g, voucher):
    if voucher == CRYSTAL_BALL:
        g.consumable_slots += _SLOTS[voucher]
    elif voucher == GRABBER or voucher == NACHO_TONG:
        g.hands_per_round += _AMOUNT[voucher]
    elif voucher == WASTEFUL or voucher == RECYCLOMANCY:
        g.discards_per_round += _AMOUNT[voucher]
    elif voucher == SEED_MONEY or voucher == MONEY_TREE:
        g.interest_cap = _AMOUNT[voucher]
    elif voucher == ANTIMATTER:
        g.joker_slots += _SLOTS[voucher]
    elif voucher == HIEROGLYPH:
        g.ante -= _AMOUNT[voucher]
        g.hands_per_round -= _AMOUNT[voucher]
    elif voucher == PETROGLYPH:
        g.ante -= _AMOUNT[voucher]
        g.discards_per_round -= _AMOUNT[voucher]
    elif voucher == PAINT_BRUSH or voucher == PALETTE:
        g.hand_size += _AMOUNT[voucher]


@njit
def own_voucher(g, voucher):
    """Makes a voucher the player's and applies it; filling Overstock's new slot is the shop's business."""
    g.voucher_owned[voucher] = 1
    _apply_shop_voucher(g, voucher)
    _apply_run_voucher(g, voucher)
