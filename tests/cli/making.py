"""A checkpoint made by hand that plays `probe` perfectly, so that commands have a known result to show."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jimbot.games.probe import COLOURS, DOORS, SPEC
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.runs import CheckpointStore, Manifest

HORIZON = 8


def perfect_network() -> tuple[dict, dict[str, np.ndarray]]:
    """One hidden layer: units 0–3 copy the colour, unit 4 is the share of the game left."""
    network = describe_network(SPEC, "mlp", hidden_dim=5, num_layers=1)
    colours = len(COLOURS)
    trunk = np.eye(5, dtype=np.float32)
    trunk[4, 4] = -1
    policy = np.zeros((5, SPEC.actions.size), np.float32)
    policy[:colours] = 20 * np.tile(np.eye(colours), (1, DOORS))
    value = np.zeros((5, 1), np.float32)
    value[4] = HORIZON
    params = {
        "trunk_0.weight": trunk,
        "trunk_0.bias": np.array([0, 0, 0, 0, 1], np.float32),
        "policy.weight": policy,
        "policy.bias": np.zeros(SPEC.actions.size, np.float32),
        "value.weight": value,
        "value.bias": np.zeros(1, np.float32),
    }
    return network, params


def save_perfect(run_directory: Path, step: int = 1000, **changes: object) -> Path:
    network, params = perfect_network()
    manifest = Manifest.for_game(SPEC, learner="jax", algorithm="PPO", network=network, step=step)
    manifest = manifest.model_copy(update=changes)
    model = onnx_from_params(network, params, SPEC.observation.size, SPEC.actions.size)
    return CheckpointStore(run_directory / "checkpoints").save(manifest, model, params, {"update": np.array(1)})
