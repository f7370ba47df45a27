"""The player between rounds: what to buy, sell, open and reroll, and where jokers stand.

Everything on offer has a worth in log-ratios of scores and a price turned into the same unit; the best bargain is
taken until none is left.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding import fields
from jimbot.games.balatro.heuristic import build, sight, steps
from jimbot.games.balatro.heuristic import preferences as like
from jimbot.games.balatro.heuristic.build import worth
from jimbot.games.balatro.heuristic.targets import main_suit, sell_useless, targets, use_something, wants_to_use
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.state import ETERNAL, PERISHABLE, RENTAL

_INTEREST_PER = content.RATES["interest"]["per_dollars"]
_BLUEPRINT, _BRAINSTORM = content.JOKERS.id("j_blueprint"), content.JOKERS.id("j_brainstorm")
PACK_SIZES = len(like.PACK_SIZE_WORTH)


# --- money ---


@njit
def _see(o, p):
    """Reads the run: the set of jokers, its worth, and how dear a dollar is now."""
    build.read_set(o, p)
    now, ahead = build.strength(o, p)
    p.set_worth = build.mixed(p, now, ahead)
    wanted = np.log(max(1.0, sight.score(o[sight.BOSS_REQUIREMENT]))) + like.BOSS_HARDNESS[np.int64(o[sight.BOSS_ID])]
    calm = 1.0 / (1.0 + np.exp((wanted + p.safe_margin - now) / p.margin_scale))
    p.dollar_now = p.dollar * calm * min(1.0, build.shops_left(o) / p.spend_shops)


@njit
def _cost(o, p, price):
    """A price in log-ratios: dollars beyond those that earn interest are cheap, and interest missed is dear."""
    money, cap = sight.count(o[sight.MONEY]), np.int64(np.round(100.0 * o[sight.INTEREST_CAP]))
    spare = min(price, max(0, money - cap))
    before = max(0, min(cap, money)) // _INTEREST_PER
    after = max(0, min(cap, money - price)) // _INTEREST_PER
    rounds = min(p.interest_rounds, build.shops_left(o))
    return p.dollar_now * (p.excess * spare + (price - spare) + rounds * (before - after))


# --- jokers ---


@njit
def _extra(o, p, joker, edition):
    """What a joker is worth beside the points of its set: money, and what only the tables know."""
    late = min(1.0, max(0.0, (sight.ante(o) - 1) / 7.0))
    value = (1.0 - late) * like.JOKER_EARLY[joker] + late * like.JOKER_LATE[joker]
    earned = like.EARNINGS[joker] * min(p.earning_rounds, build.shops_left(o))
    return (
        p.extras * value
        + p.fitted * like.FITTED[joker]
        + p.dollar_now * earned
        + (p.negative if edition == content.NEGATIVE else 0.0)
    )


@njit
def _rent(o, p):
    """What another rental joker costs for the rest of the run: more while much of it lies ahead, and with every other
    one, as nothing is left to grow by."""
    others = 0
    for index in range(p.own_count):
        others += p.own_rental[index]
    return p.rent * (1.0 + p.rent_more * others) * min(1.0, build.shops_left(o) / p.rent_shops)


@njit
def _upkeep(o, p, stickers):
    """What the stickers of a joker that is not held yet take off its worth."""
    cost = _rent(o, p) if stickers & RENTAL else 0.0
    if stickers & ETERNAL:
        cost += p.eternal * min(1.0, build.shops_left(o) / p.rent_shops)
    return cost


@njit
def _held_extra(o, p, index):
    """What a joker held is worth beside the points of its set."""
    worth = _extra(o, p, p.own_joker[index], p.own_edition[index]) if p.own_rounds[index] > 0 else 0.0
    if p.own_rental[index]:
        worth -= _rent(o, p)
    return worth + (9.0 if p.own_edition[index] == content.NEGATIVE else 0.0)


@njit
def _stickers(o, first, stride, row):
    """The stickers of an offer, as the rules have them in bits; `first` is the place of its first one."""
    at = first + row * stride
    eternal = ETERNAL if o[at] > 0 else 0
    perishable = PERISHABLE if o[at + 1] > 0 else 0
    return eternal | perishable | (RENTAL if o[at + 2] > 0 else 0)


@njit
def _joker_room(o):
    return sight.count(o[sight.JOKER_SLOTS]) - sight.count(o[sight.JOKER_COUNT])


@njit
def _added(o, p, joker, edition, price, stickers):
    """What a joker would add to the set."""
    build.add_joker(p, joker, edition, max(1, price // 2), stickers)
    value = worth(o, p) - p.set_worth
    build.drop_last(p)
    return value + _extra(o, p, joker, edition) - _upkeep(o, p, stickers)


@njit
def _best_swap(o, p, m, joker, edition, price, stickers):
    """(gain, row) of the joker it would be best to give up for another one, whatever that costs."""
    best, best_gain = -1, -1e9
    for index in range(p.own_count):
        row = p.own_row[index]
        if not m[steps.SELL_JOKER + row]:
            continue
        back = np.int64(p.own_sells[index])
        given_up = _held_extra(o, p, index)
        build.put_instead(p, index, joker, edition, max(1, price // 2), stickers)
        gain = worth(o, p) - p.set_worth
        build.put_back(p, index)
        gain += _extra(o, p, joker, edition) - _upkeep(o, p, stickers) - given_up + p.dollar_now * back
        if gain > best_gain:
            best, best_gain = row, gain
    return best_gain - p.better, best


@njit
def _offer_value(o, p, item):
    """What a card on offer that is no joker is worth, whatever it costs."""
    if item >= fields.FIRST_CONSUMABLE_ITEM:
        consumable = item - fields.FIRST_CONSUMABLE_ITEM
        if consumable >= content.FIRST_PLANET and consumable < content.FIRST_SPECTRAL:
            hand = content.PLANET_HAND[consumable]
            p.levels[hand] += 1
            value = worth(o, p) - p.set_worth
            p.levels[hand] -= 1
            return p.planet * value
        return p.consumables * like.CONSUMABLE_WORTH[consumable]
    if item >= fields.STONE_ITEM:
        return 0.0
    value = 0.03 if (item - 1) % 4 == main_suit(o) else 0.0
    return value + (0.02 if 2 + (item - 1) // 4 >= 10 else 0.0)


# --- the shop ---


@njit
def _shop_joker(o, p, m, row, joker, price):
    """(gain, action) of a joker in the shop: bought, or another one sold for it."""
    edition = np.int64(o[sight.SHOP_EDITION + row])
    stickers = _stickers(o, sight.SHOP_ETERNAL, sight.SHOP_STRIDE, row)
    if m[steps.BUY + row]:
        return _added(o, p, joker, edition, price, stickers) - _cost(o, p, price), steps.BUY + row
    if _joker_room(o) <= 0 and p.own_count > 0:
        gain, given_up = _best_swap(o, p, m, joker, edition, price, stickers)
        if given_up >= 0:
            back = sight.count(o[sight.JOKER_SELLS + given_up * sight.JOKER_STRIDE])
            if sight.count(o[sight.SPENDABLE]) + back >= price:
                return gain - _cost(o, p, price), steps.SELL_JOKER + given_up
    return -1.0, steps.NOTHING


@njit
def _shop_card(o, p, m, row):
    """(gain, action) of a card in the shop."""
    item = np.int64(o[sight.SHOP_ITEM + row])
    if item == 0:
        return -1.0, steps.NOTHING
    price = sight.count(o[sight.SHOP_PRICE + row * sight.SHOP_STRIDE])
    if item >= fields.FIRST_JOKER_ITEM and item < fields.FIRST_CONSUMABLE_ITEM:
        return _shop_joker(o, p, m, row, item - fields.FIRST_JOKER_ITEM, price)
    action = steps.BUY + row
    if item >= fields.FIRST_CONSUMABLE_ITEM:
        consumable = item - fields.FIRST_CONSUMABLE_ITEM
        if content.CONSUMABLE_MAX_TARGETS[consumable] == 0:
            if not wants_to_use(o, consumable):
                return -1.0, steps.NOTHING
            action = steps.BUY_AND_USE + row
    if m[action]:
        return _offer_value(o, p, item) - _cost(o, p, price), action
    return -1.0, steps.NOTHING


@njit
def _room_for_better(o, p):
    """How much of what a new joker brings can be had: all of it with a free slot, else what is beyond the weakest.

    New jokers bring this or that; if what they bring is exponentially distributed, so is what is beyond the weakest.
    """
    if _joker_room(o) > 0:
        return 1.0
    weakest = 9.0
    for index in range(p.own_count):
        held = _held_extra(o, p, index)
        build.take_out(p, index)
        held += p.set_worth - worth(o, p)
        build.bring_back(p, index)
        weakest = min(weakest, held)
    return np.exp(-max(0.0, weakest) / p.joker_worth)


@njit
def _booster_value(o, p, booster):
    kind, size = (booster - 1) // PACK_SIZES, like.PACK_SIZE_WORTH[(booster - 1) % PACK_SIZES]
    if kind == like.BUFFOON:
        return size * p.buffoon * _room_for_better(o, p)
    if kind == like.ARCANA:
        return size * p.arcana
    if kind == like.CELESTIAL:
        return size * p.celestial
    return size * (p.spectral if kind == like.SPECTRAL else p.standard)


@njit
def _sell_burden(o, p, m):
    """Sells a joker whose rent is more than it is worth, and one that has perished where its slot is wanted."""
    for index in range(p.own_count):
        if not m[steps.SELL_JOKER + p.own_row[index]] or not (p.own_rental[index] or p.own_rounds[index] <= 0):
            continue
        held = _held_extra(o, p, index)
        build.take_out(p, index)
        held += p.set_worth - worth(o, p)
        build.bring_back(p, index)
        if held < 0 or (p.own_rounds[index] <= 0 and _joker_room(o) <= 0 and held < 0.05):
            return steps.SELL_JOKER + p.own_row[index]
    return steps.NOTHING


@njit
def _wants_reroll(o, p):
    """New cards are worth their price, and something is left to buy one of them."""
    price = sight.count(o[sight.REROLL_PRICE])
    if price > 0 and sight.count(o[sight.SPENDABLE]) - price < p.purse:
        return False
    return p.reroll * _room_for_better(o, p) + p.reroll_others > _cost(o, p, price)


@njit
def go_shopping(p, o, m):
    """The best bargain in the shop, or an order of jokers, or leaving."""
    action = use_something(o, m)
    if action != steps.NOTHING:
        return action
    _see(o, p)
    best, best_gain = steps.NOTHING, 0.0
    for row in range(fields.SHOP_ROWS):
        gain, action = _shop_card(o, p, m, row)
        if gain > best_gain:
            best, best_gain = action, gain
    left = max(0.0, (9 - sight.ante(o)) / 8.0)
    for row in range(fields.VOUCHER_ROWS):
        if m[steps.REDEEM + row]:
            value = p.vouchers * left * like.VOUCHER_WORTH[np.int64(o[sight.VOUCHER_ID + row]) - 1]
            gain = value - _cost(o, p, sight.count(o[sight.VOUCHER_PRICE + row * sight.VOUCHER_STRIDE]))
            if gain > best_gain:
                best, best_gain = steps.REDEEM + row, gain
    for row in range(fields.BOOSTER_ROWS):
        if m[steps.OPEN + row]:
            value = _booster_value(o, p, np.int64(o[sight.BOOSTER_ID + row]))
            gain = value - _cost(o, p, sight.count(o[sight.BOOSTER_PRICE + row * sight.BOOSTER_STRIDE]))
            if gain > best_gain:
                best, best_gain = steps.OPEN + row, gain
    if best != steps.NOTHING:
        return best
    if m[steps.REROLL] and _wants_reroll(o, p):
        return steps.REROLL
    action = _sell_burden(o, p, m)
    if action != steps.NOTHING:
        return action
    action = sell_useless(o, m)
    if action != steps.NOTHING:
        return action
    action = order_jokers(o, m)
    return action if action != steps.NOTHING else steps.NEXT


# --- packs ---


@njit
def _pack_joker(o, p, m, row, joker):
    """(gain, action) of a joker in a pack."""
    edition = np.int64(o[sight.PACK_EDITION + row])
    stickers = _stickers(o, sight.PACK_ETERNAL, sight.PACK_STRIDE, row)
    if m[steps.PICK + row]:
        return _added(o, p, joker, edition, content.JOKER_COST[joker], stickers), steps.PICK + row
    if _joker_room(o) <= 0 and p.own_count > 0:
        gain, given_up = _best_swap(o, p, m, joker, edition, content.JOKER_COST[joker], stickers)
        if given_up >= 0:
            return gain, steps.SELL_JOKER + given_up
    return -1.0, steps.NOTHING


@njit
def _pack_card(o, p, m, row, item):
    """(gain, action) of a card in a pack that is no joker."""
    action, gain = steps.PICK + row, _offer_value(o, p, item)
    if item >= fields.FIRST_CONSUMABLE_ITEM:
        consumable = item - fields.FIRST_CONSUMABLE_ITEM
        if content.CONSUMABLE_MAX_TARGETS[consumable] > 0:
            wanted = targets(o, consumable)
            action = steps.towards(o, m, wanted, action) if wanted != 0 else steps.NOTHING
        elif not wants_to_use(o, consumable):
            return -1.0, steps.NOTHING
        return gain + 0.01, action
    if o[sight.PACK_ENHANCEMENT + row] > 0 or o[sight.PACK_EDITION + row] > 0 or o[sight.PACK_SEAL + row] > 0:
        return gain + 0.1, action
    return gain - 0.02, action


@njit
def open_pack(p, o, m):
    """Takes the best card of a pack, choosing its targets first; leaves what is worth nothing."""
    _see(o, p)
    best, best_gain = steps.SKIP_PACK, 0.005
    for row in range(fields.PACK_ROWS):
        item = np.int64(o[sight.PACK_ITEM + row])
        if item == 0:
            continue
        if item >= fields.FIRST_JOKER_ITEM and item < fields.FIRST_CONSUMABLE_ITEM:
            gain, action = _pack_joker(o, p, m, row, item - fields.FIRST_JOKER_ITEM)
        else:
            gain, action = _pack_card(o, p, m, row, item)
        if action != steps.NOTHING and m[action] and gain > best_gain:
            best, best_gain = action, gain
    return best


# --- the order of jokers ---


@njit
def _strongest(o):
    """The joker that adds most, for Brainstorm to copy; -1 if there is no Brainstorm."""
    best, most, copied = -1, 0.0, False
    for row in range(fields.JOKER_ROWS):
        joker = np.int64(o[sight.JOKER_ID + row]) - fields.FIRST_JOKER_ITEM
        copied = copied or joker == _BRAINSTORM
        worth = o[sight.JOKER_WORTH + row * sight.WORTH_STRIDE]
        if (
            joker >= 0
            and joker != _BRAINSTORM
            and joker != _BLUEPRINT
            and content.JOKER_COPYABLE[joker]
            and worth > most
        ):
            best, most = row, worth
    return best if copied else -1


@njit
def _standing(o, row):
    """Low numbers stand left."""
    joker = np.int64(o[sight.JOKER_ID + row]) - fields.FIRST_JOKER_ITEM
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
    for row in range(1, min(fields.JOKER_ROWS, sight.count(o[sight.JOKER_COUNT]))):
        if m[steps.GRAB_JOKER + row] and place_for(o, row) >= 0:
            return steps.GRAB_JOKER + row
    return steps.NOTHING


@njit
def place_grabbed(o, m):
    """Puts a grabbed joker where it should stand."""
    for row in range(fields.JOKER_ROWS):
        if o[sight.JOKER_GRABBED + row * sight.JOKER_STRIDE] > 0:
            place = place_for(o, row)
            if place >= 0 and m[steps.PLACE + place]:
                return steps.PLACE + place
    return steps.first_legal(m)
