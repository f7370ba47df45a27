"""What a blind does when it is set up, when a hand is played against it, and when its effect is disabled.

What bosses do to the score is in `scoring.py`, to drawn cards in `dealing.py`, to cards' debuffs in `bosses.py`.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import bosses
from jimbot.games.balatro.rules.antes import requirement_of
from jimbot.games.balatro.rules.content import BIG_BLIND, SMALL_BLIND
from jimbot.games.balatro.rules.dealing import draw_cards
from jimbot.games.balatro.rules.piles import clear_forced_cards
from jimbot.games.balatro.rules.reorder import shuffle_jokers
from jimbot.games.balatro.rules.state import CARD_FACE_DOWN, FACE_DOWN, SELECTING_HAND


@njit
def blind_on_deck(g):
    """The blind that comes next."""
    if g.on_deck == 0:
        return SMALL_BLIND
    if g.on_deck == 1:
        return BIG_BLIND
    return g.boss


@njit
def set_blind(g, s):
    """Sets up the next blind: its requirement, its hold on hands, discards, hand size and jokers, and all debuffs."""
    g.blind = blind_on_deck(g)
    g.blind_disabled = False
    g.requirement = requirement_of(g, g.blind)
    g.blind_triggered = False
    g.blind_primed = g.blind == bosses.HEART
    g.blind_took_hands = 0
    g.blind_took_discards = 0
    g.eye_used = 0
    g.mouth_hand = -1
    if g.blind == bosses.WATER:
        g.blind_took_discards = g.discards_left
        g.discards_left = 0
    elif g.blind == bosses.NEEDLE:
        g.blind_took_hands = g.hands_per_round - 1
        g.hands_left -= g.blind_took_hands
    elif g.blind == bosses.MANACLE:
        g.round_hand_size -= 1
    elif g.blind == bosses.ACORN:
        for index in range(g.joker_count):
            g.joker_flags[index] |= FACE_DOWN
        if g.joker_count > 1:
            shuffle_jokers(g, s)
    bosses.refresh_cards(g)
    bosses.revive_jokers(g)


@njit
def _turn_hand_up(g):
    for place in range(g.hand_count):
        g.card_flags[g.hand[place]] &= 0xFF ^ CARD_FACE_DOWN


@njit
def turn_jokers_up(g):
    """Turns all jokers face up."""
    for index in range(g.joker_count):
        g.joker_flags[index] &= 0xFF ^ FACE_DOWN


@njit
def disable_blind(g):
    """Ends the boss's effect for the rest of the round (Chicot, Luchador, a joker sold under Verdant Leaf)."""
    if g.blind_disabled or not bosses.is_boss_round(g):
        return
    g.blind_disabled = True
    boss = g.blind
    if boss == bosses.WATER:
        g.discards_left += g.blind_took_discards
    elif boss == bosses.NEEDLE:
        g.hands_left += g.blind_took_hands
    elif boss == bosses.MANACLE:
        g.round_hand_size += 1
        if g.phase == SELECTING_HAND:
            draw_cards(g, 1)
    elif boss == bosses.WALL:
        g.requirement /= 2
    elif boss == bosses.VESSEL:
        g.requirement /= 3
    elif boss == bosses.BELL:
        clear_forced_cards(g)
    elif boss == bosses.ACORN:
        turn_jokers_up(g)
    elif boss == bosses.WHEEL or boss == bosses.HOUSE or boss == bosses.MARK or boss == bosses.FISH:
        _turn_hand_up(g)
    bosses.refresh_cards(g)
    bosses.revive_jokers(g)


@njit
def lift_blind(g):
    """The round is over: debuffs, hidden jokers and borrowed hand size go with the blind."""
    g.blind = SMALL_BLIND
    g.blind_disabled = False
    g.blind_primed = False
    g.blind_triggered = False
    g.round_hand_size = 0
    turn_jokers_up(g)
    bosses.refresh_cards(g)
    bosses.revive_jokers(g)
