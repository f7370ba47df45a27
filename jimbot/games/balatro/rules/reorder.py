"""Changing the order of jokers, consumables and hand cards."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.state import PINNED


@njit
def swap_jokers(g, a, b):
    """Exchanges two joker places."""
    g.joker_id[a], g.joker_id[b] = g.joker_id[b], g.joker_id[a]
    g.joker_edition[a], g.joker_edition[b] = g.joker_edition[b], g.joker_edition[a]
    g.joker_flags[a], g.joker_flags[b] = g.joker_flags[b], g.joker_flags[a]
    g.joker_perish[a], g.joker_perish[b] = g.joker_perish[b], g.joker_perish[a]
    g.joker_extra_value[a], g.joker_extra_value[b] = g.joker_extra_value[b], g.joker_extra_value[a]
    g.joker_serial[a], g.joker_serial[b] = g.joker_serial[b], g.joker_serial[a]
    g.joker_value[a], g.joker_value[b] = g.joker_value[b], g.joker_value[a]
    g.joker_counter[a], g.joker_counter[b] = g.joker_counter[b], g.joker_counter[a]


@njit
def _swap_consumables(g, a, b):
    g.consumable_id[a], g.consumable_id[b] = g.consumable_id[b], g.consumable_id[a]
    g.consumable_edition[a], g.consumable_edition[b] = g.consumable_edition[b], g.consumable_edition[a]
    g.consumable_extra_value[a], g.consumable_extra_value[b] = g.consumable_extra_value[b], g.consumable_extra_value[a]
    g.consumable_serial[a], g.consumable_serial[b] = g.consumable_serial[b], g.consumable_serial[a]


@njit
def keep_pinned_left(g):
    """A pinned joker (On a Knife's Edge) always lies at the left end."""
    for index in range(1, g.joker_count):
        if g.joker_flags[index] & PINNED:
            place = index
            while place > 0 and not g.joker_flags[place - 1] & PINNED:
                swap_jokers(g, place, place - 1)
                place -= 1


@njit
def move_joker_to(g, source, target):
    """Moves a joker to another place; those between shift by one."""
    step = 1 if target > source else -1
    for place in range(source, target, step):
        swap_jokers(g, place, place + step)
    keep_pinned_left(g)


@njit
def move_consumable_to(g, source, target):
    """Moves a consumable to another place."""
    step = 1 if target > source else -1
    for place in range(source, target, step):
        _swap_consumables(g, place, place + step)


@njit
def move_hand_card_to(g, source, target):
    """Moves a hand card to another position."""
    step = 1 if target > source else -1
    for place in range(source, target, step):
        g.hand[place], g.hand[place + step] = g.hand[place + step], g.hand[place]
