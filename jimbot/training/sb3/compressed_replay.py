"""DQN's memory in the compressed store: prioritised, n-step, with a boost for rare events, bounded in bytes.

It has the face of the plain ring (`replay.Replay`), so the algorithm knows only that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import psutil
import torch

from jimbot.errors import SettingsError
from jimbot.games.spec import GameSpec
from jimbot.training.replay.lockstep import LockstepWriter
from jimbot.training.replay.rare_events import RareEventWatch
from jimbot.training.replay.steps import Steps
from jimbot.training.replay.store import ReplayStore, annealed
from jimbot.training.sb3.replay import GIGABYTE
from jimbot.training.torch_losses import Remembered


def check_bytes(max_bytes: int) -> None:
    """Refuses a store that does not fit into memory, saying how much there is."""
    free = psutil.virtual_memory().available
    if max_bytes > free:
        raise SettingsError(
            f"A replay of {max_bytes / GIGABYTE:.1f} GB (buffer_gb) does not fit: {free / GIGABYTE:.1f} GB are free. "
            f"Use for instance --buffer-gb {0.5 * free / GIGABYTE:.1f}."
        )


class CompressedReplay:
    """SB3 makes it with its usual arguments and those of `replay_buffer_kwargs`."""

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

    def size(self) -> int:
        """Steps held, of all games together."""
        return self.store.steps + self.writer.waiting * self.writer.games

    @property
    def beta(self) -> float:
        return annealed(self.first_beta, self.store.steps_put, self.beta_steps)

    def sample(self, batch_size: int) -> Remembered:
        """By priority (NumPy's global luck, which SB3 seeds)."""
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
        found = {f"store/{name}": value for name, value in self.store.arrays().items()}
        found |= {f"writer/{name}": value for name, value in self.writer.arrays(rows).items()}
        if self.watch is not None:
            found |= {f"rare/{name}": value for name, value in self.watch.arrays().items()}
        return found

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        def part(prefix: str) -> dict[str, np.ndarray]:
            return {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}

        if not part("store/"):
            raise SettingsError(
                "The checkpoint's replay is a plain one; this run's is compressed. Give the same --replay."
            )
        self.store.load_arrays(part("store/"))
        self.writer.load_arrays(part("writer/"))
        if self.watch is not None:
            self.watch.load_arrays(part("rare/"))
