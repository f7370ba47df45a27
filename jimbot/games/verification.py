"""What a check of recordings found: entries compared, entries that agree, and where the others differ.

Every checker opens one `Entry` per recorded thing (a seed, a scenario, a game) and compares value by value. An entry
that cannot be read is a difference like any other, so that one odd line never hides the rest of a file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jimbot.errors import JimbotError

MOST_KEPT = 1000  # differences kept per file; all are counted
TOLERANCE = 1e-9  # of chips, Mult and values that have been through decimal digits
ABSENT = "(nothing)"
UNKNOWN_FIELD = "(a field the simulator does not know)"
_UNREADABLE = (JimbotError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Difference:
    """One value in which the simulator leaves a recording."""

    entry: str
    """Which recorded thing: `scenario 12`, `game 3`, `prng 7`."""
    seed: str
    step: int | None
    """Of a game: the step after which the states differ."""
    field: str
    """Where inside: `antes[2].queue[4].edition`."""
    recorded: Any
    simulated: Any


def same_value(recorded: Any, simulated: Any) -> bool:
    """Whether two single values agree: numbers within `TOLERANCE`, NaN and infinity with themselves."""
    if recorded == simulated:
        return True
    if isinstance(recorded, str) and isinstance(simulated, float):
        try:
            recorded = float(recorded)  # "inf" and "nan", which JSON has no numbers for
        except ValueError:
            return False
    if not isinstance(recorded, int | float) or not isinstance(simulated, int | float):
        return False
    if math.isnan(recorded) or math.isnan(simulated):
        return math.isnan(recorded) and math.isnan(simulated)
    return abs(recorded - simulated) <= TOLERANCE * max(1.0, abs(recorded))


@dataclass
class Entry:
    """One recorded thing being compared."""

    name: str
    seed: str = ""
    step: int | None = None
    values: int = 0
    differences: list[Difference] = field(default_factory=list)
    undecidable: bool = False
    """Set where the recording does not say enough to call a difference wrong."""

    def differ(self, where: str, recorded: Any, simulated: Any) -> None:
        self.differences.append(Difference(self.name, self.seed, self.step, where, recorded, simulated))

    def exact(self, where: str, recorded: Any, simulated: Any) -> None:
        """Compares one value without tolerance."""
        self.values += 1
        if recorded != simulated:
            self.differ(where, recorded, simulated)

    def compare(self, where: str, recorded: Any, simulated: Any) -> None:
        """Compares two values of any shape; what only one side has is a difference, too."""
        if isinstance(recorded, dict) and isinstance(simulated, dict):
            for key in [*recorded, *(key for key in simulated if key not in recorded)]:
                inside = f"{where}.{key}" if where else str(key)
                self.compare(inside, recorded.get(key, ABSENT), simulated.get(key, ABSENT))
        elif isinstance(recorded, list) and isinstance(simulated, list):
            for place in range(max(len(recorded), len(simulated))):
                pair = (items[place] if place < len(items) else ABSENT for items in (recorded, simulated))
                self.compare(f"{where}[{place}]", *pair)
            self.values += not recorded and not simulated  # an empty list is a value that was compared
        else:
            self.values += 1
            if not same_value(recorded, simulated):
                self.differ(where, recorded, simulated)

    def only_known(self, where: str, recorded: dict[str, Any], known: Collection[str]) -> None:
        """Reports fields that are never compared, rather than passing over them in silence."""
        for key in recorded:
            if key not in known:
                self.differ(f"{where}.{key}" if where else key, recorded[key], UNKNOWN_FIELD)


@dataclass
class FileReport:
    """The result for one file."""

    file: str
    kind: str
    unit: str = "entries"
    """What an entry is, in words: seeds, scenarios, games."""
    entries: int = 0
    agreeing: int = 0
    undecided: int = 0
    """Entries that differ for a reason the recording cannot exclude; not counted as agreeing or differing."""
    values: int = 0
    """Single values compared."""
    difference_count: int = 0
    differences: list[Difference] = field(default_factory=list)
    doubts: list[Difference] = field(default_factory=list)
    """Why entries are undecided, one each."""

    @property
    def differing(self) -> int:
        return self.entries - self.agreeing - self.undecided

    @contextmanager
    def entry(self, name: str, seed: Any = "") -> Generator[Entry]:
        """Opens an entry; when it closes it is counted."""
        entry = Entry(name, str(seed))
        try:
            yield entry
        except _UNREADABLE as problem:
            entry.differ("entry", "cannot be read", _reason(problem))
        self.entries += 1
        self.values += entry.values
        self.agreeing += not entry.differences
        if entry.undecidable and entry.differences:
            self.undecided += 1
            self.doubts += entry.differences[: min(1, MOST_KEPT - len(self.doubts))]
            return
        self.difference_count += len(entry.differences)
        self.differences += entry.differences[: MOST_KEPT - len(self.differences)]

    def only_known(self, recorded: dict[str, Any], known: Collection[str]) -> None:
        """A part of the file that is never compared is an entry that differs."""
        for name in recorded:
            if name not in known:
                with self.entry(name) as entry:
                    entry.differ(name, type(recorded[name]).__name__, UNKNOWN_FIELD)

    def as_dict(self, most: int | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        listed = {"differences": self.differences, "doubts": self.doubts}
        return {name: value for name, value in vars(self).items() if name not in listed} | {
            "differing": self.differing,
            **{name: [vars(difference) for difference in found[:most]] for name, found in listed.items()},
        }


def _reason(problem: Exception) -> str:
    if isinstance(problem, KeyError):
        return f"the field {problem} is missing or its value is not known"
    return str(problem) or type(problem).__name__
