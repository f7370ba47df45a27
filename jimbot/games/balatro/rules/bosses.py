"""Boss blinds by name, and which cards a boss debuffs.

Bosses read cards without regard to their debuff: a debuffed King is a face card to The Plant.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.content import BLIND_DEBUFF_SUIT, BLINDS, JOKERS, STONE, WILD
from jimbot.games.balatro.rules.inventory import set_joker_debuff
from jimbot.games.balatro.rules.pools import count_active
from jimbot.games.balatro.rules.state import (
    CARD_DEBUFFED,
    CARD_DEBUFFED_FOR_GOOD,
    CARD_PLAYED_THIS_ANTE,
    PERISHABLE,
)

(
    HOOK, HOUSE, WALL, WHEEL, FISH, WATER, MANACLE, PLANT, SERPENT, PILLAR, NEEDLE, TOOTH, MARK, ACORN, LEAF, VESSEL,
    HEART, BELL,
) = (
    BLINDS.id(f"bl_{name}")
    for name in (
        "hook", "house", "wall", "wheel", "fish", "water", "manacle", "plant", "serpent", "pillar", "needle", "tooth",
        "mark", "final_acorn", "final_leaf", "final_vessel", "final_heart", "final_bell",
    )
)  # fmt: skip
_SMEARED, _PAREIDOLIA = JOKERS.id("j_smeared"), JOKERS.id("j_pareidolia")


@njit
def is_active(g, boss):
    """Whether this boss is being played and not disabled."""
    return g.blind == boss and not g.blind_disabled


@njit
def is_boss_round(g):
    """Whether the blind being played is the ante's boss."""
    return g.on_deck == 2


@njit
def is_face_to_boss(g, slot):
    """The face test of bosses."""
    if g.card_enhancement[slot] != STONE and g.card_rank[slot] >= 11 and g.card_rank[slot] <= 13:
        return True
    return count_active(g, _PAREIDOLIA) > 0


@njit
def _is_suit_to_boss(g, slot, suit):
    enhancement = g.card_enhancement[slot]
    if enhancement == STONE:
        return False
    if enhancement == WILD or g.card_suit[slot] == suit:
        return True
    # Suits are Spades, Hearts, Clubs, Diamonds: black ones are even, red ones odd.
    return g.card_suit[slot] % 2 == suit % 2 and count_active(g, _SMEARED) > 0


@njit
def _debuffed_by_blind(g, slot):
    if g.blind_disabled:
        return False
    suit = BLIND_DEBUFF_SUIT[g.blind]
    if suit >= 0:
        return _is_suit_to_boss(g, slot, suit)
    if g.blind == PLANT:
        return is_face_to_boss(g, slot)
    if g.blind == PILLAR:
        return (g.card_flags[slot] & CARD_PLAYED_THIS_ANTE) != 0
    return g.blind == LEAF


@njit
def refresh_card(g, slot):
    """Debuffs or revives one card as the blind has it: after anything about the card has changed."""
    if g.card_flags[slot] & CARD_DEBUFFED_FOR_GOOD or _debuffed_by_blind(g, slot):
        g.card_flags[slot] |= CARD_DEBUFFED
    else:
        g.card_flags[slot] &= 0xFF ^ CARD_DEBUFFED


@njit
def refresh_cards(g):
    """Debuffs or revives all owned cards as the blind has it."""
    for index in range(g.card_count):
        refresh_card(g, g.cards[index])


@njit
def has_expired(g, index):
    """Whether a Perishable joker's rounds are over: nothing revives it."""
    return (g.joker_flags[index] & PERISHABLE) != 0 and g.joker_perish[index] <= 0


@njit
def revive_jokers(g):
    """Lifts every joker's debuff that can be lifted."""
    for index in range(g.joker_count):
        if not has_expired(g, index):
            set_joker_debuff(g, index, False)
