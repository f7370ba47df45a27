"""What a caller means by an environment, and whether one is fit to be learned from."""

from jimbot.training.environments.given import training_game, understand

__all__ = ["training_game", "understand"]
