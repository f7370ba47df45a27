"""The player in a round: play what beats the blind, else the better of playing on and discarding."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.fields import FIRST_JOKER_ITEM, HAND_ROWS, JOKER_ROWS
from jimbot.games.balatro.heuristic import sight, steps
from jimbot.games.balatro.heuristic.build import bring_back, read_set, strength, take_out
from jimbot.games.balatro.heuristic.estimate import TYPES, expect, make_plan, score_of
from jimbot.games.balatro.heuristic.targets import use_something
from jimbot.games.balatro.heuristic.workspace import MOST_CONSIDERED, MOST_KEPT, SAMPLES
from jimbot.games.balatro.rules.bosses.registry import number
from jimbot.games.balatro.rules.content import BLINDS, JOKERS
from jimbot.games.balatro.rules.scratch import MAX_PLAYED

_SERPENT, _LEAF, _TOOTH, _PSYCHIC, _EYE, _MOUTH = (
    1 + BLINDS.id(f"bl_{key}") for key in ("serpent", "final_leaf", "tooth", "psychic", "eye", "mouth")
)
_SERPENT_CARDS = number("bl_serpent", "cards")
_LUCHADOR = FIRST_JOKER_ITEM + JOKERS.id("j_luchador")
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
def _take_best(p, last_choice):
    """The choice of the highest value, which is used up; -1 when none is left."""
    top, top_value = -1, -1.0
    for choice in range(last_choice):
        if p.values[choice] > top_value:
            top, top_value = choice, p.values[choice]
    if top >= 0:
        p.values[top] = -1.0
    return top


@njit
def _play_value(o, p, played, missing, later, samples):
    """What a hand scores, and what the next one then promises."""
    points = score_of(p, played)
    if points >= missing:
        return missing + points * 1e-6
    rest = expect(p, played, _drawn(o, p, _size(played)) + later, missing - points, 0, samples)
    return points + p.next_hand * rest


@njit
def _worth(o, p, cards, most, later, plays, samples):
    """What it is worth that these cards leave the hand: played, or thrown away."""
    samples = min(SAMPLES, np.int64(samples))
    if plays:
        return _play_value(o, p, cards, most, later, samples)
    return expect(p, cards, _drawn(o, p, _size(cards)) + later, most, 0, samples)


@njit
def _best_choice(o, p, must, may, most, later, plays):
    """The cards (at most five, all of `must`, others of `may`) that are best to leave; and what that is worth.

    A look at all choices with few draws, at the better ones with more, at the best of them with many.
    """
    first = max(0, p.hand_count - MOST_CONSIDERED)
    last_choice = 1 << (p.hand_count - first)
    fixed = must & ((1 << first) - 1)
    for choice in range(last_choice):
        gone = choice << first | fixed
        p.values[choice] = -1.0
        size = _size(gone)
        if gone & must == must and not gone & ~(must | may) and size <= MAX_PLAYED and size > 0:
            p.values[choice] = _worth(o, p, gone, most, later, plays, p.first_samples)
    for last in range(2):
        left = min(MOST_KEPT, np.int64(p.finalists if last else p.semifinalists))
        for place in range(left):
            p.kept[place] = _take_best(p, last_choice)
        p.values[:last_choice] = -1.0
        for place in range(left):
            if p.kept[place] >= 0:
                gone = p.kept[place] << first | fixed
                samples = p.samples if last else p.second_samples
                p.values[p.kept[place]] = _worth(o, p, gone, most, later, plays, samples)
    value = p.values[:last_choice].max()
    top = _take_best(p, last_choice)
    return (top << first | fixed, value) if top >= 0 else (0, -1.0)


@njit
def best_removal(o, p, must, may, most, later):
    """The cards (at most five, all of `must`, others of `may`) whose leaving promises most; and what it promises."""
    return _best_choice(o, p, must, may, most, later, False)


@njit
def _cares_for_held_cards(o):
    for row in range(JOKER_ROWS):
        joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
        if joker >= 0 and _KEEPS_HAND[joker]:
            return True
    return False


@njit
def _without_harm(o, p, played):
    """Cards that can be played along without harm: of other ranks than all others put down, or face down."""
    free, ranks = 0, 0
    for card in range(p.hand_count):
        if played >> card & 1:
            ranks |= 1 << p.rank[card]
    for card in range(p.hand_count):
        if o[sight.CARD_DOWN + card * sight.CARD_STRIDE] > 0:
            free |= 1 << card
        elif not played >> card & 1 and p.rank[card] > 0 and not ranks >> p.rank[card] & 1:
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
def _any_blocked(o):
    for hand in range(TYPES):
        if o[sight.HAND_BLOCKED + hand * sight.HAND_STRIDE] > 0:
            return True
    return False


@njit
def _best_play(o, p, best, missing, later):
    """The cards that score most in this hand and the next together; `best` scores most in this one."""
    other, value = _best_choice(o, p, 0, (1 << p.hand_count) - 1, missing, later, True)
    return other if value > _worth(o, p, best, missing, later, True, p.samples) else best


@njit
def _play(o, m, p, played, missing, discards):
    """Plays cards, and with them what is better gone, where it costs nothing."""
    last = sight.count(o[sight.HANDS_LEFT]) <= 1
    if last or _cares_for_held_cards(o) or np.int64(o[sight.BLIND_ID]) == _TOOTH:
        return steps.put_down(o, m, played, True)
    plain = not _any_blocked(o) and _hand_bits(o, sight.CARD_FORCED) == 0 and not _counts_cards(o)
    if plain and p.next_hand > 0:
        played = _best_play(o, p, played, missing, np.int64(p.later * discards))
    elif _size(played) < MAX_PLAYED:
        wanted, _ = best_removal(o, p, played, _without_harm(o, p, played), missing, 0)
        if wanted != 0 and not (_size(wanted) == MAX_PLAYED and _is_one_suit_or_row(p, wanted)):
            played = wanted
    return steps.put_down(o, m, played, True)


@njit
def _counts_cards(o):
    blind = np.int64(o[sight.BLIND_ID])
    return (blind == _PSYCHIC or blind == _EYE or blind == _MOUTH) and o[sight.DISABLED] == 0


@njit
def _sell_for_the_leaf(o, m, p):
    """Verdant Leaf: the joker given up is the one whose set does best without it."""
    read_set(o, p)
    best, most = steps.NOTHING, -1e9
    for index in range(p.own_count):
        if m[steps.SELL_JOKER + p.own_row[index]]:
            take_out(p, index)
            left, _ = strength(o, p)
            bring_back(p, index)
            if left > most:
                best, most = steps.SELL_JOKER + p.own_row[index], left
    return best


@njit
def _sell_luchador(o, m):
    """Against a boss that is not beaten already, the Luchador is sold: it disables the boss."""
    if o[sight.DISABLED] > 0 or o[sight.BLIND_ID] != o[sight.BOSS_ID]:
        return steps.NOTHING
    for row in range(JOKER_ROWS):
        if np.int64(o[sight.JOKER_ID + row]) == _LUCHADOR and m[steps.SELL_JOKER + row]:
            return steps.SELL_JOKER + row
    return steps.NOTHING


@njit
def play_round(o, m, p):
    """The action in a round."""
    share = o[sight.BEST_PLAY + 1]
    played = best_cards(o)
    if share < 1.0:
        action = use_something(o, m)
        if action != steps.NOTHING:
            return action
        action = _sell_luchador(o, m)
        if action != steps.NOTHING:
            return action
    if share >= 1.0:
        return steps.put_down(o, m, played, True)
    if np.int64(o[sight.BLIND_ID]) == _LEAF and o[sight.DISABLED] == 0:
        action = _sell_for_the_leaf(o, m, p)
        if action != steps.NOTHING:
            return action
    make_plan(o, p)
    missing, now = sight.score(o[sight.MISSING]), sight.score(o[sight.BEST_PLAY])
    hands, discards = sight.count(o[sight.HANDS_LEFT]), sight.count(o[sight.DISCARDS_LEFT])
    forced = _hand_bits(o, sight.CARD_FORCED)
    p.power = p.last_power if hands == 1 else 1.0
    if discards > 0:
        later = np.int64(p.later * (discards - 1))
        every = (1 << p.hand_count) - 1
        gone, hoped = best_removal(o, p, forced, every, missing, later)
        on_pace = now * hands >= p.pace * missing
        if on_pace and gone != 0:  # nothing forces a discard: it has to pay by itself
            many = min(SAMPLES, np.int64(p.samples))
            hoped = p.patience * expect(p, gone, _drawn(o, p, _size(gone)), missing, 0, many)
        if gone != 0 and (now < hoped or hands == 1):
            action = steps.put_down(o, m, gone, False)
            if action != steps.NOTHING:
                return action
    if played == 0:  # nothing scores: put down what is worth least
        played, _ = best_removal(o, p, forced, (1 << p.hand_count) - 1, missing, 0)
        return steps.put_down(o, m, played, True)
    return _play(o, m, p, played, missing, discards)
