"""The curriculum by ante: the rule, and the batch of games it holds back."""

from jimbot.training.curriculum.rule import AnteCurriculum, DifficultySchedule, Level

__all__ = ["AnteCurriculum", "DifficultySchedule", "Level"]
