"""Which games to judge on: the first seeds of a bank, or a list of one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jimbot.errors import UnreadableError, UsageError
from jimbot.games.seeds import HELD_OUT, bank_seeds
from jimbot.reading.plain import LARGEST_TEXT, file_text

LARGEST_SEED = 2**64 - 1


def choose_seeds(
    bank: str = HELD_OUT, games: int | None = None, seeds_file: str | Path | None = None, default_games: int = 256
) -> tuple[np.ndarray, str]:
    """The seeds to play as uint64, and what to call them in a report.

    From a file all seeds are taken, or the first `games`; from a bank the first `games`, the same on every machine.
    """
    if seeds_file is not None:
        seeds = read_seeds_file(seeds_file)
        if games is not None:
            if not 1 <= games <= len(seeds):
                raise UsageError(
                    f"Asked for {games} games but {seeds_file} has {len(seeds)} seeds; give 1 to that many."
                )
            seeds = seeds[:games]
        return seeds, str(seeds_file)
    return bank_seeds(bank, default_games if games is None else games), bank


def read_seeds_file(path: str | Path) -> np.ndarray:
    """One seed per line; blank lines and everything after # are ignored. A seed given twice is an error: it would
    count one game as two."""
    try:
        text = file_text(path, LARGEST_TEXT)
    except UnreadableError as problem:
        raise UsageError(f"The seeds file {path} cannot be read: {problem}.") from problem
    line_of: dict[int, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.partition("#")[0].strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit()) or len(word) > 20 or int(word) > LARGEST_SEED:
            raise UsageError(
                f"{path}, line {number}: '{word[:40]}' is not a seed; expected a whole number from 0 to {LARGEST_SEED}."
            )
        seed = int(word)
        if seed in line_of:
            raise UsageError(f"{path}, line {number}: seed {seed} was already given in line {line_of[seed]}.")
        line_of[seed] = number
    if not line_of:
        raise UsageError(f"The seeds file {path} holds no seeds; expected one per line.")
    return np.array(list(line_of), dtype=np.uint64)
