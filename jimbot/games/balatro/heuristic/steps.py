"""The player's intentions as actions of the flat table: cards to play or discard, and targets to choose."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.encoding.fields import HAND_ROWS
from jimbot.games.balatro.heuristic import sight
from jimbot.games.balatro.rules import decisions

FIRST = action_table.FIRST
PLAY, DISCARD, CHOOSE = FIRST[decisions.PLAY], FIRST[decisions.DISCARD], FIRST[action_table.CHOOSE]
PLAY_CHOSEN, DISCARD_CHOSEN = FIRST[action_table.PLAY_CHOSEN], FIRST[action_table.DISCARD_CHOSEN]
USE, PICK, SKIP_PACK, BUY, BUY_AND_USE = (
    FIRST[kind] for kind in (decisions.USE, decisions.PICK, decisions.SKIP_PACK, decisions.BUY, decisions.BUY_AND_USE)
)
REDEEM, OPEN, REROLL, NEXT = (
    FIRST[kind] for kind in (decisions.REDEEM, decisions.OPEN, decisions.REROLL, decisions.NEXT)
)
SELL_JOKER, SELL_CONSUMABLE, SELECT, SKIP = (
    FIRST[kind] for kind in (decisions.SELL_JOKER, decisions.SELL_CONSUMABLE, decisions.SELECT, decisions.SKIP)
)
REROLL_BOSS, CASH_OUT, SORT = FIRST[decisions.REROLL_BOSS], FIRST[decisions.CASH_OUT], FIRST[decisions.SORT]
GRAB_JOKER, PLACE = FIRST[action_table.GRAB_JOKER], FIRST[action_table.PLACE]
NOTHING = -1

_SUBSET = np.full(1 << action_table.SUBSET_CARDS, -1, np.int64)
for _number, _cards in enumerate(action_table.SUBSETS):
    _SUBSET[sum(1 << _card for _card in _cards)] = _number
_DIRECT = len(_SUBSET)


@njit
def first_legal(m):
    """Any legal action, the first of the table; 0 if the game is over."""
    for action in range(m.shape[0]):
        if m[action]:
            return action
    return 0


@njit
def chosen(o):
    """The hand cards already chosen, as bits."""
    bits = 0
    for card in range(HAND_ROWS):
        if o[sight.CARD_SELECTED + card * sight.CARD_STRIDE] > 0:
            bits |= 1 << card
    return bits


@njit
def towards(o, m, wanted, goal):
    """The next action of choosing exactly the cards `wanted` and then taking `goal`; NOTHING if it cannot be."""
    now = chosen(o)
    if now == wanted:
        return goal if m[goal] else NOTHING
    if now & ~wanted:
        return NOTHING
    for card in range(HAND_ROWS):
        if (wanted & ~now) >> card & 1:
            return CHOOSE + card if m[CHOOSE + card] else NOTHING
    return NOTHING


@njit
def put_down(o, m, wanted, playing):
    """Plays or discards the cards `wanted`: at once, or by choosing them."""
    first, by_choice = (PLAY, PLAY_CHOSEN) if playing else (DISCARD, DISCARD_CHOSEN)
    if wanted < _DIRECT and _SUBSET[wanted] >= 0:
        action = first + _SUBSET[wanted]
        return action if m[action] else NOTHING
    action = towards(o, m, wanted, by_choice)
    if action == NOTHING and chosen(o) != 0 and m[SORT]:  # something else was chosen: let go of it
        return SORT
    return action
