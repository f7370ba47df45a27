"""Every error JimBot raises on purpose.

A message says what happened, with which value, what was expected, and what to do. The command line prints it as
one sentence and leaves with `exit_code`: 2 when the caller can fix it by calling differently, 1 when the work itself
failed. The whole table is in docs/operations/runbook.md.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

MOST_LISTED = 40
"""Names an unknown one is answered with; nobody reads a list of 150 jokers."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a person who typed `name` meant, or None: a wrong proposal is worse than none.

    A slip of the finger (a letter in four, and two neighbours swapped count as one; a prefix such as `b_` need not be
    typed), a longer form of the word, or words of one longer name only.

    >>> names = ["lr", "learning_starts", "hidden_dim", "graph_embeddings", "eval_interval", "save_interval"]
    >>> [nearest(name, names) for name in ("hiden-dim", "graph", "Learning_Strats")]
    ['hidden_dim', 'graph_embeddings', 'learning_starts']
    >>> nearest("gost", ["b_ghost", "b_gold"]), nearest("golden", ["gold", "green"])
    ('b_ghost', 'gold')
    >>> [nearest(name, names) for name in ("learning_rate", "interval", "x")]
    [None, None, None]
    """
    typed = _plain(name)
    plain = {candidate: _plain(candidate) for candidate in known}
    slips = {
        candidate: (min(_slips(typed, meant), _slips(typed, _bare(meant))), not meant.startswith(typed))
        for candidate, meant in plain.items()
    }
    best = min(slips, key=lambda candidate: (slips[candidate], candidate), default=None)
    if best is not None and slips[best][0] <= max(len(typed) > 2, len(typed) // 4):
        return best
    longer = [candidate for candidate, meant in plain.items() if len(meant) > 3 and typed.startswith(meant)]
    if len(longer) == 1 and len(typed) - len(plain[longer[0]]) <= 3:
        return longer[0]
    parts = [part for part in typed.split("_") if part]
    holding = [candidate for candidate, meant in plain.items() if len(typed) > 2 and _holds(meant, parts)]
    return holding[0] if len(holding) == 1 else None


def _plain(name: str) -> str:
    return "_".join(re.split(r"[^a-z0-9]+", name.casefold()))


def _bare(name: str) -> str:
    """A key without the letter that says of what kind it is."""
    return name[2:] if name[1:2] == "_" else name


def _holds(candidate: str, parts: list[str]) -> bool:
    words = candidate.split("_")
    return bool(parts) and all(any(word.startswith(part) for word in words) for part in parts)


def _slips(typed: str, meant: str) -> int:
    """Letters to insert, leave out, change or swap with their neighbour."""
    if abs(len(typed) - len(meant)) > max(1, len(typed) // 4):
        return len(meant) + len(typed)  # too far to be worth counting
    before, row = [], list(range(len(meant) + 1))
    for i, letter in enumerate(typed, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(meant, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and typed[i - 2] == other:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]


class JimbotError(Exception):
    """Parent of all errors raised on purpose; anything else that escapes is a bug."""

    exit_code = 1


class UsageError(JimbotError):
    """The caller asked for something that does not exist or does not make sense."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A game, learner, policy, setting or file kind was named that nobody knows."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        known = sorted(known)
        close = nearest(str(name), known)
        guess = f" Did you mean '{close}'?" if close else ""
        listed = f"Known: {', '.join(known)}." if len(known) <= MOST_LISTED else f"{len(known)} names are known."
        super().__init__(f"Unknown {kind} '{name}'.{guess} {listed}{' ' + hint if hint else ''}")


class SettingsError(UsageError):
    """A setting has a value that cannot be used."""


class IllegalActionError(JimbotError):
    """An action outside the legal mask was sent to a game in checked mode."""


class UnreadableError(UsageError):
    """A file or text from outside breaks its format; the message is the reason, who reads it adds which file."""


class CheckpointError(UsageError):
    """A checkpoint or policy file is missing, damaged, or belongs to something else."""


class DatasetError(UsageError):
    """A dataset of recorded games is missing, damaged, empty, or belongs to something else."""


class SnapshotError(UsageError):
    """A game snapshot is damaged or was taken from another game, version or shape."""


class TranscriptError(UsageError):
    """A recorded game is damaged, was written by another version, or breaks the rules."""


class StorageError(JimbotError):
    """A file that matters could not be written (a full disk, a lost one); what was there before is untouched."""


class NotWritableError(StorageError):
    """The place that was named cannot be written to: read-only, no folder, or a run that another process writes."""

    exit_code = 2


class TrainingError(JimbotError):
    """Learning cannot go on (for instance a loss that is not a number)."""


class SimulatorError(JimbotError):
    """An outside simulator cannot be installed, cannot be started, or keeps failing."""


class BusError(JimbotError):
    """The event bus did not take an event, or nobody answered over it."""


class KnowledgeError(UsageError):
    """The knowledge graph is missing, damaged, locked or of another version, or was asked what it does not answer."""


class MissingExtraError(UsageError):
    """An optional part is not installed; the message carries the install command."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed. Install it with: {install_command(extra)}")


def install_command(extra: str) -> str:
    """What installs an extra for the Python that runs, from the folder the caller is in.

    From a checkout it is the checkout that is installed again: no index has the distribution to add an extra to.
    """
    checkout = Path(__file__).resolve().parents[1]
    if not (checkout / "pyproject.toml").is_file():
        return f"{_pip_install()} 'jimbot[{extra}]'"
    place = "." if Path.cwd() == checkout else str(checkout)
    return f"{_pip_install()} -e '{place}[{extra}]'"


def _pip_install() -> str:
    """`pip` where the shell finds the one of this Python, otherwise the words that reach it."""
    python, found = Path(sys.executable), shutil.which("pip")
    if found and Path(found).parent == python.parent:
        return "pip install"
    if importlib.util.find_spec("pip"):
        return f"{python} -m pip install"
    return f"uv pip install --python {python}"
