"""Every error JimBot raises on purpose.

A message says what happened, with which value, what was expected, and what to do. The command line prints it as
one sentence and leaves with `exit_code`: 2 when the caller can fix it by calling differently, 1 when the work itself
failed. The whole table is in docs/operations/runbook.md.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

MOST_LISTED = 40
"""Names an unknown one is answered with; nobody reads a list of 150 jokers."""


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
        close = get_close_matches(str(name), known, n=1, cutoff=0.4)
        guess = f" Did you mean '{close[0]}'?" if close else ""
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
