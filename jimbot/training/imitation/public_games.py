"""Datasets from replays of other people's games: decisions whose labels are sets, where nobody saw the whole choice.

Each replay is a game of two trajectories, one per side. The only reward is the result, with the last decision.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import DatasetError
from jimbot.games.hooks import PublicReplay
from jimbot.games.spec import GameSpec
from jimbot.training.imitation.dataset import (
    TERMINATED,
    TRUNCATED,
    DatasetInfo,
    masks_from_observations,
    writing_dataset,
)

CHUNK_ROWS = 4096
PLAYERS = 2


class Imported(NamedTuple):
    """What came of an import."""

    info: DatasetInfo
    sure: int
    """Decisions with a single label."""
    unexplained: int
    skipped: Mapping[str, int]
    """Why files were left out → how many."""


def write_replays(
    spec: GameSpec,
    replays: Iterable[tuple[Path, PublicReplay | Exception]],
    output: Path,
    *,
    options: Mapping[str, Any] | None = None,
    masks: bool = True,
    progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    """Writes all decisions of the replays to a dataset, whole or not at all; `masks` as in `record`."""
    legal_masks = None if masks else masks_from_observations(spec.id)
    began = time.perf_counter()
    info = DatasetInfo.for_game(
        spec, game_options=dict(options or {}), players=PLAYERS, policy="replays", seed=0, labels=True
    )
    skipped: Counter[str] = Counter()
    kept: dict[str, list[Any]] = {"return": [], "length": [], "ended": [], "stats": []}
    rewards: list[np.ndarray] = []
    pending: list[dict[str, np.ndarray]] = []
    sure = unexplained = 0
    with writing_dataset(output, legal_masks) as writer:
        for done, (_, game) in enumerate(replays, start=1):
            progress(done)
            if isinstance(game, Exception):
                skipped[str(game)] += 1
                continue
            unexplained += game.unexplained
            for side in game.sides:
                count = len(side.labels)
                reward = np.zeros(count, np.float32)
                reward[-1:] = side.result
                pending.append({
                    "observation": side.observation,
                    "legal_mask": side.legal_mask,
                    "action": side.labels.argmax(axis=1).astype(np.int32),
                    "trajectory": np.full(count, len(kept["return"]), np.int32),
                    "labels": side.labels,
                })  # fmt: skip
                rewards.append(reward)
                sure += int((side.labels.sum(axis=1) == 1).sum())
                kept["return"].append(float(side.result))
                kept["length"].append(count)
                kept["ended"].append(TERMINATED if game.over else TRUNCATED)
                kept["stats"].append(side.stats)
            if sum(len(part["action"]) for part in pending) >= CHUNK_ROWS:
                writer.add_chunk(_joined(pending))
                pending.clear()
        if sum(len(part["action"]) for part in pending):
            writer.add_chunk(_joined(pending))
        rows = sum(kept["length"])
        if rows == 0:
            reason = skipped.most_common(1)[0][0] if skipped else "there is no file"
            raise DatasetError(f"No replay could be used; nothing was written to {output}. The first reason: {reason}")
        trajectories = {
            "seed": np.zeros(len(kept["return"]), np.uint64),
            "return": np.array(kept["return"], np.float64),
            "length": np.array(kept["length"], np.int64),
            "ended": np.array(kept["ended"], np.uint8),
            "stats": np.stack(kept["stats"]).astype(np.float32),
        }
        means = trajectories["stats"].mean(axis=0).tolist()
        info = info.model_copy(
            update={
                "games": len(kept["return"]) // PLAYERS,
                "rows": rows,
                "trajectories": len(kept["return"]),
                "truncated": int((trajectories["ended"] == TRUNCATED).sum()) // PLAYERS,
                "mean_return": float(trajectories["return"].mean()),
                "mean_length": float(trajectories["length"].mean()),
                "stats": dict(zip(spec.episode_stats, means, strict=True)),
                "seconds": time.perf_counter() - began,
            }
        )
        info = writer.finish(info, np.concatenate(rewards), trajectories)
    return Imported(info, sure, unexplained, dict(skipped))


def _joined(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
