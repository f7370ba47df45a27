"""The player between rounds: what to buy, sell, open and reroll, and where jokers stand.

Everything on offer has a worth in log-ratios of scores and a price turned into the same unit; the best bargain is
taken until none is left.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.fields import (
    BOOSTER_ROWS,
    FIRST_CONSUMABLE_ITEM,
    FIRST_JOKER_ITEM,
    JOKER_ROWS,
    PACK_ROWS,
    SHOP_ROWS,
    STONE_ITEM,
    VOUCHER_ROWS,
)
from jimbot.games.balatro.heuristic import preferences as like
from jimbot.games.balatro.heuristic import sight, steps
from jimbot.games.balatro.heuristic.targets import main_suit, sell_useless, targets, use_something, wants_to_use
from jimbot.games.balatro.rules.content import (
    CONSUMABLE_MAX_TARGETS,
    FIRST_PLANET,
    FIRST_SPECTRAL,
    JOKER_COPYABLE,
    JOKERS,
    NEGATIVE,
    RATES,
)

# What a dollar is worth, by ante: little while there is nothing to score with, nothing when the run ends.
_DOLLAR = np.array([0.02, 0.016, 0.018, 0.022, 0.022, 0.02, 0.016, 0.01, 0.004, 0.004])
_INTEREST_PER = RATES["interest"]["per_dollars"]
_INTEREST_STEPS = RATES["interest"]["up_to"] // _INTEREST_PER
_WIN_ANTE = RATES["starting"]["win_ante"]
_BLUEPRINT, _BRAINSTORM = JOKERS.id("j_blueprint"), JOKERS.id("j_brainstorm")
_BUFFOON_FIRST, _BUFFOON_LAST = like.BUFFOON_PACKS[0], like.BUFFOON_PACKS[-1]


@njit
def _dollar(p, o):
    return p.dollar * _DOLLAR[min(9, max(0, sight.ante(o)))]


@njit
def _cost(p, o, price):
    """A price in log-ratios, with the interest it takes away."""
    money = sight.count(o[sight.MONEY])
    before = min(_INTEREST_STEPS, max(0, money) // _INTEREST_PER)
    after = min(_INTEREST_STEPS, max(0, money - price) // _INTEREST_PER)
    rounds = min(p.interest_rounds, 3.0 * max(0, _WIN_ANTE - sight.ante(o)))
    return _dollar(p, o) * (price + rounds * (before - after))


@njit
def _appraised(p, o, at):
    """The helper's worth at a place of the row: over typical hands, and of the best of them."""
    return (1.0 - p.best_share) * o[at] + p.best_share * o[at + 1]


@njit
def _hidden(o, joker):
    late = min(1.0, max(0.0, (sight.ante(o) - 1) / 7.0))
    return (1.0 - late) * like.JOKER_EARLY[joker] + late * like.JOKER_LATE[joker]


@njit
def held_value(p, o, row):
    """What a joker held is worth."""
    joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
    if joker < 0:
        return 0.0
    value = _appraised(p, o, sight.JOKER_WORTH + row * sight.WORTH_STRIDE) + _hidden(o, joker)
    return value + (9.0 if np.int64(o[sight.JOKER_EDITION + row]) == NEGATIVE else 0.0)


@njit
def _weakest(p, o, m):
    """The joker worth least among those that can be sold, and its worth; -1 if there is none."""
    best, least = -1, 1e9
    for row in range(JOKER_ROWS):
        if m[steps.SELL_JOKER + row] and o[sight.JOKER_ID + row] > 0:
            value = held_value(p, o, row)
            if value < least:
                best, least = row, value
    return best, least


@njit
def _joker_room(o):
    return sight.count(o[sight.JOKER_SLOTS]) - sight.count(o[sight.JOKER_COUNT])


