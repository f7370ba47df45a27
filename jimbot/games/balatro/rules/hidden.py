"""Re-dealing what the player of a game cannot know, for planning without peeking and for the test that nothing leaks.

Unknown are the order of the undrawn pile, which cards lie face down, the order of face-down jokers (Amber Acorn), and
every random stream. What has been drawn from a stream already is in the record and on the table, so starting all
streams afresh from another seed re-deals the future and nothing else.

Kept is what a player can find out by trying: The Mark turns down face cards only, Aura shows which cards have no
edition, and an Eternal joker cannot be sold whatever side is up.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.bosses.definitions import is_face_to_boss
from jimbot.games.balatro.rules.bosses.dispatch import turns_faces_down
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.chance.streams import pick, set_seed_number, start_streams, stream_id
from jimbot.games.balatro.rules.content import CONSUMABLES
from jimbot.games.balatro.rules.reorder import swap_jokers
from jimbot.games.balatro.rules.state import (
    CARD_FACE_DOWN,
    CARD_FORCED,
    ETERNAL,
    FACE_DOWN,
    FIRST_PACK_OFFER,
    IN_DECK,
    IN_HAND,
    OFFER_CONSUMABLE,
    PINNED,
)

_SHUFFLE = stream_id("shuffle")  # of the first shuffle of a run: nothing draws from it later
_AURA = CONSUMABLES.id("c_aura")
_OF_THE_PLACE = CARD_FACE_DOWN | CARD_FORCED  # flags that stay where they are when the card changes
_TELLING_FLAGS = ETERNAL | PINNED


@njit
def _has_aura(g):
    for index in range(g.consumable_count):
        if g.consumable_id[index] == _AURA:
            return True
    for place in range(FIRST_PACK_OFFER, FIRST_PACK_OFFER + g.pack_count):
        if g.offer_kind[place] == OFFER_CONSUMABLE and g.offer_id[place] == _AURA:
            return True
    return False


@njit
def _could_be(g, slot, other):
    """Whether the player could take one face-down card for the other."""
    if turns_faces_down(g) and is_face_to_boss(g, slot) != is_face_to_boss(g, other):
        return False
    return (g.card_edition[slot] == 0) == (g.card_edition[other] == 0) or not _has_aura(g)


@njit
def _exchange_flags(g, slot, other):
    """The flags of two places, after the cards on them were exchanged."""
    mine, theirs = g.card_flags[slot] & _OF_THE_PLACE, g.card_flags[other] & _OF_THE_PLACE
    g.card_flags[slot] = g.card_flags[slot] & (0xFF ^ _OF_THE_PLACE) | theirs
    g.card_flags[other] = g.card_flags[other] & (0xFF ^ _OF_THE_PLACE) | mine


@njit
def _redeal_face_down(g):
    """Every face-down hand card becomes any card of the pile or any other one that lies face down."""
    for place in range(g.hand_count):
        slot = g.hand[place]
        if not g.card_flags[slot] & CARD_FACE_DOWN:
            continue
        number = pick(g, _SHUFFLE, g.pile_count + place + 1)
        if number < g.pile_count:
            other = g.pile[number]
            if _could_be(g, slot, other):
                g.hand[place], g.pile[number] = other, slot
                g.card_place[slot], g.card_place[other] = IN_DECK, IN_HAND
                _exchange_flags(g, slot, other)
        else:
            earlier = number - g.pile_count
            other = g.hand[earlier]
            if earlier != place and g.card_flags[other] & CARD_FACE_DOWN and _could_be(g, slot, other):
                g.hand[place], g.hand[earlier] = other, slot
                _exchange_flags(g, slot, other)


@njit
def _redeal_jokers(g):
    for index in range(g.joker_count - 1, 0, -1):
        other = pick(g, _SHUFFLE, index + 1)
        both_down = g.joker_flags[index] & g.joker_flags[other] & FACE_DOWN
        if both_down and not (g.joker_flags[index] ^ g.joker_flags[other]) & _TELLING_FLAGS:
            swap_jokers(g, index, other)


@njit
def _lay_out_pile(g):
    """The pile in the order of the deck list, whatever its hidden order was."""
    count = 0
    for index in range(g.card_count):
        if g.card_place[g.cards[index]] == IN_DECK:
            g.pile[count] = g.cards[index]
            count += 1


@njit
def redraw(g, number):
    """Re-deals a game from the seed of this number; what the player sees stays as it is.

    Games that look the same face up become the same game, so that a plan cannot depend on what it may not know.
    """
    set_seed_number(g, number)
    start_streams(g)
    _lay_out_pile(g)
    _redeal_face_down(g)
    _redeal_jokers(g)
    _lay_out_pile(g)
    streams.shuffle(g, _SHUFFLE, g.pile, g.pile_count)
