"""What RLlib reports, in our names, and whether it learned at all.

A call of RLlib's `train()` that returns is no success: a learner may have died in another process while everything
else goes on. Success is a loss that exists and is a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from ray.rllib.core import DEFAULT_MODULE_ID

# RLlib's names of what its learners report → ours.
LOSSES = {
    "total_loss": "train/loss",
    "policy_loss": "train/pg_loss",
    "mean_pi_loss": "train/pg_loss",
    "vf_loss": "train/value_loss",
    "mean_vf_loss": "train/value_loss",  # IMPALA's vf_loss is a sum
    "entropy": "train/entropy",
    "mean_kl_loss": "train/approx_kl",
    "clip_frac": "train/clip_frac",
    "vf_explained_var": "train/explained_variance",
    "vf_explained_variance": "train/explained_variance",
    "qf_mean": "train/q_value",
    "td_error_mean": "train/td_error",
    "gradients_default_optimizer_global_norm": "train/grad_norm",
}
TIMERS = {"env_runner_sampling_timer": "simulate", "learner_update_timer": "learn"}


def losses_of(result: Mapping[str, Any]) -> dict[str, float]:
    """The losses of one iteration; empty where nothing was learned in it."""
    reported = result.get("learners", {}).get(DEFAULT_MODULE_ID, {})
    found = {ours: _number(reported[theirs]) for theirs, ours in LOSSES.items() if reported.get(theirs) is not None}
    return found if "train/loss" in found else {}


def steps_of(result: Mapping[str, Any], is_online: bool) -> int:
    """Environment steps (BC and MARWIL: recorded decisions) since the algorithm was made, as RLlib counts them."""
    place = result.get("env_runners", {}) if is_online else result
    return int(place.get("num_env_steps_sampled_lifetime", 0))


def seconds_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of the iteration in playing (with acting) and in learning."""
    timers = result.get("timers", {})
    return {ours: _number(timers[theirs]) for theirs, ours in TIMERS.items() if timers.get(theirs) is not None}


def _number(value: Any) -> float:
    return float(np.mean(value)) if np.size(value) else float("nan")
