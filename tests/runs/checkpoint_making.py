"""Small checkpoints for the tests of this folder. Imports nothing heavy: killed processes use it, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from jimbot.runs.checkpoint import CheckpointStore, Manifest


def manifest(step: int, **changes: Any) -> Manifest:
    fields: dict[str, Any] = {
        "game": "probe", "game_version": 1, "observation_fingerprint": "o" * 16, "action_fingerprint": "a" * 16,
        "learner": "jax", "algorithm": "PPO", "step": step, "update": step // 256,
        "network": {"kind": "mlp", "hidden": 4}, "config": {"lr": 2.5e-4}, "metrics": {"train/mean_reward": 0.5},
    }  # fmt: skip
    return Manifest(**{**fields, **changes})


def arrays(step: int, size: int = 1000) -> dict[str, np.ndarray]:
    """Arrays whose content tells the step they belong to."""
    return {
        "weights": np.full(size, step, np.float32),
        "['optimiser'].count": np.array(step, np.int32),
        "key": np.array([step, 7], np.uint32),
    }


def save(store: CheckpointStore, step: int, is_best: bool = False, size: int = 1000, **changes: Any) -> Path:
    content = arrays(step, size)
    return store.save(manifest(step, **changes), b"onnx %d" % step, content, content, is_best)
