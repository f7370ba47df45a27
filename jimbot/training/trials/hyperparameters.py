"""Which hyper-parameters a population may mutate and a search may try, and in which ranges: data and a few functions.

Every one moves on its own scale. A learning rate is multiplied; a discount near 1 is multiplied in its distance from 1,
because 0.99 and 0.999 differ as much as 0.9 and 0.99 do; counts are chosen from a list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.training.settings.record import TrainSettings

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
    """The luck of one place in a run (generation, member): the same whenever that place is reached again."""
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
