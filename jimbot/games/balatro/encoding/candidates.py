"""What the hand on the table could score: every choice of up to five cards, tried out with the real rules.

A trial plays the cards on the game itself and then puts the whole record back, so there is no second set of rules that
could drift. Only what is certain counts (`s.certain`): every chance fails, Misprint gives its least, The Hook takes
nothing. No stream is looked at, so nothing of the future shows. What the player cannot see does not count either: a
face-down card is neither played nor held, and face-down jokers act in the order they were gained.

Most choices need no trial: a kicker that does not score leaves the score as it is. So the poker hand of every choice is
found first, which is cheap, and of all choices that must score the same (`_outcome_of`) only the first is tried: in
the usual case a dozen of 218. What a card may do without scoring is asked of the jokers held: some look at held cards,
some count the cards played.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.compiling.record_copies import keep_game, put_back
from jimbot.games.balatro.encoding.fields import HAND_ROWS, places, start, stride
from jimbot.games.balatro.encoding.scaling import share, symlog
from jimbot.games.balatro.rules.bosses.dispatch import counts_cards
from jimbot.games.balatro.rules.content import HANDS, JOKERS, STEEL
from jimbot.games.balatro.rules.inventory import swap_jokers
from jimbot.games.balatro.rules.jokers import registry as r
from jimbot.games.balatro.rules.jokers.evaluate import card_condition
from jimbot.games.balatro.rules.playing_cards.hands import detect_hand, read_jokers
from jimbot.games.balatro.rules.playing_cards.piles import is_chosen
from jimbot.games.balatro.rules.rounds import put_forward
from jimbot.games.balatro.rules.scratch import MAX_CANDIDATES, MAX_PLAYED
from jimbot.games.balatro.rules.state import CARD_FACE_DOWN, CARD_FORCED, FACE_DOWN, IN_DISCARD, SELECTING_HAND

_HANDS = len(HANDS)
_SCORE, _SHARE = places("best_plays")
_STRIDE = stride("best_plays")
_BEST_SCORE, _BEST_SHARE = places("best_play")
_BEST_CARDS = start("best_play_cards")

# Jokers by what they see of cards that do not score.
_WATCHES_SOME = r.HELD.condition  # held cards that meet a condition
_WATCHES_SOME_ARGUMENT = r.HELD.argument
_WATCHES_ALL = r.has_function("held_card") | (r.MAIN_CONDITION == r.HELD_ALL_BLACK)
_COUNTS = r.MAIN_CONDITION == r.PLAYED_AT_MOST
_COUNTS[[JOKERS.id("j_square"), JOKERS.id("j_dna")]] = True


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
def _try_play(g, s, targets):
    """The certain score of playing these hand positions, all face up; the game stays as it was.

    `s.hand` names the poker hand. The caller has put a copy of the game into `s.kept`.
    """
    _hide_unknown(g)
    g.consumable_slots = 0  # nothing a joker creates in this moment can change the score
    s.certain = True
    put_forward(g, s, targets)
    s.certain = False
    put_back(g, s.kept)
    return s.score


# --- which choices there are ---


@njit
def _list_candidates(g, s):
    """The hand positions to combine: face-up cards from the left, at most MAX_CANDIDATES, forced ones in any case.

    A bit set of the forced ones among them; -1 if one lies face down, for then no choice is known.
    """
    room = MAX_CANDIDATES
    for place in range(g.hand_count):
        room -= (g.card_flags[g.hand[place]] & CARD_FORCED) != 0
    s.candidate_count = 0
    forced = 0
    for place in range(g.hand_count):
        flags = g.card_flags[g.hand[place]]
        if flags & CARD_FORCED:
            if flags & CARD_FACE_DOWN:
                return -1
            forced |= 1 << s.candidate_count
        elif flags & CARD_FACE_DOWN or room == 0:
            continue
        else:
            room -= 1
        s.candidates[s.candidate_count] = place
        s.candidate_count += 1
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
def _next_choice(choice):
    """The next larger bit set with as many bits."""
    lowest = choice & -choice
    moved = choice + lowest
    return moved | ((choice ^ moved) >> 2) // lowest


# --- which of them score the same ---


@njit
def _is_watched(g, s, slot):
    """Whether a card may change the score while it is held."""
    if g.card_enhancement[slot] == STEEL:
        return True
    for i in range(g.joker_count):
        joker = g.joker_id[i]
        if _WATCHES_ALL[joker]:
            return True
        condition = _WATCHES_SOME[joker]
        if condition != r.NEVER and card_condition(g, s, slot, condition, _WATCHES_SOME_ARGUMENT[joker]):
            return True
    return False


@njit
def _ask_jokers(g, s):
    """Notes which candidates matter while held, and whether the number of cards played does.

    The Psychic wants five cards; The Tooth takes a dollar for each, and some jokers look at money.
    """
    read_jokers(g, s)
    s.watched = 0
    for index in range(s.candidate_count):
        if _is_watched(g, s, g.hand[s.candidates[index]]):
            s.watched |= 1 << index
    s.counted = counts_cards(g)
    for i in range(g.joker_count):
        s.counted = s.counted or _COUNTS[g.joker_id[i]]


@njit
def _outcome_of(g, s, choice, size):
    """All that the score of a choice depends on, as one number.

    It holds the cards that score, those played that would matter if they were held, the poker hands they contain, and
    the number of cards if it counts.
    """
    s.played_count = 0
    for index in range(s.candidate_count):
        if choice >> index & 1:
            s.played[s.played_count] = g.hand[s.candidates[index]]
            s.played_count += 1
    detect_hand(g, s)
    scoring, found = 0, 0
    for index in range(s.candidate_count):
        if choice >> index & 1 and found < s.scoring_count and g.hand[s.candidates[index]] == s.scoring[found]:
            scoring |= 1 << index
            found += 1
    outcome = (s.contains << MAX_CANDIDATES | scoring) << MAX_CANDIDATES | (choice & s.watched)
    return outcome << 3 | (size if s.counted else 0)


@njit
def _is_new(s, outcome):
    """Whether no choice with this outcome was tried yet; notes it."""
    for index in range(s.tried_count):
        if s.tried[index] == outcome:
            return False
    s.tried[s.tried_count] = outcome
    s.tried_count += 1
    return True


# --- the best ones ---


@njit
def best_plays(g, s):
    """Tries the choices of cards; returns the poker hand of the best one, -1 if nothing can be tried.

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
    _ask_jokers(g, s)
    s.tried_count = 0
    best = -1
    keep_game(g, s.kept)
    for size in range(1, min(MAX_PLAYED, s.candidate_count) + 1):
        choice = (1 << size) - 1
        while choice < 1 << s.candidate_count:
            if choice & forced == forced and _is_new(s, _outcome_of(g, s, choice, size)):
                targets = _targets_of(s, choice)
                score = _try_play(g, s, targets)
                if score > s.best_score[s.hand]:
                    s.best_score[s.hand] = score
                    s.best_cards[s.hand] = targets
                    if best < 0 or score > s.best_score[best]:
                        best = s.hand
            choice = _next_choice(choice)
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
