"""Teams: the fixed, versioned split that comes with JimBot, and files of one's own.

The three splits are disjoint and belong to the three seed banks: what a seed judges on is never what one trains on.
Own teams are text as players exchange it (export) or packed, one or several in a file; the simulator's validator reads
them, and what it complains about is shown as it says it.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import SimulatorError, UnreadableError, UsageError
from jimbot.games import seeds as seedbank
from jimbot.games.vgc import simulator
from jimbot.reading.plain import file_text

FOLDER = Path(__file__).resolve().parent
BY_SEED = "by-seed"
SPLITS = (seedbank.TRAIN, seedbank.VALIDATION, seedbank.HELD_OUT)
TEAM_SIZE = 6
_MAKING_SECONDS = 300.0


@cache
def split_teams(split: str) -> tuple[str, ...]:
    """The packed teams of a split: train, validation or held-out."""
    lines = (FOLDER / f"{split}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def generate(count: int, seed: int, format_id: str) -> list[str]:
    """Fresh legal teams of a format, packed; equal arguments give equal teams."""
    command = [simulator.node_program(), str(simulator.NODE_FILES / "teams.js"), str(simulator.package_folder())]
    try:
        done = subprocess.run(
            [*command, format_id, str(count), str(seed)], capture_output=True, text=True, timeout=_MAKING_SECONDS
        )
    except subprocess.TimeoutExpired as problem:
        raise SimulatorError(
            f"No {count} legal teams of '{format_id}' were found within {_MAKING_SECONDS:.0f} s."
        ) from problem
    if done.returncode != 0:
        raise SimulatorError(f"Teams of '{format_id}' could not be made: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.splitlines()


LARGEST = 16 * 2**20  # bytes of a file of teams


def read_texts(path: Path) -> list[str]:
    """The teams of a file, each as text: packed ones one per line, exported ones apart by `===` lines."""
    try:
        text = file_text(path, LARGEST)
    except UnreadableError as problem:
        raise UsageError(f"The team file {path} cannot be read: {problem}.") from problem
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    packed = [line for line in lines if line.count("|") >= 11]
    if packed:
        return packed
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.startswith("==="):
            parts.append([])
        else:
            parts[-1].append(line)
    return [text for part in parts if (text := "\n".join(part).strip())]


def check_teams(ask: Any, texts: list[str], source: str, format_id: str) -> list[str]:
    """The same teams packed, each approved by the simulator's validator; `ask` puts a question to a worker."""
    if not texts:
        raise UsageError(f"{source} holds no team; expected teams in export or packed text.")
    packed = []
    for number, text in enumerate(texts, start=1):
        verdict = ask({"what": "validate", "team": text, "format": format_id})
        if verdict["complaints"]:
            raise UsageError(
                f"Team {number} of {source} is not legal in {format_id}: {' '.join(verdict['complaints'])}"
            )
        if not 4 <= verdict["size"] <= TEAM_SIZE:
            raise UsageError(f"Team {number} of {source} has {verdict['size']} Pokémon; expected 4 to {TEAM_SIZE}.")
        packed.append(verdict["packed"])
    return packed


class TeamTable:
    """All teams a batch of battles may use, and which two a seed deals."""

    def __init__(self, pools: dict[str, tuple[str, ...]], own: str = "") -> None:
        self.packed: list[str] = []
        self._pools: dict[str, tuple[int, int]] = {}
        for name, members in pools.items():
            self._pools[name] = (len(self.packed), len(members))
            self.packed += members
        self._own = len(self.packed) if own else None
        self.packed += [own] if own else []

    def deal(self, seed: int, words: np.ndarray) -> tuple[int, int]:
        """The numbers of both teams for a seed; `words` are two random uint64 that follow from it."""
        bank = seedbank.bank_of(seed)
        first, count = self._pools[bank] if bank in self._pools else next(iter(self._pools.values()))
        one, two = (first + int(word) % count for word in words)
        return (one if self._own is None else self._own), two
