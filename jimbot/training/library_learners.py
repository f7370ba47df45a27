"""The learners that need a library of their own, as they register themselves (entry points in pyproject.toml)."""

from __future__ import annotations

from jimbot.training.learners import Learner

SB3 = Learner("jimbot.training.sb3.trainer:SB3Trainer", "sb3", ("PPO", "A2C", "DQN"), 1)
RAY = Learner("jimbot.training.ray.trainer:RayTrainer", "ray", ("PPO", "DQN", "APPO", "IMPALA", "BC", "MARWIL"), 2)
