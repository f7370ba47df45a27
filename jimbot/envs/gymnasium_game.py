"""The other way round: any Gymnasium environment as a BatchGame of one row, so that every learner can train on it.

For wrappers and foreign environments only; our own games are batches already, and thousands of times faster.

The mask is what the environment says (`action_masks()`, else `info["action_mask"]`, else everything is legal). Such an
environment cannot be saved in the middle of a game: a snapshot is empty, and `restore` starts a new game.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from jimbot.envs.gymnasium_env import GameEnv
from jimbot.envs.one_game import GAME_SEED
from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec

TRANSPARENT = (OrderEnforcing, PassiveEnvChecker)  # what gymnasium.make puts around everything; changes nothing
OBSERVATION_KEYS = ("observation", "obs")  # of Dict observations that carry the mask beside it


def is_bare(env: gymnasium.Env) -> bool:
    """Whether nothing that could change the game is wrapped around it."""
    while isinstance(env, TRANSPARENT):
        env = env.env
    return env is env.unwrapped


class GymnasiumGame(BatchGame):
    """One environment, stepped as it is."""

    def __init__(self, env: gymnasium.Env, seed: int = 0, checked: bool = False) -> None:
        super().__init__(spec_of(env), 1, seed, checked)
        self.env = env
        self._first = True

    @property
    def is_ours(self) -> bool:
        """Whether a game of JimBot is inside: it can be asked for the exact game of a seed."""
        return isinstance(self.env.unwrapped, GameEnv)

    @property
    def called(self) -> str:
        """What it is, in words: every wrapper and what they are around.

        >>> from gymnasium.wrappers import TransformReward
        >>> GymnasiumGame(TransformReward(GameEnv("probe"), lambda reward: 2 * reward)).called
        "TransformReward around 'probe'"
        """
        env, wrappers = self.env, []
        while isinstance(env, gymnasium.Wrapper):
            wrappers += [] if isinstance(env, TRANSPARENT) else [type(env).__name__]
            env = env.env
        return " around ".join([*wrappers, f"'{self.spec.id}'"])

    def reset(self, seeds: np.ndarray | None = None) -> None:
        seed = int(seeds[0]) % 2**31 if seeds is not None else self.seed % 2**31 if self._first else None
        exact = {} if seeds is None or not self.is_ours else {"options": {GAME_SEED: int(seeds[0])}}
        self._first = False
        observation, info = self.env.reset(seed=seed, **exact)
        for array in (self.reward, self.reward_terms, self.terminated, self.truncated):
            array[:] = 0
        self._show(observation, info)

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.check_actions(actions, hold)
        if hold is not None and hold[0]:
            self.reward[:], self.reward_terms[:] = 0, 0
            self.terminated[:], self.truncated[:] = False, False
            return
        observation, reward, terminated, truncated, info = self.env.step(np.int64(actions[0]))
        self.reward[0] = self.reward_terms[0, 0] = reward
        self.terminated[0], self.truncated[0] = terminated, truncated and not terminated
        if terminated or truncated:
            self.final_observation[0] = flat(observation)
            stats = info.get("stats", {})
            self.final_stats[0] = [stats.get(name, 0.0) for name in self.spec.episode_stats]
            observation, info = self.env.reset()
        self._show(observation, info)

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        return {}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        self.reset()

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        raise UsageError(f"'{self.spec.id}' is a Gymnasium environment; it cannot re-deal what a player may not know.")

    def describe(self, row: int) -> str:
        shown = self.env.render() if self.env.render_mode == "ansi" else None
        return str(shown) if shown is not None else f"a game of {self.spec.id}"

    def close(self) -> None:
        self.env.close()

    def _show(self, observation: Any, info: Mapping[str, Any]) -> None:
        self.observation[0] = flat(observation)
        if self.env.has_wrapper_attr("action_masks"):
            mask = self.env.get_wrapper_attr("action_masks")()
        else:
            mask = info.get("action_mask", True)
        self.legal_mask[0] = np.asarray(mask, bool)
        if not self.legal_mask[0].any():
            raise UsageError(
                f"The mask of '{self.spec.id}' has 0 legal actions of {self.spec.actions.size}; at least one must be "
                "legal while a game goes on. Check the environment's action_masks()."
            )
        self.seeds[0] = int(info.get("seed", 0))


def flat(observation: Any) -> np.ndarray:
    """(D,) float32; of a Dict its observation, without the mask."""
    if isinstance(observation, Mapping):
        observation = observation[next(key for key in OBSERVATION_KEYS if key in observation)]
    return np.asarray(observation, np.float32).reshape(-1)


def spec_of(env: gymnasium.Env) -> GameSpec:
    """Our game's own spec where the tables are unchanged (so its checkpoints fit the game), else one made from the
    spaces. Wrappers may change rewards, so there is one reward term."""
    space: Any = env.observation_space
    if isinstance(space, Dict):
        key = next((key for key in OBSERVATION_KEYS if key in space.spaces), None)
        space = space.spaces[key] if key else space
    if not isinstance(space, Box) or not isinstance(env.action_space, Discrete):
        raise UsageError(
            f"{type(env).__name__} has observations {env.observation_space} and actions {env.action_space}; "
            "JimBot trains on Box observations with Discrete actions. Wrap it accordingly."
        )
    size, actions = int(np.prod(space.shape)), int(env.action_space.n)
    inner = env.unwrapped
    if isinstance(inner, GameEnv):
        spec = inner.game_spec
        if (spec.observation.size, spec.actions.size) == (size, actions) and spec.players == 1:
            return dataclasses.replace(spec, reward_terms=("reward",), shaping=())
    return GameSpec(
        id=env.spec.id if env.spec is not None else type(inner).__name__,
        version=1,
        players=1,
        observation=ObservationSpec((Field("observation", (size,), "as the environment gives it"),)),
        actions=ActionSpec((ActionBlock("action", tuple(f"action {number}" for number in range(actions))),)),
        reward_terms=("reward",),
        episode_stats=(),
        options=_NoOptions,
    )


@dataclasses.dataclass(frozen=True)
class _NoOptions:
    pass
