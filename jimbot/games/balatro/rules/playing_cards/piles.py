"""Where playing cards go during a run: from the pile to the hand, to the table, to the discard pile and back.

`g.pile` is the undrawn deck, bottom first; `g.hand` lists slots in display order. Cards on the table or discarded are
in no list: their `card_place` says where they are.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.challenges import DOLLARS_PER_LOST_HAND_SIZE
from jimbot.games.balatro.rules.content import STONE

_LAST = 1 << 12  # below the sort key of every card with a rank


@njit
def hand_limit(g):
    """Cards a draw fills the hand up to; Luxury Tax takes one per so many dollars held, and gives one in debt."""
    limit = np.int64(g.hand_size) + g.round_hand_size
    dollars = DOLLARS_PER_LOST_HAND_SIZE[g.challenge]
    if dollars > 0:
        limit -= g.money // dollars
    return limit


@njit
def is_chosen(targets, place):
    """Whether a choice, a bit set over hand positions, has this position."""
    return (np.uint64(targets) >> np.uint64(place)) & np.uint64(1) != np.uint64(0)


@njit
def count_bits(targets):
    """How many positions a choice has."""
    rest = np.uint64(targets)
    count = 0
    while rest != np.uint64(0):
        rest &= rest - np.uint64(1)
        count += 1
    return count


@njit
def count_chosen(g, targets):
    """How many hand cards are chosen; -1 if the choice reaches beyond the hand."""
    if g.hand_count < state.MAX_HAND and np.uint64(targets) >> np.uint64(g.hand_count) != np.uint64(0):
        return -1
    return count_bits(targets)


@njit
def _sort_key(g, slot):
    """The larger, the further left: rank then suit or the other way round, then the suit it was created with.

    Stone Cards come last, ordered by their hidden suit from Diamonds to Spades and then by hidden rank.
    """
    rank, suit, first_suit = np.int64(g.card_rank[slot]), np.int64(g.card_suit[slot]), np.int64(g.card_first_suit[slot])
    if g.card_enhancement[slot] == STONE:
        return ((suit * 16 + rank) * 4 + first_suit) - _LAST
    if g.sort_by_suit:
        return ((3 - suit) * 16 + rank) * 4 + 3 - first_suit
    return (rank * 4 + 3 - suit) * 4 + 3 - first_suit


@njit
def sort_hand(g):
    """Puts the hand in the chosen display order; equal cards by age."""
    for index in range(1, g.hand_count):
        slot = g.hand[index]
        key = _sort_key(g, slot)
        place = index
        while place > 0:
            other = g.hand[place - 1]
            other_key = _sort_key(g, other)
            if other_key > key or (other_key == key and g.card_serial[other] < g.card_serial[slot]):
                break
            g.hand[place] = other
            place -= 1
        g.hand[place] = slot


@njit
def put_in_hand(g, slot):
    """Adds a card at the right end of the hand; at the cap it goes under the pile instead."""
    if g.hand_count < state.MAX_HAND:
        g.card_place[slot] = state.IN_HAND
        g.hand[g.hand_count] = slot
        g.hand_count += 1
    else:
        put_under_pile(g, slot)


@njit
def take_from_hand(g, slot):
    """Removes a card from the hand list; the caller says where it goes."""
    place = 0
    while g.hand[place] != slot:
        place += 1
    g.hand_count -= 1
    for index in range(place, g.hand_count):
        g.hand[index] = g.hand[index + 1]


@njit
def lay_on_table(g, s, targets):
    """Moves the chosen hand cards to the table, left to right: `s.played`. They lie there face up."""
    s.played_count = 0
    kept = 0
    for place in range(g.hand_count):
        slot = g.hand[place]
        if is_chosen(targets, place):
            g.card_place[slot] = state.ON_TABLE
            g.card_flags[slot] &= 0xFF ^ state.CARD_FACE_DOWN
            s.played[s.played_count] = slot
            s.played_count += 1
        else:
            g.hand[kept] = slot
            kept += 1
    g.hand_count = kept


@njit
def turn_hand_up(g):
    """Turns all hand cards face up."""
    for place in range(g.hand_count):
        g.card_flags[g.hand[place]] &= 0xFF ^ state.CARD_FACE_DOWN


@njit
def put_under_pile(g, slot):
    """Puts a card at the bottom of the undrawn pile: where every card goes that joins or returns to the deck."""
    for index in range(g.pile_count, 0, -1):
        g.pile[index] = g.pile[index - 1]
    g.pile[0] = slot
    g.pile_count += 1
    g.card_place[slot] = state.IN_DECK


@njit
def take_from_pile(g):
    """The next card of the pile, moved to the right end of the hand; the caller knows there is one and room for it."""
    g.pile_count -= 1
    slot = g.pile[g.pile_count]
    g.card_place[slot] = state.IN_HAND
    g.hand[g.hand_count] = slot
    g.hand_count += 1
    return slot


@njit
def return_hand(g):
    """Hand cards go back under the pile one by one from the left (a closed pack)."""
    for place in range(g.hand_count):
        slot = g.hand[place]
        g.card_flags[slot] &= 0xFF ^ state.CARD_FACE_DOWN
        put_under_pile(g, slot)
    g.hand_count = 0


@njit
def return_everything(g):
    """All owned cards go back to the deck, face up and unforced; a shuffle follows before the next draw."""
    g.hand_count = 0
    g.pile_count = g.card_count
    for index in range(g.card_count):
        slot = g.cards[index]
        g.pile[index] = slot
        g.card_place[slot] = state.IN_DECK
        g.card_flags[slot] &= 0xFF ^ (state.CARD_FACE_DOWN | state.CARD_FORCED)


@njit
def nth_in_hand(g, number):
    """The slot of a hand card by age, the order in which random choices see hand cards."""
    for index in range(g.card_count):
        slot = g.cards[index]
        if g.card_place[slot] == state.IN_HAND:
            if number == 0:
                return slot
            number -= 1
    return -1


@njit
def has_forced_card(g):
    """Whether Cerulean Bell holds a card of the hand."""
    for place in range(g.hand_count):
        if g.card_flags[g.hand[place]] & state.CARD_FORCED:
            return True
    return False


@njit
def leaves_out_forced_card(g, targets):
    """Whether a choice lacks the card Cerulean Bell forces into every choice."""
    for place in range(g.hand_count):
        if g.card_flags[g.hand[place]] & state.CARD_FORCED and not is_chosen(targets, place):
            return True
    return False


@njit
def clear_forced_cards(g):
    """Lets go of the card Cerulean Bell holds; it is always one of the hand."""
    for place in range(g.hand_count):
        g.card_flags[g.hand[place]] &= 0xFF ^ state.CARD_FORCED
