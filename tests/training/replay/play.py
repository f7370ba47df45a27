"""Made-up play whose every number tells which game and step it is from, so that a drawn window can be checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.training.replay.lockstep import LockstepWriter, Steps
from jimbot.training.replay.store import ReplayStore

GAMES, SIZE, ACTIONS = 3, 6, 11


def observation(step: int) -> np.ndarray:
    """(GAMES, SIZE): the step, the game, and numbers that no lossy form would survive."""
    seen = np.zeros((GAMES, SIZE), np.float32)
    seen[:, 0], seen[:, 1] = step, np.arange(GAMES)
    seen[:, 2:] = np.random.default_rng(step).normal(size=(GAMES, SIZE - 2))
    return seen


def legal(step: int) -> np.ndarray:
    mask = np.zeros((GAMES, ACTIONS), bool)
    mask[:, step % ACTIONS] = mask[:, 0] = True
    return mask


def ends(step: int) -> tuple[np.ndarray, np.ndarray]:
    """(terminated, truncated) of every game at a step."""
    draws = np.random.default_rng(10_000 + step).random(GAMES)
    return draws < 0.1, draws > 0.9


def reward(step: int) -> np.ndarray:
    return np.float32(1 + step % 7) * np.ones(GAMES, np.float32)


def filled(steps: int, max_bytes: int = 10**6, start: int = 0, **settings: Any) -> tuple[ReplayStore, LockstepWriter]:
    store = ReplayStore(SIZE, ACTIONS, max_bytes, **{"max_steps": 1000, **settings})
    writer = LockstepWriter(store, GAMES)
    add_steps(writer, start, start + steps)
    return store, writer


def add_steps(writer: LockstepWriter, start: int, stop: int) -> None:
    for step in range(start, stop):
        terminated, truncated = ends(step)
        action = np.full(GAMES, step % ACTIONS)
        writer.add(Steps(observation(step), legal(step), action, reward(step), terminated, truncated))


def expected_window(step: int, game: int, n_step: int, gamma: float, newest: int) -> tuple[float, float, int, bool]:
    """(reward, discount, step at the end, terminated) by the plain rule; `newest` is the last step stored."""
    total, now = 0.0, step
    while now < step + n_step:
        terminated, truncated = (bool(flag[game]) for flag in ends(now))
        if truncated or (now == newest and not terminated):
            break  # what came after is not known
        total += gamma ** (now - step) * float(reward(now)[game])
        if terminated:
            return total, 0.0, step, True
        now += 1
    return total, gamma ** (now - step), now, False
