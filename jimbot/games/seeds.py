"""Seeds and the three banks they fall into.

A seed is an unsigned 64-bit number. A fixed hash of it decides its bank for ever, so what judges an agent can never
be trained on: automatic restarts draw from the train bank only.

The hash uses 32-bit arithmetic on the two halves of the seed, so the very same lines run on NumPy and on JAX (which
has no 64-bit integers by default).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.entry import GameEntry

HELD_OUT, VALIDATION, TRAIN = "held-out", "validation", "train"
BANKS = (HELD_OUT, VALIDATION, TRAIN)
_BANK_OF_RESIDUE = {0: HELD_OUT, 1: VALIDATION}  # of 100; every other residue is train
FIRST_TRAIN_RESIDUE = len(_BANK_OF_RESIDUE)
SMALL_SEEDS = 2**41
"""Below this a seed means itself in every game. Balatro has 35^8 texts, a little more, and takes larger seeds modulo
that: a large train seed could stand for a judging one."""

MOST_GAMES = 10_000_000
"""That one judgement or recording may ask for; more would be a slip of the finger, and fill the memory."""
_BLOCK = 2**20  # seeds looked at together


def mix32(word: Any) -> Any:
    """Scrambles uint32 words (NumPy or JAX arrays); every output bit depends on every input bit."""
    word = (word ^ (word >> 16)) * np.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * np.uint32(0x846CA68B)
    return word ^ (word >> 16)


def residue(high: Any, low: Any) -> Any:
    """The bank residue 0..99 of seeds given as their high and low uint32 halves."""
    return mix32(low ^ mix32(high ^ np.uint32(0x9E3779B9))) % np.uint32(100)


def split(seeds: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """uint64 seeds → their high and low uint32 halves."""
    wide = np.asarray(seeds, dtype=np.uint64)
    return (wide >> np.uint64(32)).astype(np.uint32), wide.astype(np.uint32)


def join(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The inverse of `split`."""
    return (np.asarray(high, np.uint64) << np.uint64(32)) | np.asarray(low, np.uint64)


@lru_cache(maxsize=2**14)
def bank_of(seed: int) -> str:
    """The bank a seed belongs to.

    >>> sorted({bank_of(seed) for seed in range(2000)})
    ['held-out', 'train', 'validation']
    """
    high, low = split([seed])
    return _BANK_OF_RESIDUE.get(int(residue(high, low)[0]), TRAIN)


def bank_seeds(bank: str, count: int, start: int = 0) -> np.ndarray:
    """The first `count` seeds of a bank at or after `start`, as uint64: the same list on every machine.

    >>> [bank_of(seed) for seed in bank_seeds("held-out", 3)]
    ['held-out', 'held-out', 'held-out']
    """
    if bank not in BANKS:
        raise UnknownNameError("seed bank", bank, BANKS)
    if not 1 <= count <= MOST_GAMES:
        raise UsageError(f"Asked for {count:,} games of the bank '{bank}'; expected 1 to {MOST_GAMES:,}.")
    found: list[np.ndarray] = []
    missing = count
    while missing > 0:
        block = np.arange(start, start + min(max(1024, 128 * missing), _BLOCK), dtype=np.uint64)
        residues = residue(*split(block))
        wanted = {HELD_OUT: residues == 0, VALIDATION: residues == 1, TRAIN: residues >= FIRST_TRAIN_RESIDUE}[bank]
        found.append(block[wanted][:missing])
        missing -= len(found[-1])
        start += len(block)
    return np.concatenate(found)


def train_seeds(rng: np.random.Generator, count: int) -> np.ndarray:
    """`count` fresh random seeds of the train bank, small enough for every game (see `SMALL_SEEDS`)."""
    seeds = rng.integers(0, SMALL_SEEDS, size=count, dtype=np.uint64)
    while (judging := residue(*split(seeds)) < FIRST_TRAIN_RESIDUE).any():
        seeds[judging] += np.uint64(1)
    return seeds


LARGEST_SEED = 2**64 - 1


def seed_number(entry: GameEntry | None, text: str | int) -> int:
    """The seed that a text means: a whole number, or a text of the game's own form."""
    word = str(text).strip()
    if word.isascii() and word.isdigit() and len(word) <= 20 and int(word) <= LARGEST_SEED:
        return int(word)
    form = entry.seed_form if entry is not None else None
    if form is not None and any(letter.isalpha() for letter in word):
        return form.read(word)
    own = f", or a seed of the game such as {form.example}" if form is not None else ""
    raise UsageError(f"'{word[:40]}' is not a seed; expected a whole number from 0 to {LARGEST_SEED}{own}.")


def seed_name(entry: GameEntry, seed: int, options: Mapping[str, Any] = MappingProxyType({})) -> str:
    """A seed as the game writes it; `seed_number` reads it back. An option of the game may have fixed another one."""
    if entry.seed_form is not None and (fixed := options.get(entry.seed_form.option)):
        return str(fixed).upper()
    own = entry.seed_form.write(seed) if entry.seed_form is not None else ""
    # A text of digits alone would be read as a number, and numbers beyond the form's texts have none of their own.
    return own if own and not own.isdigit() and seed_number(entry, own) == seed else str(seed)
