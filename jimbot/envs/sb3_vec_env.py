"""A BatchGame as a Stable-Baselines3 `VecEnv`: one call steps all games, with no process and no Python loop per game.

The end of a game looks the way SB3 expects it: `terminal_observation` and `TimeLimit.truncated`, an `episode` record as
from SB3's Monitor (so none is needed around it), and beside it the game's own `stats` and the `seed` that was played.
Masks are there under sb3-contrib's name, per row (`env_method("action_masks")`) and at once (`action_masks()`).

The first games after `seed()` and all restarts are of the train bank, whatever number is given: nothing that learns
through this class can see a seed of evaluation. To play chosen seeds, reset `game` itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from jimbot.envs.spaces import observation_space
from jimbot.errors import MissingExtraError, SnapshotError, UsageError
from jimbot.games.contract import BatchGame
from jimbot.games.seeds import train_seeds

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which jimbot.envs.sb3_vec_env needs,", "sb3") from problem

GAME_PREFIX = "game/"  # of the game's own arrays inside a snapshot of the VecEnv


class BatchVecEnv(VecEnv):
    """One SB3 environment per row of `game`. Rows that are not acting have only action 0 legal."""

    def __init__(self, game: BatchGame) -> None:
        self.game = game
        self.returns = np.zeros(game.num_rows)  # (N,) float64, reward of the running games so far
        self.lengths = np.zeros(game.num_rows, np.int64)  # (N,) steps of the running games so far
        self._actions: np.ndarray | None = None
        self._batch_seed: int | None = None
        self._began = time.time()
        super().__init__(game.num_rows, observation_space(game.spec), Discrete(game.spec.actions.size))

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Decides the games of the next `reset`; restarts after that come from the seed the game was made with."""
        self._batch_seed = seed
        self._seeds = [seed] * self.num_envs
        return self._seeds

    def reset(self) -> np.ndarray:
        if self._batch_seed is None:
            self.game.reset()
        else:
            self.game.reset(train_seeds(np.random.default_rng(self._batch_seed), self.game.num_envs))
        self._batch_seed = None
        self._reset_seeds()
        self._reset_options()
        self.returns[:] = 0
        self.lengths[:] = 0
        self.reset_infos = [{"seed": int(seed)} for seed in self.game.seeds]
        return self.game.observation.copy()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        game = self.game
        if self._actions is None:
            raise UsageError("step_wait was called with no step under way. Call step_async(actions) first, or step.")
        actions, self._actions = self._actions, None
        seeds = game.seeds.copy()  # an ended row shows its next game's seed after the step
        game.step(actions)
        self.returns += game.reward
        self.lengths += 1
        dones = game.terminated | game.truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(dones):
            infos[row] = self._ending(row, int(seeds[row]))
        self.returns[dones] = 0
        self.lengths[dones] = 0
        # Copies: SB3 keeps the observation it acted on until after the next step.
        return game.observation.copy(), game.reward.copy(), dones, infos

    def _ending(self, row: int, seed: int) -> dict[str, Any]:
        """What SB3 and its callbacks want to know about a game that just ended."""
        game = self.game
        return {
            "terminal_observation": game.final_observation[row].copy(),
            "TimeLimit.truncated": bool(game.truncated[row]),
            "episode": {
                "r": round(float(self.returns[row]), 6),
                "l": int(self.lengths[row]),
                "t": round(time.time() - self._began, 6),
            },
            "stats": dict(zip(game.spec.episode_stats, game.final_stats[row].tolist(), strict=True)),
            "seed": seed,
        }

    def action_masks(self) -> np.ndarray:
        """(N, A) bool: what is legal in every row now."""
        return self.game.legal_mask.copy()

    def snapshot(self, rows: int | None = None) -> dict[str, np.ndarray]:
        """All that `restore` needs to continue exactly from here: the games and the running episode records. `rows`:
        only of the first so many, for an environment of that size."""
        kept = None if rows is None else np.arange(rows)
        state = {GAME_PREFIX + name: value for name, value in self.game.snapshot(kept).items()}
        return {**state, "returns": self.returns[:rows].copy(), "lengths": self.lengths[:rows].copy()}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> np.ndarray:
        """Continues from a snapshot of the same game; returns the observation to act on."""
        for name in ("returns", "lengths"):
            if name not in snapshot or np.shape(snapshot[name]) != (self.num_envs,):
                raise SnapshotError(
                    f"The snapshot's '{name}' is missing or not of {self.num_envs} rows; "
                    "it was not taken by a BatchVecEnv of this size."
                )
        self.game.restore({
            name.removeprefix(GAME_PREFIX): value for name, value in snapshot.items() if name.startswith(GAME_PREFIX)
        })  # fmt: skip
        self.returns[:] = snapshot["returns"]
        self.lengths[:] = snapshot["lengths"]
        return self.game.observation.copy()

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """`action_masks`, `describe` or `describe_action` of the chosen rows."""
        method = self._row_methods().get(method_name)
        if method is None:
            raise AttributeError(
                f"Rows of BatchVecEnv have no method '{method_name}'; they have {', '.join(self._row_methods())}. "
                "For anything else use the attribute `game`."
            )
        return [method(row, *method_args, **method_kwargs) for row in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """A row method bound to its row, or an attribute of the game, which all rows share."""
        method = self._row_methods().get(attr_name)
        if method is not None:
            return [lambda row=row: method(row) for row in self._get_indices(indices)]
        # No rendering: `jimbot watch` and the Gymnasium environment show games, a batch that learns does not.
        value = None if attr_name == "render_mode" else getattr(self.game, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise UsageError(
            f"Rows of BatchVecEnv share one game, so '{attr_name}' cannot be set for one. Set it on `game`."
        )

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """True for SB3's Monitor alone: episodes are reported just as it would report them."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def close(self) -> None:
        self.game.close()

    def _row_methods(self) -> dict[str, Any]:
        return {
            "action_masks": lambda row: self.game.legal_mask[row].copy(),
            "describe": self.game.describe,
            "describe_action": self.game.describe_action,
        }
