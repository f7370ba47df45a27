"""What a trial of Ray Tune is told, in plain values, and the turn that follows from it.

A trial is a pure function of its config and of how many turns it has taken: everything else is in run directories.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Order:
    """What a turn is asked to do."""

    root: Path  # where the run directory lies
    name: str  # of the run directory
    settings: Mapping[str, Any]  # of the run, complete
    until: int  # environment steps
    games: int  # validation games that judge it
    stop_file: Path  # appears when everybody is to stop; holds the reason


def run_config(
    name: str | None,
    values: Mapping[str, Any],
    *,
    root: Path,
    settings: Mapping[str, Any],
    interval: int,
    total: int,
    turns_before: int,
    games: int,
    stop_file: Path,
    distances: Sequence[str] = (),
) -> dict[str, Any]:
    """What a trial is told under `run`, in plain values. `turns_before`: turns taken before Ray was started; `name`: of
    the run directory, None: named by what was proposed; `distances`: what is proposed as its distance from 1."""
    fixed: dict[str, Any] = {"root": str(root.resolve()), "stop_file": str(stop_file.resolve())}
    fixed |= {"settings": dict(settings), "interval": interval, "total": total, "distances": list(distances)}
    fixed |= {"turns_before": turns_before, "games": games}
    return {"name": name, "values": dict(values), "fixed": fixed}


def order_of(config: Mapping[str, Any], iteration: int) -> Order:
    """The turn that a trial takes next, `iteration` turns after Ray was started. What lies beside `run` in its config
    was proposed by a search."""
    run, proposed = config["run"], proposal(config)
    fixed, name = run["fixed"], run["name"] or named_by(proposed)
    values = {**run["values"], **values_of_proposal(proposed, fixed["distances"])}
    return Order(
        root=Path(fixed["root"]),
        name=name,
        settings={**fixed["settings"], **values, "run_name": name},
        until=min((fixed["turns_before"] + iteration + 1) * fixed["interval"], fixed["total"]),
        games=fixed["games"],
        stop_file=Path(fixed["stop_file"]),
    )


def proposal(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != "run"}


def values_of_proposal(proposed: Mapping[str, Any], distances: Sequence[str]) -> dict[str, Any]:
    """Hyper-parameters as the learner takes them.

    >>> values_of_proposal({"lr": 0.001, "gamma": 0.01}, ["gamma"])
    {'lr': 0.001, 'gamma': 0.99}
    """
    return {name: round(1.0 - value, 9) if name in distances else value for name, value in proposed.items()}


def named_by(proposed: Mapping[str, Any]) -> str:
    """The same proposal finds the same run again."""
    return hashlib.sha256(json.dumps(proposed, sort_keys=True).encode()).hexdigest()[:10]
