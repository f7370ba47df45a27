"""Wrappers around Gymnasium environments: a base that keeps the mask reachable, and the ones training uses.

They serve single environments, ours or anyone's. The fast learners step batches of games and need none of them: a bare
environment of ours is rebuilt natively, a wrapped one is stepped as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from jimbot.envs.gymnasium_env import GameEnv
from jimbot.errors import SettingsError, UnknownNameError, UsageError
from jimbot.games.contract import game_entry
from jimbot.training.curriculum import LAST_GOAL, AnteCurriculum, Curriculum

BALATRO = "balatro"
Step = tuple[Any, float, bool, bool, dict[str, Any]]  # observation, reward, terminated, truncated, info


class EnvironmentWrapper(gymnasium.Wrapper):
    """Base of all wrappers. Override what should differ; the mask passes through.

    `transform_observation` and `transform_reward` see every observation and reward; `step` and `reset` may be
    extended as in any Gymnasium wrapper.
    """

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self.transform_observation(observation, info), info

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return (
            self.transform_observation(observation, info),
            self.transform_reward(float(reward), info),
            terminated,
            truncated,
            info,
        )

    def transform_observation(self, observation: Any, info: dict[str, Any]) -> Any:
        """What the agent sees instead of `observation`."""
        return observation

    def transform_reward(self, reward: float, info: dict[str, Any]) -> float:
        """What the agent gets instead of `reward`."""
        return reward

    def action_masks(self) -> np.ndarray:
        """(A,) bool: what is legal now."""
        return self.env.get_wrapper_attr("action_masks")()


def masks_method(env: gymnasium.Env) -> Callable[[], np.ndarray] | None:
    """`action_masks` of an environment if it has one: a wrapper of ours that only passes it on does not count."""
    while isinstance(env, EnvironmentWrapper) and type(env).action_masks is EnvironmentWrapper.action_masks:
        env = env.env
    return env.get_wrapper_attr("action_masks") if env.has_wrapper_attr("action_masks") else None


class MetricsWrapper(EnvironmentWrapper):
    """A game with its metrics (`GameEntry.info_metrics`) in `info`. When the game is over only those are there that
    its final statistics know: it has begun anew behind the scenes."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self._game = _own_game(env).game
        self._entry = game_entry(self._game.spec.id)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, **self._entry.metrics(self._game)}

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = super().step(action)
        metrics = self._entry.metrics(self._game, info.get("stats"))
        return observation, reward, terminated, truncated, {**info, **metrics}


class BalatroGymWrapper(MetricsWrapper):
    """Balatro with the run's metrics in `info`: ante, round, money, score and requirement of the blind, hands and
    discards left, and whether the run is won. At the end ante, round, money and won come from the final statistics."""

    def __init__(self, env: gymnasium.Env) -> None:
        inner = env.unwrapped
        if not isinstance(inner, GameEnv) or inner.game_spec.id != BALATRO:
            what = f"game '{inner.game_spec.id}'" if isinstance(inner, GameEnv) else type(inner).__name__
            raise UsageError(f"BalatroGymWrapper got {what}; expected Balatro. Make it with make_env('balatro').")
        super().__init__(env)


