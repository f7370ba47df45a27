"""What DQN remembers: a plain ring of steps of all games, with the masks, or the compressed store behind the same face.

In the ring each observation is stored once: what followed a step is the next step of the same game, and so is its mask.
Three kinds of steps have no successor in the ring. After a terminated one nothing counts. A truncated one is never
learned from: the mask of the position it was cut off at is not known. The newest waits for the step after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import psutil
import torch

from jimbot.errors import SettingsError, TrainingError
from jimbot.games.hooks.programs import PlayedGame
from jimbot.games.spec import GameSpec
from jimbot.runs.arrays import put_under, under
from jimbot.training.memory import GIGABYTE
from jimbot.training.replay.episodes import EpisodeWriter
from jimbot.training.replay.lockstep import LockstepWriter, Steps
from jimbot.training.replay.rare_events import RareEventWatch
from jimbot.training.replay.store import ReplayStore, annealed
from jimbot.training.torch_losses import Remembered

SCALARS = 8 + 4 + 1 + 1  # bytes of action, reward, terminated, truncated
REDRAWS = 1000
ARRAYS = ("observation", "legal_mask", "action", "reward", "terminated", "truncated")


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
        """Uniformly among all steps that can be learned from (NumPy's global generator, which SB3 seeds)."""
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


def check_bytes(max_bytes: int) -> None:
    """Refuses a store that does not fit into memory, saying how much there is."""
    free = psutil.virtual_memory().available
    if max_bytes > free:
        raise SettingsError(
            f"A replay of {max_bytes / GIGABYTE:.1f} GB (buffer_gb) does not fit: {free / GIGABYTE:.1f} GB are free. "
            f"Use for instance --buffer-gb {0.5 * free / GIGABYTE:.1f}."
        )


class CompressedReplay:
    """Prioritised, n-step, with a boost for rare events, bounded in bytes. SB3 makes it with its usual arguments and
    those of `replay_buffer_kwargs`."""

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: Any,
        n_envs: int,
        *,
        spec: GameSpec,
        max_bytes: int,
        gamma: float,
        n_step: int = 1,
        alpha: float = 0.0,
        beta: float = 0.4,
        beta_steps: int | None = None,
        boosts: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        """`alpha` 0: every step is as likely, rare or not. `beta` rises to 1 over `beta_steps`."""
        check_bytes(max_bytes)
        self.device, self.gamma, self.n_step = device, gamma, n_step
        self.first_beta, self.beta_steps = beta, beta_steps
        self.store = ReplayStore(spec.observation.size, spec.actions.size, max_bytes, buffer_size, alpha)
        self.writer = LockstepWriter(self.store, n_envs)
        self.watch = RareEventWatch(spec, boosts) if alpha > 0 else None

    def add(self, steps: Steps, after: np.ndarray) -> None:
        """`after`: the observation that came of it, also where a game ended."""
        boost = self.watch.boost(steps.observation, after) if self.watch is not None else 1.0
        self.writer.add(steps, boost)

    def add_game(self, game: PlayedGame, reward: np.ndarray) -> None:
        """A whole game that was played elsewhere, with its rewards (T,) as they are to be learned."""
        boost = np.ones(len(game.action), np.float32)
        if self.watch is not None:  # what came of the last step is not told
            boost[:-1] = self.watch.boost(game.observation[:-1], game.observation[1:])
        EpisodeWriter(self.store).add(
            "", game.observation, game.legal_mask, game.action, reward, game.terminated, not game.terminated, boost
        )

    def size(self) -> int:
        """Steps held, of all games together."""
        return self.store.steps + self.writer.waiting * self.writer.games

    @property
    def beta(self) -> float:
        return annealed(self.first_beta, self.store.steps_put, self.beta_steps)

    def sample(self, batch_size: int) -> Remembered:
        """By priority (NumPy's global generator, which SB3 seeds)."""
        drawn = self.store.draw(batch_size, np.random, self.n_step, self.gamma, self.beta)

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.as_tensor(array, device=self.device)

        return Remembered(
            observation=tensor(drawn.observation),
            legal_mask=tensor(drawn.legal_mask),
            action=tensor(drawn.action).long(),
            reward=tensor(drawn.reward),
            discount=tensor(drawn.discount),
            next_observation=tensor(drawn.next_observation),
            next_legal_mask=tensor(drawn.next_legal_mask),
            weight=tensor(drawn.weight),
            index=drawn.index,
        )

    def update_priorities(self, index: np.ndarray | None, error: np.ndarray) -> None:
        if self.store.alpha > 0 and index is not None:
            self.store.update_priorities(index, error)

    @property
    def nbytes(self) -> int:
        return self.store.nbytes + self.writer.nbytes

    def metrics(self) -> dict[str, float]:
        """For the log: how much is held, how well it compresses, how many rare events there were."""
        seen = self.watch.counts() if self.watch is not None else {}
        return {
            "replay/steps": float(self.size()),
            "replay/megabytes": self.nbytes / 1e6,
            "replay/ratio": self.store.ratio,
            **({"replay/beta": self.beta} if self.store.alpha > 0 else {}),
            **{f"replay/{name}_seen": float(count) for name, count in seen.items()},
        }

    def shrink(self, share: float) -> None:
        """Gives back memory: the limit becomes `share` of what it was, the oldest steps go."""
        self.store.resize(int(share * self.store.max_bytes))

    def arrays(self, rows: int | None = None) -> dict[str, np.ndarray]:
        """All that is remembered, for a checkpoint; `rows`: only so many games go on."""
        found = put_under("store/", self.store.arrays()) | put_under("writer/", self.writer.arrays(rows))
        return found | ({} if self.watch is None else put_under("rare/", self.watch.arrays()))

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        if not (stored := under("store/", arrays)):
            raise SettingsError(
                "The checkpoint's replay is a plain one; this run's is compressed. Give the same --replay."
            )
        self.store.load_arrays(stored)
        self.writer.load_arrays(under("writer/", arrays))
        if self.watch is not None:
            self.watch.load_arrays(under("rare/", arrays))
