"""Consumables: when a Tarot, Planet or Spectral may be used, and using it.

What a card does is in `tarots.py` and `spectrals.py`; a Planet raises its poker hand. A used card has left its slot
when its effect runs, but its key is not free yet and a Negative one still lends its slot: The Emperor cannot create
itself, and a Negative Emperor finds room for one card in full slots.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.consumables.card_changes import has_editionless_joker, only_chosen
from jimbot.games.balatro.rules.consumables.spectrals import use_spectral
from jimbot.games.balatro.rules.consumables.tarots import FOOL, use_tarot
from jimbot.games.balatro.rules.inventory import has_consumable_room, has_joker_room
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.playing_cards.piles import count_chosen, leaves_out_forced_card
from jimbot.games.balatro.rules.state import PACK, SELECTING_HAND

_CONDITIONS = (
    "always", "select", "select_editionless", "consumable_slot", "joker_slot", "editionless_joker", "any_joker",
    "hand_gt_1",
)  # fmt: skip
(
    _ALWAYS, _SELECT, _SELECT_EDITIONLESS, _CONSUMABLE_SLOT, _JOKER_SLOT, _EDITIONLESS_JOKER, _ANY_JOKER, _HAND,
) = range(len(_CONDITIONS))  # fmt: skip
_CONDITION = content.CONSUMABLES.column(lambda row: _CONDITIONS.index(row["condition"]), np.int64)


@njit
def _targets_fit(g, consumable, targets):
    count = count_chosen(g, targets)
    if count < content.CONSUMABLE_MIN_TARGETS[consumable] or count > content.CONSUMABLE_MAX_TARGETS[consumable]:
        return False
    return not leaves_out_forced_card(g, targets)


@njit
def can_use(g, consumable, targets, held):
    """Whether a consumable may be used on the chosen hand cards; `held`: it lies in a slot of its own.

    Cards without targets need an empty choice.
    """
    condition = _CONDITION[consumable]
    if condition == _SELECT or condition == _SELECT_EDITIONLESS or condition == _HAND:
        if g.phase != SELECTING_HAND and g.phase != PACK:
            return False
        if condition == _HAND:
            return g.hand_count > 1 and targets == 0
        if not _targets_fit(g, consumable, targets):
            return False
        return condition == _SELECT or g.card_edition[only_chosen(g, targets)] == 0
    if targets != 0:
        return False
    if condition == _CONSUMABLE_SLOT:
        if consumable == FOOL and (g.last_tarot_planet < 0 or g.last_tarot_planet == FOOL):
            return False
        return held or has_consumable_room(g)
    if condition == _JOKER_SLOT:
        return has_joker_room(g)
    if condition == _EDITIONLESS_JOKER:
        return has_editionless_joker(g)
    if condition == _ANY_JOKER:
        return g.joker_count > 0 and g.joker_slots > 1
    return True


@njit
def use_effect(g, s, consumable, targets):
    """Runs a consumable's effect and counts its use; the caller has checked `can_use` and taken the card away."""
    if consumable < content.FIRST_PLANET:
        use_tarot(g, s, consumable, targets)
        g.tarots_used += 1
        g.last_tarot_planet = consumable
    elif consumable < content.FIRST_SPECTRAL:
        g.hand_level[content.PLANET_HAND[consumable]] += 1
        g.planets_used |= 1 << (consumable - content.FIRST_PLANET)
        g.last_tarot_planet = consumable
    else:
        use_spectral(g, s, consumable, targets)
    moments.using_consumable(g, s, consumable)
