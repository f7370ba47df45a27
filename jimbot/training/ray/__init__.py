"""The parts of the Ray learner: RLlib's algorithms over the native batch of games, with our networks and masks.

The libraries are asked for here, before any part is loaded, so that their absence is one sentence. Ray reads its
environment variables when it is first imported, so what concerns it is set here.
"""

from __future__ import annotations

import os

from jimbot.errors import MissingExtraError

for _name, _value in {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing about a run leaves the machine
    "RAY_worker_niceness": "0",  # Ray's own 15 starves runners to a standstill on cores that others use, too
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # workers without a GPU keep the variables they were given
    "RAY_DEDUP_LOGS": "1",
}.items():
    os.environ.setdefault(_name, _value)

try:
    import ray
    import ray.rllib
    import torch
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which everything on Ray needs,", "ray") from problem

__all__ = ["ray", "torch"]
