"""Games that a training run kept (`training.jax_ppo.extensions.far_games`), as runs to learn synergies from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jimbot.errors import KnowledgeError, UnreadableError, UsageError
from jimbot.knowledge.played import Holdings, PlayedRun
from jimbot.reading.plain import json_value
from jimbot.runs.catalogue import find_run
from jimbot.runs.files import read_text

FILE = "far_runs.jsonl"


def runs_of_training(name: str, root: str | Path) -> list[PlayedRun]:
    """The games that a training run kept."""
    path = find_run(root, name).path / FILE
    if not path.exists():
        raise UsageError(
            f"Run '{name}' kept none of its games ({FILE}): it is of another learner than jax, its game cannot be "
            "read, or keep_games was 0."
        )
    return _read(path)


def _read(path: Path) -> list[PlayedRun]:
    try:
        return [_run(json_value(line)) for line in (read_text(path) or "").splitlines()]
    except (UnreadableError, KeyError, TypeError, ValueError) as problem:
        raise KnowledgeError(f"{path} is damaged ({problem}); delete it, the run goes on without it.") from problem


def _run(values: dict[str, Any]) -> PlayedRun:
    at: dict[int, Holdings] = {int(number): dict(state) for number, state in values["at"].items()}
    if not all(_plain(state) for state in at.values()):
        raise ValueError("a state without jokers or money")
    return PlayedRun(str(values["seed"]), bool(values["won"]), int(values["reached"]), at, str(values["player"]))


def _plain(state: Holdings) -> bool:
    jokers: Any = state.get("jokers")
    named = isinstance(jokers, Sequence) and all(isinstance(key, str) for key in jokers)
    return named and isinstance(state.get("money"), int | float)
