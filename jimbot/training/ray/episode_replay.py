"""RLlib's replay over the compressed store: episodes go in, windows of one decision come out, as RLlib's own does it.

It derives from RLlib's prioritised buffer because RLlib hands new priorities to nothing else; of what it inherits only
the counters are used. Observations are the dictionaries our games give RLlib's runners: numbers and what is legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics import NUM_ENV_STEPS_STORED
from ray.rllib.utils.replay_buffers import PrioritizedEpisodeReplayBuffer

from jimbot.errors import CheckpointError
from jimbot.games.spec import GameSpec
from jimbot.training.ray import ray  # noqa: F401 - asks for the library in one sentence
from jimbot.training.replay.episodes import EpisodeWriter
from jimbot.training.replay.rare_events import RareEventWatch
from jimbot.training.replay.store import ReplayStore, annealed

OBSERVATION, MASK = "observations", "action_mask"


class CompressedEpisodeReplay(PrioritizedEpisodeReplayBuffer):
    """For `replay_buffer_config={"type": CompressedEpisodeReplay, "spec": …, "max_bytes": …, "capacity": …}`."""

    def __init__(
        self,
        capacity: int = 100_000,
        *,
        spec: GameSpec,
        max_bytes: int,
        alpha: float = 0.6,
        boosts: Mapping[str, float] | None = None,
        beta_steps: int | None = None,
        seed: int = 0,
        **rest: Any,
    ) -> None:
        """`capacity` in steps and `max_bytes` both bound it; `boosts` as `rare_event_boosts`; `alpha` 0 is uniform.
        What `sample` is given as `beta` rises to 1 over `beta_steps`."""
        super().__init__(capacity=2, alpha=alpha)  # its own trees stay empty, so they are made as small as they come
        self.capacity, self.beta_steps = capacity, beta_steps
        self.store = ReplayStore(spec.observation.size, spec.actions.size, max_bytes, capacity, alpha)
        self.writer = EpisodeWriter(self.store)
        self.watch = RareEventWatch(spec, boosts) if alpha > 0 else None
        self.rng = np.random.default_rng(seed)
        self._drawn: np.ndarray | None = None

    def add(self, episodes: Any, weight: float | None = None) -> None:
        """Episodes, or the next pieces of such as are known already; `weight` is ignored: new steps come first."""
        for episode in [episodes] if isinstance(episodes, SingleAgentEpisode) else episodes:
            seen = episode.get_observations()
            observation, legal_mask = _column(seen, OBSERVATION), _column(seen, MASK).astype(bool)
            before, after = observation[:-1], observation[1:]
            boost = self.watch.boost(before, after) if self.watch is not None and len(before) else 1.0
            self.writer.add(
                episode.id_,
                before,
                legal_mask[:-1],
                np.asarray(episode.get_actions()),
                np.asarray(episode.get_rewards()),
                episode.is_terminated,
                episode.is_truncated,
                boost,
            )
        self._num_timesteps = self.store.steps
        self._num_timesteps_added = self.store.steps_put

    def sample(  # ty: ignore[incompatible-method-override] - RLlib's own prioritised buffer returns episodes, too
        self,
        num_items: int | None = None,
        *,
        batch_size_B: int | None = None,  # noqa: N803 - RLlib's name
        n_step: int | tuple[int, int] | None = None,
        beta: float | None = None,
        gamma: float = 0.99,
        **_: Any,
    ) -> list[SingleAgentEpisode]:
        """One episode of one step per window; `n_step` (first, last) draws a length for the whole batch."""
        count = num_items or batch_size_B or self.batch_size_B
        length = int(self.rng.integers(n_step[0], n_step[1] + 1)) if isinstance(n_step, tuple) else n_step or 1
        correction = annealed(beta or 0.0, self.store.steps_put, self.beta_steps)
        drawn = self.store.draw(count, self.rng, length, gamma, correction)
        self._drawn = drawn.index
        self.sampled_timesteps += count
        return [
            SingleAgentEpisode(
                observations=[
                    {OBSERVATION: drawn.observation[i], MASK: drawn.legal_mask[i]},
                    {OBSERVATION: drawn.next_observation[i], MASK: drawn.next_legal_mask[i]},
                ],
                actions=[drawn.action[i]],
                rewards=[drawn.reward[i]],
                terminated=bool(drawn.terminated[i]),
                extra_model_outputs={"weights": [drawn.weight[i]], "n_step": [int(drawn.steps[i])]},
                len_lookback_buffer=0,
            ).to_numpy()
            for i in range(count)
        ]

    def update_priorities(self, priorities: Any, module_id: Any = None) -> None:
        """Of the steps sampled last."""
        if self._drawn is not None and self.store.alpha > 0:
            self.store.update_priorities(self._drawn, np.asarray(priorities).ravel())
        self._drawn = None

    def get_num_episodes(self, module_id: Any = None) -> int:
        return len(self.writer.running)

    def get_num_timesteps(self, module_id: Any = None) -> int:
        return self.store.steps

    def get_metrics(self) -> Any:
        self.metrics.log_value(NUM_ENV_STEPS_STORED, self.store.steps, reduce="mean", window=1)
        self.metrics.log_value("compression_ratio", self.store.ratio, reduce="mean", window=1)
        return self.metrics.reduce()

    def get_state(self) -> dict[str, Any]:
        """Plain arrays and numbers."""
        return {
            "store": self.store.arrays(),
            "running": dict(self.writer.running),
            "rare": self.watch.arrays() if self.watch is not None else {},
            "luck": self.rng.bit_generator.state,
            "sampled": self.sampled_timesteps,
        }

    def set_state(self, state: Any) -> None:
        try:
            self.store.load_arrays(state["store"])
            self.writer.running = {name: int(serial) for name, serial in state["running"].items()}
            if self.watch is not None:
                self.watch.load_arrays(state["rare"])
            self.rng.bit_generator.state = state["luck"]
            self.sampled_timesteps = state["sampled"]
        except KeyError as problem:
            raise CheckpointError(f"The stored replay lacks {problem}; it is of another version.") from problem
        self._num_timesteps, self._num_timesteps_added = self.store.steps, self.store.steps_put


def _column(seen: Any, key: str) -> np.ndarray:
    """One entry of an episode's observations, finished (arrays) or running (a list of dictionaries)."""
    return np.asarray(seen[key]) if isinstance(seen, Mapping) else np.stack([step[key] for step in seen])
