"""Drawing cards to the hand: how many, and which lie face down."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.bosses import dispatch as bosses
from jimbot.games.balatro.rules.challenges import FLIPPED_ONE_IN
from jimbot.games.balatro.rules.chance.streams import roll, stream_id
from jimbot.games.balatro.rules.playing_cards.piles import hand_limit, sort_hand, take_from_pile
from jimbot.games.balatro.rules.state import CARD_FACE_DOWN, MAX_HAND, SELECTING_HAND

_FLIPPED = stream_id("flipped_card")


@njit
def _flipped_by_challenge(g):
    return FLIPPED_ONE_IN[g.challenge] > 0 and roll(g, _FLIPPED) < 1 / FLIPPED_ONE_IN[g.challenge]


@njit
def draw_cards(g, count):
    """Draws cards one by one and sorts the hand."""
    for _ in range(count):
        if g.pile_count == 0 or g.hand_count >= MAX_HAND:
            break
        slot = take_from_pile(g)
        by_boss = bosses.turns_down(g, slot)
        if _flipped_by_challenge(g) or by_boss:
            g.card_flags[slot] |= CARD_FACE_DOWN
    sort_hand(g)


@njit
def draw_for_hand_size(g, size_before):
    """A hand size that rises during a round draws as many cards at once (a sold Stuntman, a revived Juggler)."""
    if g.phase == SELECTING_HAND and g.hand_size > size_before and g.hand_count > 0:
        draw_cards(g, g.hand_size - size_before)


@njit
def draw_to_hand(g):
    """Fills the hand during a round; then the boss takes hold of something, which may change the hand size."""
    draw_cards(g, bosses.draws(g, hand_limit(g) - g.hand_count))
    size = g.hand_size
    jokers = bosses.lets_go(g)
    draw_for_hand_size(g, size)
    size = g.hand_size
    bosses.seizes(g, jokers)
    draw_for_hand_size(g, size)
    g.blind_primed = False


@njit
def deal_pack_hand(g):
    """The hand an Arcana or Spectral pack is used on: no boss looks at it."""
    for _ in range(min(g.pile_count, hand_limit(g))):
        if g.hand_count >= MAX_HAND:
            break
        slot = take_from_pile(g)
        if _flipped_by_challenge(g):
            g.card_flags[slot] |= CARD_FACE_DOWN
    sort_hand(g)
