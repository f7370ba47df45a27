"""Prices and sell values: pure functions of the game, never stored, so a new discount reprices everything at once."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.chance.pools import count_active
from jimbot.games.balatro.rules.state import FREE, OFFER_CONSUMABLE, OFFER_JOKER, RENTAL

_ASTRONOMER = content.JOKERS.id("j_astronomer")
_CELESTIAL = content.PACK_KINDS.index("Celestial")
_PLAYING_CARD_COST = content.RATES["playing_card_cost"]
_RENTAL_COST = content.RATES["stickers"]["rental_cost"]


@njit
def _price(g, base, edition):
    amount = (base + g.inflation + content.EDITION_SURCHARGE[edition] + 0.5) * (100 - g.discount_percent) / 100
    return max(1, np.int64(np.floor(amount)))


@njit
def joker_price(g, joker, edition, flags):
    """A joker's price before tags and coupons; a Rental joker has its own."""
    if flags & RENTAL:
        return _RENTAL_COST
    return _price(g, content.JOKER_COST[joker], edition)


@njit
def consumable_price(g, consumable, edition):
    """A consumable's price; Planets are free with an active Astronomer."""
    if consumable >= content.FIRST_PLANET and consumable < content.FIRST_SPECTRAL and count_active(g, _ASTRONOMER) > 0:
        return 0
    return _price(g, content.CONSUMABLE_COST[consumable], edition)


@njit
def offer_price(g, place):
    """What the shop asks for the card in this place."""
    if g.offer_flags[place] & FREE:
        return 0
    if g.offer_kind[place] == OFFER_JOKER:
        return joker_price(g, g.offer_id[place], g.offer_edition[place], g.offer_flags[place])
    if g.offer_kind[place] == OFFER_CONSUMABLE:
        return consumable_price(g, g.offer_id[place], g.offer_edition[place])
    return _price(g, _PLAYING_CARD_COST, g.offer_edition[place])


@njit
def booster_price(g, index):
    """What the shop asks for a booster pack."""
    pack = g.booster_id[index]
    if g.booster_free[index]:
        return 0
    if content.PACK_KIND[pack] == _CELESTIAL and count_active(g, _ASTRONOMER) > 0:
        return 0
    return _price(g, content.PACK_COST[pack], 0)


@njit
def voucher_price(g, voucher):
    """What the shop asks for a voucher."""
    return _price(g, content.VOUCHER_COST[voucher], 0)


@njit
def reroll_price(g):
    """What the next reroll costs; free ones come first."""
    if g.free_rerolls > 0:
        return 0
    base = 0 if g.d6_shop else max(0, g.reroll_base)
    return max(0, base + g.reroll_increase - g.reroll_rebate)


@njit
def joker_sell_value(g, index):
    """Half the present price, at least 1, and what Egg and Gift Card have added."""
    price = joker_price(g, g.joker_id[index], g.joker_edition[index], g.joker_flags[index])
    return max(1, price // 2) + g.joker_extra_value[index]


@njit
def consumable_sell_value(g, index):
    """Half the present price, at least 1, and what Gift Card has added."""
    price = consumable_price(g, g.consumable_id[index], g.consumable_edition[index])
    return max(1, price // 2) + g.consumable_extra_value[index]
