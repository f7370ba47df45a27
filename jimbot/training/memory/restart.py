"""A clean process in place of this one, running the same command: what a run that outgrew its memory ends with.

The same command continues a run, so nothing needs to be handed over but how long it has been training (`--minutes` is
the time of the whole call) and that flags about the start (`--fresh`, `--resume`) have had their effect.
"""

from __future__ import annotations

import os
import sys

CONTINUES = "JIMBOT_CONTINUES"
"""Environment variable of a restarted process: seconds of training its predecessors did."""


def restart_command(seconds: float) -> None:
    """Does not return. `seconds`: what this process has trained, its predecessors included."""
    sys.stdout.flush()
    sys.stderr.flush()
    arguments = [argument for argument in sys.orig_argv[1:] if argument != "--fresh"]
    os.execve(sys.executable, [sys.executable, *arguments], {**os.environ, CONTINUES: f"{seconds:.3f}"})


def seconds_before() -> float:
    """What predecessors of this process trained; 0 if it is the first."""
    try:
        return float(os.environ.get(CONTINUES, 0))
    except ValueError:
        return 0.0


def is_continuation() -> bool:
    return CONTINUES in os.environ