@njit
def _offer_value(p, o, item, appraised, edition):
    """What a card on offer is worth, whatever it costs."""
    if item >= FIRST_CONSUMABLE_ITEM:
        consumable = item - FIRST_CONSUMABLE_ITEM
        if consumable >= FIRST_PLANET and consumable < FIRST_SPECTRAL:
            return p.planet * appraised
        return like.CONSUMABLE_WORTH[consumable]
    if item >= FIRST_JOKER_ITEM:
        return appraised + _hidden(o, item - FIRST_JOKER_ITEM) + (0.5 if edition == NEGATIVE else 0.0)
    if item >= STONE_ITEM:
        return 0.0
    value = 0.03 if (item - 1) % 4 == main_suit(o) else 0.0
    return value + (0.02 if 2 + (item - 1) // 4 >= 10 else 0.0)


# --- the shop ---


@njit
def _shop_card(p, o, m, row, weakest, least):
    """(gain, action) of a card in the shop."""
    item = np.int64(o[sight.SHOP_ITEM + row])
    if item == 0:
        return -1.0, steps.NOTHING
    price = sight.count(o[sight.SHOP_PRICE + row * sight.SHOP_STRIDE])
    edition = np.int64(o[sight.SHOP_EDITION + row])
    value = _offer_value(p, o, item, _appraised(p, o, sight.SHOP_WORTH + row * sight.WORTH_STRIDE), edition)
    gain = value - _cost(p, o, price)
    if item >= FIRST_JOKER_ITEM and item < FIRST_CONSUMABLE_ITEM:
        if m[steps.BUY + row]:
            return gain, steps.BUY + row
        if _joker_room(o) <= 0 and weakest >= 0:
            back = sight.count(o[sight.JOKER_SELLS + weakest * sight.JOKER_STRIDE])
            if sight.count(o[sight.SPENDABLE]) + back >= price:
                return value - least - p.better - _cost(p, o, max(0, price - back)), steps.SELL_JOKER + weakest
        return -1.0, steps.NOTHING
    if item >= FIRST_CONSUMABLE_ITEM:
        consumable = item - FIRST_CONSUMABLE_ITEM
        if CONSUMABLE_MAX_TARGETS[consumable] == 0:
            if m[steps.BUY_AND_USE + row] and wants_to_use(o, consumable):
                return gain, steps.BUY_AND_USE + row
            return -1.0, steps.NOTHING
    if m[steps.BUY + row]:
        return gain, steps.BUY + row
    return -1.0, steps.NOTHING


@njit
def _booster_value(o, booster):
    value = like.PACK_WORTH[booster]
    if booster >= _BUFFOON_FIRST and booster <= _BUFFOON_LAST and _joker_room(o) <= 0:
        value *= 0.35
    return value


@njit
def _reroll_value(p, o):
    return p.reroll_with_room if _joker_room(o) > 0 else p.reroll_when_full


@njit
def go_shopping(p, o, m):
    """The best bargain in the shop, or an order of jokers, or leaving."""
    action = use_something(o, m)
    if action != steps.NOTHING:
        return action
    weakest, least = _weakest(p, o, m)
    best, best_gain = steps.NOTHING, 0.0
    for row in range(SHOP_ROWS):
        gain, action = _shop_card(p, o, m, row, weakest, least)
        if gain > best_gain:
            best, best_gain = action, gain
    for row in range(VOUCHER_ROWS):
        if m[steps.REDEEM + row]:
            worth = like.VOUCHER_WORTH[np.int64(o[sight.VOUCHER_ID + row]) - 1] * max(0.0, (9 - sight.ante(o)) / 8.0)
            gain = worth - _cost(p, o, sight.count(o[sight.VOUCHER_PRICE + row * sight.VOUCHER_STRIDE]))
            if gain > best_gain:
                best, best_gain = steps.REDEEM + row, gain
    for row in range(BOOSTER_ROWS):
        if m[steps.OPEN + row]:
            worth = _booster_value(o, np.int64(o[sight.BOOSTER_ID + row]))
            gain = worth - _cost(p, o, sight.count(o[sight.BOOSTER_PRICE + row * sight.BOOSTER_STRIDE]))
            if gain > best_gain:
                best, best_gain = steps.OPEN + row, gain
    if best != steps.NOTHING:
        return best
    if m[steps.REROLL] and _reroll_value(p, o) > _cost(p, o, sight.count(o[sight.REROLL_PRICE])):
        return steps.REROLL
    action = sell_useless(o, m)
    if action != steps.NOTHING:
        return action
    action = order_jokers(o, m)
    return action if action != steps.NOTHING else steps.NEXT


# --- packs ---


@njit
def open_pack(p, o, m):
    """Takes the best card of a pack, choosing its targets first; leaves what is worth nothing."""
    best, best_gain = steps.SKIP_PACK, 0.005
    weakest, least = _weakest(p, o, m)
    for row in range(PACK_ROWS):
        item = np.int64(o[sight.PACK_ITEM + row])
        if item == 0:
            continue
        edition = np.int64(o[sight.PACK_EDITION + row])
        gain = _offer_value(p, o, item, _appraised(p, o, sight.PACK_WORTH + row * sight.WORTH_STRIDE), edition)
        action = steps.PICK + row
        if item >= FIRST_CONSUMABLE_ITEM:
            consumable = item - FIRST_CONSUMABLE_ITEM
            if CONSUMABLE_MAX_TARGETS[consumable] > 0:
                wanted = targets(o, consumable)
                action = steps.towards(o, m, wanted, action) if wanted != 0 else steps.NOTHING
            elif not wants_to_use(o, consumable):
                continue
            gain += 0.01
        elif item >= FIRST_JOKER_ITEM and not m[action] and _joker_room(o) <= 0 and weakest >= 0:
            gain -= least + p.better
            action = steps.SELL_JOKER + weakest
        elif item < FIRST_JOKER_ITEM:
            if o[sight.PACK_ENHANCEMENT + row] > 0 or edition > 0 or o[sight.PACK_SEAL + row] > 0:
                gain += 0.1
            else:
                gain -= 0.02
        if action != steps.NOTHING and m[action] and gain > best_gain:
            best, best_gain = action, gain
    return best


# --- the order of jokers ---


@njit
def _strongest(o):
    """The joker that adds most, for Brainstorm to copy; -1 if there is no Brainstorm."""
    best, most, copied = -1, 0.0, False
    for row in range(JOKER_ROWS):
        joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
        copied = copied or joker == _BRAINSTORM
        worth = o[sight.JOKER_WORTH + row * sight.WORTH_STRIDE]
        if joker >= 0 and joker != _BRAINSTORM and joker != _BLUEPRINT and JOKER_COPYABLE[joker] and worth > most:
            best, most = row, worth
    return best if copied else -1


@njit
def _standing(o, row):
    """Low numbers stand left."""
    joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
    if row == _strongest(o):
        return -1
    return like.JOKER_STANDING[joker] if joker >= 0 else 0


@njit
def place_for(o, row):
    """Where a joker should go: before the first one that should stand after it; -1 if it stands well."""
    for other in range(row):
        if _standing(o, other) > _standing(o, row):
            return other
    return -1


@njit
def order_jokers(o, m):
    """Grabs the first joker that stands too far right."""
    for row in range(1, min(JOKER_ROWS, sight.count(o[sight.JOKER_COUNT]))):
        if m[steps.GRAB_JOKER + row] and place_for(o, row) >= 0:
            return steps.GRAB_JOKER + row
    return steps.NOTHING


@njit
def place_grabbed(o, m):
    """Puts a grabbed joker where it should stand."""
    for row in range(JOKER_ROWS):
        if o[sight.JOKER_GRABBED + row * sight.JOKER_STRIDE] > 0:
            place = place_for(o, row)
            if place >= 0 and m[steps.PLACE + place]:
                return steps.PLACE + place
    return steps.first_legal(m)
