"""Vouchers: the ante's draw, and what each does once owned.

Effects that are plain numbers are applied here at once. Those that change another rule (Telescope, Omen Globe,
Observatory, Magic Trick's Illusion, Director's Cut, Retcon) are asked for where that rule lives.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.content import VOUCHERS
from jimbot.games.balatro.rules.pools import POOL_VOUCHER, choose_from_pool
from jimbot.games.balatro.rules.state import MAX_SHOP_VOUCHERS, WEIGHT_PLANET, WEIGHT_PLAYING_CARD, WEIGHT_TAROT
from jimbot.games.balatro.rules.streams import stream_id

_ANTE_VOUCHER = stream_id("Voucher{ante}")
_TAG_VOUCHER = stream_id("Voucher_fromtag")

(
    OVERSTOCK, OVERSTOCK_PLUS, CLEARANCE_SALE, LIQUIDATION, HONE, GLOW_UP, REROLL_SURPLUS, REROLL_GLUT, CRYSTAL_BALL,
    OMEN_GLOBE, TELESCOPE, OBSERVATORY, GRABBER, NACHO_TONG, WASTEFUL, RECYCLOMANCY, TAROT_MERCHANT, TAROT_TYCOON,
    PLANET_MERCHANT, PLANET_TYCOON, SEED_MONEY, MONEY_TREE, BLANK, ANTIMATTER, MAGIC_TRICK, ILLUSION, HIEROGLYPH,
    PETROGLYPH, DIRECTORS_CUT, RETCON, PAINT_BRUSH, PALETTE,
) = range(len(VOUCHERS))  # fmt: skip

_MERCHANT_WEIGHT = 4 * 2.4
_TYCOON_WEIGHT = 4 * 8.0


@njit
def draw_ante_voucher(g):
    """The voucher of the current ante, at run start and after each boss."""
    g.ante_voucher = choose_from_pool(g, POOL_VOUCHER, _ANTE_VOUCHER)


@njit
def add_tag_voucher(g):
    """One more voucher on sale (Voucher Tag)."""
    if g.voucher_count < MAX_SHOP_VOUCHERS:
        g.shop_voucher[g.voucher_count] = choose_from_pool(g, POOL_VOUCHER, _TAG_VOUCHER)
        g.voucher_count += 1


@njit
def _apply_shop_voucher(g, voucher):
    if voucher == OVERSTOCK or voucher == OVERSTOCK_PLUS:
        g.shop_slots += 1
    elif voucher == CLEARANCE_SALE:
        g.discount_percent = 25
    elif voucher == LIQUIDATION:
        g.discount_percent = 50
    elif voucher == HONE:
        g.edition_rate = 2.0
    elif voucher == GLOW_UP:
        g.edition_rate = 4.0
    elif voucher == REROLL_SURPLUS or voucher == REROLL_GLUT:
        g.reroll_base -= 2
        if g.d6_shop:  # whose base is 0: only the reroll on offer gets cheaper
            g.reroll_rebate += 2
    elif voucher == TAROT_MERCHANT:
        g.shop_weight[WEIGHT_TAROT] = _MERCHANT_WEIGHT
    elif voucher == TAROT_TYCOON:
        g.shop_weight[WEIGHT_TAROT] = _TYCOON_WEIGHT
    elif voucher == PLANET_MERCHANT:
        g.shop_weight[WEIGHT_PLANET] = _MERCHANT_WEIGHT
    elif voucher == PLANET_TYCOON:
        g.shop_weight[WEIGHT_PLANET] = _TYCOON_WEIGHT
    elif voucher == MAGIC_TRICK or voucher == ILLUSION:
        g.shop_weight[WEIGHT_PLAYING_CARD] = 4.0


@njit
def _apply_run_voucher(g, voucher):
    if voucher == CRYSTAL_BALL:
        g.consumable_slots += 1
    elif voucher == GRABBER or voucher == NACHO_TONG:
        g.hands_per_round += 1
    elif voucher == WASTEFUL or voucher == RECYCLOMANCY:
        g.discards_per_round += 1
    elif voucher == SEED_MONEY:
        g.interest_cap = 50
    elif voucher == MONEY_TREE:
        g.interest_cap = 100
    elif voucher == ANTIMATTER:
        g.joker_slots += 1
    elif voucher == HIEROGLYPH:
        g.ante -= 1
        g.hands_per_round -= 1
    elif voucher == PETROGLYPH:
        g.ante -= 1
        g.discards_per_round -= 1
    elif voucher == PAINT_BRUSH or voucher == PALETTE:
        g.hand_size += 1


@njit
def own_voucher(g, voucher):
    """Makes a voucher the player's and applies it; filling Overstock's new slot is the shop's business."""
    g.voucher_owned[voucher] = 1
    _apply_shop_voucher(g, voucher)
    _apply_run_voucher(g, voucher)
