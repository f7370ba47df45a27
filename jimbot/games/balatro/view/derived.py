"""Everything a table shows that is computed, not stored: prices, sell values, requirements, rewards.

One compiled call reads them all, for words, pictures and recordings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.antes import requirement_of
from jimbot.games.balatro.rules.content import BIG_BLIND, SMALL_BLIND
from jimbot.games.balatro.rules.payout import blind_reward
from jimbot.games.balatro.rules.playing_cards.piles import hand_limit
from jimbot.games.balatro.rules.shop import prices

_DERIVED = np.dtype(
    (
        np.record,
        [
            ("offers", np.int64, (state.MAX_SHOP_CARDS,)),
            ("boosters", np.int64, (state.MAX_BOOSTERS,)),
            ("vouchers", np.int64, (state.MAX_SHOP_VOUCHERS,)),
            ("jokers", np.int64, (state.MAX_JOKERS,)),  # sell values
            ("consumables", np.int64, (state.MAX_CONSUMABLES,)),  # sell values
            ("reroll", np.int64),
            ("hand_limit", np.int64),
            ("requirements", np.float64, (3,)),  # of the ante's Small, Big and Boss Blind
            ("rewards", np.int64, (3,)),
        ],
    )
)
DERIVED_NAMES: tuple[str, ...] = _DERIVED.names or ()


@njit
def _write(g, out):
    for place in range(g.shop_count):
        out.offers[place] = prices.offer_price(g, place)
    for index in range(g.booster_count):
        out.boosters[index] = prices.booster_price(g, index)
    for index in range(g.voucher_count):
        out.vouchers[index] = prices.voucher_price(g, g.shop_voucher[index])
    for index in range(g.joker_count):
        out.jokers[index] = prices.joker_sell_value(g, index)
    for index in range(g.consumable_count):
        out.consumables[index] = prices.consumable_sell_value(g, index)
    out.reroll = prices.reroll_price(g)
    out.hand_limit = hand_limit(g)
    for place in range(3):
        blind = g.boss
        if place == 0:
            blind = SMALL_BLIND
        elif place == 1:
            blind = BIG_BLIND
        out.requirements[place] = requirement_of(g, blind)
        out.rewards[place] = blind_reward(g, blind, place)


def read_derived(g: Any) -> Any:
    """The derived numbers of a game as it stands."""
    out = np.zeros(1, _DERIVED)[0]
    _write(g, out)
    return out
