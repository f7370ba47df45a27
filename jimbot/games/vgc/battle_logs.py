"""Public replays of battles: what each side saw and which of its orders agree with what everybody saw.

A replay is JSON with the text of the battle's protocol under `log` (as replay sites give it), or that text alone. See
node/spectator.js for what can be known from it; unknown choices are sets of labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jimbot.errors import SimulatorError, UnreadableError, UsageError
from jimbot.games.vgc import fields, orders, rewards
from jimbot.games.vgc.reader import Reader
from jimbot.reading.plain import file_text, json_value

SUFFIXES = (".json", ".log", ".txt")
LARGEST = 16 * 2**20  # bytes of one replay


class ReplayError(UsageError):
    """A file that is no replay of a battle we know."""


@dataclass(frozen=True)
class ReplaySide:
    """The decisions of one side of a replay."""

    observation: np.ndarray  # (n, D) float32
    legal_mask: np.ndarray  # (n, A) bool
    labels: np.ndarray  # (n, A) bool, inside legal_mask, at least one each
    result: int
    """1 won, -1 lost, 0 neither."""
    stats: np.ndarray  # (S,) float32, the game's episode statistics


@dataclass(frozen=True)
class Replay:
    sides: tuple[ReplaySide, ReplaySide]
    over: bool
    """Whether the log goes on to the end of the battle."""
    unexplained: int
    """Decisions left out because no legal order agrees with what was seen."""


def replay_files(path: Path) -> list[Path]:
    """The files of a folder that may be replays, or the one file."""
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else []
    if not found:
        raise UsageError(f"{path} holds no replays; expected a file, or a folder of {', '.join(SUFFIXES)} files.")
    return found


def replay_log(path: Path) -> str:
    """The protocol text of a replay file."""
    try:
        text = file_text(path, LARGEST)
        if path.suffix != ".json":
            return text
        document = json_value(text)
    except UnreadableError as problem:
        raise ReplayError(f"{path.name} cannot be read: {problem}.") from problem
    log = document.get("log") if isinstance(document, dict) else None
    if isinstance(log, list):
        log = "\n".join(str(line) for line in log)
    if not isinstance(log, str):
        raise ReplayError(f"{path.name} has no text under 'log'.")
    return log


def read_replay(reader: Reader, log: str) -> Replay:
    """The decisions in a log."""
    if "|" not in log:
        raise ReplayError("The text holds no lines of a battle.")
    try:
        found = reader.pool.ask({"what": "decisions", "log": log})
    except SimulatorError as problem:
        raise ReplayError(str(problem).partition("'decisions': ")[2] or str(problem)) from problem
    one, two = (_side(found, number) for number in (0, 1))
    return Replay((one, two), bool(found["over"]), int(found["unexplained"]))


def _side(found: dict, number: int) -> ReplaySide:
    made = [decision for decision in found["decisions"] if decision["side"] == number]
    rows = np.array([decision["row"] for decision in made], np.float32).reshape(-1, fields.OBSERVATION.size)
    masks = np.zeros((2, len(made), orders.ACTIONS), bool)
    for place, decision in enumerate(made):
        masks[0, place, decision["legal"]] = True
        masks[1, place, decision["labels"]] = True
    result, fainted = int(found["results"][number]), found["fainted"]
    known = {
        "won": result > 0, "tied": result == 0, "turns": found["turns"], "decisions": len(made),
        "fainted": fainted[number], "knock_outs": fainted[1 - number], "refused": 0,
    }  # fmt: skip
    stats = np.array([float(known[name]) for name in rewards.STATS], np.float32)
    return ReplaySide(rows * fields.scales(), masks[0], masks[1], result, stats)


def read_replays(reader: Reader, paths: list[Path]) -> Iterator[tuple[Path, Replay | ReplayError]]:
    """Each file with what it holds, or why it is left out."""
    for path in paths:
        try:
            yield path, read_replay(reader, replay_log(path))
        except ReplayError as problem:
            yield path, problem
