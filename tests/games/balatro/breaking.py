"""States that somebody broke: junk in the place of one of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

JUNK: tuple[Any, ...] = (None, [], {}, "", "x", -1, 1e400, float("nan"), 2**40, True, [1], {"a": 1}, 1.5, [[]], [None])


def _places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something lies in a state, as keys and numbers from the outside in."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    return [*([above] if above else []), *(place for key, part in inside for place in _places(part, (*above, key)))]


def break_state(state: Any, luck: np.random.Generator) -> None:
    """Puts junk somewhere into a state."""
    *way, last = (choices := _places(state))[luck.integers(len(choices))]
    for key in way:
        state = state[key]
    state[last] = JUNK[luck.integers(len(JUNK))]
