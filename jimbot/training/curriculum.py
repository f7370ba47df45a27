"""The curriculum: play only so far, and further as soon as that goes well. The rule, and a batch of games under it.

How far a game has come is counted in its milestones (`GameEntry.milestones`): antes in Balatro, stages in HackMatrix.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from jimbot.errors import SettingsError, SnapshotError, UnknownNameError, UsageError
from jimbot.games.contract import BatchGame, Milestones, available_games, game_entry
from jimbot.runs.arrays import put_under, under

LAST_GOAL = 8
"""The milestone that wins the game, where no game says otherwise."""
DIFFICULTIES = {"easy": 0.25, "medium": 0.5, "hard": 1.0}
"""The share of its milestones that is to be beaten at each difficulty."""
_GOAL, _OUTCOMES, _STEPS = "max_ante", "outcomes", "steps"  # in checkpoints, under the names they had first


@dataclass
class Curriculum:
    """An episode ends, as a success, when milestone `goal` is beaten. When enough of the last `window` episodes were
    successes, `goal` rises and counting begins anew, so that each goal is judged by its own episodes."""

    initial_goal: int = 2
    """The milestone that is to be beaten first."""
    goal_increment: int = 1
    """How much further it goes each time."""
    success_threshold: float = 0.8
    """Share of successes that is enough."""
    window: int = 100
    """Episodes the share is taken over."""
    final_goal: int = LAST_GOAL
    """The milestone that wins the game: there the curriculum ends."""
    goal: int = field(init=False)
    outcomes: deque[bool] = field(init=False, repr=False)
    words: ClassVar[Mapping[str, str]] = {}
    """What fields are called in complaints, where not by their own names."""

    def __post_init__(self) -> None:
        for name in ("initial_goal", "goal_increment", "window", "final_goal"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingsError(f"{self._word(name)} is {value!r}; expected a whole number of at least 1.")
        if not 0 < self.success_threshold <= 1:
            raise SettingsError(f"success_threshold is {self.success_threshold!r}; expected a share above 0, up to 1.")
        if self.initial_goal > self.final_goal:
            raise SettingsError(
                f"{self._word('initial_goal')} is {self.initial_goal}, beyond {self._word('final_goal')} "
                f"{self.final_goal}; a curriculum can only rise."
            )
        self.goal = self.initial_goal
        self.outcomes = deque(maxlen=self.window)

    @property
    def max_ante(self) -> int:
        """The goal in Balatro's word."""
        return self.goal

    @max_ante.setter
    def max_ante(self, ante: int) -> None:
        self.goal = ante

    def beaten(self, milestone: Any) -> Any:
        """Whether a game at this milestone (or each of many) has come as far as the curriculum goes."""
        return milestone > self.goal

    def played(self, steps: int) -> None:
        """Steps of all games together since the last call; how far one has come is judged by episodes alone."""

    def record(self, success: bool) -> bool:
        """Counts an episode; True if that raised the goal.

        >>> curriculum = Curriculum(window=2)
        >>> [curriculum.record(success) for success in (True, False, True, True)], curriculum.goal
        ([False, False, False, True], 3)
        """
        self.outcomes.append(success)
        enough = len(self.outcomes) == self.window and self.success_rate >= self.success_threshold
        if not enough or self.goal >= self.final_goal:
            return False
        self.goal = min(self.goal + self.goal_increment, self.final_goal)
        self.outcomes.clear()
        return True

    def hear(self, successes: int, failures: int) -> bool:
        """Counts episodes whose order is not known, failures first; True if that raised the goal."""
        raised = [self.record(success) for success in [False] * failures + [True] * successes]
        return any(raised)

    @property
    def success_rate(self) -> float:
        """Share of successes among the episodes of this goal that count (0 before the first)."""
        return sum(self.outcomes) / len(self.outcomes) if self.outcomes else 0.0

    def snapshot(self) -> dict[str, np.ndarray]:
        """What exact resume needs."""
        return {_GOAL: np.array(self.goal), _OUTCOMES: np.array(self.outcomes, bool)}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        if not {_GOAL, _OUTCOMES} <= set(snapshot):
            raise SnapshotError(f"The curriculum's snapshot lacks '{_GOAL}' or '{_OUTCOMES}'; it is of something else.")
        self.goal = int(snapshot[_GOAL])
        self.outcomes = deque(np.asarray(snapshot[_OUTCOMES]).tolist(), maxlen=self.window)

    def _word(self, name: str) -> str:
        return self.words.get(name, name)


class AnteCurriculum(Curriculum):
    """The curriculum in Balatro's words."""

    words: ClassVar[Mapping[str, str]] = {
        "initial_goal": "initial_max_ante", "goal_increment": "ante_increment", "final_goal": "final_max_ante",
    }  # fmt: skip

    def __init__(
        self,
        initial_max_ante: int = 2,
        ante_increment: int = 1,
        success_threshold: float = 0.8,
        window: int = 100,
        final_max_ante: int = LAST_GOAL,
    ) -> None:
        super().__init__(initial_max_ante, ante_increment, success_threshold, window, final_max_ante)


