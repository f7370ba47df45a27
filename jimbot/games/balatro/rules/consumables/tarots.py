"""What Tarots do. Those that put an enhancement or a suit on chosen cards are rows of the table (`change_chosen`)."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.bosses.blind import refresh_card
from jimbot.games.balatro.rules.chance.create import draw_planet, draw_tarot, guaranteed_edition, make_joker
from jimbot.games.balatro.rules.chance.pools import EMPEROR, HIGH_PRIESTESS, JUDGEMENT
from jimbot.games.balatro.rules.chance.streams import roll, stream_id
from jimbot.games.balatro.rules.consumables.card_changes import (
    change_chosen,
    destroy_listed,
    number_of,
    pick_editionless_joker,
)
from jimbot.games.balatro.rules.content import CONSUMABLES
from jimbot.games.balatro.rules.inventory import give_consumable, has_consumable_room, odds_numerator
from jimbot.games.balatro.rules.playing_cards.cards import COPIED_FLAGS, set_enhancement
from jimbot.games.balatro.rules.playing_cards.piles import is_chosen
from jimbot.games.balatro.rules.shop.prices import joker_sell_value

FOOL = CONSUMABLES.id("c_fool")
_HIGH_PRIESTESS, _EMPEROR, _HERMIT, _WHEEL, _STRENGTH, _HANGED_MAN, _DEATH, _TEMPERANCE, _JUDGEMENT = (
    CONSUMABLES.id(f"c_{name}")
    for name in (
        "high_priestess", "emperor", "hermit", "wheel_of_fortune", "strength", "hanged_man", "death", "temperance",
        "judgement",
    )
)  # fmt: skip
_PRIESTESS_CARDS, _EMPEROR_CARDS = number_of("c_high_priestess", "planets"), number_of("c_emperor", "tarots")
_HERMIT_MOST, _TEMPERANCE_MOST = number_of("c_hermit", "extra"), number_of("c_temperance", "extra")
_WHEEL_ODDS = number_of("c_wheel_of_fortune", "extra")
_WHEEL_STREAM = stream_id("wheel_of_fortune")


# --- on chosen hand cards ---


@njit
def _strength(g, targets):
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            slot = g.hand[place]
            g.card_rank[slot] = 2 if g.card_rank[slot] == 14 else g.card_rank[slot] + 1
            refresh_card(g, slot)


@njit
def _death(g, targets):
    """The left card becomes the right one with all its state; it keeps its age and the suit it was created with."""
    left, right = -1, -1
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            left, right = right, np.int64(g.hand[place])
    g.card_rank[left] = g.card_rank[right]
    g.card_suit[left] = g.card_suit[right]
    set_enhancement(g, left, g.card_enhancement[right])
    g.card_edition[left] = g.card_edition[right]
    g.card_seal[left] = g.card_seal[right]
    g.card_extra_chips[left] = g.card_extra_chips[right]
    g.card_flags[left] = (g.card_flags[left] & (0xFF ^ COPIED_FLAGS)) | (g.card_flags[right] & COPIED_FLAGS)


@njit
def _hanged_man(g, s, targets):
    s.played_count = 0
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            s.played[s.played_count] = g.hand[place]
            s.played_count += 1
    destroy_listed(g, s, True)


# --- jokers, creation and money ---


@njit
def _wheel_of_fortune(g):
    """Odds, joker and edition come from one stream in this order."""
    if roll(g, _WHEEL_STREAM) < odds_numerator(g) / _WHEEL_ODDS:
        index = pick_editionless_joker(g, _WHEEL_STREAM)
        g.joker_edition[index] = guaranteed_edition(g, _WHEEL_STREAM)


@njit
def _fool(g):
    if has_consumable_room(g):
        give_consumable(g, np.int64(g.last_tarot_planet))


@njit
def _create_planets(g):
    for _ in range(_PRIESTESS_CARDS):
        if has_consumable_room(g):
            give_consumable(g, draw_planet(g, HIGH_PRIESTESS))


@njit
def _create_tarots(g):
    for _ in range(_EMPEROR_CARDS):
        if has_consumable_room(g):
            give_consumable(g, draw_tarot(g, EMPEROR))


@njit
def _temperance(g):
    total = 0
    for index in range(g.joker_count):
        total += joker_sell_value(g, index)
    g.money += min(_TEMPERANCE_MOST, total)


@njit
def use_tarot(g, s, consumable, targets):
    """Runs a Tarot's effect."""
    if consumable == FOOL:
        _fool(g)
    elif consumable == _HIGH_PRIESTESS:
        _create_planets(g)
    elif consumable == _EMPEROR:
        _create_tarots(g)
    elif consumable == _HERMIT:
        g.money += max(0, min(g.money, _HERMIT_MOST))
    elif consumable == _WHEEL:
        _wheel_of_fortune(g)
    elif consumable == _STRENGTH:
        _strength(g, targets)
    elif consumable == _HANGED_MAN:
        _hanged_man(g, s, targets)
    elif consumable == _DEATH:
        _death(g, targets)
    elif consumable == _TEMPERANCE:
        _temperance(g)
    elif consumable == _JUDGEMENT:
        make_joker(g, JUDGEMENT, 0)
    else:
        change_chosen(g, consumable, targets)
