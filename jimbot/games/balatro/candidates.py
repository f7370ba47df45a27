"""What the hand on the table could score: every choice of up to five cards, tried out with the real rules.

A trial plays the cards on the game itself and then puts the whole record back, so there is no second set of rules that
could drift. Only what is certain counts (`s.certain`): every chance fails, Misprint gives its least, The Hook takes
nothing. No stream is looked at, so nothing of the future shows. What the player cannot see does not count either: a
face-down card is neither played nor held, and face-down jokers act in the order they were gained.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compile import njit
from jimbot.games.balatro.content import HANDS
from jimbot.games.balatro.fields import HAND_ROWS, places, start, stride
from jimbot.games.balatro.piles import is_chosen
from jimbot.games.balatro.records import keep_game, put_back
from jimbot.games.balatro.reorder import swap_jokers
from jimbot.games.balatro.rounds import put_forward
from jimbot.games.balatro.scaling import share, symlog
from jimbot.games.balatro.scratch import MAX_CANDIDATES, MAX_PLAYED
from jimbot.games.balatro.state import CARD_FACE_DOWN, CARD_FORCED, FACE_DOWN, IN_DISCARD, SELECTING_HAND

_HANDS = len(HANDS)
_SCORE, _SHARE = places("best_plays")
_STRIDE = stride("best_plays")
_BEST_SCORE, _BEST_SHARE = places("best_play")
_BEST_CARDS = start("best_play_cards")


@njit
def _hide_unknown(g):
    """Takes what lies face down out of the reckoning: cards as if they were away, jokers in the order of their age."""
    for place in range(g.hand_count):
        slot = g.hand[place]
        if g.card_flags[slot] & CARD_FACE_DOWN:
            g.card_place[slot] = IN_DISCARD
    hidden = False
    for index in range(g.joker_count):
        hidden = hidden or (g.joker_flags[index] & FACE_DOWN) != 0
    if hidden:
        for index in range(1, g.joker_count):
            place = index
            while place > 0 and g.joker_serial[place - 1] > g.joker_serial[place]:
                swap_jokers(g, place, place - 1)
                place -= 1


@njit
def try_play(g, s, targets):
    """The certain score of playing these hand positions, or -1 if one lies face down; the game stays as it was.

    `s.hand` names the poker hand. The caller has put a copy of the game into `s.kept`.
    """
    for place in range(g.hand_count):
        if is_chosen(targets, place) and g.card_flags[g.hand[place]] & CARD_FACE_DOWN:
            return -1.0
    _hide_unknown(g)
    g.consumable_slots = 0  # nothing a joker creates in this moment can change the score
    s.certain = True
    put_forward(g, s, targets)
    s.certain = False
    put_back(g, s.kept)
    return s.score


@njit
def _list_candidates(g, s):
    """The hand positions to combine: a forced card first, then face-up cards from the left, at most MAX_CANDIDATES.

    The number of forced cards; -1 if one lies face down, for then no choice is known.
    """
    s.candidate_count = 0
    forced = 0
    for turn in range(2):
        for place in range(g.hand_count):
            flags = g.card_flags[g.hand[place]]
            if ((flags & CARD_FORCED) != 0) != (turn == 0) or s.candidate_count >= MAX_CANDIDATES:
                continue
            if flags & CARD_FACE_DOWN:
                if turn == 0:
                    return -1
                continue
            s.candidates[s.candidate_count] = place
            s.candidate_count += 1
            forced += 1 - turn
    return forced


@njit
def _targets_of(s, choice):
    """A choice among the candidates, a bit set, as one over hand positions."""
    targets = np.uint64(0)
    for index in range(s.candidate_count):
        if choice >> index & 1:
            targets |= np.uint64(1) << np.uint64(s.candidates[index])
    return targets


@njit
def _size_of(choice):
    size = 0
    while choice != 0:
        choice &= choice - 1
        size += 1
    return size


@njit
def best_plays(g, s):
    """Tries every choice of cards; returns the poker hand of the best one, -1 if nothing can be tried.

    `s.best_score[hand]` is the most each poker hand scores for certain (-1 if it cannot be formed) and
    `s.best_cards[hand]` the hand positions that do it; of equal ones the fewest cards.
    """
    for hand in range(_HANDS):
        s.best_score[hand] = -1.0
        s.best_cards[hand] = 0
    if g.phase != SELECTING_HAND:
        return -1
    forced = _list_candidates(g, s)
    if forced < 0:
        return -1
    must = (1 << forced) - 1
    best = -1
    keep_game(g, s.kept)
    for size in range(1, MAX_PLAYED + 1):
        for choice in range(1, 1 << s.candidate_count):
            if choice & must == must and _size_of(choice) == size:
                targets = _targets_of(s, choice)
                score = try_play(g, s, targets)
                if score > s.best_score[s.hand]:
                    s.best_score[s.hand] = score
                    s.best_cards[s.hand] = targets
                    if best < 0 or score > s.best_score[best]:
                        best = s.hand
    return best


@njit
def write_helpers(g, s, out):
    """Writes the best certain scores into the observation, as such and as a share of what the blind still wants."""
    best = best_plays(g, s)
    if best < 0:
        return
    missing = max(1.0, g.requirement - g.score)
    for hand in range(_HANDS):
        if s.best_score[hand] > 0:
            out[hand * _STRIDE + _SCORE] = symlog(s.best_score[hand])
            out[hand * _STRIDE + _SHARE] = share(s.best_score[hand], missing)
    out[_BEST_SCORE] = symlog(s.best_score[best])
    out[_BEST_SHARE] = share(s.best_score[best], missing)
    for place in range(min(g.hand_count, HAND_ROWS)):
        if is_chosen(s.best_cards[best], place):
            out[_BEST_CARDS + place] = 1.0
