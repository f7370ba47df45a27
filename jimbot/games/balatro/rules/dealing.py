"""Drawing cards to the hand: how many, which lie face down, and what a boss does once they are drawn."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import bosses
from jimbot.games.balatro.rules.challenges import FLIPPED_ONE_IN
from jimbot.games.balatro.rules.inventory import nth_joker, odds_numerator, set_joker_debuff
from jimbot.games.balatro.rules.piles import hand_limit, has_forced_card, nth_in_hand, sort_hand, take_from_pile
from jimbot.games.balatro.rules.state import CARD_FACE_DOWN, CARD_FORCED, DEBUFFED, MAX_HAND, SELECTING_HAND
from jimbot.games.balatro.rules.streams import draw, pick, roll, stream_id

_WHEEL, _FLIPPED = stream_id("wheel"), stream_id("flipped_card")
_BELL, _HEART = stream_id("cerulean_bell"), stream_id("crimson_heart")
_WHEEL_ODDS = 7
_SERPENT_CARDS = 3


@njit
def _round_has_begun(g):
    return g.hands_played_round > 0 or g.discards_used > 0


@njit
def _flipped_by_boss(g, slot):
    if g.blind_disabled:
        return False
    if g.blind == bosses.WHEEL:
        return roll(g, _WHEEL) < odds_numerator(g) / _WHEEL_ODDS
    if g.blind == bosses.HOUSE:
        return not _round_has_begun(g)
    if g.blind == bosses.MARK:
        return bosses.is_face_to_boss(g, slot)
    return g.blind == bosses.FISH and g.blind_primed


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
        by_boss = _flipped_by_boss(g, slot)
        if _flipped_by_challenge(g) or by_boss:
            g.card_flags[slot] |= CARD_FACE_DOWN
    sort_hand(g)


@njit
def draw_for_hand_size(g, size_before):
    """A hand size that rises during a round draws as many cards at once (a sold Stuntman, a revived Juggler)."""
    if g.phase == SELECTING_HAND and g.hand_size > size_before and g.hand_count > 0:
        draw_cards(g, g.hand_size - size_before)


@njit
def _force_card(g):
    """Cerulean Bell: one card of the hand has to be part of every choice."""
    if g.hand_count > 0 and not has_forced_card(g):
        slot = nth_in_hand(g, pick(g, _BELL, g.hand_count))
        g.card_flags[slot] |= CARD_FORCED


@njit
def _break_heart(g):
    """Crimson Heart: one joker is debuffed, another one than before if there are two; all others are revived."""
    candidates = 0
    count = 0
    for index in range(g.joker_count):
        if g.joker_count < 2 or not g.joker_flags[index] & DEBUFFED:
            candidates |= 1 << index
            count += 1
    size = g.hand_size
    bosses.revive_jokers(g)
    draw_for_hand_size(g, size)
    if count == 0:
        draw(g, _HEART)  # the stream moves on although nobody can be chosen
        return
    size = g.hand_size
    set_joker_debuff(g, nth_joker(g, pick(g, _HEART, count), candidates), True)
    draw_for_hand_size(g, size)


@njit
def draw_to_hand(g):
    """Fills the hand during a round; The Serpent deals exactly three once the round has begun."""
    if bosses.is_active(g, bosses.SERPENT) and _round_has_begun(g):
        draw_cards(g, _SERPENT_CARDS)
    else:
        draw_cards(g, hand_limit(g) - g.hand_count)
    if bosses.is_active(g, bosses.BELL):
        _force_card(g)
    elif bosses.is_active(g, bosses.HEART) and g.blind_primed and g.joker_count > 0:
        _break_heart(g)
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
