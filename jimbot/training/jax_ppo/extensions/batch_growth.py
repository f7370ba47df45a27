"""A batch that grows with the noise of its gradients.

Early in a run gradients are large and small batches do; later they drown in noise, and a policy that goes on with small
batches gets worse instead of better. The noise scale (`ppo.signal_and_noise`) says which: it is followed over many
updates, because one update measures it poorly. Where it may (`batch: growing:16`), an update's batch is doubled, by
playing twice as many steps, once it is less than `ENOUGH` of the noise scale. It never shrinks: a size compiles once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from jimbot.errors import CheckpointError
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import NOISE, SIGNAL
from jimbot.training.jax_ppo.records import Array
from jimbot.training.settings.batch import growth_limit
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer

MEMORY = 20.0  # updates, about: what is older hardly counts
PATIENCE = 20  # updates of a size before it may grow
ENOUGH = 0.5  # of the noise scale


class BatchGrowth(Extension):
    """`batch: growing`. Without it the noise is still measured and logged."""

    name = "growth"

    signal = 0.0  # running sums, by which old updates fade
    noise = 0.0
    factor = 1  # by which the batch has grown
    grown_at = 0  # the update at which it came to its size

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return True

    @property
    def noise_scale(self) -> float | None:
        """Samples at which noise and gradient are as large; None where the gradient is below the noise."""
        return max(0.0, self.noise / self.signal) if self.signal > 0 else None

    def resize(self, settings: TrainSettings) -> TrainSettings:
        """More steps, and minibatches learned in pieces of the old size."""
        if self.factor == 1:
            return settings
        pieces = self.factor * settings.memory.gradient_accumulation
        return settings.model_copy(
            update={"num_steps": self.factor * settings.num_steps, "gradient_accumulation": pieces}
        )

    def updated(self, trainer: JaxPPOTrainer, update: int, losses: Mapping[str, Array]) -> None:
        self.measure(losses)
        batch = trainer.sized().batch_size
        if self.due(batch, update):
            scale = self.noise_scale
            self.factor, self.grown_at = 2 * self.factor, update
            trainer.compile()
            known = "is too large to measure" if scale is None else f"has a scale of {scale:,.0f} samples"
            sentence = f"the noise of gradients {known}: updates of {2 * batch:,} steps instead of {batch:,}"
            trainer.session.view.note(f"step {trainer.step:,}: {sentence}")
            trainer.session.recorder.event(trainer.step, sentence)

    def measure(self, losses: Mapping[str, Array]) -> None:
        """What an update says of the noise of its gradients."""
        keep = 1.0 - 1.0 / MEMORY
        self.signal = keep * self.signal + float(losses[SIGNAL])
        self.noise = keep * self.noise + float(losses[NOISE])

    def due(self, batch: int, update: int) -> bool:
        """Whether a batch of this size is too small, and may become twice as large. Not while a teacher is listened to,
        whose answers are learned best in many small updates."""
        teacher = self.settings.teacher
        if teacher.policy is not None and teacher.coef and update < teacher.updates:
            return False
        if 2 * self.factor > growth_limit(self.settings) or update - self.grown_at < PATIENCE or self.noise <= 0:
            return False
        scale = self.noise_scale
        return scale is None or batch < ENOUGH * scale

    def metrics(self) -> dict[str, float]:
        scale = self.noise_scale
        known = {} if scale is None else {"train/gradient_noise_scale": scale}
        return {"train/batch_growth": float(self.factor), **known}

    def arrays(self, games: int | None) -> dict[str, np.ndarray]:
        kept = {"signal": self.signal, "noise": self.noise, "factor": self.factor, "update": self.grown_at}
        return {name: np.asarray(value) for name, value in kept.items()}

    def restore(self, arrays: Mapping[str, np.ndarray], update: int) -> None:
        """Checkpoints from before there was any growth have none."""
        self.signal, self.noise = (float(arrays.get(name, 0.0)) for name in ("signal", "noise"))
        self.factor, self.grown_at = int(arrays.get("factor", 1)), int(arrays.get("update", update))
        if self.factor < 1 or not np.isfinite([self.signal, self.noise]).all():
            raise CheckpointError(
                f"The checkpoint says its batch is larger by a factor of {self.factor}; expected 1 or more."
            )
