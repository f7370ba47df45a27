"""What runs are made of, as far as it tells strategies apart: the jokers of late runs, the hands that are played."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.encoding.fields import COLUMNS, FIRST_JOKER_ITEM, OBSERVATION
from jimbot.games.balatro.rules.content import HANDS, JOKERS
from jimbot.games.hooks import Found, Variety

LATE_ANTE = 4
_JOKERS = OBSERVATION["joker_id"]
_OWNED = OBSERVATION.span("joker_id")
_ANTE = OBSERVATION.offsets["run"] + COLUMNS["run"].index("ante")
_LAST_HAND = OBSERVATION.offsets["last_hand"]


def varieties() -> tuple[Variety, ...]:
    return (
        Variety("jokers", f"jokers held from ante {LATE_ANTE} on", _JOKERS.ids, _held, _joker),
        Variety(
            "hands", "poker hands played last", OBSERVATION["last_hand"].ids, _played, lambda key: HANDS.name(key - 1)
        ),
    )


def _joker(key: int) -> str:
    return JOKERS.name(key - FIRST_JOKER_ITEM) if key >= FIRST_JOKER_ITEM else "a joker face down"


def _held(observation: np.ndarray) -> Found:
    late = np.flatnonzero(observation[:, _ANTE] * 8 >= LATE_ANTE - 0.5)
    owned = observation[late, _OWNED].astype(np.int64)
    rows, places = np.nonzero(owned)
    return late[rows], owned[rows, places]


def _played(observation: np.ndarray) -> Found:
    last = observation[:, _LAST_HAND].astype(np.int64)
    rows = np.flatnonzero(last)
    return rows, last[rows]
