"""Shuffled minibatches out of a dataset that need not fit into memory.

An epoch goes through the chunks in random order, a few at a time: their rows fill a pool of fixed size, and
minibatches are drawn from the pool at random. A thread reads and mixes ahead while the network learns. Everything
derives from (seed, epoch), so an interrupted epoch continues where it stopped. What is validated on stays in memory:
all decisions of the held-out games, or as many of them, drawn evenly, as fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import DatasetError
from jimbot.training.imitation.dataset import TRUNCATED, Dataset

POOL_BYTES = 96 * 2**20
"""Memory for the observations of the pool, and for those that are validated on."""
LEAST_VARIANCE = 1e-2  # of returns, as the unit of value errors: games that all end alike must not blow them up
PREFETCH = 4  # minibatches made ahead


class Batch(NamedTuple):
    """A minibatch of decisions."""

    observation: Any  # (B, D) float32
    legal_mask: Any  # (B, A) bool
    action: Any  # (B,) int32
    target: Any  # (B,) float32, discounted return
    value_weight: Any  # (B,) float32, 0 where the return is not known to its end (a truncated game), else 1
    weight: Any  # (B,) float32, 0 for rows that only fill up the last batch; else 1, or what the dataset says
    probabilities: Any  # (B, A) float32, or None
    labels: Any = None  # (B, A) bool: one of these was chosen; or None


class Batches:
    """The training and validation halves of a dataset, split by game."""

    def __init__(
        self, dataset: Dataset, reward: np.ndarray, gamma: float, validation: float, seed: int, probabilities: bool
    ) -> None:
        self.dataset = dataset
        self.seed = seed
        self.probabilities = probabilities
        self.target = dataset.discounted_returns(gamma, reward)
        self.value_weight = (dataset.ended[dataset.trajectory] != TRUNCATED).astype(np.float32)
        game = dataset.game_of_row
        finished = np.unique(game[dataset.usable])
        if len(finished) < 2:
            raise DatasetError(
                f"Dataset {dataset.path} holds {len(finished)} finished game; at least 2 are needed, "
                "one of them to validate on. Record more games."
            )
        held_out = min(len(finished) - 1, max(1, round(validation * len(finished))))
        chosen = np.random.default_rng([seed, 0]).permutation(finished)[:held_out]
        is_validation = np.isin(game, chosen)
        self.is_train = dataset.usable & ~is_validation  # (rows,) bool
        self.is_validation = self._thinned(dataset.usable & is_validation)  # (rows,) bool
        self.train_rows, self.validation_rows = int(self.is_train.sum()), int(self.is_validation.sum())
        self._pool: Batch | None = None
        self._validation: Batch | None = None
        known = self.is_train & (self.value_weight > 0)
        self.target_variance = float(max(LEAST_VARIANCE, np.var(self.target[known]))) if known.any() else 1.0

    def train(self, epoch: int, batch_size: int, skip: int = 0) -> Iterator[Batch]:
        """The full minibatches of an epoch, from number `skip` on; what is left over at the end waits for the next."""
        rng = np.random.default_rng([self.seed, 1, epoch])
        order = rng.permutation(len(self.dataset.info.chunks))
        for number, (pool, rows) in enumerate(self._drawn(order, batch_size, rng)):
            if number >= skip:
                yield _take(pool, rows)

    def validate(self, batch_size: int) -> Iterator[Batch]:
        """All that is validated on, in order; the last batch is filled up with rows of weight 0."""
        if self._validation is None:
            self._validation, count = self._empty(self.validation_rows), 0
            for number in range(len(self.dataset.info.chunks)):
                count = self._fill(self._validation, count, number, self.is_validation)
        for start in range(0, self.validation_rows, batch_size):
            index = np.arange(start, start + batch_size)
            inside = index < self.validation_rows
            batch = _take(self._validation, np.where(inside, index, 0))
            yield batch._replace(weight=batch.weight * inside)

    def _drawn(
        self, order: np.ndarray, batch_size: int, rng: np.random.Generator
    ) -> Iterator[tuple[Batch, np.ndarray]]:
        """(pool, its rows that make the next minibatch)."""
        chunks = self.dataset.info.chunks
        wanted = max(batch_size, self._fitting_rows())
        if self._pool is None:
            self._pool = self._empty(min(wanted, sum(chunks)) + max(chunks))
        pool, count = self._pool, 0
        for position, number in enumerate(order.tolist()):
            count = self._fill(pool, count, number, self.is_train)
            if count < wanted and position < len(order) - 1:
                continue
            rows = rng.permutation(count)
            full = count - count % batch_size
            for start in range(0, full, batch_size):
                yield pool, rows[start : start + batch_size]
            rest = rows[full:]
            for values in pool:
                if values is not None:
                    values[: len(rest)] = values[rest]
            count = len(rest)

    def _fill(self, pool: Batch, count: int, number: int, chosen: np.ndarray) -> int:
        """Appends a chunk's `chosen` rows to the pool; returns how many rows it holds then."""
        chunk = self.dataset.chunk(number)
        kept = np.flatnonzero(chosen[chunk.rows])
        rows, place = chunk.rows[kept], slice(count, count + len(kept))
        pool.observation[place] = chunk.observation[kept]
        pool.legal_mask[place] = chunk.legal_mask[kept]
        pool.action[place] = chunk.action[kept]
        pool.target[place] = self.target[rows]
        pool.value_weight[place] = self.value_weight[rows]
        if pool.probabilities is not None and chunk.probabilities is not None:
            pool.probabilities[place] = chunk.probabilities[kept]
        if chunk.weight is not None:
            pool.weight[place] = chunk.weight[kept]
        if pool.labels is not None and chunk.labels is not None:
            pool.labels[place] = chunk.labels[kept]
        return place.stop

    def _empty(self, rows: int) -> Batch:
        spec = self.dataset.spec
        return Batch(
            observation=np.zeros((rows, spec.observation.size), np.float32),
            legal_mask=np.zeros((rows, spec.actions.size), bool),
            action=np.zeros(rows, np.int32),
            target=np.zeros(rows, np.float32),
            value_weight=np.zeros(rows, np.float32),
            weight=np.ones(rows, np.float32),
            probabilities=np.zeros((rows, spec.actions.size), np.float32) if self.probabilities else None,
            labels=np.zeros((rows, spec.actions.size), bool) if self.dataset.info.labels else None,
        )

    def _fitting_rows(self) -> int:
        return POOL_BYTES // (4 * self.dataset.spec.observation.size)

    def _thinned(self, chosen: np.ndarray) -> np.ndarray:
        """As many of the chosen rows, evenly spread, as fit into memory."""
        rows = np.flatnonzero(chosen)
        fitting = max(1, self._fitting_rows())
        kept = np.zeros(len(chosen), bool)
        kept[rows[np.arange(0, len(rows), max(1, -(-len(rows) // fitting)))]] = True
        return kept


def _take(pool: Batch, rows: np.ndarray) -> Batch:
    """A copy of some rows."""
    return Batch(*(None if values is None else values[rows] for values in pool))


def prefetched(batches: Iterator[Batch], count: int = PREFETCH) -> Generator[Batch]:
    """The same batches, made ahead by a thread; an error there is raised here."""

    def read() -> Batch | None:
        return next(batches, None)

    reader = ThreadPoolExecutor(1, "dataset reader")
    ahead = deque(reader.submit(read) for _ in range(count))
    try:
        while (batch := ahead.popleft().result()) is not None:
            ahead.append(reader.submit(read))
            yield batch
    finally:
        reader.shutdown(cancel_futures=True)
