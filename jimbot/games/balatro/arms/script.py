"""A player who only knows a script, compiled: what a build is worth is what it does in the same simple hands.

Every arm of a measurement (with neither joker, with one, with both) is played by the same script from the same start,
so that what differs is the jokers. It plays the hand that scores most for certain, never buys or sells a joker, and
plays every hand of a round: the blind asks for nothing until the last one, so that strong builds do not grow less for
winning early. Habits that builds differ in are bits of a style.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.candidates import best_plays
from jimbot.games.balatro.rules import decisions as d
from jimbot.games.balatro.rules.content import (
    CONSUMABLE_COST,
    CONSUMABLE_MAX_TARGETS,
    CONSUMABLES,
    FIRST_SPECTRAL,
)
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.rules.shop.prices import booster_price, offer_price
from jimbot.games.balatro.rules.state import (
    BLIND_SELECT,
    CARD_FORCED,
    FIRST_PACK_OFFER,
    OFFER_CONSUMABLE,
    OFFER_JOKER,
    PACK,
    ROUND_EVAL,
    SELECTING_HAND,
    SHOP,
)

# Habits
DISCARDS, ONE_CARD_FIRST, SHOPS, SKIPS_PACKS, SELLS = 1, 2, 4, 8, 16
_NEVER = 1e300  # points no hand scores
_MOST_STEPS = 60  # of a phase: a rule that never ends would be a bug, not a long wait
_SAVINGS = 5  # dollars the script does not spend
_BY_ITSELF = CONSUMABLES.column(lambda row: row["condition"] != "joker_slot" and row["set"] != "Spectral", np.bool_)
"""Consumables the script uses: Tarots and Planets that make no joker."""


@njit
def _first_cards(g, count):
    """The leftmost cards of the hand, those that are forced into every choice among them."""
    targets, chosen = np.uint64(0), 0
    for place in range(g.hand_count):
        if g.card_flags[g.hand[place]] & CARD_FORCED:
            targets |= np.uint64(1) << np.uint64(place)
            chosen += 1
    for place in range(g.hand_count):
        bit = np.uint64(1) << np.uint64(place)
        if chosen < count and not targets & bit:
            targets |= bit
            chosen += 1
    return targets


@njit
def choose_play(g, s):
    """The hand positions that score most for certain; anything where nothing is known."""
    best = best_plays(g, s)
    return s.best_cards[best] if best >= 0 else _first_cards(g, min(MAX_PLAYED, np.int64(g.hand_count)))


@njit
def _cards_beside(g, play, most):
    """Cards that the best hand does not need, from the right; forced ones in any case."""
    targets, chosen = np.uint64(0), 0
    for back in range(g.hand_count):
        place = g.hand_count - 1 - back
        bit = np.uint64(1) << np.uint64(place)
        forced = (g.card_flags[g.hand[place]] & CARD_FORCED) != 0
        if forced or (chosen < most and not play & bit):
            targets |= bit
            chosen += 1
    return targets


@njit
def _use_up(g, s, style):
    """Uses what is held, or sells it; dollars' worth of what was used."""
    worth = 0
    index = 0
    for _ in range(_MOST_STEPS):
        if index >= g.consumable_count or (g.phase != SELECTING_HAND and g.phase != SHOP):
            break
        consumable = np.int64(g.consumable_id[index])
        targets = _first_cards(g, min(CONSUMABLE_MAX_TARGETS[consumable], np.int64(g.hand_count)))
        if CONSUMABLE_MAX_TARGETS[consumable] == 0:
            targets = np.uint64(0)
        if not style & SELLS and _BY_ITSELF[consumable] and d.apply(g, s, d.USE, index, targets):
            worth += CONSUMABLE_COST[consumable]
        elif style & SELLS or not _BY_ITSELF[consumable]:
            d.apply(g, s, d.SELL_CONSUMABLE, index, np.uint64(0))
        else:
            index += 1
    return worth


