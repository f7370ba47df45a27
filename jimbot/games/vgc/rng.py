"""Seeds of battles: a stream per battle for restarts, and the words a seed unfolds into."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from jimbot.games import seeds as seedbank

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 2**64 - 1


def mixed(word: int) -> int:
    """A 64-bit number scrambled (splitmix64), so that neighbouring seeds have nothing in common."""
    word = (word + _GOLDEN) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def words(seed: int, count: int) -> np.ndarray:
    """(count,) uint64 that follow from a seed."""
    return np.array([mixed(seed ^ mixed(number)) for number in range(count)], np.uint64)


@lru_cache(maxsize=2**14)  # asked for at every step of a battle
def train_seed(stream: int, episode: int) -> int:
    """The seed of a battle's next episode: always of the train bank, small enough for every game."""
    seed = mixed(stream ^ mixed(episode)) % seedbank.SMALL_SEEDS
    while seedbank.bank_of(seed) != seedbank.TRAIN:
        seed += 1
    return seed
