"""Changing the order of jokers, consumables and hand cards, by the player or by Amber Acorn."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.state import PINNED
from jimbot.games.balatro.rules.streams import draw, shuffle, stream_id

_ACORN = stream_id("aajk")


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
def _keep_pinned_left(g):
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
    _keep_pinned_left(g)


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


@njit
def shuffle_jokers(g, s):
    """Amber Acorn: three shuffles. Each starts from the order of age, so only the last one shows."""
    draw(g, _ACORN)
    draw(g, _ACORN)
    order = s.acts_as  # serials for now; nothing else needs this space outside of a phase
    for index in range(g.joker_count):
        serial = g.joker_serial[index]
        place = index
        while place > 0 and order[place - 1] > serial:
            order[place] = order[place - 1]
            place -= 1
        order[place] = serial
    shuffle(g, _ACORN, order, g.joker_count)
    for place in range(g.joker_count):
        index = place
        while g.joker_serial[index] != order[place]:
            index += 1
        if index != place:
            swap_jokers(g, place, index)
    _keep_pinned_left(g)