class CurriculumWrapper(EnvironmentWrapper):
    """Ends an episode when the curriculum's goal is beaten (see `Curriculum`): an ante, a stage, whatever milestones
    the game has. `info` must say how far the game is, under the milestone's name (`MetricsWrapper` does); in any
    other environment it is called `ante`.

    Such an end is `truncated`: the rules would let the game go on, so learners still count on what would follow.
    `info` has `max_ante` (or `max_stage`, …) always, and `success` at the end of every episode.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        initial_max_ante: int = 2,
        ante_increment: int = 1,
        success_threshold: float = 0.8,
        window: int = 100,
        final_max_ante: int = LAST_GOAL,
        *,
        curriculum: Curriculum | None = None,
    ) -> None:
        super().__init__(env)
        in_antes = initial_max_ante, ante_increment, success_threshold, window, final_max_ante
        self.curriculum = curriculum or AnteCurriculum(*in_antes)
        inner = env.unwrapped
        milestones = game_entry(inner.game_spec.id).milestones if isinstance(inner, GameEnv) else None
        self.milestone = "ante" if milestones is None else milestones.name

    @property
    def max_ante(self) -> int:
        return self.curriculum.goal

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        self._reached(info)
        return observation, {**info, f"max_{self.milestone}": self.curriculum.goal}

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, info = super().step(action)
        info = {**info, f"max_{self.milestone}": self.curriculum.goal}
        success = self.curriculum.beaten(self._reached(info)) or bool(info.get("won"))
        if success and not terminated:
            truncated = True
        if terminated or truncated:
            info["success"] = success
            self.curriculum.record(success)
        return observation, reward, terminated, truncated, info

    def _reached(self, info: Mapping[str, Any]) -> int:
        if self.milestone not in info:
            raise UsageError(
                f"CurriculumWrapper found no '{self.milestone}' in info, so it cannot tell how far the game is. "
                "Put MetricsWrapper under it, or use wrap_game_env(env, Curriculum())."
            )
        return int(info[self.milestone])


class RewardScalingWrapper(EnvironmentWrapper):
    """Rewards times `scale`, then cut off at ±`clip`; the game's own is in `info["unscaled_reward"]`."""

    def __init__(self, env: gymnasium.Env, scale: float = 1.0, clip: float | None = None) -> None:
        super().__init__(env)
        if not np.isfinite(scale) or scale <= 0:
            raise SettingsError(f"scale is {scale}; expected a finite number above 0.")
        if clip is not None and not clip > 0:
            raise SettingsError(f"clip is {clip}; expected a number above 0, or None for no limit.")
        self.scale, self.clip = scale, clip

    def transform_reward(self, reward: float, info: dict[str, Any]) -> float:
        info["unscaled_reward"] = reward
        scaled = reward * self.scale
        return scaled if self.clip is None else min(max(scaled, -self.clip), self.clip)


class ActionMaskWrapper(EnvironmentWrapper):
    """The mask as part of the observation: a Dict of `observation` and `action_mask` (int8), as RLlib's and
    PettingZoo's action masking expect it."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        if masks_method(env) is None:
            raise UsageError(
                f"{type(env.unwrapped).__name__} has no action_masks(), so there is no mask to put into the "
                "observation. Give it that method, or leave the wrapper out."
            )
        size = int(env.action_space.n)  # ty: ignore[missing-attribute]
        self.observation_space = Dict({
            "observation": env.observation_space,
            "action_mask": Box(0, 1, (size,), np.int8),
        })  # fmt: skip

    def transform_observation(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        return {"observation": observation, "action_mask": self.action_masks().astype(np.int8)}


def wrap_game_env(env: gymnasium.Env, curriculum: Curriculum | None = None) -> EnvironmentWrapper:
    """A game of ours with its metrics in `info` and, if wanted, a curriculum by its milestones."""
    wrapped = MetricsWrapper(env)
    return wrapped if curriculum is None else CurriculumWrapper(wrapped, curriculum=curriculum)


def wrap_balatro_env(
    env: gymnasium.Env, use_curriculum: bool = False, curriculum_config: Mapping[str, Any] | None = None
) -> EnvironmentWrapper:
    """Balatro with its metrics in `info` and, if wanted, the curriculum by ante (`curriculum_config`: its fields)."""
    wrapped = BalatroGymWrapper(env)
    if not use_curriculum:
        if curriculum_config:
            raise SettingsError("curriculum_config is given but use_curriculum is False. Turn it on, or leave it out.")
        return wrapped
    known = signature(AnteCurriculum).parameters
    for name in curriculum_config or {}:
        if name not in known:
            raise UnknownNameError("field of curriculum_config", name, known)
    return CurriculumWrapper(wrapped, **(curriculum_config or {}))


def _own_game(env: gymnasium.Env) -> GameEnv:
    inner = env.unwrapped
    if not isinstance(inner, GameEnv):
        raise UsageError(f"MetricsWrapper got {type(inner).__name__}; expected a game of JimBot, from make_env.")
    return inner
