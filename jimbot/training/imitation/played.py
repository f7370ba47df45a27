"""Datasets from games that others played and told of (`jimbot record --from-bus`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import DatasetError
from jimbot.games.hooks import PlayedGame
from jimbot.games.spec import GameSpec
from jimbot.training.imitation.dataset import TERMINATED, TRUNCATED, DatasetInfo, DatasetWriter, writing_dataset

CHUNK_ROWS = 4096


def write_played(
    spec: GameSpec, games: Iterable[PlayedGame], output: Path, *, policy: str, options: Mapping[str, Any] | None = None
) -> DatasetInfo:
    """Writes all decisions of the games to a dataset, whole or not at all. Each game is one trajectory."""
    began = time.perf_counter()
    info = DatasetInfo.for_game(spec, game_options=dict(options or {}), players=1, policy=policy, seed=0)
    known: list[PlayedGame] = []
    pending: list[tuple[int, PlayedGame]] = []
    with writing_dataset(output) as writer:
        for number, game in enumerate(games):
            pending.append((number, game))
            known.append(game._replace(observation=game.observation[:0], legal_mask=game.legal_mask[:0]))
            if sum(len(one.action) for _, one in pending) >= CHUNK_ROWS:
                _flush(writer, pending)
        _flush(writer, pending)
        if not known:
            raise DatasetError(f"No whole game was told of; nothing was written to {output}.")
        trajectories = {
            "seed": np.array([game.seed for game in known], np.uint64),
            "return": np.array([game.total_return for game in known], np.float64),
            "length": np.array([len(game.action) for game in known], np.int64),
            "ended": np.array([TERMINATED if game.terminated else TRUNCATED for game in known], np.uint8),
            "stats": np.stack([game.stats for game in known]).astype(np.float32),
        }
        info = info.model_copy(
            update={
                "games": len(known),
                "rows": int(trajectories["length"].sum()),
                "trajectories": len(known),
                "truncated": int((trajectories["ended"] == TRUNCATED).sum()),
                "mean_return": float(trajectories["return"].mean()),
                "mean_length": float(trajectories["length"].mean()),
                "stats": dict(zip(spec.episode_stats, trajectories["stats"].mean(axis=0).tolist(), strict=True)),
                "seconds": time.perf_counter() - began,
            }
        )
        return writer.finish(info, np.concatenate([game.reward for game in known]).astype(np.float32), trajectories)


def _flush(writer: DatasetWriter, pending: list[tuple[int, PlayedGame]]) -> None:
    if not pending:
        return
    columns = ("observation", "legal_mask", "action")
    chunk = {name: np.concatenate([getattr(game, name) for _, game in pending]) for name in columns}
    chunk["trajectory"] = np.concatenate([np.full(len(game.action), number, np.int32) for number, game in pending])
    writer.add_chunk(chunk)
    pending.clear()
