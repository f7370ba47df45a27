"""The games as the SB3 learner steps them: the native VecEnv, measured, with rewards as the learner should see them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.envs.sb3_vec_env import BatchVecEnv
from jimbot.games.contract import BatchGame
from jimbot.policies.networks import continuous_entries
from jimbot.policies.reward_transform import transform_reward
from jimbot.runs.arrays import put_under, under
from jimbot.training.running_statistics import LIMIT, Moments, no_moments, normalisation, scale, with_values
from jimbot.training.session.log_rows import GameTally


class TrainingGames(BatchVecEnv):
    """`reward_transform` as in TrainSettings; `observe`: keep the statistics that normalisation needs; `remember`:
    rewards go into a replay, and are divided by their spread when they are drawn from it (`reward_scale`)."""

    def __init__(
        self, game: BatchGame, reward_transform: str, gamma: float, observe: bool, remember: bool = False
    ) -> None:
        super().__init__(game)
        self.tally = GameTally(game.spec, game.num_rows)
        self.seconds = 0.0
        """Spent in the games since it was set to 0."""
        self.reward_transform, self.remember = reward_transform, remember
        self.gamma = gamma
        self.entries = continuous_entries(game.spec) if observe else None
        self.observed = no_moments((game.spec.observation.size,))
        self.rewarded = no_moments()
        self.discounted = np.zeros(game.num_rows)  # running discounted return of each row

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        began = time.perf_counter()
        actions = np.asarray(self._actions)
        legal = self.game.legal_mask[np.arange(self.num_envs), actions].copy()
        observation, rewards, dones, infos = super().step_wait()
        self.tally.step(self.game, actions, legal)
        if self.entries is not None:
            self.observed = with_values(self.observed, observation)
        rewards = self._transformed(rewards, dones)
        self.seconds += time.perf_counter() - began
        return observation, rewards, dones, infos

    def saw(self, observation: np.ndarray, reward: np.ndarray) -> None:
        """Counts a whole game that others played, (T, D) and (T,), as if it had been played here."""
        if self.entries is not None:
            self.observed = with_values(self.observed, observation)
        if self.reward_transform == "normalize":
            discounted = np.zeros(len(reward))
            running = 0.0
            for turn, paid in enumerate(reward.tolist()):
                discounted[turn] = running = self.gamma * running + paid
            self.rewarded = with_values(self.rewarded, discounted)

    def normalisation(self) -> dict[str, np.ndarray] | None:
        """Parameters of the network, from what was seen so far; ids and one-hot groups stay as they are."""
        if self.entries is None or self.observed.count == 0:
            return None
        return normalisation(self.observed, self.entries)

    def _transformed(self, rewards: np.ndarray, dones: np.ndarray) -> np.ndarray:
        if self.reward_transform != "normalize":
            return transform_reward(self.reward_transform, rewards)
        self.discounted = self.discounted * self.gamma + rewards
        self.rewarded = with_values(self.rewarded, self.discounted)
        self.discounted[dones] = 0
        if self.remember:
            return rewards
        return np.clip(rewards * scale(self.rewarded), -LIMIT, LIMIT).astype(np.float32)

    @property
    def reward_scale(self) -> float | None:
        """By which rewards from a replay are multiplied; None where they are learned as they were stored."""
        return float(scale(self.rewarded)) if self.remember and self.reward_transform == "normalize" else None

    def arrays(self, rows: int | None = None) -> dict[str, np.ndarray]:
        """Games and statistics, for exact resume; `rows`: only the first so many games."""
        found = put_under("env/", self.snapshot(rows))
        found |= {f"observed/{name}": np.asarray(value) for name, value in self.observed._asdict().items()}
        found |= {f"rewarded/{name}": np.asarray(value) for name, value in self.rewarded._asdict().items()}
        found |= {"tally/return": self.tally.episode_return[:rows], "tally/length": self.tally.episode_length[:rows]}
        return {**found, "discounted": self.discounted[:rows]}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The inverse of `arrays`; returns the observation to act on."""
        observation = self.restore(under("env/", arrays))
        self.observed = Moments(**under("observed/", arrays))
        self.rewarded = Moments(**under("rewarded/", arrays))
        self.tally.episode_return[:] = arrays["tally/return"]
        self.tally.episode_length[:] = arrays["tally/length"]
        self.discounted = np.array(arrays["discounted"])
        return observation
