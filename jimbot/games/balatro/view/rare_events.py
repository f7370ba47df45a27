"""What is rare in Balatro and worth remembering: a win, a joker never held before, a hand against a showdown boss."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.encoding.fields import COLUMNS, OBSERVATION
from jimbot.games.balatro.rules.content import BLIND_SHOWDOWN
from jimbot.games.balatro.rules.state import PHASE_NAMES
from jimbot.games.hooks import Found, RareEvent

_OFFSETS = OBSERVATION.offsets
_WON = _OFFSETS["run"] + COLUMNS["run"].index("won")
_AT_HAND = _OFFSETS["phase"] + PHASE_NAMES.index("selecting_hand")
_BLIND = _OFFSETS["blind_id"]
_SHOWDOWN = np.concatenate([[False], BLIND_SHOWDOWN])  # by id in the observation, where 0 is none
_JOKERS = OBSERVATION["joker_id"]
_OWNED = slice(_OFFSETS["joker_id"], _OFFSETS["joker_id"] + _JOKERS.size)


def rare_events() -> tuple[RareEvent, ...]:
    return (
        RareEvent("first_win", 10.0, 1000, 1, _win),
        RareEvent("new_joker", 4.0, 200, _JOKERS.ids, _new_joker),
        RareEvent("showdown_boss", 3.0, None, len(_SHOWDOWN), _showdown_boss),
    )


def _win(before: np.ndarray, after: np.ndarray) -> Found:
    rows = np.flatnonzero((before[:, _WON] <= 0) & (after[:, _WON] > 0))
    return rows, np.zeros(len(rows), np.int64)


def _new_joker(before: np.ndarray, after: np.ndarray) -> Found:
    had, has = before[:, _OWNED].astype(np.int64), after[:, _OWNED].astype(np.int64)
    fresh = (has > 0) & ~(has[:, :, None] == had[:, None, :]).any(axis=2)
    rows, places = np.nonzero(fresh)
    return rows, has[rows, places]


def _showdown_boss(before: np.ndarray, after: np.ndarray) -> Found:
    kind = before[:, _BLIND].astype(np.int64)
    rows = np.flatnonzero((before[:, _AT_HAND] > 0) & _SHOWDOWN[kind])
    return rows, kind[rows]
