"""What DQN remembers: a ring of steps of all games, with the masks.

Each observation is stored once: what followed a step is the next step of the same game, and so is its mask. Three
kinds of steps have no successor in the ring. After a terminated one nothing counts. A truncated one is never learned
from: the mask of the position it was cut off at is not known. The newest waits for the step after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import psutil
import torch

from jimbot.errors import SettingsError, TrainingError
from jimbot.games.spec import GameSpec
from jimbot.training.replay.steps import Steps
from jimbot.training.torch_losses import Remembered

SCALARS = 8 + 4 + 1 + 1  # bytes of action, reward, terminated, truncated
REDRAWS = 1000
ARRAYS = ("observation", "legal_mask", "action", "reward", "terminated", "truncated")
GIGABYTE = 1e9


def bytes_needed(spec: GameSpec, steps: int) -> int:
    """Memory of a ring of so many steps."""
    return steps * (4 * spec.observation.size + (spec.actions.size + 7) // 8 + SCALARS)


def check_memory(spec: GameSpec, steps: int) -> None:
    """Refuses a ring that does not fit, saying how much it needs."""
    needed, free = bytes_needed(spec, steps), psutil.virtual_memory().available
    if needed > free:
        fitting = int(0.5 * free / bytes_needed(spec, 1))
        raise SettingsError(
            f"buffer_size {steps:,} of game '{spec.id}' needs {needed / GIGABYTE:.1f} GB of memory; "
            f"{free / GIGABYTE:.1f} GB are free. Use for instance --buffer-size {fitting}."
        )


class Replay:
    """The ring. SB3 makes it with its usual arguments; `num_actions` comes from the action space."""

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: Any,
        n_envs: int,
        gamma: float = 0.99,
        **_: Any,
    ) -> None:
        self.device, self.rows, self.gamma = device, n_envs, gamma
        self.capacity = max(2, buffer_size // n_envs)
        self.num_actions = int(action_space.n)
        shape = (self.capacity, n_envs)
        self.observation = np.zeros((*shape, *observation_space.shape), np.float32)
        self.legal_mask = np.zeros((*shape, (self.num_actions + 7) // 8), np.uint8)  # eight actions per byte
        self.action = np.zeros(shape, np.int64)
        self.reward = np.zeros(shape, np.float32)
        self.terminated, self.truncated = np.zeros(shape, bool), np.zeros(shape, bool)
        self.added = 0
        """Steps ever added; the newest lies at (added - 1) % capacity."""

    def add(self, steps: Steps, after: np.ndarray | None = None) -> None:
        """`after` is the next step's observation, which comes by itself."""
        at = self.added % self.capacity
        self.observation[at] = steps.observation
        self.legal_mask[at] = np.packbits(steps.legal_mask, axis=1)
        self.action[at], self.reward[at] = steps.action, steps.reward
        self.terminated[at], self.truncated[at] = steps.terminated, steps.truncated
        self.added += 1

    def size(self) -> int:
        """Steps held, of all games together."""
        return min(self.added, self.capacity) * self.rows

    def sample(self, batch_size: int) -> Remembered:
        """Uniformly among all steps that can be learned from (NumPy's global luck, which SB3 seeds)."""
        if self.added < 2:
            raise TrainingError(
                "DQN has nothing to learn from yet; raise learning_starts to at least 2 steps per game."
            )
        held = min(self.added, self.capacity)
        oldest = self.added - held
        step, row = self._draw(batch_size, held - 1, oldest)
        for _ in range(REDRAWS):
            cut = self.truncated[step, row]
            if not cut.any():
                break
            step[cut], row[cut] = self._draw(int(cut.sum()), held - 1, oldest)
        else:
            raise TrainingError("Nearly every step DQN remembers was truncated; it has nothing to learn from.")
        after = (step + 1) % self.capacity
        arrays = (
            self.observation[step, row],
            self._mask(step, row),
            self.action[step, row],
            self.reward[step, row],
            np.where(self.terminated[step, row], np.float32(0), np.float32(self.gamma)),
            self.observation[after, row],
            self._mask(after, row),
            np.ones(batch_size, np.float32),
        )
        tensors: Any = [torch.as_tensor(array, device=self.device) for array in arrays]
        return Remembered(*tensors)

    def update_priorities(self, index: np.ndarray | None, error: np.ndarray) -> None:
        """Every step stays as likely as any other."""

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in ARRAYS)

    def metrics(self) -> dict[str, float]:
        """For the log."""
        return {"replay/steps": float(self.size()), "replay/megabytes": self.nbytes / 1e6}

    def shrink(self, share: float) -> None:
        """Gives back memory: the newest steps stay."""
        held, old = min(self.added, self.capacity), self.capacity
        self.capacity = max(2, int(share * old))
        kept = np.arange(self.added - min(held, self.capacity), self.added)
        for name in ARRAYS:
            place = getattr(self, name)
            smaller = np.zeros((self.capacity, *place.shape[1:]), place.dtype)
            smaller[kept % self.capacity] = place[kept % old]
            setattr(self, name, smaller)

    def _mask(self, step: np.ndarray, row: np.ndarray) -> np.ndarray:
        return np.unpackbits(self.legal_mask[step, row], axis=1, count=self.num_actions).astype(bool)

    def _draw(self, count: int, steps: int, oldest: int) -> tuple[np.ndarray, np.ndarray]:
        step = (oldest + np.random.randint(steps, size=count)) % self.capacity
        return step, np.random.randint(self.rows, size=count)

    def arrays(self, rows: int | None = None) -> dict[str, np.ndarray]:
        """All that is remembered, for a checkpoint; `rows`: only of the first so many games."""
        held = min(self.added, self.capacity)
        return {**{name: getattr(self, name)[:held, :rows] for name in ARRAYS}, "added": np.array(self.added)}

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        if "added" not in arrays:
            raise SettingsError("The checkpoint's replay is compressed; this run's is plain. Give the same --replay.")
        self.added = int(arrays["added"])
        held = min(self.added, self.capacity)
        for name in ARRAYS:
            place = getattr(self, name)
            if arrays[name].shape != (held, *place.shape[1:]):
                raise SettingsError(
                    f"The checkpoint remembers {arrays[name].shape[:2]} steps and games; this run's buffer holds "
                    f"{place.shape[:2]}. Give the same buffer_size and num_envs."
                )
            place[:held] = arrays[name]
