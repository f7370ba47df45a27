"""Shuffled minibatches out of a dataset that need not fit into memory.

An epoch goes through the chunks in random order, a few at a time: their rows form a pool, and minibatches are drawn
from the pool at random. A thread reads and mixes ahead while the network learns. Everything derives from (seed,
epoch), so an interrupted epoch continues where it stopped.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import DatasetError
from jimbot.training.imitation.dataset import TRUNCATED, Dataset

POOL_BYTES = 96 * 2**20
"""Memory of one pool of observations (two may exist at a time)."""
PREFETCH = 4  # minibatches made ahead


class Batch(NamedTuple):
    """A minibatch of decisions."""

    observation: Any  # (B, D) float32
    legal_mask: Any  # (B, A) bool
    action: Any  # (B,) int32
    target: Any  # (B,) float32, discounted return
    value_weight: Any  # (B,) float32, 0 where the return is not known to its end (a truncated game), else 1
    weight: Any  # (B,) float32, 0 for rows that only fill up the last batch
    probabilities: Any  # (B, A) float32, or None


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
        self.is_validation = np.isin(game, chosen)  # (rows,) bool
        self.train_rows = int((dataset.usable & ~self.is_validation).sum())
        self.validation_rows = int((dataset.usable & self.is_validation).sum())
        known = dataset.usable & ~self.is_validation & (self.value_weight > 0)
        self.target_variance = float(max(1e-6, np.var(self.target[known]))) if known.any() else 1.0

    def train(self, epoch: int, batch_size: int, skip: int = 0) -> Iterator[Batch]:
        """The full minibatches of an epoch, from number `skip` on; what is left over at the end waits for the next."""
        luck = np.random.default_rng([self.seed, 1, epoch])
        made = 0
        for pool in self._pools(luck.permutation(len(self.dataset.info.chunks)), False, batch_size, luck):
            for start in range(0, len(pool.action) - batch_size + 1, batch_size):
                if made >= skip:
                    yield Batch(*(None if values is None else values[start : start + batch_size] for values in pool))
                made += 1

    def validate(self, batch_size: int) -> Iterator[Batch]:
        """All validation rows in order; the last batch is filled up with rows of weight 0."""
        for pool in self._pools(np.arange(len(self.dataset.info.chunks)), True, batch_size, None):
            for start in range(0, len(pool.action), batch_size):
                index = np.arange(start, start + batch_size)
                inside = index < len(pool.action)
                part = Batch(*(None if values is None else values[np.where(inside, index, 0)] for values in pool))
                yield part._replace(weight=part.weight * inside)

    def _pools(
        self, order: np.ndarray, validation: bool, batch_size: int, luck: np.random.Generator | None
    ) -> Iterator[Batch]:
        """Chunks gathered to pools of about POOL_BYTES, rows mixed by `luck`; a training pool's remainder is carried
        into the next one, so that at most the last minibatch of an epoch is short."""
        pool_rows = max(batch_size, POOL_BYTES // (4 * self.dataset.spec.observation.size))
        waiting: list[Batch] = []
        count = 0
        for position, number in enumerate(order.tolist()):
            part = self._part(number, validation)
            if len(part.action):
                waiting.append(part)
                count += len(part.action)
            last = position == len(order) - 1
            if count and (count >= pool_rows or last):
                pool = _join(waiting)
                if luck is not None:
                    pool = _take(pool, luck.permutation(count))
                rest = 0 if last or luck is None else count % batch_size
                yield _take(pool, slice(0, count - rest))
                waiting = [_take(pool, slice(count - rest, count), copy=True)] if rest else []
                count = rest

    def _part(self, number: int, validation: bool) -> Batch:
        chunk = self.dataset.chunk(number)
        kept = self.is_validation[chunk.rows] == validation
        rows = chunk.rows[kept]
        return Batch(
            observation=chunk.observation[kept],
            legal_mask=chunk.legal_mask[kept],
            action=chunk.action[kept],
            target=self.target[rows],
            value_weight=self.value_weight[rows],
            weight=np.ones(len(rows), np.float32),
            probabilities=chunk.probabilities[kept] if self.probabilities and chunk.probabilities is not None else None,
        )


def _join(parts: list[Batch]) -> Batch:
    return Batch(*(None if values[0] is None else np.concatenate(values) for values in zip(*parts, strict=True)))


def _take(batch: Batch, index: Any, copy: bool = False) -> Batch:
    return Batch(*(None if values is None else values[index].copy() if copy else values[index] for values in batch))


def prefetched(batches: Iterator[Batch], count: int = PREFETCH) -> Generator[Batch]:
    """The same batches, made ahead by a thread; an error there is raised here."""
    ready: queue.Queue[Any] = queue.Queue(count)
    left = threading.Event()

    def put(item: Any) -> bool:
        while not left.is_set():
            try:
                ready.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for batch in batches:
                if not put(batch):
                    return
            put(None)
        except BaseException as problem:
            put(problem)

    thread = threading.Thread(target=work, name="dataset reader", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        thread.join()
