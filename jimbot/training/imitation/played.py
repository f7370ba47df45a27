"""Datasets from games that others played and published (`jimbot record --from-bus`)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import DatasetError
from jimbot.games.hooks.programs import PlayedGame, PublicReplay
from jimbot.games.spec import GameSpec
from jimbot.training.imitation import dataset

CHUNK_ROWS = 4096


def write_played(
    spec: GameSpec, games: Iterable[PlayedGame], output: Path, *, policy: str, options: Mapping[str, Any] | None = None
) -> dataset.DatasetInfo:
    """Writes all decisions of the games to a dataset, whole or not at all. Each game is one trajectory."""
    began = time.perf_counter()
    info = dataset.DatasetInfo.for_game(spec, game_options=dict(options or {}), players=1, policy=policy, seed=0)
    known: list[PlayedGame] = []
    pending: list[tuple[int, PlayedGame]] = []
    with dataset.writing_dataset(output) as writer:
        for number, game in enumerate(games):
            pending.append((number, game))
            known.append(game._replace(observation=game.observation[:0], legal_mask=game.legal_mask[:0]))
            if sum(len(one.action) for _, one in pending) >= CHUNK_ROWS:
                _flush(writer, pending)
        _flush(writer, pending)
        if not known:
            raise DatasetError(f"No whole game was published; nothing was written to {output}.")
        trajectories = {
            "seed": np.array([game.seed for game in known], np.uint64),
            "return": np.array([game.total_return for game in known], np.float64),
            "length": np.array([len(game.action) for game in known], np.int64),
            "ended": np.array(
                [dataset.TERMINATED if game.terminated else dataset.TRUNCATED for game in known], np.uint8
            ),
            "stats": np.stack([game.stats for game in known]).astype(np.float32),
        }
        info = info.model_copy(
            update={
                "games": len(known),
                "rows": int(trajectories["length"].sum()),
                "trajectories": len(known),
                "truncated": int((trajectories["ended"] == dataset.TRUNCATED).sum()),
                "mean_return": float(trajectories["return"].mean()),
                "mean_length": float(trajectories["length"].mean()),
                "stats": dict(zip(spec.episode_stats, trajectories["stats"].mean(axis=0).tolist(), strict=True)),
                "seconds": time.perf_counter() - began,
            }
        )
        return writer.finish(info, np.concatenate([game.reward for game in known]).astype(np.float32), trajectories)


def _flush(writer: dataset.DatasetWriter, pending: list[tuple[int, PlayedGame]]) -> None:
    if not pending:
        return
    columns = ("observation", "legal_mask", "action")
    chunk = {name: np.concatenate([getattr(game, name) for _, game in pending]) for name in columns}
    chunk["trajectory"] = np.concatenate([np.full(len(game.action), number, np.int32) for number, game in pending])
    writer.add_chunk(chunk)
    pending.clear()


PLAYERS = 2


class Imported(NamedTuple):
    """What came of an import."""

    info: dataset.DatasetInfo
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
    legal_masks = None if masks else dataset.masks_from_observations(spec.id)
    began = time.perf_counter()
    info = dataset.DatasetInfo.for_game(
        spec, game_options=dict(options or {}), players=PLAYERS, policy="replays", seed=0, labels=True
    )
    skipped: Counter[str] = Counter()
    kept: dict[str, list[Any]] = {"return": [], "length": [], "ended": [], "stats": []}
    rewards: list[np.ndarray] = []
    pending: list[dict[str, np.ndarray]] = []
    sure = unexplained = 0
    with dataset.writing_dataset(output, legal_masks) as writer:
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
                kept["ended"].append(dataset.TERMINATED if game.over else dataset.TRUNCATED)
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
                "truncated": int((trajectories["ended"] == dataset.TRUNCATED).sum()) // PLAYERS,
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
