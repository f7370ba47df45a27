"""Playing cards of a game: creating, removing, changing and shuffling them.

A card lives in a slot; `g.cards` lists the slots of all owned cards in creation order, which is the order every random
choice and every shuffle starts from.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.chance import streams

COPIED_FLAGS = state.CARD_DEBUFFED | state.CARD_DEBUFFED_FOR_GOOD | state.CARD_PLAYED_THIS_ANTE


@njit
def new_serial(g):
    """The creation serial of the next card of any kind."""
    g.next_serial += 1
    return g.next_serial - 1


@njit
def add_card(g, rank, suit, enhancement, edition, seal, serial, place):
    """Puts a new playing card into the full deck; returns its slot, or -1 when the deck is at its cap.

    `serial` is not always the newest: a card bought in the shop was created when it was put on display.
    """
    if g.card_count >= state.MAX_CARDS:
        return -1
    slot = 0
    while g.card_place[slot] != state.NOWHERE:
        slot += 1
    put_card(g, slot, rank, suit, enhancement, edition, seal, serial, place)
    return slot


@njit
def put_card(g, slot, rank, suit, enhancement, edition, seal, serial, place):
    """Puts a new playing card into a slot that the caller knows to be free."""
    g.card_place[slot] = place
    g.card_rank[slot] = rank
    g.card_suit[slot] = suit
    g.card_first_suit[slot] = suit
    g.card_enhancement[slot] = enhancement
    g.card_edition[slot] = edition
    g.card_seal[slot] = seal
    g.card_flags[slot] = 0
    g.card_extra_chips[slot] = 0
    g.card_serial[slot] = serial
    g.enhancement_count[enhancement] += 1
    position = g.card_count
    while position > 0 and g.card_serial[g.cards[position - 1]] > serial:
        g.cards[position] = g.cards[position - 1]
        position -= 1
    g.cards[position] = slot
    g.card_count += 1


@njit
def copy_card(g, source, place):
    """A new card like the one in slot `source`; returns its slot, or -1 at the cap."""
    slot = add_card(
        g,
        g.card_rank[source],
        g.card_suit[source],
        g.card_enhancement[source],
        g.card_edition[source],
        g.card_seal[source],
        new_serial(g),
        place,
    )
    if slot >= 0:
        g.card_extra_chips[slot] = g.card_extra_chips[source]
        g.card_flags[slot] = g.card_flags[source] & COPIED_FLAGS
    return slot


@njit
def remove_card(g, slot):
    """Takes a destroyed card out of the full deck; the caller takes it out of hand or pile."""
    g.enhancement_count[g.card_enhancement[slot]] -= 1
    g.card_place[slot] = state.NOWHERE
    position = 0
    while g.cards[position] != slot:
        position += 1
    g.card_count -= 1
    for index in range(position, g.card_count):
        g.cards[index] = g.cards[index + 1]


@njit
def set_enhancement(g, slot, enhancement):
    """Changes a card's enhancement and the tally of owned enhancements with it."""
    g.enhancement_count[g.card_enhancement[slot]] -= 1
    g.card_enhancement[slot] = enhancement
    g.enhancement_count[enhancement] += 1


@njit
def shuffle_pile(g, stream):
    """Shuffles all cards that are in the deck; the order before does not matter."""
    count = 0
    for index in range(g.card_count):
        slot = g.cards[index]
        if g.card_place[slot] == state.IN_DECK:
            g.pile[count] = slot
            count += 1
    g.pile_count = count
    streams.shuffle(g, stream, g.pile, count)
