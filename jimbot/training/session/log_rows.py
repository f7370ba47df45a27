"""From sums over rollouts to the metrics every learner reports, under the same names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jimbot.games.contract import BatchGame
from jimbot.games.spec import GameSpec

Array = Any  # np.ndarray or jax.Array


class Measured(NamedTuple):
    """Sums over a rollout from which the metrics are made."""

    reward: Array  # () sum of raw rewards
    reward_terms: Array  # (K,) sums
    decisions: Array  # () actions taken: all rows that were acting
    blocks: Array  # (B,) actions taken per block
    illegal: Array  # () actions outside the mask
    episodes: Array  # () episodes ended
    episode_return: Array  # () sum over ended episodes, raw rewards
    episode_length: Array  # () sum over ended episodes
    stats: Array  # (S,) sums over ended episodes
    best_stats: Array  # (S,) maxima over ended episodes (−inf if none)


class GameTally:
    """Measures a BatchGame that is stepped from Python, without any learning library."""

    def __init__(self, spec: GameSpec, rows: int) -> None:
        self.spec = spec
        self.episode_return = np.zeros(rows, np.float32)  # of each row's running episode
        self.episode_length = np.zeros(rows, np.int32)
        self._clear()

    def step(self, game: BatchGame, actions: np.ndarray, legal: np.ndarray, acting: np.ndarray | None = None) -> None:
        """After a step: what was played (N,), whether the mask had allowed it (N,), which rows acted (None: all)."""
        taken = actions if acting is None else actions[acting]
        ended = game.terminated | game.truncated
        self.episode_return += game.reward_terms.sum(axis=1)
        self.episode_length += 1 if acting is None else acting
        sums = self._sums
        sums["decisions"] += len(taken)
        sums["reward_terms"] += game.reward_terms.sum(axis=0)
        sums["blocks"] += np.bincount(self.spec.actions.block_of[taken], minlength=len(self.spec.actions.blocks))
        sums["illegal"] += int((~legal).sum())
        if not ended.any():
            return
        sums["episodes"] += int(ended.sum())
        sums["episode_return"] += float(self.episode_return[ended].sum())
        sums["episode_length"] += int(self.episode_length[ended].sum())
        sums["stats"] += game.final_stats[ended].sum(axis=0)
        sums["best_stats"] = np.maximum(sums["best_stats"], game.final_stats[ended].max(axis=0))
        self.episode_return[ended] = 0
        self.episode_length[ended] = 0

    def take(self) -> Measured:
        """The sums since the last call."""
        measured = Measured(reward=self._sums["reward_terms"].sum(), **self._sums)
        self._clear()
        return measured

    def _clear(self) -> None:
        stats = len(self.spec.episode_stats)
        self._sums: dict[str, Any] = {
            "reward_terms": np.zeros(len(self.spec.reward_terms)),
            "blocks": np.zeros(len(self.spec.actions.blocks)),
            "stats": np.zeros(stats),
            "best_stats": np.full(stats, -np.inf),
            **dict.fromkeys(("decisions", "illegal", "episodes", "episode_return", "episode_length"), 0),
        }


class Measures:
    """Gathers updates between two log rows.

    `train/…` are means over updates, `reward/<term>` means per step, `actions/<block>_frac` shares of all actions,
    `stats/<name>` means over ended episodes (`highest_…`: the maximum).
    """

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self._losses: list[dict[str, float]] = []
        self._sums: dict[str, Any] = {}
        self._steps = 0
        self.illegal_actions = 0
        """Since the start of the process; must stay 0."""

    def add(self, losses: dict[str, Any], measured: Any, steps: int) -> None:
        """One update: its losses and the `Measured` sums of its rollout."""
        self._losses.append({name: float(value) for name, value in losses.items()})
        self._steps += steps
        for name, value in measured._asdict().items():
            value = np.asarray(value, np.float64)
            if name in self._sums:
                value = np.maximum(self._sums[name], value) if name == "best_stats" else self._sums[name] + value
            self._sums[name] = value
        self.illegal_actions += int(measured.illegal)

    def take(self) -> dict[str, float]:
        """The metrics since the last call. Episode means are left out when no episode ended."""
        metrics = self.look()
        self._losses, self._sums, self._steps = [], {}, 0
        return metrics

    def look(self) -> dict[str, float]:
        """The metrics since the last `take`, which go on being gathered."""
        if not self._losses:
            return {}
        losses, sums, steps = self._losses, self._sums, self._steps
        names = dict.fromkeys(name for row in losses for name in row)  # not every update need have learned
        metrics = {name: float(np.mean([row[name] for row in losses if name in row])) for name in names}
        metrics["train/mean_reward"] = float(sums["reward"]) / steps
        metrics["train/num_episodes"] = float(sums["episodes"])
        metrics["train/num_decisions"] = float(sums["decisions"])
        for name, value in zip(self.spec.reward_terms, sums["reward_terms"], strict=True):
            metrics[f"reward/{name}"] = float(value) / steps
        for block, value in zip(self.spec.actions.blocks, sums["blocks"], strict=True):
            metrics[f"actions/{block.name}_frac"] = float(value) / max(float(sums["decisions"]), 1.0)
        if episodes := float(sums["episodes"]):
            metrics["train/mean_episode_return"] = float(sums["episode_return"]) / episodes
            metrics["train/mean_episode_length"] = float(sums["episode_length"]) / episodes
            for i, name in enumerate(self.spec.episode_stats):
                best = name.startswith("highest_")
                metrics[f"stats/{name}"] = float(sums["best_stats"][i] if best else sums["stats"][i] / episodes)
        metrics["health/illegal_actions"] = float(self.illegal_actions)
        return metrics
