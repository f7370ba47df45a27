"""Questions for tests, about a made-up moment of the probe game."""

from __future__ import annotations

import numpy as np

from jimbot.adviser.question import Question, question_of
from jimbot.games.contract import game_entry

LABELS = ("door 0 red", "door 0 green", "door 0 blue")


def question(state: str = "the door is open", names: dict[int, str] | None = None, hints: tuple[str, ...] = (),
             seed: int = 0) -> Question:  # fmt: skip
    entry = game_entry("probe")
    legal = np.zeros(entry.spec.actions.size, bool)
    legal[:3] = True
    chances = np.zeros(entry.spec.actions.size, np.float32)
    chances[:3] = 0.5, 0.3, 0.2
    observation = np.full(entry.spec.observation.size, seed, np.float32)
    words = names or {}
    return question_of(entry, observation, legal, chances, 0.5, state, words.get, hints)
