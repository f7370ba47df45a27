"""Running mean and variance, for normalising observations and rewards; plain arrays, so a checkpoint can hold them."""

from __future__ import annotations

import numpy as np

SMALL = 1e-8
LIMIT = 10.0  # normalised numbers are cut off here


class Moments:
    """Mean and variance of everything added so far, per entry."""

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.mean = np.zeros(shape, np.float64)
        self.variance = np.ones(shape, np.float64)
        self.count = 0.0

    def add(self, values: np.ndarray) -> None:
        """A batch (N, *shape); merged by the exact formula for two groups."""
        many = len(values)
        mean, variance = values.mean(axis=0, dtype=np.float64), values.var(axis=0, dtype=np.float64)
        if self.count == 0:
            self.mean, self.variance, self.count = mean, variance, float(many)
            return
        total = self.count + many
        gap = mean - self.mean
        self.variance = (self.count * self.variance + many * variance + gap**2 * self.count * many / total) / total
        self.mean = self.mean + gap * many / total
        self.count = total

    @property
    def scale(self) -> np.ndarray:
        """What to multiply by for a spread of 1; entries that never changed are left alone."""
        return np.where(self.variance > SMALL, 1 / np.sqrt(self.variance + SMALL), 1.0)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"mean": self.mean, "variance": self.variance, "count": np.array(self.count)}

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        self.mean, self.variance = np.array(arrays["mean"]), np.array(arrays["variance"])
        self.count = float(arrays["count"])
