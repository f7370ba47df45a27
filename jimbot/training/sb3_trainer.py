"""The SB3 learner under the name users know; it lives in `sb3/trainer.py`."""

from __future__ import annotations

from jimbot.training.sb3.trainer import SB3Trainer

__all__ = ["SB3Trainer"]
