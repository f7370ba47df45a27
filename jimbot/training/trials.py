"""Runs that take turns: what members of a population and trials of a search share.

A turn is one run trained up to a step, evaluated on validation games, and put away again. It opens an ordinary run
directory, continues exactly where the newest checkpoint is, and leaves nothing in memory, so any number of runs share
the memory of one. What a turn achieved is a line in the run's `turns.jsonl`; asked for the same turn again (after a
kill, or when a whole search is replayed), that line is the answer. So a trial of Ray Tune is a pure function of its
config and of how many turns it has taken.

Hyper-parameters move on scales of their own: a learning rate is multiplied; a discount near 1 is multiplied in its
distance from 1, because 0.99 and 0.999 differ as much as 0.9 and 0.99 do; counts are chosen from a list.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jimbot.errors import SettingsError, TrainingError, UnknownNameError, UnreadableError
from jimbot.games.contract import game_entry
from jimbot.reading.plain import json_value
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import make_directory, read_text, write_atomically
from jimbot.training.framework import RLTrainer, learner_class, open_trainer
from jimbot.training.session.session import Session
from jimbot.training.settings.record import TrainSettings, load_settings

Scale = Literal["log", "complement", "linear"]
Values = dict[str, float]

FACTORS = (0.8, 1.25)  # a mutation makes a value smaller or larger by one of these, on its scale
RESAMPLE = 0.25  # share of mutations that draw anew from the whole range
FIRST_SPREAD = 3.0  # the first members lie within this factor of the settings they started from
ON_POLICY = ("PPO", "A2C", "APPO", "IMPALA")


@dataclass(frozen=True)
class Range:
    """Where a hyper-parameter may lie, and how it moves."""

    low: float
    high: float
    scale: Scale = "log"
    algorithms: tuple[str, ...] = ()  # that have it; empty: all
    whole: bool = False  # counts: tried by a search, never mutated, because they shape the compiled program
    default: bool = True  # part of what is mutated or tried when nothing is named


KNOWN: dict[str, Range] = {
    "lr": Range(1e-5, 1e-2),
    "gamma": Range(0.97, 0.9995, "complement"),
    "gae_lambda": Range(0.8, 0.99, "complement", ON_POLICY),
    "ent_coef": Range(1e-4, 0.2, "log", ON_POLICY),
    "clip_eps": Range(0.05, 0.4, "log", ("PPO", "APPO")),
    "vf_coef": Range(0.1, 2.0, "log", ON_POLICY, default=False),
    "max_grad_norm": Range(0.1, 5.0, "log", default=False),
    "exploration_final_eps": Range(0.01, 0.2, "log", ("DQN",)),
    "update_epochs": Range(1, 10, "linear", ("PPO", "APPO"), whole=True, default=False),
    "num_minibatches": Range(1, 64, "log", ("PPO", "APPO"), whole=True, default=False),
    "num_steps": Range(16, 512, "log", ON_POLICY, whole=True, default=False),
    "hidden_dim": Range(32, 512, "log", whole=True, default=False),
    "num_layers": Range(1, 4, "linear", whole=True, default=False),
}


def chosen_ranges(
    algorithm: str, chosen: Mapping[str, Any] | None = None, whole: bool = False, learn: str = "mutate"
) -> dict[str, Range]:
    """The ranges named in `chosen` ([low, high], or nothing for the table's own); none named: the table's defaults.

    >>> chosen_ranges("PPO", {"lr": [1e-4, 1e-3]})["lr"].high
    0.001
    """
    known = {
        name: span
        for name, span in KNOWN.items()
        if (not span.algorithms or algorithm in span.algorithms) and (whole or not span.whole)
    }
    if not chosen:
        return {name: span for name, span in known.items() if span.default}
    for name in chosen:
        if name not in known:
            raise UnknownNameError(f"hyper-parameter to {learn} with {algorithm}", name, known)
    return {name: _bounded(name, known[name], bounds) for name, bounds in chosen.items()}


def mutated(values: Mapping[str, float], ranges: Mapping[str, Range], rng: np.random.Generator) -> Values:
    """Each value a step up or down on its scale, now and then drawn anew; always inside its range."""
    changed: Values = {}
    for name, span in ranges.items():
        if rng.random() < RESAMPLE:
            changed[name] = drawn(span, rng)
        else:
            changed[name] = _moved(values[name], span, float(rng.choice(FACTORS)))
    return changed


def spread(values: Mapping[str, float], ranges: Mapping[str, Range], rng: np.random.Generator) -> Values:
    """Values for a first member: near the given ones, each by its own factor."""
    reach = math.log(FIRST_SPREAD)
    return {name: _moved(values[name], span, math.exp(rng.uniform(-reach, reach))) for name, span in ranges.items()}


def drawn(span: Range, rng: np.random.Generator) -> float:
    """Anywhere in the range, evenly on its scale."""
    low, high = sorted((_to_scale(span.low, span), _to_scale(span.high, span)))
    return _clamped(_from_scale(float(rng.uniform(low, high)), span), span)


def values_of(settings: TrainSettings, ranges: Mapping[str, Range]) -> Values:
    return {name: float(settings[name]) for name in ranges}


def generator(seed: int, *place: int) -> np.random.Generator:
    """The generator of one place in a run (generation, member): the same whenever that place is reached again."""
    return np.random.default_rng([seed, *place])


def _bounded(name: str, span: Range, bounds: Any) -> Range:
    if bounds is None or bounds == []:
        return span
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise SettingsError(
            f"The range of {name} is {bounds!r}; expected two numbers, for instance [{span.low:g}, {span.high:g}]."
        ) from None
    fits = {"log": low > 0, "complement": low >= 0 and high < 1, "linear": True}[span.scale]
    if not (low < high and fits):
        raise SettingsError(
            f"The range of {name} is [{low:g}, {high:g}]; expected a low end below the high end, "
            f"for instance [{span.low:g}, {span.high:g}]."
        )
    return replace(span, low=low, high=high)


def _moved(value: float, span: Range, factor: float) -> float:
    """One step: larger for factors above 1 on every scale (a complement's distance from 1 shrinks)."""
    if span.scale == "complement":
        return _clamped(1.0 - (1.0 - value) / factor, span)
    return _clamped(value * factor, span)


def _clamped(value: float, span: Range) -> float:
    value = float(f"{value:.6g}")  # what is shown is what is used
    return min(span.high, max(span.low, value))


def _to_scale(value: float, span: Range) -> float:
    return {"log": math.log, "complement": lambda v: math.log(1.0 - v), "linear": float}[span.scale](value)


def _from_scale(value: float, span: Range) -> float:
    return {"log": math.exp, "complement": lambda v: 1.0 - math.exp(v), "linear": float}[span.scale](value)


@dataclass(frozen=True)
class Order:
    """What a turn is asked to do."""

    root: Path  # where the run directory lies
    name: str  # of the run directory
    settings: Mapping[str, Any]  # of the run, complete
    until: int  # environment steps
    games: int  # validation games it is evaluated on
    stop_file: Path  # appears when all are to stop; holds the reason


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
    """What a trial gets under `run`, in plain values. `turns_before`: turns taken before Ray was started; `name`: of
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


TURNS = "turns.jsonl"


@dataclass(frozen=True)
class Turn:
    """What came of it. `score` is the mean return on validation games; None: learning failed, or was interrupted."""

    until: int
    step: int
    score: float | None
    seconds: float
    failure: str = ""
    interrupted: bool = False


class TrialSession(Session):
    """A session that also ends at the end of its turn, and when all are asked to stop."""

    until: int
    stop_file: Path

    def stop_reason(self, step: int, total_timesteps: int) -> str | None:
        if step >= self.until:
            return f"the turn to step {self.until:,} is over"
        if (asked := read_text(self.stop_file)) is not None:
            return asked or "all trials were asked to stop"
        return super().stop_reason(step, total_timesteps)


def check_settings(settings: TrainSettings) -> None:
    """Raises what the first turn would raise, before anything is started."""
    learner_class(settings)
    game_entry(settings.game).spec.parse_options(dict(settings.game_options))


def take_turn(order: Order) -> Turn:
    """Trains the run up to `order.until` and evaluates it."""
    if done := finished_turn(order.root / order.name, order.until):
        return done
    began = time.monotonic()
    if order.stop_file.exists():
        return Turn(order.until, 0, None, 0.0, interrupted=True)
    try:
        step, score = _train(load_settings(order.settings), order)
        failure = ""
    except TrainingError as problem:
        step, score, failure = order.until, None, str(problem)
    finally:
        gc.collect()  # the trainer's arrays go before the next turn's come
    interrupted = score is None and not failure
    turn = Turn(order.until, step, score, round(time.monotonic() - began, 3), failure, interrupted)
    if not interrupted:
        lines = [*turns_of(order.root / order.name), turn]
        write_atomically(
            order.root / order.name / TURNS, "".join(json.dumps(asdict(line)) + "\n" for line in lines).encode()
        )
    return turn


def finished_turn(folder: Path, until: int) -> Turn | None:
    """The turn to step `until`, if it was taken to its end."""
    return next((turn for turn in reversed(turns_of(folder)) if turn.until == until), None)


def turns_of(folder: Path) -> list[Turn]:
    """The finished turns of a run, in order."""
    turns = []
    for line in (read_text(folder / TURNS) or "").splitlines():
        try:
            turns.append(Turn(**json_value(line, constants=True)))
        except (UnreadableError, TypeError):
            continue
    return turns


def _train(settings: TrainSettings, order: Order) -> tuple[int, float | None]:
    """(step reached, score); no score when all were asked to stop before the turn was over."""
    run = RunDirectory(order.root, order.name)
    make_directory(run.path)
    # A mutation changes what a run is learning with; from here on these are its settings.
    run.write_config(settings.flat())

    def open_trial(*given: Any, **named: Any) -> TrialSession:
        session = TrialSession.open(*given, **named)
        session.until, session.stop_file = order.until, order.stop_file
        return session

    while True:
        with closing(open_trainer(settings, order.root, quiet=True, open_session=open_trial)) as trainer:
            step, score = _train_once(trainer, order)
            if not trainer.session.memory.restart_wanted:
                return step, score
            trainer.session.memory.count_restart(step)
        gc.collect()  # near the memory limit: once more from the checkpoint, with less held


def _train_once(trainer: RLTrainer, order: Order) -> tuple[int, float | None]:
    trainer.train()
    if trainer.step < min(order.until, trainer.settings.total_timesteps):
        return trainer.step, None
    return trainer.step, trainer.validate(order.games)[0]
