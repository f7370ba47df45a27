"""JimBot: train, evaluate, watch and deploy agents for games with deep rules and huge masked action spaces.

The names most scripts need are here (`jimbot.make`, `jimbot.evaluate` …); each imports its room
when first used, so that `import jimbot` costs nothing.
"""

import importlib
import os
from typing import Any

__version__ = "0.1.0"

# XLA writes banners ("Very slow compile?") into whatever is on the screen. What goes wrong in it is an exception, too.
# Read when jax is first imported; processes we start inherit it.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

_ROOM_OF = {
    "available_games": "jimbot.games",
    "compare": "jimbot.evaluation",
    "create_trainer": "jimbot.training.framework",
    "evaluate": "jimbot.evaluation",
    "load_policy": "jimbot.policies.portable",
    "make": "jimbot.games",
    "make_env": "jimbot.envs",
    "register_game": "jimbot.games",
    "register_learner": "jimbot.training.framework",
}


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(importlib.import_module(_ROOM_OF[name]), name)
    raise AttributeError(f"module 'jimbot' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOM_OF])