@njit
def play_round(g, s, style):
    """Selects the blind and plays all hands; dollars' worth of consumables used on the way."""
    worth = 0
    d.apply(g, s, d.SELECT, 0, np.uint64(0))
    for _ in range(_MOST_STEPS):
        if g.phase != SELECTING_HAND:
            break
        g.requirement = _NEVER
        worth += _use_up(g, s, style)
        if g.phase != SELECTING_HAND or g.hand_count == 0:
            break
        first = g.hands_played_round == 0
        play = choose_play(g, s)
        if style & DISCARDS and g.discards_left > 0:
            most = 1 if style & ONE_CARD_FIRST and g.discards_used == 0 else MAX_PLAYED
            if d.apply(g, s, d.DISCARD, 0, _cards_beside(g, play, most)):
                continue
        if first and style & ONE_CARD_FIRST and not style & DISCARDS:
            play = _first_cards(g, 1)
        if g.hands_left <= 1:
            g.requirement = -1.0
        d.apply(g, s, d.PLAY, 0, play)
    return worth


@njit
def _leave_pack(g, s, style):
    """Takes what the script would use from an open pack, or nothing."""
    for _ in range(_MOST_STEPS):
        if g.phase != PACK:
            break
        taken = False
        for index in range(g.pack_count):
            place = FIRST_PACK_OFFER + index
            if taken or style & SKIPS_PACKS or g.offer_kind[place] == OFFER_JOKER:
                continue
            targets = np.uint64(0)
            if g.offer_kind[place] == OFFER_CONSUMABLE:
                consumable = np.int64(g.offer_id[place])
                if not _BY_ITSELF[consumable]:
                    continue
                most = min(CONSUMABLE_MAX_TARGETS[consumable], np.int64(g.hand_count))
                targets = _first_cards(g, most) if CONSUMABLE_MAX_TARGETS[consumable] > 0 else targets
            taken = d.apply(g, s, d.PICK, index, targets)
        if not taken:
            d.apply(g, s, d.SKIP_PACK, 0, np.uint64(0))


@njit
def _buy_consumables(g, s):
    index = 0
    for _ in range(_MOST_STEPS):
        if index >= g.shop_count:
            break
        wanted = g.offer_kind[index] == OFFER_CONSUMABLE and g.offer_id[index] < FIRST_SPECTRAL
        affordable = g.money >= _SAVINGS or offer_price(g, index) == 0
        if not (wanted and affordable and d.apply(g, s, d.BUY, index, np.uint64(0))):
            index += 1


@njit
def _open_packs(g, s, style):
    """Opens one pack for money, and all that are free."""
    paid = False
    index = 0
    for _ in range(_MOST_STEPS):
        if index >= g.booster_count or g.phase != SHOP:
            break
        free = booster_price(g, index) == 0
        if (free or (not paid and g.money >= 2 * _SAVINGS)) and d.apply(g, s, d.OPEN, index, np.uint64(0)):
            paid = paid or not free
            _leave_pack(g, s, style)
        else:
            index += 1


@njit
def visit_shop(g, s, style):
    """Cashes out and leaves the shop, after a reroll or two, consumables and a pack where the style wants them."""
    if g.phase == ROUND_EVAL:
        d.apply(g, s, d.CASH_OUT, 0, np.uint64(0))
    if style & SHOPS and g.phase == SHOP:
        _buy_consumables(g, s)
        paid = False
        while g.free_rerolls > 0 or (not paid and g.money >= 2 * _SAVINGS):
            paid = paid or g.free_rerolls == 0
            if not d.apply(g, s, d.REROLL, 0, np.uint64(0)):
                break
            _buy_consumables(g, s)
        _open_packs(g, s, style)
    if g.phase == SHOP:
        d.apply(g, s, d.NEXT, 0, np.uint64(0))
    if g.phase == PACK:  # of a tag
        _leave_pack(g, s, style)


@njit
def goes_on(g):
    """Whether the run stands where the next blind is chosen."""
    return g.phase == BLIND_SELECT
