"""The part of the observation that is on offer: the shop's goods and the cards of an open pack."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding import fields
from jimbot.games.balatro.encoding.scaling import count_log
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.between_rounds import can_afford, can_reroll_boss, has_room_for_offer
from jimbot.games.balatro.rules.content import PACK_KIND, PACKS, STONE
from jimbot.games.balatro.rules.shop.prices import booster_price, offer_price, reroll_price, voucher_price

_SHOP_IDS, _PACK_IDS = (  # the id fields of offers follow one another
    tuple(fields.start(f"{area}_{name}") for name in ("item", "enhancement", "edition", "seal"))
    for area in ("shop", "pack")
)
_SHOP_ITEM, _SHOP_ENHANCEMENT, _SHOP_EDITION, _SHOP_SEAL = _SHOP_IDS
_PACK_ITEM, _PACK_ENHANCEMENT, _PACK_EDITION, _PACK_SEAL = _PACK_IDS
_SHOP_PRESENT, _SHOP_PRICE, _SHOP_AFFORDABLE, _SHOP_ROOM, _SHOP_ETERNAL, _SHOP_PERISHABLE, _SHOP_RENTAL = fields.places(
    "shop"
)
_PACK_PRESENT, _PACK_ROOM, _PACK_ETERNAL, _PACK_PERISHABLE, _PACK_RENTAL = fields.places("pack")
_VOUCHER_ID, _BOOSTER_ID, _OPEN_PACK = (fields.start(name) for name in ("voucher_id", "booster_id", "open_pack"))
_VOUCHER_PRESENT, _VOUCHER_PRICE, _VOUCHER_AFFORDABLE = fields.places("vouchers_on_sale")
_BOOSTER_PRESENT, _BOOSTER_PRICE, _BOOSTER_AFFORDABLE = fields.places("boosters")
_REROLL_PRICE, _REROLL_AFFORDABLE, _FREE_REROLLS, _BOSS_REROLL, _PICKS_LEFT = fields.places("shopping")
_SHOP_STRIDE, _PACK_STRIDE = fields.stride("shop"), fields.stride("pack")
_VOUCHER_STRIDE, _BOOSTER_STRIDE = fields.stride("vouchers_on_sale"), fields.stride("boosters")
_PACK_LOOK = (
    1 + len(fields.PACK_SIZES) * PACK_KIND + PACKS.column(lambda row: fields.PACK_SIZES.index(row["size"]), np.int64)
)


@njit
def _flag(yes):
    return 1.0 if yes else 0.0


@njit
def _item(g, place):
    """An offered card in the numbering of `fields.py`."""
    identifier = np.int64(g.offer_id[place])
    if g.offer_kind[place] == state.OFFER_JOKER:
        return fields.FIRST_JOKER_ITEM + identifier
    if g.offer_kind[place] == state.OFFER_CONSUMABLE:
        return fields.FIRST_CONSUMABLE_ITEM + identifier
    if g.offer_enhancement[place] == STONE:
        return fields.STONE_ITEM
    return 1 + 4 * (identifier - 2) + np.int64(g.offer_suit[place])


@njit
def _write_shop_card(g, row, out):
    at = row * _SHOP_STRIDE
    price = offer_price(g, row)
    out[_SHOP_ITEM + row] = _item(g, row)
    out[_SHOP_EDITION + row] = g.offer_edition[row]
    if g.offer_kind[row] != state.OFFER_JOKER and g.offer_kind[row] != state.OFFER_CONSUMABLE:
        out[_SHOP_ENHANCEMENT + row] = g.offer_enhancement[row]
        out[_SHOP_SEAL + row] = g.offer_seal[row]
    out[at + _SHOP_PRESENT] = 1.0
    out[at + _SHOP_PRICE] = count_log(price)
    out[at + _SHOP_AFFORDABLE] = _flag(can_afford(g, price))
    out[at + _SHOP_ROOM] = _flag(has_room_for_offer(g, row))
    flags = g.offer_flags[row]
    out[at + _SHOP_ETERNAL] = _flag(flags & state.ETERNAL)
    out[at + _SHOP_PERISHABLE] = _flag(flags & state.PERISHABLE)
    out[at + _SHOP_RENTAL] = _flag(flags & state.RENTAL)


@njit
def _write_pack_card(g, row, out):
    at = row * _PACK_STRIDE
    place = state.FIRST_PACK_OFFER + row
    out[_PACK_ITEM + row] = _item(g, place)
    out[_PACK_EDITION + row] = g.offer_edition[place]
    if g.offer_kind[place] != state.OFFER_JOKER and g.offer_kind[place] != state.OFFER_CONSUMABLE:
        out[_PACK_ENHANCEMENT + row] = g.offer_enhancement[place]
        out[_PACK_SEAL + row] = g.offer_seal[place]
    out[at + _PACK_PRESENT] = 1.0
    out[at + _PACK_ROOM] = _flag(has_room_for_offer(g, place))
    flags = g.offer_flags[place]
    out[at + _PACK_ETERNAL] = _flag(flags & state.ETERNAL)
    out[at + _PACK_PERISHABLE] = _flag(flags & state.PERISHABLE)
    out[at + _PACK_RENTAL] = _flag(flags & state.RENTAL)


@njit
def _write_goods(g, out):
    """Cards, vouchers, boosters and rerolls; they lie there still while a pack bought in the shop is open."""
    for row in range(g.shop_count):
        _write_shop_card(g, row, out)
    for row in range(min(g.voucher_count, fields.VOUCHER_ROWS)):
        at = row * _VOUCHER_STRIDE
        price = voucher_price(g, g.shop_voucher[row])
        out[_VOUCHER_ID + row] = np.int64(g.shop_voucher[row]) + 1
        out[at + _VOUCHER_PRESENT] = 1.0
        out[at + _VOUCHER_PRICE] = count_log(price)
        out[at + _VOUCHER_AFFORDABLE] = _flag(can_afford(g, price))
    for row in range(g.booster_count):
        at = row * _BOOSTER_STRIDE
        price = booster_price(g, row)
        out[_BOOSTER_ID + row] = _PACK_LOOK[g.booster_id[row]]
        out[at + _BOOSTER_PRESENT] = 1.0
        out[at + _BOOSTER_PRICE] = count_log(price)
        out[at + _BOOSTER_AFFORDABLE] = _flag(can_afford(g, price))
    out[_REROLL_PRICE] = count_log(reroll_price(g))
    out[_REROLL_AFFORDABLE] = _flag(can_afford(g, reroll_price(g)))
    out[_FREE_REROLLS] = count_log(g.free_rerolls)


@njit
def write(g, out):
    """Writes the goods of the shop the player is in and the cards of the open pack."""
    if g.phase == state.SHOP or g.pack_phase == state.SHOP:
        _write_goods(g, out)
    if g.phase == state.PACK:
        out[_OPEN_PACK] = _PACK_LOOK[g.pack_id]
        out[_PICKS_LEFT] = count_log(g.pack_picks)
        for row in range(g.pack_count):
            _write_pack_card(g, row, out)


@njit
def write_boss_reroll(g, out):
    """Whether the boss can be rerolled now."""
    if g.phase == state.BLIND_SELECT:
        out[_BOSS_REROLL] = _flag(can_reroll_boss(g))
