"""How certain a metric is, and how many games would make it more certain.

Means use Student's t: returns and lengths are bounded and games are independent, so means of the usual 100 games and
more are very nearly normal; t is exact there, needs no random resampling (the same games always give the same
interval), and unlike the percentile bootstrap it is not too narrow for few games. Rates use Wilson's interval, which
stays inside 0..1 and is honest at 0 and 100 %. Policies are compared by the differences on equal seeds, which removes
the randomness they share; for rates only games that one won and the other lost count (as in McNemar's test), and the
interval of Bonett and Price, which adds one such game to either side, stays honest when there are few or none.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from jimbot.errors import UsageError

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A value with the range that holds its true value with the stated confidence."""

    mean: float
    low: float
    high: float
    spread: float
    """Standard deviation of single games."""
    count: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def excludes(self, value: float) -> bool:
        return not self.low <= value <= self.high

    def to_dict(self) -> dict[str, float | int | None]:
        """JSON has no infinity: an end that is not known (fewer than two games) is null."""
        return {name: _finite(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_interval(values: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """The mean of independent games. Values that are not numbers (unknown) are left out.

    >>> print(mean_interval(np.array([1.0, 2.0, 3.0, 4.0])))
    2.5 [0.4457, 4.554]
    """
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    count = len(known)
    if count == 0:
        return Interval(math.nan, -math.inf, math.inf, math.nan, 0)
    mean = float(known.mean())
    if count == 1:
        return Interval(mean, -math.inf, math.inf, math.nan, 1)
    spread = float(known.std(ddof=1))
    half = t_quantile(confidence, count - 1) * spread / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, spread, count)


def paired_interval(one: np.ndarray, other: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """The mean of `one` − `other` over games on equal seeds."""
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if one.shape != other.shape:
        raise UsageError(f"Cannot pair {len(one)} games with {len(other)}; both must be played on the same seeds.")
    return mean_interval(one - other, confidence)


def wilson_interval(successes: int, count: int, confidence: float = CONFIDENCE) -> Interval:
    """A rate out of `count` independent games.

    >>> print(wilson_interval(0, 100))
    0 [0, 0.03699]
    """
    if not 0 <= successes <= count:
        raise UsageError(f"{successes} successes out of {count} games cannot be; expected 0 to {count}.")
    if count == 0:
        return Interval(math.nan, 0.0, 1.0, math.nan, 0)
    rate = successes / count
    centre, half = _wilson(rate, count, confidence)
    low = 0.0 if successes == 0 else centre - half  # exactly, not up to rounding
    high = 1.0 if successes == count else centre + half
    return Interval(rate, low, high, math.sqrt(rate * (1 - rate)), count)


def paired_rate_interval(one: np.ndarray, other: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """The difference of two rates, `one` − `other`, over games on equal seeds; values are 0 or 1.

    >>> print(paired_rate_interval(np.ones(100), np.ones(100)))
    0 [-0.02717, 0.02717]
    """
    gap = paired_interval(one, other, confidence)
    if gap.count == 0:
        return gap
    difference = np.asarray(one, np.float64) - np.asarray(other, np.float64)
    count = gap.count + 2
    more, less = ((difference == sign).sum() + 1 for sign in (1, -1))
    centre = float(more - less) / count
    error = math.sqrt((float(more + less) / count - centre**2) / count)
    half = z_value(confidence) * error
    return Interval(gap.mean, max(-1.0, centre - half), min(1.0, centre + half), error * math.sqrt(count), gap.count)


def survival(values: np.ndarray, confidence: float = CONFIDENCE) -> dict[int, Interval]:
    """The share of games that came to rung 1, 2, 3, … up to the highest one reached; unknown values reached none.

    >>> print(survival(np.array([0, 1, 3, 1]))[1])
    0.75 [0.3006, 0.9544]
    """
    reached = np.nan_to_num(np.asarray(values, np.float64), nan=-np.inf)
    top = int(reached.max(initial=0.0))
    return {rung: wilson_interval(int((reached >= rung).sum()), len(reached), confidence) for rung in range(1, top + 1)}


def games_for_half_width(spread: float, half_width: float, confidence: float = CONFIDENCE) -> int:
    """How many games in all until a mean is known to ± `half_width`, if single games keep their spread."""
    if half_width <= 0:
        raise UsageError(f"A half-width of {half_width} is never reached; give a number above 0.")
    count = max(2, math.ceil((z_value(confidence) * spread / half_width) ** 2))
    while t_quantile(confidence, count - 1) * spread / math.sqrt(count) > half_width:
        count += 1  # a few times at most: t is a little wider than the normal
    return count


def games_for_difference(difference: Interval, confidence: float = CONFIDENCE) -> int | None:
    """How many games in all until a paired difference would exclude 0, if it stays as it is; None if it is 0."""
    if difference.count < 2 or difference.mean == 0:
        return None
    return games_for_half_width(difference.spread, abs(difference.mean), confidence)


def games_for_rate_half_width(rate: float, half_width: float, confidence: float = CONFIDENCE) -> int:
    """How many games in all until Wilson's interval is known to ± `half_width`, if the rate stays as it is.

    >>> games_for_rate_half_width(0.5, 0.01)
    9600
    """
    if half_width <= 0:
        raise UsageError(f"A half-width of {half_width} is never reached; give a number above 0.")
    few, enough = 0, 1  # the width only shrinks with more games
    while _wilson(rate, enough, confidence)[1] > half_width:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if _wilson(rate, middle, confidence)[1] <= half_width else (middle, enough)
    return enough


def games_to_tell_rate(rate: float, other: float, confidence: float = CONFIDENCE) -> int | None:
    """How many games in all until Wilson's interval excludes `other`, if the rate stays as it is; None if it is equal.

    Wilson's interval holds exactly the rates that a score test would not reject, so there is a formula.

    >>> games_to_tell_rate(0.04, 0.0235)
    324
    """
    if not 0 < other < 1:
        raise UsageError(f"A rate of {other} cannot be compared with; expected one between 0 and 1.")
    if rate == other:
        return None
    return math.floor(z_value(confidence) ** 2 * other * (1 - other) / (rate - other) ** 2) + 1


@lru_cache(maxsize=256)
def t_quantile(confidence: float, freedom: int) -> float:
    """The x with P(|T| < x) = `confidence` for Student's t.

    With t = √ν·tan θ the density becomes cos^(ν−1) θ on 0..π/2: smooth and bounded, so a fixed grid is exact to more
    digits than anyone reads. Beyond 2,000 degrees of freedom the normal quantile with its first corrections is.

    >>> round(t_quantile(0.95, 9), 4)
    2.2622
    """
    if not 0 < confidence < 1 or freedom < 1:
        raise UsageError(f"No t quantile for confidence {confidence} and {freedom} degrees of freedom.")
    if freedom > 2000:
        z = z_value(confidence)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    angle = np.linspace(0.0, math.pi / 2, 20_001)
    density = np.cos(angle) ** (freedom - 1)
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(freedom) * math.tan(float(np.interp(confidence, mass / mass[-1], angle)))


def z_value(confidence: float = CONFIDENCE) -> float:
    """Half-width, in standard errors, of a normal value's interval."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def _wilson(rate: float, count: int, confidence: float) -> tuple[float, float]:
    """Centre and half-width of Wilson's interval."""
    z = z_value(confidence)
    shrink = 1 + z * z / count
    half = z / shrink * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    return (rate + z * z / (2 * count)) / shrink, half


def _finite(value: float | int) -> float | int | None:
    return value if math.isfinite(value) else None
