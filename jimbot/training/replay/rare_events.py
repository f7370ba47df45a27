"""Which steps are rare enough to be drawn more often than their error alone would have them, as named data.

An event multiplies the priority of the step in which it happens. Most lose their boost once they have been seen often
enough: it is the first wins a policy learns from, not the thousandth. What an event means is read from two
observations, the one acted on and the one that came of it, so any learner that has them can use the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.spec import GameSpec

Found = tuple[np.ndarray, np.ndarray]
"""(rows (M,), keys (M,)): in which rows it happened, and to what (for instance which joker)."""


@dataclass(frozen=True)
class RareEvent:
    """One kind of rare event of a game."""

    name: str
    boost: float
    """Factor on the priority of the step."""
    first: int | None
    """So many times per key; None: every time."""
    keys: int
    """Keys are below this."""
    find: Callable[[np.ndarray, np.ndarray], Found]
    """(observation before (N, D), after (N, D)) → where it happened."""


def _balatro() -> tuple[RareEvent, ...]:
    from jimbot.games.balatro.encoding.fields import COLUMNS, OBSERVATION
    from jimbot.games.balatro.rules.content import BLIND_SHOWDOWN
    from jimbot.games.balatro.rules.state import PHASE_NAMES

    offsets = OBSERVATION.offsets
    won = offsets["run"] + COLUMNS["run"].index("won")
    at_hand = offsets["phase"] + PHASE_NAMES.index("selecting_hand")
    blind = offsets["blind_id"]
    showdown = np.concatenate([[False], BLIND_SHOWDOWN])
    jokers = OBSERVATION["joker_id"]
    owned = slice(offsets["joker_id"], offsets["joker_id"] + jokers.size)

    def win(before: np.ndarray, after: np.ndarray) -> Found:
        rows = np.flatnonzero((before[:, won] <= 0) & (after[:, won] > 0))
        return rows, np.zeros(len(rows), np.int64)

    def new_joker(before: np.ndarray, after: np.ndarray) -> Found:
        had, has = before[:, owned].astype(np.int64), after[:, owned].astype(np.int64)
        fresh = (has > 0) & ~(has[:, :, None] == had[:, None, :]).any(axis=2)
        rows, places = np.nonzero(fresh)
        return rows, has[rows, places]

    def showdown_boss(before: np.ndarray, after: np.ndarray) -> Found:
        kind = before[:, blind].astype(np.int64)
        rows = np.flatnonzero((before[:, at_hand] > 0) & showdown[kind])
        return rows, kind[rows]

    return (
        RareEvent("first_win", 10.0, 1000, 1, win),
        RareEvent("new_joker", 4.0, 200, jokers.ids, new_joker),
        RareEvent("showdown_boss", 3.0, None, len(showdown), showdown_boss),
    )


RARE_EVENTS: dict[str, Callable[[], tuple[RareEvent, ...]]] = {"balatro": _balatro}
"""The events of each game that has any."""


def events_of(game: str, boosts: Mapping[str, float] | None = None) -> tuple[RareEvent, ...]:
    """A game's events; `boosts` changes factors by name (1 turns an event off)."""
    known = {event.name: event for event in (RARE_EVENTS[game]() if game in RARE_EVENTS else ())}
    for name, boost in (boosts or {}).items():
        if name not in known:
            raise UnknownNameError(f"rare event of game {game}", name, known)
        if not 0 < boost < float("inf"):
            raise SettingsError(f"rare_event_boosts.{name} is {boost}; expected a factor above 0, 1 for none.")
        known[name] = replace(known[name], boost=boost)
    return tuple(known.values())


class RareEventWatch:
    """Counts a game's events and says what each step's priority is to be multiplied by."""

    def __init__(self, spec: GameSpec, boosts: Mapping[str, float] | None = None) -> None:
        self.events = events_of(spec.id, boosts)
        self.seen = {event.name: np.zeros(event.keys, np.int64) for event in self.events}

    def boost(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """(N,) float32 factors of N steps; of several events the largest counts."""
        factor = np.ones(len(before), np.float32)
        for event in self.events:
            rows, keys = event.find(before, after)
            rare = rows if event.first is None else rows[self.seen[event.name][keys] < event.first]
            np.maximum.at(factor, rare, event.boost)
            np.add.at(self.seen[event.name], keys, 1)
        return factor

    def counts(self) -> dict[str, int]:
        """How often each event has happened, by name."""
        return {name: int(seen.sum()) for name, seen in self.seen.items()}

    def arrays(self) -> dict[str, np.ndarray]:
        return dict(self.seen)

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name, seen in self.seen.items():
            if name in arrays and arrays[name].shape == seen.shape:
                seen[:] = arrays[name]
