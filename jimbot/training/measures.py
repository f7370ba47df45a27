"""From sums over rollouts to the metrics every learner reports, under the same names."""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.spec import GameSpec


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
        if not self._losses:
            return {}
        losses, sums, steps = self._losses, self._sums, self._steps
        metrics = {name: float(np.mean([row[name] for row in losses])) for name in losses[0]}
        metrics["train/mean_reward"] = float(sums["reward"]) / steps
        metrics["train/num_episodes"] = float(sums["episodes"])
        for name, value in zip(self.spec.reward_terms, sums["reward_terms"], strict=True):
            metrics[f"reward/{name}"] = float(value) / steps
        for block, value in zip(self.spec.actions.blocks, sums["blocks"], strict=True):
            metrics[f"actions/{block.name}_frac"] = float(value) / steps
        if episodes := float(sums["episodes"]):
            metrics["train/mean_episode_return"] = float(sums["episode_return"]) / episodes
            metrics["train/mean_episode_length"] = float(sums["episode_length"]) / episodes
            for i, name in enumerate(self.spec.episode_stats):
                best = name.startswith("highest_")
                metrics[f"stats/{name}"] = float(sums["best_stats"][i] if best else sums["stats"][i] / episodes)
        metrics["health/illegal_actions"] = float(self.illegal_actions)
        self._losses, self._sums, self._steps = [], {}, 0
        return metrics
