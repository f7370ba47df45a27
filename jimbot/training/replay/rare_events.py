"""Which steps are rare enough to be drawn more often than their error alone would have them.

Every game names its own (`GameEntry.rare_events`). An event multiplies the priority of the step in which it happens.
Most lose their boost once they have been seen often enough: it is the first wins a policy learns from, not the
thousandth. What an event means is read from two observations, the one acted on and the one that came of it, so any
learner that has them can use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.contract import RareEvent, available_games, game_entry
from jimbot.games.spec import GameSpec


def events_of(game: str, boosts: Mapping[str, float] | None = None) -> tuple[RareEvent, ...]:
    """A game's events; `boosts` changes factors by name (1 turns an event off)."""
    hook = game_entry(game).rare_events if game in available_games() else None  # a user's environment has no entry
    known = {event.name: event for event in (hook() if hook else ())}
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
