"""A comparison that stops by itself: the sequential probability ratio test, on paired games.

Two policies play the same seeds. A pair is worth 0 to 1 for the first: in games of one player 1, ½ or 0 as it alone,
both or neither, or the other alone won; in games of two players the mean of two games with the seats exchanged (five
outcomes, hence "pentanomial"). After every batch the likelihood of "better by `high`" is set against that of "better by
`low`": each is the largest that any distribution of pairs with that mean gives to what was seen, so nothing need be
known of how pairs vary. Where the logarithm of their ratio leaves the bounds, the test is over; with error rates α and
β it is wrong that often, and on average after far fewer games than a test of fixed size.

`low` and `high` are points of win rate, in games of two players Elo.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.compare import common_game, common_options
from jimbot.evaluation.duels import agreed_options, distinct
from jimbot.evaluation.identity import player_hash
from jimbot.evaluation.matches import both_seats, play_matches
from jimbot.evaluation.play import play_games
from jimbot.evaluation.summary import WON
from jimbot.games.contract import GameEntry, game_entry
from jimbot.games.seeds import BANKS, HELD_OUT, MOST_GAMES, bank_seeds
from jimbot.policies.players import Named, Player, Which, find_player
from jimbot.runs.files import make_directory, read_json, write_atomically

ERROR_RATE = 0.05
WORTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""What a pair can be worth for the first policy."""
_UNSEEN = 1e-3  # pairs of a kind not seen yet: its likelihood must not be 0
_STEPS = 60  # of bisection
_MOST_ELO = 1000.0
_BATCH = 256  # pairs between two looks
_ELO_SCALE = 400.0
POINTS, ELO = "points", "Elo"


@dataclass(frozen=True)
class Hypotheses:
    """What is told apart: the first is better by at most `low`, or by at least `high`."""

    low: float
    high: float
    unit: str = POINTS
    alpha: float = ERROR_RATE
    beta: float = ERROR_RATE

    def __post_init__(self) -> None:
        most = 100.0 if self.unit == POINTS else _MOST_ELO
        if not -most < self.low < self.high < most:
            raise UsageError(
                f"--sprt {self.low:g},{self.high:g} cannot be told apart; expected LOW,HIGH with LOW below HIGH, both "
                f"between {-most:g} and {most:g} {self.unit}."
            )

    @classmethod
    def read(cls, text: str, unit: str) -> Hypotheses:
        """Of "0,3".

        >>> Hypotheses.read("0,3", POINTS)
        Hypotheses(low=0.0, high=3.0, unit='points', alpha=0.05, beta=0.05)
        """
        try:
            low, high = (float(part) for part in text.split(","))
        except ValueError:
            raise UsageError(f"--sprt is '{text}'; expected two numbers LOW,HIGH, such as 0,3.") from None
        return cls(low, high, unit)

    def worth(self, difference: float) -> float:
        """The mean worth of a pair at that difference."""
        if self.unit == POINTS:
            return 0.5 + difference / 200.0
        return 1.0 / (1.0 + 10.0 ** (-difference / _ELO_SCALE))

    @property
    def bounds(self) -> tuple[float, float]:
        """Logarithms of the likelihood ratio at which `low`, `high` is taken for true."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def log_likelihood_ratio(self, counts: np.ndarray) -> float:
        """Of `high` against `low`, from how many pairs were worth what (`WORTHS`)."""
        if not counts.any():
            return 0.0
        one, other = (_most_likely(counts, self.worth(difference)) for difference in (self.low, self.high))
        return float((counts * (np.log(other) - np.log(one))).sum())

    def fixed_pairs(self, counts: np.ndarray) -> int:
        """Pairs that a test of fixed size with these error rates takes, as much as pairs vary here."""
        mean = float(counts @ np.array(WORTHS)) / counts.sum()
        variance = float(counts @ (np.array(WORTHS) - mean) ** 2) / counts.sum()
        quantiles = sum(NormalDist().inv_cdf(1 - rate) for rate in (self.alpha, self.beta))
        return math.ceil(variance * (quantiles / (self.worth(self.high) - self.worth(self.low))) ** 2)


def _most_likely(counts: np.ndarray, mean: float) -> np.ndarray:
    """The distribution of that mean under which these counts are most likely: p ∝ n ÷ (1 + θ (worth − mean))."""
    seen = np.maximum(counts, _UNSEEN)
    shares, away = seen / seen.sum(), np.array(WORTHS) - mean
    least, most = -1.0 / away.max(), -1.0 / away.min()  # where a probability would be infinite
    for _ in range(_STEPS):
        theta = (least + most) / 2
        if (shares * away / (1 + theta * away)).sum() > 0:
            least = theta
        else:
            most = theta
    return shares / (1 + theta * away)


@dataclass
class SequentialTest:
    """A test under way: what was seen, and what it says."""

    hypotheses: Hypotheses
    names: tuple[str, str]
    counts: np.ndarray = field(default_factory=lambda: np.zeros(len(WORTHS)))

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    @property
    def ratio(self) -> float:
        return self.hypotheses.log_likelihood_ratio(self.counts)

    @property
    def decided(self) -> str:
        """ "high", "low", or nothing yet."""
        lower, upper = self.hypotheses.bounds
        ratio = self.ratio
        return "high" if ratio >= upper else "low" if ratio <= lower else ""

    def add(self, worths: np.ndarray) -> None:
        """Takes further pairs."""
        self.counts += np.bincount(np.round(np.asarray(worths) * 4).astype(np.int64), minlength=len(WORTHS))

    def add_counts(self, counts: object) -> None:
        """Takes what an earlier call kept; a file that says something else is no test's, and counts for nothing."""
        if isinstance(counts, dict) and list(counts) == [f"{worth:g}" for worth in WORTHS]:
            self.counts += np.array([max(0, int(count)) for count in counts.values()])

    @property
    def difference(self) -> float:
        """The difference seen, in the unit of the hypotheses."""
        mean = float(self.counts @ np.array(WORTHS)) / max(1, self.pairs)
        if self.hypotheses.unit == POINTS:
            return 200.0 * (mean - 0.5)
        odds = min(max(mean, 1e-9), 1 - 1e-9)
        return max(-_MOST_ELO, min(_MOST_ELO, _ELO_SCALE * math.log10(odds / (1 - odds))))

    @property
    def sentence(self) -> str:
        """What is known by now."""
        one, other = self.names
        given, played = self.hypotheses, f"{self.pairs:,} pairs of games"
        seen = f"{self.difference:+.1f} {given.unit} seen"
        if not self.decided:
            lower, upper = given.bounds
            return (
                f"Not decided after {played} ({seen}): the log-likelihood ratio is {self.ratio:+.2f}, "
                f"between {lower:.2f} and {upper:.2f}."
            )
        found, refuted = (given.high, given.low) if self.decided == "high" else (given.low, given.high)
        fixed = given.fixed_pairs(self.counts)
        saved = f"; a test of fixed size would have taken {fixed:,}" if fixed > self.pairs else ""
        return (
            f"{one} against {other}: better by {found:g} {given.unit} rather than by {refuted:g}, decided after "
            f"{played} ({seen}){saved}."
        )

    def to_dict(self) -> dict[str, Any]:
        given = self.hypotheses
        lower, upper = given.bounds
        return {
            "players": list(self.names),
            "low": given.low,
            "high": given.high,
            "unit": given.unit,
            "alpha": given.alpha,
            "beta": given.beta,
            "log_likelihood_ratio": self.ratio,
            "bounds": [lower, upper],
            "pairs": self.pairs,
            "counts": {f"{worth:g}": int(count) for worth, count in zip(WORTHS, self.counts, strict=True)},
            "difference": self.difference,
            "fixed_size_pairs": given.fixed_pairs(self.counts) if self.pairs else None,
            "decided": self.decided or None,
            "sentence": self.sentence,
        }


