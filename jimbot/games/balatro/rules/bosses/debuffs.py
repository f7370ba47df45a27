"""Debuffs of playing cards: by the boss, or for good by a challenge."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.bosses import dispatch
from jimbot.games.balatro.rules.state import CARD_DEBUFFED, CARD_DEBUFFED_FOR_GOOD


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
