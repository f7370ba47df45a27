"""A bonus for what was seldom met: c/√n for the n-th time something happens to a key (which joker, which boss).

What counts is what the game names worth remembering (`hooks.RareEvent`), so a joker held for the first time pays c, for
the hundredth a tenth of it. The counts are part of the training state: resume is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.games.hooks import RareEvent


class CountBonus:
    """What is paid, and how often everything was met."""

    def __init__(self, events: Sequence[RareEvent], coef: float) -> None:
        self.events, self.coef = tuple(events), coef
        self._counts = [np.zeros(event.keys, np.int64) for event in self.events]
        self.paid = 0.0
        """Of the last rollout, a step on average."""

    @classmethod
    def of(cls, game: str, coef: float) -> CountBonus | None:
        """The bonus of a run; None where none is wanted."""
        if not coef:
            return None
        events = game_entry(game).rare_events
        if events is None:
            raise SettingsError(
                f"count_bonus is {coef}, but game '{game}' names nothing that could be counted. Leave it out."
            )
        return cls(events(), coef)

    def rewards(self, observation: np.ndarray, last: np.ndarray, ended: np.ndarray) -> np.ndarray:
        """(T, N) float32: the bonus of every step of a rollout. `observation` (T, N, D) is what was seen before each
        step, `last` (N, D) after all of them; a step that `ended` (T, N) its game shows the next one's first."""
        bonus = np.zeros(ended.shape, np.float32)
        for turn in range(len(bonus)):
            after = observation[turn + 1] if turn + 1 < len(bonus) else last
            for event, counts in zip(self.events, self._counts, strict=True):
                rows, keys = event.find(observation[turn], after)
                going = ~ended[turn, rows]
                rows, keys = rows[going], keys[going]
                np.add.at(counts, keys, 1)
                np.add.at(bonus[turn], rows, self.coef / np.sqrt(counts[keys]))
        self.paid = float(bonus.mean())
        return bonus

    def arrays(self) -> dict[str, np.ndarray]:
        return {event.name: counts.copy() for event, counts in zip(self.events, self._counts, strict=True)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """What a checkpoint kept; what it does not know was never met."""
        for event, counts in zip(self.events, self._counts, strict=True):
            kept = arrays.get(event.name)
            counts[:] = kept if kept is not None and kept.shape == counts.shape else 0

    def metrics(self) -> dict[str, float]:
        met = {f"explore/{event.name}_met": float((counts > 0).sum())
               for event, counts in zip(self.events, self._counts, strict=True)}  # fmt: skip
        return {"explore/count_bonus": self.paid, **met}