# --- playing ---


def compare_until_sure(
    policies: Sequence[Named],
    hypotheses: str,
    game_id: str | None = None,
    games: int | None = None,
    *,
    bank: str = HELD_OUT,
    options: Mapping[str, Any] | None = None,
    runs_root: str | Path = "runs",
    which: Which = "latest",
    deterministic: bool = True,
    num_envs: int = 256,
) -> Iterator[SequentialTest]:
    """Plays two policies pair by pair until it is decided which hypothesis holds, or each has played `games` games.

    Yields the test before the first batch and after each. What was played is kept beside the runs: the same call goes
    on with it, as long as players, rules, seeds and hypotheses are the same.
    """
    if len(policies) != 2:
        raise UsageError(f"--sprt compares two policies; got {len(policies)}.")
    if bank not in BANKS:
        raise UsageError("--sprt draws as many seeds of a bank as it needs; leave --seed and --seeds-file out.")
    game_id = game_id or common_game(policies, runs_root, which)
    entry = game_entry(game_id)
    given = Hypotheses.read(hypotheses, POINTS if entry.two_sides is None else ELO)
    players = distinct([find_player(policy, game_id, None, runs_root, which) for policy in policies])
    if entry.two_sides is None and WON not in entry.spec.episode_stats:
        raise UsageError(f"Game '{game_id}' cannot be won; --sprt compares rates of wins. Leave it out.")
    if entry.two_sides is None:
        together, most = common_options(players, options), games or MOST_GAMES
    else:
        together, most = agreed_options(entry, players, options), -(-(games or MOST_GAMES) // 2)
    test = SequentialTest(given, (players[0].name, players[1].name))
    identity = [*(player_hash(player) for player in players), given, sorted(together.items()), bank, deterministic]
    kept = Path(runs_root) / ".sprt" / f"{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}.json"
    if kept.exists():
        stored = read_json(kept)
        test.add_counts(stored.get("counts") if isinstance(stored, dict) else None)
    yield test
    batch = max(1, min(num_envs, _BATCH))
    while not test.decided and test.pairs < most:
        seeds = bank_seeds(bank, test.pairs + min(batch, most - test.pairs))[test.pairs :]
        test.add(_worths(players, entry, seeds, together, deterministic, num_envs))
        make_directory(kept.parent)
        write_atomically(kept, json.dumps(test.to_dict(), indent=1).encode())
        yield test


def _worths(
    players: Sequence[Player],
    entry: GameEntry,
    seeds: np.ndarray,
    options: Mapping[str, Any],
    deterministic: bool,
    num_envs: int,
) -> np.ndarray:
    """What the pairs on these seeds are worth for the first player."""
    game = entry.spec.id
    if entry.two_sides is None:
        won = [
            play_games(player.policy, game, seeds, options, deterministic, num_envs).stat(WON) > 0 for player in players
        ]
        return (1.0 + won[0] - won[1]) / 2
    names = [player.name for player in players]
    met = both_seats(seeds, [(0, 1)])
    played = play_matches(
        game, [player.shown(options) for player in players], names, met, options=options, deterministic=deterministic
    )
    first = np.where(played.seats[:, 0] == 0, played.scores, 1.0 - played.scores)
    return first.reshape(-1, 2).mean(axis=1)
