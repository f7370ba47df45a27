"""RLlib callbacks under the name users know; see `ray/callbacks.py`."""

from __future__ import annotations

from jimbot.training.ray.callbacks import JIMBOT, JIMBOT_SUMS, BalatroCallbacks, means_of, measured_of

__all__ = ["JIMBOT", "JIMBOT_SUMS", "BalatroCallbacks", "means_of", "measured_of"]
