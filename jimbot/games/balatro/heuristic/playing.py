"""The player in a round: play what beats the blind, else the better of playing on and discarding."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.fields import FIRST_JOKER_ITEM, HAND_ROWS, JOKER_ROWS
from jimbot.games.balatro.heuristic import preferences as like
from jimbot.games.balatro.heuristic import sight, steps
from jimbot.games.balatro.heuristic.estimate import expect, make_plan
from jimbot.games.balatro.heuristic.targets import use_something
from jimbot.games.balatro.heuristic.workspace import MOST_CONSIDERED, SAMPLES
from jimbot.games.balatro.rules.bosses.registry import number
from jimbot.games.balatro.rules.content import BLINDS, JOKERS
from jimbot.games.balatro.rules.scratch import MAX_PLAYED

_SERPENT, _LEAF, _TOOTH = (1 + BLINDS.id(key) for key in ("bl_serpent", "bl_final_leaf", "bl_tooth"))
_SERPENT_CARDS = number("bl_serpent", "cards")
_FEW_SAMPLES, _FINALISTS = 4, 8
_KEEPS_HAND = np.zeros(len(JOKERS), np.bool_)  # jokers to which cards held, or few cards played, matter
for _key in (
    "j_half", "j_square", "j_raised_fist", "j_baron", "j_shoot_the_moon", "j_blackboard", "j_mime", "j_splash",
    "j_reserved_parking", "j_dna", "j_sixth_sense",
):  # fmt: skip
    _KEEPS_HAND[JOKERS.id(_key)] = True


@njit
def _size(bits):
    size = 0
    while bits:
        bits &= bits - 1
        size += 1
    return size


@njit
def _hand_bits(o, column):
    bits = 0
    for card in range(HAND_ROWS):
        if o[column + card * sight.CARD_STRIDE] > 0:
            bits |= 1 << card
    return bits


@njit
def best_cards(o):
    """The cards of the best play known, as bits."""
    bits = 0
    for card in range(HAND_ROWS):
        if o[sight.BEST_CARDS + card] > 0:
            bits |= 1 << card
    return bits


@njit
def _drawn(o, p, gone):
    """How many cards come when `gone` cards leave."""
    if np.int64(o[sight.BLIND_ID]) == _SERPENT and o[sight.DISABLED] == 0:
        return _SERPENT_CARDS
    return max(0, sight.count(o[sight.HAND_LIMIT]) - (p.hand_count - gone))


@njit
def best_removal(o, p, must, may, most, later):
    """The cards (at most five, all of `must`, others of `may`) whose leaving promises most; and what it promises.

    A look at all choices with few samples, then at the best of them with many.
    """
    first = max(0, p.hand_count - MOST_CONSIDERED)
    last_choice = 1 << (p.hand_count - first)
    fixed = must & ((1 << first) - 1)
    for choice in range(last_choice):
        gone = choice << first | fixed
        p.values[choice] = -1.0
        size = _size(gone)
        if gone & must == must and not gone & ~(must | may) and size <= MAX_PLAYED and size > 0:
            p.values[choice] = expect(p, gone, _drawn(o, p, size) + later, most, 0, _FEW_SAMPLES)
    best, best_value = 0, -1.0
    for _ in range(_FINALISTS):
        top, top_value = -1, -1.0
        for choice in range(last_choice):
            if p.values[choice] > top_value:
                top, top_value = choice, p.values[choice]
        if top < 0:
            break
        p.values[top] = -1.0
        gone = top << first | fixed
        value = expect(p, gone, _drawn(o, p, _size(gone)) + later, most, 0, SAMPLES)
        if value > best_value:
            best, best_value = gone, value
    return best, best_value


@njit
def _cares_for_held_cards(o):
    for row in range(JOKER_ROWS):
        joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
        if joker >= 0 and _KEEPS_HAND[joker]:
            return True
    return False


@njit
def _without_harm(o, p, played):
    """Cards that can be played along without changing the poker hand: other ranks than all others put down."""
    free, ranks = 0, 0
    for card in range(p.hand_count):
        if played >> card & 1:
            ranks |= 1 << p.rank[card]
    for card in range(p.hand_count):
        if not played >> card & 1 and p.rank[card] > 0 and not ranks >> p.rank[card] & 1:
            if o[sight.HAND_ENHANCEMENT + card] == 0:
                free |= 1 << card
                ranks |= 1 << p.rank[card]
    return free


@njit
def _is_one_suit_or_row(p, bits):
    """Whether five cards make a flush or may make a straight, which playing along must not do by accident."""
    suits, low, high = 15, 99, 0
    for card in range(p.hand_count):
        if bits >> card & 1:
            suits &= p.suits[card]
            low, high = min(low, p.rank[card]), max(high, p.rank[card])
    return suits != 0 or high - low <= 4 or (high == 14 and low == 2)


@njit
def _play(o, m, p, played):
    """Plays cards, and with them what is better gone, where it costs nothing."""
    tooth = np.int64(o[sight.BLIND_ID]) == _TOOTH
    last = sight.count(o[sight.HANDS_LEFT]) <= 1
    if _size(played) < MAX_PLAYED and not last and not tooth and not _cares_for_held_cards(o):
        most = sight.score(o[sight.MISSING])
        wanted, _ = best_removal(o, p, played, _without_harm(o, p, played), most, 0)
        if wanted != 0 and not (_size(wanted) == MAX_PLAYED and _is_one_suit_or_row(p, wanted)):
            played = wanted
    return steps.put_down(o, m, played, True)


@njit
def _sell_for_the_leaf(o, m):
    """Verdant Leaf: the joker given up is the one liked least."""
    best, least = steps.NOTHING, 1e9
    for row in range(JOKER_ROWS):
        if m[steps.SELL_JOKER + row] and o[sight.JOKER_ID + row] > 0:
            joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
            value = (
                like.JOKER_LATE[joker]
                + 0.2 * like.JOKER_STANDING[joker]
                + 0.1 * sight.count(o[sight.JOKER_SELLS + row * sight.JOKER_STRIDE])
            )
            if value < least:
                best, least = steps.SELL_JOKER + row, value
    return best


@njit
def play_round(o, m, p):
    """The action in a round."""
    share = o[sight.BEST_PLAY + 1]
    played = best_cards(o)
    if share < 1.0:
        action = use_something(o, m)
        if action != steps.NOTHING:
            return action
    if np.int64(o[sight.BLIND_ID]) == _LEAF and o[sight.DISABLED] == 0:
        action = _sell_for_the_leaf(o, m)
        if action != steps.NOTHING:
            return action
    if share >= 1.0:
        return steps.put_down(o, m, played, True)
    make_plan(o, p)
    missing, now = sight.score(o[sight.MISSING]), sight.score(o[sight.BEST_PLAY])
    hands, discards = sight.count(o[sight.HANDS_LEFT]), sight.count(o[sight.DISCARDS_LEFT])
    forced = _hand_bits(o, sight.CARD_FORCED)
    if discards > 0:
        later = np.int64(p.later * (discards - 1))
        every = (1 << p.hand_count) - 1
        gone, hoped = best_removal(o, p, forced, every, missing, later)
        on_pace = now * hands >= p.pace * missing
        if on_pace and gone != 0:  # nothing forces a discard: it has to pay by itself
            hoped = p.patience * expect(p, gone, _drawn(o, p, _size(gone)), missing, 0, SAMPLES)
        if gone != 0 and now < hoped:
            action = steps.put_down(o, m, gone, False)
            if action != steps.NOTHING:
                return action
    if played == 0:  # nothing scores: put down what is worth least
        played, _ = best_removal(o, p, forced, (1 << p.hand_count) - 1, missing, 0)
        return steps.put_down(o, m, played, True)
    return _play(o, m, p, played)
