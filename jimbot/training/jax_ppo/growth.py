"""A batch that grows with the noise of its gradients.

Early in a run gradients are large and small batches do; later they drown in noise, and a policy that goes on with small
batches gets worse instead of better. The noise scale (see `gradients`) says which: it is followed over many updates,
because one update measures it poorly. Where it is allowed (`grow_batch`), an update's batch is doubled, by playing
twice as many steps, once it is less than `ENOUGH` of the noise scale. It never shrinks: a size is compiled once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from jimbot.errors import CheckpointError
from jimbot.training.jax_ppo.gradients import NOISE, SIGNAL
from jimbot.training.settings.record import TrainSettings

MEMORY = 20.0  # updates, about: what is older hardly counts
PATIENCE = 20  # updates of a size before it may grow
ENOUGH = 0.5  # of the noise scale


@dataclass
class Growth:
    """What was measured so far and what came of it; a few numbers, which a checkpoint holds."""

    signal: float = 0.0  # running sums, by which old updates fade
    noise: float = 0.0
    factor: int = 1  # by which the batch has grown
    update: int = 0  # at which it came to its size
    step: int = 0  # at which it came to its size

    def add(self, losses: Mapping[str, float]) -> None:
        """What an update measured."""
        keep = 1.0 - 1.0 / MEMORY
        self.signal = keep * self.signal + float(losses[SIGNAL])
        self.noise = keep * self.noise + float(losses[NOISE])

    @property
    def noise_scale(self) -> float | None:
        """Samples at which noise and gradient are as large; None where no gradient can be told from the noise."""
        return max(0.0, self.noise / self.signal) if self.signal > 0 else None

    def due(self, batch: int, update: int, most: int) -> bool:
        """Whether a batch of this size is too small, and may become twice as large."""
        if 2 * self.factor > most or update - self.update < PATIENCE or self.noise <= 0:
            return False
        scale = self.noise_scale
        return scale is None or batch < ENOUGH * scale

    def grow(self, step: int, update: int) -> None:
        self.factor, self.step, self.update = 2 * self.factor, step, update

    def metrics(self) -> dict[str, float]:
        scale = self.noise_scale
        return {"train/batch_growth": float(self.factor)} | (
            {} if scale is None else {"train/gradient_noise_scale": scale}
        )

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in asdict(self).items()}


def growth_from(arrays: Mapping[str, np.ndarray], step: int, update: int) -> Growth:
    """As it was stored; checkpoints from before there was any have only their step and update."""
    if not arrays:
        return Growth(step=step, update=update)
    found = Growth(**{name: type(value)(arrays[name]) for name, value in asdict(Growth()).items()})
    if found.factor < 1 or not np.isfinite([found.signal, found.noise]).all():
        raise CheckpointError(f"The checkpoint says its batch has grown by {found.factor}; expected 1 or more.")
    return found


def grown(settings: TrainSettings, factor: int) -> TrainSettings:
    """The settings of a batch so many times as large: more steps, and minibatches learned in pieces of the old size."""
    if factor == 1:
        return settings
    pieces = factor * settings.memory.gradient_pieces
    return settings.model_copy(update={"num_steps": factor * settings.num_steps, "gradient_pieces": pieces})
