"""Which games to judge on: the first seeds of a bank, or a list of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from jimbot.errors import UnreadableError, UsageError
from jimbot.games.contract import game_entry
from jimbot.games.seed_names import seed_number
from jimbot.games.seeds import HELD_OUT, bank_seeds
from jimbot.reading.plain import LARGEST_TEXT, file_text

Bank = str | Sequence[str | int]
"""A bank by name, or the seeds themselves: numbers, or texts as the game writes them."""


def choose_seeds(
    bank: Bank = HELD_OUT,
    games: int | None = None,
    seeds_file: str | Path | None = None,
    default_games: int = 256,
    game_id: str | None = None,
) -> tuple[np.ndarray, str]:
    """The seeds to play as uint64, and what to call them in a report.

    From a file or list all seeds are taken, or the first `games`; from a bank the first `games`, the same on every
    machine. `game_id` is whose own seed texts are understood.
    """
    if seeds_file is None and isinstance(bank, str):
        return bank_seeds(bank, default_games if games is None else games), bank
    if seeds_file is not None:
        seeds, called = read_seeds_file(seeds_file, game_id), str(seeds_file)
    else:
        seeds, called = _read(((f"Seed {number}", word) for number, word in enumerate(bank, 1)), game_id), "chosen"
    if games is not None:
        if not 1 <= games <= len(seeds):
            where = seeds_file or "the list"
            raise UsageError(f"Asked for {games} games but {where} has {len(seeds)} seeds; give 1 to that many.")
        seeds = seeds[:games]
    return seeds, called


def read_seeds_file(path: str | Path, game_id: str | None = None) -> np.ndarray:
    """One seed per line; blank lines and everything after # are ignored. A seed given twice is an error: it would
    count one game as two."""
    try:
        text = file_text(path, LARGEST_TEXT)
    except UnreadableError as problem:
        raise UsageError(f"The seeds file {path} cannot be read: {problem}.") from problem
    lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    seeds = _read(((f"{path}, line {number}", word) for number, word in lines if word), game_id)
    if not len(seeds):
        raise UsageError(f"The seeds file {path} holds no seeds; expected one per line.")
    return seeds


def _read(words: Iterable[tuple[str, str | int]], game_id: str | None) -> np.ndarray:
    """(where, word) → the seeds in order; no seed may be there twice."""
    entry = game_entry(game_id) if game_id is not None else None
    place_of: dict[int, str] = {}
    for where, word in words:
        try:
            seed = seed_number(entry, word)
        except UsageError as problem:
            raise UsageError(f"{where}: {problem}") from problem
        if seed in place_of:
            raise UsageError(f"{where}: seed {word} was already given in {place_of[seed].rpartition(', ')[2]}.")
        place_of[seed] = where
    return np.array(list(place_of), dtype=np.uint64)
