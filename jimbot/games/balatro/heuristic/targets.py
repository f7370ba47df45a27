"""Consumables: which to use now, and on which cards."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding import fields
from jimbot.games.balatro.heuristic import preferences as like
from jimbot.games.balatro.heuristic import sight, steps
from jimbot.games.balatro.rules.content import CONSUMABLE_MAX_TARGETS


@njit
def main_suit(o):
    """The suit the deck has most of."""
    best, most = 0, -1.0
    for suit in range(4):
        total = 0.0
        for rank in range(13):
            total += o[sight.DECK_TOTAL + 4 * rank + suit]
        if total > most + 0.01:
            best, most = suit, total
    return best


@njit
def _card_value(o, card, suit):
    """How much a card of the hand is worth keeping in the deck."""
    item = np.int64(o[sight.HAND_CARD + card])
    if item == 0 or o[sight.CARD_PRESENT + card * sight.CARD_STRIDE] == 0:
        return -1.0
    value = 3.0 if item >= fields.STONE_ITEM else 2.0 + (item - 1) // 4
    if item < fields.STONE_ITEM and (item - 1) % 4 == suit:
        value += 1.5
    if o[sight.HAND_ENHANCEMENT + card] > 0:
        value += 8.0
    if o[sight.HAND_EDITION + card] > 0:
        value += 8.0
    if o[sight.HAND_SEAL + card] > 0:
        value += 6.0
    return value


@njit
def _extreme(o, among, number, suit, sign):
    """The cards of highest (sign 1) or lowest (-1) value among some, as bits."""
    picked = 0
    for _ in range(number):
        best, best_value = -1, 0.0
        for card in range(fields.HAND_ROWS):
            if among >> card & 1 and not picked >> card & 1:
                value = sign * _card_value(o, card, suit)
                if best < 0 or value > best_value:
                    best, best_value = card, value
        if best >= 0:
            picked |= 1 << best
    return picked


@njit
def targets(o, consumable):
    """The cards to use a consumable on, as bits; 0 if none is worth it."""
    use, number = like.CONSUMABLE_USE[consumable], CONSUMABLE_MAX_TARGETS[consumable]
    suit = main_suit(o)
    known, plain, played, known_best = 0, 0, 0, False
    for card in range(fields.HAND_ROWS):
        if o[sight.CARD_PRESENT + card * sight.CARD_STRIDE] > 0 and o[sight.HAND_CARD + card] > 0:
            known |= 1 << card
            if o[sight.HAND_ENHANCEMENT + card] == 0:
                plain |= 1 << card
            if o[sight.BEST_CARDS + card] > 0:
                played |= 1 << card
                known_best = True
    if not known_best:
        played = _extreme(o, known, 5, suit, 1.0)
    if use == like.ON_PLAYED:
        return _extreme(o, plain & played, number, suit, 1.0)
    if use == like.ON_HELD:
        return _extreme(o, plain & ~played, number, suit, 1.0)
    if use == like.ON_LOWEST:
        return _extreme(o, plain & ~played, number, suit, -1.0)
    if use == like.RAISE:
        return _extreme(o, plain & ~played, number, suit, 1.0)
    if use == like.ON_BEST:
        bare = 0
        for card in range(fields.HAND_ROWS):
            if played >> card & 1 and o[sight.HAND_EDITION + card] == 0 and o[sight.HAND_SEAL + card] == 0:
                bare |= 1 << card
        return _extreme(o, bare, 1, suit, 1.0)
    if use == like.ON_OTHER_SUIT:
        wanted = like.CONSUMABLE_SUIT[consumable]
        if wanted != suit:
            return 0
        other = 0
        for card in range(fields.HAND_ROWS):
            item = np.int64(o[sight.HAND_CARD + card])
            if plain >> card & 1 and item < fields.STONE_ITEM and (item - 1) % 4 != wanted:
                other |= 1 << card
        return _extreme(o, other, number, -1, 1.0)
    if use == like.COPY_RIGHT:
        best, gain = 0, 3.0
        for right in range(fields.HAND_ROWS):
            for left in range(right):
                if known >> right & 1 and known >> left & 1:
                    better = _card_value(o, right, suit) - _card_value(o, left, suit)
                    if better > gain:
                        best, gain = 1 << left | 1 << right, better
        return best
    return 0


@njit
def _jokers(o):
    return sight.count(o[sight.JOKER_COUNT])


@njit
def wants_to_use(o, consumable):
    """Whether a consumable without targets should be used now."""
    use = like.CONSUMABLE_USE[consumable]
    money = sight.count(o[sight.MONEY])
    if use == like.AT_ONCE:
        return True
    if use == like.FOR_MONEY:
        return money >= 8
    if use == like.FOR_SELL_VALUES:
        worth = 0
        for row in range(fields.JOKER_ROWS):
            worth += sight.count(o[sight.JOKER_SELLS + row * sight.JOKER_STRIDE])
        return worth >= 5
    if use == like.WITH_JOKER_ROOM:
        return _jokers(o) < sight.count(o[sight.JOKER_SLOTS])
    if use == like.WITH_JOKERS:
        return _jokers(o) >= 1
    if use == like.WITH_ONE_JOKER:
        return _jokers(o) == 1
    if use == like.WITH_SLOTS:
        return True
    if use == like.WHEN_POOR:
        return money <= 12 and _jokers(o) < sight.count(o[sight.JOKER_SLOTS])
    return False


@njit
def use_something(o, m):
    """An action that uses a consumable held, or chooses its targets; NOTHING if there is none to use."""
    for row in range(fields.CONSUMABLE_ROWS):
        consumable = np.int64(o[sight.CONSUMABLE_ID + row]) - fields.FIRST_CONSUMABLE_ITEM
        if consumable < 0:
            continue
        if CONSUMABLE_MAX_TARGETS[consumable] == 0:
            if m[steps.USE + row] and wants_to_use(o, consumable):
                return steps.USE + row
            continue
        wanted = targets(o, consumable)
        if wanted != 0:
            action = steps.towards(o, m, wanted, steps.USE + row)
            if action != steps.NOTHING:
                return action
    return steps.NOTHING


@njit
def sell_useless(o, m):
    """Sells a consumable that would only take up room: one never used, or a suit the deck is not about."""
    for row in range(fields.CONSUMABLE_ROWS):
        consumable = np.int64(o[sight.CONSUMABLE_ID + row]) - fields.FIRST_CONSUMABLE_ITEM
        if consumable >= 0 and m[steps.SELL_CONSUMABLE + row]:
            suit = like.CONSUMABLE_SUIT[consumable]
            if like.CONSUMABLE_USE[consumable] == like.NEVER or (suit >= 0 and suit != main_suit(o)):
                return steps.SELL_CONSUMABLE + row
    return steps.NOTHING
