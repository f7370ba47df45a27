"""Balatro behind the BatchGame contract: preallocated arrays, a few threads, one compiled kernel (`batch_kernel`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from jimbot import machine
from jimbot.errors import SnapshotError, UsageError
from jimbot.games.balatro.compiling.kernels import FEW, announce_compilation, machine_code
from jimbot.games.balatro.encoding import action_table, batch_kernel, rewards
from jimbot.games.balatro.encoding.fields import OBSERVATION, WITH_INSIGHT
from jimbot.games.balatro.options import VERSION, Options
from jimbot.games.balatro.rules import decisions, integrity
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.scratch import SCRATCH_DTYPE, new_scratch
from jimbot.games.balatro.rules.state import GAME_DTYPE, new_games
from jimbot.games.contract import BatchGame
from jimbot.games.spec import GameSpec, ObservationSpec
from jimbot.games.threads import Threads, thread_count


def _observed_with(options: Options) -> ObservationSpec:
    return WITH_INSIGHT if options.insight_bits else OBSERVATION


SPEC = GameSpec(
    id="balatro",
    version=VERSION,
    players=1,
    observation=OBSERVATION,
    actions=action_table.ACTIONS,
    reward_terms=rewards.TERMS,
    shaping=rewards.SHAPING,
    episode_stats=rewards.STATS,
    options=Options,
    ladder="blinds_cleared",
    observed_with=_observed_with,
)
_ROWS_WORTH_A_THREAD = 64
_LAYOUT = hashlib.sha256(repr(GAME_DTYPE.descr).encode()).hexdigest()[:8]


class BalatroGame(BatchGame):
    """N games of Balatro."""

    def __init__(self, num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> None:
        super().__init__(SPEC.under(options), num_envs, seed, checked)
        self.options = options
        self.workers = max(1, min(thread_count(), num_envs // _ROWS_WORTH_A_THREAD))
        self._threads = Threads(self.workers, _ROWS_WORTH_A_THREAD)
        self._started = False
        self._before: np.ndarray | None = None
        text, length = seed_bytes(str(options.seed_text)) if options.seed_text else (np.zeros(8, np.uint8), 0)
        values = {
            "challenge": options.challenge_id,
            "endless": options.endless,
            "helpers": options.helpers,
            "insight": options.insight_bits,
            "step_limit": options.step_limit,
            "look": True,
            "seed_length": length,
            "turns": 0,
        }
        self.arrays = batch_kernel.Arrays(
            settings=np.array([int(values[name]) for name in batch_kernel.SETTINGS], np.int64),
            decks=np.array(options.decks, np.int64),
            stakes=np.array(options.stakes, np.int64),
            seed_text=text,
            weights=np.array(rewards.PRESETS[options.reward], np.float64),
            discount=float(options.discount),
            scratch=np.zeros(self.workers, SCRATCH_DTYPE),
            memory=np.zeros((self.workers, rewards.MEMORY)),
            games=new_games(num_envs),
            streams=np.random.default_rng(seed).integers(0, 2**62, num_envs, dtype=np.int64),
            episodes=np.zeros(num_envs, np.int64),
            seeds=self.seeds,
            points=np.zeros(num_envs),
            actions=np.zeros(num_envs, np.int64),
            hold=np.zeros(num_envs, bool),
            faults=np.zeros(num_envs, np.int64),
            advanced=np.zeros(num_envs, np.int64),
            plan=np.zeros((num_envs, 0), np.int64),
            observation=self.observation,
            legal_mask=self.legal_mask,
            reward=self.reward,
            reward_terms=self.reward_terms,
            terminated=self.terminated,
            truncated=self.truncated,
            final_observation=self.final_observation,
            final_stats=self.final_stats,
        )

    @property
    def games(self) -> np.ndarray:
        """(N,) the records themselves (`state.GAME_DTYPE`), for tools that look inside."""
        return self.arrays.games

    # --- playing ---

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self.arrays.hold[:] = False
        if seeds is None:
            self._work(batch_kernel.RESTART)
        else:
            seeds = np.asarray(seeds, np.uint64)
            if seeds.shape != (self.num_envs,):
                raise UsageError(f"reset got seeds of shape {seeds.shape}; expected ({self.num_envs},), one per game.")
            self.seeds[:] = seeds
            self._work(batch_kernel.START)
        self._started = True

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self._require_started()
        self.check_actions(actions, hold)
        if self.num_envs == 1:  # it may be shown: the last table is gone after the step that ends a game
            self._before = self.arrays.games.copy()
        self.arrays.actions[:] = actions
        self.arrays.hold[:] = False if hold is None else hold
        self._work(batch_kernel.STEP)

    def final_board(self, row: int) -> BatchGame | None:
        if self._before is None:
            return None
        shown = BalatroGame(1, options=self.options)
        shown.games[:] = self._before
        kind, index, targets = action_table.engine_move(shown.games[0], int(self.arrays.actions[0]))
        if kind != action_table.NO_MOVE:  # otherwise it was cut off while choosing cards
            decisions.apply(shown.games[0], new_scratch()[0], int(kind), int(index), np.uint64(targets))
        return shown

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self._require_started()
        chosen = np.asarray(rows)
        self._hold_all_but(chosen)
        drawn = np.zeros(self.num_envs, np.uint64)
        drawn[chosen] = seeds
        self._work(batch_kernel.REDRAW, self.arrays._replace(seeds=drawn))

    def restart(self, rows: np.ndarray) -> None:
        """Gives up the games of these rows and begins their next ones; an end that the rules do not know."""
        self._require_started()
        self._hold_all_but(np.asarray(rows))
        self._work(batch_kernel.RESTART)

    def cut_off(self, rows: np.ndarray) -> None:
        """Right after a step: the games of these rows end here (`truncated`), and the step stays paid."""
        rows = np.asarray(rows)
        reward, reward_terms = self.reward[rows], self.reward_terms[rows]
        self.final_observation[rows] = self.observation[rows]
        for row in rows:
            rewards.write_stats(self.arrays.games[row], self.arrays.points[row], self.final_stats[row])
        self.restart(rows)
        self.reward[rows], self.reward_terms[rows] = reward, reward_terms
        self.truncated[rows] = True

    def look(self, rows: Sequence[int] | None = None) -> None:
        """Writes observation and mask anew, of all games or of some; for tools that wrote `games` themselves."""
        self.arrays.hold[:] = rows is not None
        self.arrays.hold[list(rows or ())] = False
        self._work(batch_kernel.LOOK)
        self._started = True

    def roam(self, turns: int) -> int:
        """Plays so many random legal actions in every game, in one compiled call: for benchmarks and long tests.

        Returns how many of them advanced a game (the others choose cards or reorder). Rewards and endings shown are
        those of the last turn.
        """
        self._require_started()
        self.arrays.hold[:] = False
        self.arrays.advanced[:] = 0
        self.arrays.settings[batch_kernel.TURNS] = turns
        self._work(batch_kernel.ROAM)
        return int(self.arrays.advanced.sum())

    def replay(self, plan: np.ndarray, look: bool = True) -> None:
        """Takes recorded actions, (N, turns), in one compiled call: the rules alone, for benchmarks and long tests.

        The games must stand where they stood when the actions were recorded: whether an action is legal is not looked
        at again. Observation and mask are written once at the end, or with `look=False` not at all.
        """
        self._require_started()
        plan = np.ascontiguousarray(plan, np.int64)
        if plan.ndim != 2 or len(plan) != self.num_envs:
            raise UsageError(f"replay got actions of shape {plan.shape}; expected ({self.num_envs}, turns).")
        self.arrays.hold[:] = False
        self.arrays.settings[batch_kernel.LOOKING] = look
        try:
            self._work(batch_kernel.REPLAY, self.arrays._replace(plan=plan))
        finally:
            self.arrays.settings[batch_kernel.LOOKING] = True

    def close(self) -> None:
        self._threads.close()

    # --- snapshots ---

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        self._require_started()
        index = slice(None) if rows is None else np.asarray(rows)
        return {"game": np.array(self._tag()), **{name: part[index].copy() for name, part in self._parts().items()}}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        tag = str(snapshot.get("game", "nothing known"))
        if tag != self._tag():
            raise SnapshotError(f"The snapshot is of '{tag}'; this game is '{self._tag()}'. Use one of this version.")
        chosen = np.arange(self.num_envs) if rows is None else np.asarray(rows)
        parts = self._parts()
        snapshot = {"points": np.zeros(len(chosen)), **snapshot}  # older ones do not tell: counted from here on
        for name, part in parts.items():
            found = snapshot.get(name)
            if found is None or found.shape != part[chosen].shape or found.dtype != part.dtype:
                raise SnapshotError(f"The snapshot of '{tag}' is damaged or of another size: '{name}' does not fit.")
        self._refuse_faulty(np.ascontiguousarray(snapshot["records"]).view(GAME_DTYPE)[:, 0])
        for name, part in parts.items():
            part[chosen] = snapshot[name]
        self._started = True
        self._hold_all_but(chosen)
        self._work(batch_kernel.LOOK)

    def faults(self) -> list[str]:
        """What is wrong with any of the games, in words; an empty list when all is well."""
        return self._faults_of(self.arrays.games)

    # --- words ---

    def describe(self, row: int) -> str:
        from jimbot.games.balatro.view import describe

        return describe.describe(self.arrays.games[row])

    def describe_action(self, row: int, action: int) -> str:
        from jimbot.games.balatro.view import describe

        return describe.describe_action(self.arrays.games[row], action)

    # --- inner parts ---

    def _work(self, task: int, arrays: batch_kernel.Arrays | None = None) -> None:
        """Does a task for all rows, spread over the threads."""
        arrays = self.arrays if arrays is None else arrays
        work = batch_kernel.work
        if self.num_envs > FEW or not machine.first_frame_first:
            announce_compilation(work, lambda: machine_code(work)(task, arrays, 0, 0, 0))
            work = machine_code(work)
        self._threads.spread(self.num_envs, lambda worker, first, last: work(task, arrays, worker, first, last))

    def _hold_all_but(self, rows: np.ndarray) -> None:
        self.arrays.hold[:] = True
        self.arrays.hold[rows] = False

    def _parts(self) -> dict[str, np.ndarray]:
        """The state of every row as plain arrays."""
        records = self.arrays.games.view(np.uint8).reshape(self.num_envs, GAME_DTYPE.itemsize)
        return {
            "records": records,
            "streams": self.arrays.streams,
            "episodes": self.arrays.episodes,
            "seeds": self.seeds,
            "points": self.arrays.points,
        }

    def _faults_of(self, games: np.ndarray) -> list[str]:
        found = np.zeros(len(games), np.int64)
        batch_kernel.work(batch_kernel.CHECK, self.arrays._replace(games=games, faults=found), 0, 0, len(games))
        return [f"Game {row} {integrity.FAULTS[fault]}" for row, fault in enumerate(found) if fault]

    def _refuse_faulty(self, games: np.ndarray) -> None:
        faults = self._faults_of(games)
        if faults:
            raise SnapshotError(f"The snapshot is damaged: {faults[0].lower()}. Take a new one.")

    def _require_started(self) -> None:
        if not self._started:
            raise UsageError("Game 'balatro' was used before its first reset. Call reset() first.")

    def _tag(self) -> str:
        """What a snapshot belongs to. What is shown of a game is no part of it: snapshots fit whatever that is."""
        options = str(self.options).replace(f", insight={self.options.insight!r}", "")
        return f"{SPEC.id} v{SPEC.version} {_LAYOUT} {options}"
