"""Re-dealing what the player of a game cannot know, for planning without peeking and for the test that nothing leaks.

Unknown are the order of the undrawn pile, which cards lie face down, the order of face-down jokers (Amber Acorn), and
every random stream. What has been drawn from a stream already is in the record and on the table, so starting all
streams afresh from another seed re-deals the future and nothing else.

Kept is what a player can find out by trying: The Mark turns down face cards only, Aura shows which cards have no
edition, and an Eternal joker cannot be sold whatever side is up.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.bosses.definitions import is_face_to_boss
from jimbot.games.balatro.rules.bosses.dispatch import turns_faces_down
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.chance.streams import pick, set_seed_number, start_streams, stream_id
from jimbot.games.balatro.rules.content import CONSUMABLES
from jimbot.games.balatro.rules.inventory import swap_jokers

_SHUFFLE = stream_id("shuffle")  # of the first shuffle of a run: nothing draws from it later
_AURA = CONSUMABLES.id("c_aura")
_OF_THE_PLACE = state.CARD_FACE_DOWN | state.CARD_FORCED  # flags that stay where they are when the card changes
_TELLING_FLAGS = state.ETERNAL | state.PINNED


@njit
def _has_aura(g):
    for index in range(g.consumable_count):
        if g.consumable_id[index] == _AURA:
            return True
    for place in range(state.FIRST_PACK_OFFER, state.FIRST_PACK_OFFER + g.pack_count):
        if g.offer_kind[place] == state.OFFER_CONSUMABLE and g.offer_id[place] == _AURA:
            return True
    return False


@njit
def _could_be(g, slot, other):
    """Whether the player could take one face-down card for the other."""
    if turns_faces_down(g) and is_face_to_boss(g, slot) != is_face_to_boss(g, other):
        return False
    return (g.card_edition[slot] == 0) == (g.card_edition[other] == 0) or not _has_aura(g)


@njit
def _lay_out_pile(g):
    """All cards that are in the deck, in the order of the deck list, whatever their hidden order was."""
    g.pile_count = 0
    for index in range(g.card_count):
        if g.card_place[g.cards[index]] == state.IN_DECK:
            g.pile[g.pile_count] = g.cards[index]
            g.pile_count += 1


@njit
def _take_like(g, slot):
    """Takes a card out of the pile that could lie in the place of this one, each as likely."""
    alike = 0
    for index in range(g.pile_count):
        alike += _could_be(g, slot, g.pile[index])
    rest = pick(g, _SHUFFLE, alike)
    taken = 0
    while rest > 0 or not _could_be(g, slot, g.pile[taken]):
        rest -= _could_be(g, slot, g.pile[taken])
        taken += 1
    chosen = g.pile[taken]
    g.pile_count -= 1
    for index in range(taken, g.pile_count):
        g.pile[index] = g.pile[index + 1]
    return chosen


@njit
def _redeal_face_down(g):
    """Every face-down hand card becomes any unseen card. All of them go back to the pile first, so that what
    is dealt does not depend on which they were."""
    marks = np.zeros(state.MAX_HAND, np.uint8)
    for place in range(g.hand_count):
        slot = g.hand[place]
        if g.card_flags[slot] & state.CARD_FACE_DOWN:
            marks[place] = g.card_flags[slot] & _OF_THE_PLACE
            g.card_flags[slot] &= 0xFF ^ _OF_THE_PLACE
            g.card_place[slot] = state.IN_DECK
    _lay_out_pile(g)
    for place in range(g.hand_count):
        if marks[place]:
            slot = _take_like(g, g.hand[place])
            g.hand[place] = slot
            g.card_flags[slot] |= marks[place]
            g.card_place[slot] = state.IN_HAND


@njit
def _are_alike(g, one, other):
    """Whether the player could take one joker for the other."""
    flags = g.joker_flags[one], g.joker_flags[other]
    return flags[0] & flags[1] & state.FACE_DOWN != 0 and (flags[0] ^ flags[1]) & _TELLING_FLAGS == 0


@njit
def _redeal_jokers(g):
    """Face-down jokers by age, whatever their hidden order was, and then in any order."""
    for index in range(g.joker_count):
        for later in range(index + 1, g.joker_count):
            if _are_alike(g, index, later) and g.joker_serial[later] < g.joker_serial[index]:
                swap_jokers(g, index, later)
    for index in range(g.joker_count - 1, 0, -1):
        alike = 0
        for other in range(index + 1):
            alike += _are_alike(g, index, other)
        if alike > 1:
            rest = pick(g, _SHUFFLE, alike)
            other = 0
            while rest > 0 or not _are_alike(g, index, other):
                rest -= _are_alike(g, index, other)
                other += 1
            swap_jokers(g, index, other)


@njit
def redraw(g, number):
    """Re-deals a game from the seed of this number; what the player sees stays as it is.

    Games that look the same face up become the same game, so that a plan cannot depend on what it may not know.
    """
    set_seed_number(g, number)
    start_streams(g)
    _redeal_face_down(g)
    _redeal_jokers(g)
    streams.shuffle(g, _SHUFFLE, g.pile, g.pile_count)
