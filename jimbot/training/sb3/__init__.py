"""The parts of the SB3 learner: masked policies and algorithms over the native batch of games.

The libraries are asked for here, before any part is loaded, so that their absence is one sentence.
"""

from __future__ import annotations

from jimbot.errors import MissingExtraError

try:
    import sb3_contrib  # noqa: F401
    import stable_baselines3  # noqa: F401
    import torch
    from stable_baselines3.common.logger import Logger
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which learner sb3 needs,", "sb3") from problem

__all__ = ["Logger", "torch"]
