"""The curriculum by a game's milestones: the rule, and the batch of games it holds back."""

from jimbot.training.curriculum.rule import AnteCurriculum, Curriculum, DifficultySchedule, Level

__all__ = ["AnteCurriculum", "Curriculum", "DifficultySchedule", "Level"]
