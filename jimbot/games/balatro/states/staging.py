"""Situations put together by hand: what recordings of single hands and shops are checked with.

All of it goes through one compiled door (`stage`), so that checking recordings compiles one program, not a dozen. The
first argument after the records says what to do; what the others mean is said beside each deed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import antes, integrity, inventory, rounds, run_start
from jimbot.games.balatro.rules.bosses import blind
from jimbot.games.balatro.rules.chance.create import start_counter
from jimbot.games.balatro.rules.playing_cards import cards
from jimbot.games.balatro.rules.scoring import score_hand
from jimbot.games.balatro.rules.shop import packs, prices, stock
from jimbot.games.balatro.rules.shop.vouchers import draw_ante_voucher, own_voucher
from jimbot.games.balatro.rules.state import FIRST_PACK_OFFER, MAX_PACK_CARDS, MAX_SHOP_CARDS
from jimbot.games.balatro.seeds.preview_kernel import offer_code

(
    CLEAR,  # an empty run of the seed, deck, stake and challenge in the record
    START,  # a run at its first draws
    ADD_CARD,  # rank, suit, enhancement, edition, seal, place → slot
    ADD_JOKER,  # joker, edition, flags, counter → place
    ADD_CONSUMABLE,  # consumable, edition → place
    OWN_VOUCHER,  # voucher
    SELL_VALUE,  # joker place → dollars
    DEBUFF,  # all cards as the blind has it
    SHUFFLE,  # stream
    DRAW_TARGETS,
    DRAW_VOUCHER,  # → the ante's voucher
    SCORE,  # the hand on the table
    PUT_FORWARD,  # hand positions as a bit set: played and scored, nothing paid yet
    OPEN_PACK,  # pack
    CLOSE_PACK,
    OFFER,  # place → item code
    OFFER_PRICE,  # place → dollars
    STOCK,  # the shop anew
    START_COUNTER,  # joker → the counter it is created with
    FIND_FAULT,  # → what is wrong with the record, as a number of integrity.FAULTS
) = range(20)


def stage(g: Any, s: Any, what: int, *values: int) -> int:
    """Does one deed to a record; the answer is 0 where none is named above."""
    return int(_stage(g, s, what, *values, *(0,) * (6 - len(values))))


@njit
def _stage(g, s, what, a, b, c, d, e, f):
    if what == CLEAR:
        run_start.clear_run(g)
    elif what == START:
        run_start.start_run(g)
    elif what == ADD_CARD:
        return np.int64(cards.add_card(g, a, b, c, d, e, np.int64(g.card_count), f))
    elif what == ADD_JOKER:
        return np.int64(inventory.add_joker(g, a, b, c, d, np.int64(g.joker_count)))
    elif what == ADD_CONSUMABLE:
        return np.int64(inventory.add_consumable(g, a, b, np.int64(g.consumable_count)))
    elif what == OWN_VOUCHER:
        own_voucher(g, a)
    elif what == SELL_VALUE:
        return np.int64(prices.joker_sell_value(g, a))
    elif what == DEBUFF:
        blind.refresh_cards(g)
    elif what == SHUFFLE:
        cards.shuffle_pile(g, a)
    elif what == DRAW_TARGETS:
        antes.draw_targets(g)
    elif what == DRAW_VOUCHER:
        draw_ante_voucher(g)
        return np.int64(g.ante_voucher)
    elif what == SCORE:
        score_hand(g, s)
    elif what == PUT_FORWARD:
        rounds.put_forward(g, s, np.uint64(a))
    elif what == FIND_FAULT:
        return np.int64(integrity.find_fault(g))
    else:
        return _stage_shop(g, what, a)
    return np.int64(0)


@njit
def _stage_shop(g, what, a):
    if what == OPEN_PACK:
        packs.open_pack(g, a)
    elif what == CLOSE_PACK:
        packs.close_pack(g)
    elif what == OFFER:
        return offer_code(g, a)
    elif what == OFFER_PRICE:
        return np.int64(prices.offer_price(g, a))
    elif what == STOCK:
        stock.clear_shop(g)
        stock.stock_shop(g)
    elif what == START_COUNTER:
        return np.int64(start_counter(g, a))
    return np.int64(0)


@njit
def visit_shop(g, slots, costs, boosters, contents, voucher, after, sold):
    """A shop looked at without buying: stocked, both boosters opened and skipped, then rerolled to the end of `slots`.

    slots, costs: (displays, MAX_SHOP_CARDS) int64 item codes and prices; boosters: (2,) int64; contents:
    (2, MAX_PACK_CARDS) int64 item codes. One voucher, unless it is -1, is bought after display number `after`, when as
    many cards were `sold` (the rightmost: which ones is all the same to what comes); the display that follows is that
    one with its empty slots filled.
    """
    stock.stock_shop(g)
    _write_slots(g, slots, costs, 0)
    for number in range(g.booster_count):
        boosters[number] = g.booster_id[number]
        packs.open_pack(g, boosters[number])
        for card in range(MAX_PACK_CARDS):
            contents[number, card] = offer_code(g, FIRST_PACK_OFFER + card) if card < g.pack_count else 0
        packs.close_pack(g)
    for display in range(1, slots.shape[0]):
        if voucher >= 0 and display == after + 1:
            g.shop_count -= sold
            own_voucher(g, voucher)
            stock.fill_card_slots(g)
        else:
            stock.reroll_cards(g)
        _write_slots(g, slots, costs, display)
    stock.clear_shop(g)


@njit
def _write_slots(g, slots, costs, row):
    for place in range(MAX_SHOP_CARDS):
        slots[row, place] = offer_code(g, place) if place < g.shop_count else 0
        costs[row, place] = prices.offer_price(g, place) if place < g.shop_count else 0
