"""The blind being played: setting it up, disabling its boss, lifting it, and debuffs of playing cards by either or a
challenge."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.antes import requirement_of
from jimbot.games.balatro.rules.bosses import dispatch
from jimbot.games.balatro.rules.content import BIG_BLIND, SMALL_BLIND
from jimbot.games.balatro.rules.inventory import revive_jokers, turn_jokers_up
from jimbot.games.balatro.rules.playing_cards.dealing import draw_cards
from jimbot.games.balatro.rules.state import CARD_DEBUFFED, CARD_DEBUFFED_FOR_GOOD, SELECTING_HAND


@njit
def refresh_card(g, slot):
    """Debuffs or revives one card as the blind has it: after anything about the card has changed."""
    if g.card_flags[slot] & CARD_DEBUFFED_FOR_GOOD or dispatch.debuffs(g, slot):
        g.card_flags[slot] |= CARD_DEBUFFED
    else:
        g.card_flags[slot] &= 0xFF ^ CARD_DEBUFFED


@njit
def refresh_cards(g):
    """Debuffs or revives all owned cards as the blind has it."""
    for index in range(g.card_count):
        refresh_card(g, g.cards[index])


@njit
def is_boss_round(g):
    """Whether the blind being played is the ante's boss."""
    return g.on_deck == 2


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
    g.blind_primed = False
    g.blind_took_hands = 0
    g.blind_took_discards = 0
    g.eye_used = 0
    g.mouth_hand = -1
    dispatch.set_up(g, s)
    refresh_cards(g)
    revive_jokers(g)


@njit
def disable_blind(g):
    """Ends the boss's effect for the rest of the round (Chicot, Luchador, a joker sold under Verdant Leaf)."""
    if g.blind_disabled or not is_boss_round(g):
        return
    size = g.round_hand_size
    dispatch.on_disable(g)
    g.blind_disabled = True
    if g.phase == SELECTING_HAND and g.round_hand_size > size:
        draw_cards(g, g.round_hand_size - size)
    refresh_cards(g)
    revive_jokers(g)


@njit
def lift_blind(g):
    """The round is over: debuffs, hidden jokers and borrowed hand size go with the blind."""
    g.blind = SMALL_BLIND
    g.blind_disabled = False
    g.blind_primed = False
    g.blind_triggered = False
    g.round_hand_size = 0
    turn_jokers_up(g)
    refresh_cards(g)
    revive_jokers(g)
