"""The curriculum by ante: play only so far, and further as soon as that goes well. The rule alone, without any game."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jimbot.errors import SettingsError, SnapshotError, UnknownNameError


@dataclass
class AnteCurriculum:
    """An episode ends, as a success, when `max_ante` is beaten. When enough of the last `window` episodes were
    successes, `max_ante` rises and counting begins anew, so that each level is judged by its own episodes."""

    initial_max_ante: int = 2
    """The ante that is to be beaten first."""
    ante_increment: int = 1
    """How much further it goes each time."""
    success_threshold: float = 0.8
    """Share of successes that is enough."""
    window: int = 100
    """Episodes the share is taken over."""
    final_max_ante: int = 8
    """The ante that wins the game: there the curriculum ends."""
    max_ante: int = field(init=False)
    outcomes: deque[bool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("initial_max_ante", "ante_increment", "window", "final_max_ante"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingsError(f"{name} is {value!r}; expected a whole number of at least 1.")
        if not 0 < self.success_threshold <= 1:
            raise SettingsError(f"success_threshold is {self.success_threshold!r}; expected a share above 0, up to 1.")
        if self.initial_max_ante > self.final_max_ante:
            raise SettingsError(
                f"initial_max_ante is {self.initial_max_ante}, beyond final_max_ante {self.final_max_ante}; "
                "a curriculum can only rise."
            )
        self.max_ante = self.initial_max_ante
        self.outcomes = deque(maxlen=self.window)

    def beaten(self, ante: Any) -> Any:
        """Whether a game in this ante (or each of many) has come as far as the curriculum goes."""
        return ante > self.max_ante

    def played(self, steps: int) -> None:
        """Steps of all games together since the last call; how far one has come is judged by episodes alone."""

    def record(self, success: bool) -> bool:
        """Counts an episode; True if that raised `max_ante`.

        >>> curriculum = AnteCurriculum(window=2)
        >>> [curriculum.record(success) for success in (True, False, True, True)], curriculum.max_ante
        ([False, False, False, True], 3)
        """
        self.outcomes.append(success)
        enough = len(self.outcomes) == self.window and self.success_rate >= self.success_threshold
        if not enough or self.max_ante >= self.final_max_ante:
            return False
        self.max_ante = min(self.max_ante + self.ante_increment, self.final_max_ante)
        self.outcomes.clear()
        return True

    def hear(self, successes: int, failures: int) -> bool:
        """Counts episodes whose order is not known, failures first; True if that raised `max_ante`."""
        raised = [self.record(success) for success in [False] * failures + [True] * successes]
        return any(raised)

    @property
    def success_rate(self) -> float:
        """Share of successes among the episodes of this level that count (0 before the first)."""
        return sum(self.outcomes) / len(self.outcomes) if self.outcomes else 0.0

    def snapshot(self) -> dict[str, np.ndarray]:
        """What exact resume needs."""
        return {"max_ante": np.array(self.max_ante), "outcomes": np.array(self.outcomes, bool)}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        if not {"max_ante", "outcomes"} <= set(snapshot):
            raise SnapshotError("The curriculum's snapshot lacks 'max_ante' or 'outcomes'; it is of something else.")
        self.max_ante = int(snapshot["max_ante"])
        self.outcomes = deque(np.asarray(snapshot["outcomes"]).tolist(), maxlen=self.window)


class Level(AnteCurriculum):
    """How far games go here and now, as decided elsewhere: of many batches of games each has its level, and one
    curriculum for all of them hears what came of it (`take`).

    >>> level = Level(); curriculum = AnteCurriculum(window=2)
    >>> _ = [level.record(success) for success in (True, True)]
    >>> curriculum.hear(*level.take()), curriculum.max_ante, level.take()
    (True, 3, (0, 0))
    """

    def record(self, success: bool) -> bool:
        self.outcomes.append(success)
        return False

    def take(self) -> tuple[int, int]:
        """(successes, failures) since the last call."""
        successes, episodes = sum(self.outcomes), len(self.outcomes)
        self.outcomes.clear()
        return successes, episodes - successes

    def __post_init__(self) -> None:
        super().__post_init__()
        self.outcomes = deque()


DIFFICULTIES = {"easy": 2, "medium": 4, "hard": 8}
"""The ante that is to be beaten at each difficulty."""


class DifficultySchedule(AnteCurriculum):
    """The ante rises by the clock: {steps: difficulty}.

    >>> schedule = DifficultySchedule({0: "easy", 100: "hard"})
    >>> schedule.played(99); before = schedule.max_ante; schedule.played(1); before, schedule.max_ante
    (2, 8)
    """

    def __init__(self, schedule: Mapping[int, str]) -> None:
        for steps, name in schedule.items():
            if name not in DIFFICULTIES:
                raise UnknownNameError("difficulty", str(name), DIFFICULTIES)
            if not isinstance(steps, int) or steps < 0:
                raise SettingsError(f"difficulty_schedule has the step {steps!r}; expected a whole number from 0 on.")
        if 0 not in schedule:
            raise SettingsError("difficulty_schedule does not say how it begins; add an entry for step 0.")
        self.schedule = dict(sorted(schedule.items()))
        self.steps = 0
        super().__init__(initial_max_ante=DIFFICULTIES[self.schedule[0]])

    def played(self, steps: int) -> None:
        self.steps += steps
        self.max_ante = DIFFICULTIES[[name for begin, name in self.schedule.items() if begin <= self.steps][-1]]

    def record(self, success: bool) -> bool:
        self.outcomes.append(success)
        return False

    def snapshot(self) -> dict[str, np.ndarray]:
        return {**super().snapshot(), "steps": np.array(self.steps)}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        super().restore(snapshot)
        self.steps = int(snapshot.get("steps", 0))
        self.played(0)
