"""Optimisers and random generators as plain arrays: nothing of torch's or NumPy's own file forms, so no pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from jimbot.errors import CheckpointError

Arrays = dict[str, np.ndarray]


def optimiser_arrays(optimiser: Any) -> Arrays:
    """Every moment of every parameter, as `<parameter number>/<name>`."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}/{name}": torch.as_tensor(value).detach().cpu().numpy().copy()
        for number, entries in state.items()
        for name, value in entries.items()
        if value is not None
    }


def load_optimiser(optimiser: Any, arrays: Arrays) -> None:
    state: dict[int, dict[str, Any]] = {}
    for path, value in arrays.items():
        number, _, name = path.partition("/")
        state.setdefault(int(number), {})[name] = torch.as_tensor(np.array(value))
    groups = optimiser.state_dict()["param_groups"]
    expected = {number for group in groups for number in group["params"]}
    if not set(state) <= expected:
        raise CheckpointError(
            "The checkpoint's optimiser is of another network. Give the settings it was trained with."
        )
    optimiser.load_state_dict({"state": state, "param_groups": groups})


def luck_arrays() -> Arrays:
    """The global generators SB3 draws from: NumPy's and torch's (CPU)."""
    _, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        "numpy_keys": np.asarray(keys),
        "numpy_rest": np.array([position, has_gauss, gauss], np.float64),
        "torch": torch.get_rng_state().numpy().copy(),
    }


def load_luck(arrays: Arrays) -> None:
    position, has_gauss, gauss = arrays["numpy_rest"].tolist()
    np.random.set_state(("MT19937", np.array(arrays["numpy_keys"]), int(position), int(has_gauss), gauss))
    torch.set_rng_state(torch.as_tensor(np.array(arrays["torch"])))