class Level(Curriculum):
    """How far games go here and now, as decided elsewhere: of many batches of games each has its level, and one
    curriculum for all of them hears what came of it (`take`).

    >>> level = Level(); curriculum = Curriculum(window=2)
    >>> _ = [level.record(success) for success in (True, True)]
    >>> curriculum.hear(*level.take()), curriculum.goal, level.take()
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


class DifficultySchedule(Curriculum):
    """The goal rises by the clock: {steps: difficulty}.

    >>> schedule = DifficultySchedule({0: "easy", 100: "hard"})
    >>> schedule.played(99); before = schedule.goal; schedule.played(1); before, schedule.goal
    (2, 8)
    """

    def __init__(self, schedule: Mapping[int, str], final_goal: int = LAST_GOAL) -> None:
        for steps, name in schedule.items():
            if name not in DIFFICULTIES:
                raise UnknownNameError("difficulty", str(name), DIFFICULTIES)
            if not isinstance(steps, int) or steps < 0:
                raise SettingsError(f"difficulty_schedule has the step {steps!r}; expected a whole number from 0 on.")
        if 0 not in schedule:
            raise SettingsError("difficulty_schedule does not say how it begins; add an entry for step 0.")
        self.schedule = dict(sorted(schedule.items()))
        self.steps = 0
        super().__init__(initial_goal=goal_at(self.schedule[0], final_goal), final_goal=final_goal)

    def played(self, steps: int) -> None:
        self.steps += steps
        now = [name for begin, name in self.schedule.items() if begin <= self.steps][-1]
        self.goal = goal_at(now, self.final_goal)

    def record(self, success: bool) -> bool:
        self.outcomes.append(success)
        return False

    def snapshot(self) -> dict[str, np.ndarray]:
        return {**super().snapshot(), _STEPS: np.array(self.steps)}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        super().restore(snapshot)
        self.steps = int(snapshot.get(_STEPS, 0))
        self.played(0)


def goal_at(difficulty: str, last: int) -> int:
    """The milestone to beat at a difficulty, in a game of so many.

    >>> [goal_at(difficulty, 8) for difficulty in DIFFICULTIES], goal_at("easy", 3)
    ([2, 4, 8], 1)
    """
    return max(1, round(DIFFICULTIES[difficulty] * last))


def curriculum_of(milestones: Milestones | None, schedule: Mapping[int, str] | None = None) -> Curriculum:
    """The curriculum of a game: by the clock where there is a schedule, else by how well it goes, from `easy` on."""
    last = LAST_GOAL if milestones is None else milestones.last
    return DifficultySchedule(schedule, last) if schedule else Curriculum(goal_at("easy", last), final_goal=last)


PREFIX = "curriculum/"  # of the curriculum's arrays inside a snapshot
WON = "won"


class CurriculumGame(BatchGame):
    """Games that are cut off (truncated), as a success, when the curriculum's goal is beaten: what `CurriculumWrapper`
    is for one game, at full speed. The arrays are those of the batch inside. The snapshot holds the curriculum too, so
    a continued run goes on at the goal it had reached."""

    def __init__(self, game: BatchGame, curriculum: Curriculum | None = None) -> None:
        self.game = game
        for name in ("spec", "num_envs", "num_rows", "seed", "checked", *BatchGame.__annotations__):
            setattr(self, name, getattr(game, name, None))
        self.milestones = milestones_of(game)
        self.curriculum = curriculum or curriculum_of(self.milestones)
        stats = game.spec.episode_stats
        self._won = stats.index(WON) if WON in stats else None

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self.game.reset(seeds)

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.game.step(actions, hold)
        self.illegal_actions = self.game.illegal_actions
        self.curriculum.played(self.num_rows if hold is None else int(np.count_nonzero(~np.asarray(hold, bool))))
        ended = self.terminated | self.truncated
        beaten = self.curriculum.beaten(self.milestones.reached(self.game)) & ~ended  # an ended row has begun anew
        if hold is not None:
            beaten &= ~np.asarray(hold, bool)
        if beaten.any():
            self.milestones.cut_off(self.game, np.flatnonzero(beaten))
        for row in np.flatnonzero(ended | beaten):
            self.curriculum.record(bool(beaten[row]) or self._is_won(row))

    def _is_won(self, row: int) -> bool:
        return self._won is not None and bool(self.final_stats[row, self._won])

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """All of it; of chosen rows only the games, as the goal belongs to the whole batch."""
        saved = self.game.snapshot(rows)
        if rows is None:
            saved |= put_under(PREFIX, self.curriculum.snapshot())
        return saved

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        self.game.restore({name: part for name, part in snapshot.items() if not name.startswith(PREFIX)}, rows)
        if rows is None:
            self.curriculum.restore(under(PREFIX, snapshot))

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self.game.redraw_hidden(rows, seeds)

    def describe(self, row: int) -> str:
        return self.game.describe(row)

    def describe_action(self, row: int, action: int) -> str:
        return self.game.describe_action(row, action)

    def health(self) -> dict[str, float]:
        return self.game.health()

    def close(self) -> None:
        self.game.close()


def milestones_of(game: BatchGame) -> Milestones:
    """Where a batch can be stopped; one sentence if nowhere."""
    name = game.spec.id
    milestones = game_entry(name).milestones if name in available_games() else None
    if milestones is None:
        raise UsageError(
            f"A curriculum plays up to a milestone; game '{name}' has no antes, stages or the like "
            "(GameEntry.milestones). Turn it off."
        )
    return milestones
