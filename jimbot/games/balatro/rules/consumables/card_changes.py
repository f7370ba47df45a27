"""What Tarots and Spectrals have in common: changing chosen hand cards, destroying hand cards, finding a joker.

The regular cards of both kinds are columns of their table: an enhancement, a suit or a seal put on every chosen card.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.bosses.blind import refresh_card
from jimbot.games.balatro.rules.chance.streams import pick
from jimbot.games.balatro.rules.content import CONSUMABLES, ENHANCEMENTS, SEALS, SUITS
from jimbot.games.balatro.rules.inventory import nth_joker
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.playing_cards.cards import remove_card, set_enhancement
from jimbot.games.balatro.rules.playing_cards.piles import is_chosen, take_from_hand


def number_of(key: str, *path: str) -> int:
    """A number out of a consumable's `config`."""
    value = CONSUMABLES.row(key)["config"]
    for part in path:
        value = value[part]
    return int(value)


def _config(row: dict[str, Any], name: str) -> Any:
    return row.get("config", {}).get(name)


# By consumable id: what the regular ones put on the chosen cards; 0 or -1 for the others.
_ENHANCEMENT = CONSUMABLES.column(
    lambda row: ENHANCEMENTS.id(_config(row, "mod_conv")) if str(_config(row, "mod_conv")).startswith("m_") else 0,
    np.int64,
)
_SUIT = CONSUMABLES.column(
    lambda row: SUITS.index(_config(row, "suit_conv")) if _config(row, "suit_conv") else -1, np.int64
)
_SEAL = CONSUMABLES.column(
    lambda row: SEALS.id(_config(row, "extra")) if isinstance(_config(row, "extra"), str) else 0, np.int64
)


@njit
def only_chosen(g, targets):
    """The slot of the first chosen hand card, -1 for none."""
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            return np.int64(g.hand[place])
    return -1


@njit
def change_chosen(g, consumable, targets):
    """Puts the card's enhancement, suit or seal on every chosen card; a boss judges the changed cards at once."""
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            slot = g.hand[place]
            if _ENHANCEMENT[consumable] > 0:
                set_enhancement(g, slot, _ENHANCEMENT[consumable])
            elif _SUIT[consumable] >= 0:
                g.card_suit[slot] = _SUIT[consumable]
            elif _SEAL[consumable] > 0:
                g.card_seal[slot] = _SEAL[consumable]
            refresh_card(g, slot)


@njit
def destroy_listed(g, s, glass_counts):
    """Destroys the hand cards listed in `s.played`; jokers see them all at once, Glass Joker if `glass_counts`."""
    s.destroyed = (1 << s.played_count) - 1
    s.glass_counts = glass_counts
    moments.cards_removed(g, s)
    for place in range(s.played_count):
        take_from_hand(g, s.played[place])
        remove_card(g, s.played[place])


@njit
def has_editionless_joker(g):
    """Whether a held joker has no edition."""
    for index in range(g.joker_count):
        if g.joker_edition[index] == 0:
            return True
    return False


@njit
def pick_editionless_joker(g, stream):
    """The place of a random joker without edition, debuffed or not."""
    wanted = 0
    count = 0
    for index in range(g.joker_count):
        if g.joker_edition[index] == 0:
            wanted |= 1 << index
            count += 1
    return nth_joker(g, pick(g, stream, count), wanted)
