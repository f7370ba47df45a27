"""Synergies as games show them: do runs that hold two parts together win more than both would have them win alone?

Every run counts once, as it stood when it reached a certain milestone, so that runs are independent and those that
never came that far tell nothing. A player with more money and more jokers wins more often whatever they are, and
players win by different ways, so who played, money and the number of jokers are held equal, and every joker counts for
what it does by itself: a logistic model of all that says how many of the runs with both should have won. What is beyond
it is the pair's (the score test for adding the pair to the model). Many pairs are asked at once: the share of false
ones among those called found is controlled (Benjamini and Hochberg)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import KnowledgeError, UnreadableError, UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry, make
from jimbot.games.entry import GameEntry
from jimbot.games.hooks.programs import PlayedGame
from jimbot.knowledge.records import PLAYED, SYNERGY, Edge
from jimbot.policies.contract import decide
from jimbot.policies.players import Player
from jimbot.reading.plain import json_value
from jimbot.runs.catalogue import find_run
from jimbot.runs.files import read_text
from jimbot.training.imitation.dataset import Dataset

MILESTONE = 4
FALSE_SHARE = 0.1
LEAST_RUNS = 8
"""Runs with both, below which nothing is said."""
LEAST_INFORMATION = 0.5
RIDGE = 1.0
_NEWTON_STEPS = 12
CHANNEL = "win"
Holdings = Mapping[str, Any]
"""What `Knowledge.read_state` tells."""
Arrive = Callable[[BatchGame, int, int], None]
"""(game, row, milestone)"""


@dataclass
class PlayedRun:
    """One run: its seed, how it ended, and what it held when it came to each milestone."""

    seed: str
    won: bool = False
    reached: int = 0
    at: dict[int, Holdings] = field(default_factory=dict)
    player: str = ""
    """Who played it: players win by different ways, so only runs of one are compared."""
    far: float = 0.0
    """How far it came on the game's own ladder (`GameSpec.ladder`), where the one who played it knew."""

    @property
    def last(self) -> Holdings:
        return self.at[max(self.at)] if self.at else {}


@dataclass(frozen=True)
class Lift:
    """How much likelier a run wins with both of two parts than each by itself would have it, as a logarithm of odds."""

    a: str
    b: str
    log_odds: float
    low: float
    high: float
    p: float
    runs: int
    """With both."""
    found: bool = False
    """Whether it stands when so many pairs were asked."""


# --- playing ---


def play_runs(
    player: Player,
    seeds: np.ndarray,
    arrive: Arrive = lambda game, row, reached: None,
    follow: bool = True,
) -> list[PlayedRun]:
    """Plays every seed to its end. `arrive` is told when a run comes to a milestone for the first time, and may change
    it. Without `follow` nobody notes what is held."""
    entry = player.entry
    knowledge, milestones = entry.knowledge, entry.milestones
    if knowledge is None or milestones is None:
        raise UsageError(f"Runs of '{entry.spec.id}' cannot be followed: it has no parts or no milestones.")
    game = make(player.game, len(seeds), options=player.options)
    write = entry.seed_form.write if entry.seed_form else str
    runs = [PlayedRun(write(int(seed)), player=player.name) for seed in seeds]
    going = np.ones(len(seeds), np.bool_)
    won, ladder = (entry.spec.episode_stats.index(name) for name in ("won", entry.spec.ladder or "won"))
    reached_at = milestones.reached
    try:
        game.reset(np.asarray(seeds, np.uint64))
        while going.any():
            reached = reached_at(game)
            for row in np.flatnonzero(going):
                if int(reached[row]) not in runs[row].at:
                    arrive(game, int(row), int(reached[row]))
                    runs[row].at[int(reached[row])] = knowledge.read_state(game, int(row)) if follow else {}
            game.step(decide(player.policy, game, going).actions, ~going)
            for row in np.flatnonzero(going & (game.terminated | game.truncated)):
                run = runs[row]
                run.won = bool(game.final_stats[row, won])
                run.reached, run.far = max(run.at), float(game.final_stats[row, ladder])
                going[row] = False
    finally:
        game.close()
    return runs


# --- asking runs ---


def _controls(runs: Sequence[PlayedRun], states: Sequence[Holdings]) -> np.ndarray:
    """(runs, columns): who played with about as much money, and how many jokers there were."""
    money = np.array([state["money"] for state in states])
    thirds = np.searchsorted(np.quantile(money, [1 / 3, 2 / 3]), money)
    groups = np.array([f"{run.player}/{third}" for run, third in zip(runs, thirds, strict=True)])
    held = np.array([len(state["jokers"]) for state in states], float)
    return np.column_stack([*(groups == group for group in np.unique(groups)), held - held.mean()]).astype(float)


@dataclass(frozen=True)
class _Expected:
    """A fitted logistic model: what everything but pairs says about winning."""

    columns: np.ndarray  # (runs, columns)
    chance: np.ndarray  # (runs,) of winning
    inverse: np.ndarray  # (columns, columns) of the information

    def beyond(self, both: np.ndarray, won: np.ndarray) -> tuple[float, float, float]:
        """(log-odds of the runs `both` (indices) beyond the model, its standard error, its p-value)."""
        weight = (self.chance * (1.0 - self.chance))[both]
        along = weight @ self.columns[both]
        information = weight.sum() - along @ self.inverse @ along
        if information < LEAST_INFORMATION:
            return 0.0, math.inf, 1.0
        score = float((won[both] - self.chance[both]).sum())
        error = 1.0 / math.sqrt(information)
        return score / information, error, math.erfc(abs(score) * error / math.sqrt(2))


def _expected(columns: np.ndarray, won: np.ndarray) -> _Expected:
    """Newton's method on the penalised likelihood; the penalty keeps columns that few runs have near zero."""
    weights = np.zeros(columns.shape[1])
    penalty = RIDGE * np.eye(len(weights))
    for _ in range(_NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(columns @ weights, -30.0, 30.0)))
        information = (columns * (chance * (1.0 - chance))[:, None]).T @ columns + penalty
        weights += np.linalg.solve(information, columns.T @ (won - chance) - RIDGE * weights)
    return _Expected(columns, chance, np.linalg.inv(information))


def false_discoveries(p: Sequence[float], share: float = FALSE_SHARE) -> np.ndarray:
    """(N,) bool: which may be called found so that this share of them is false at most.

    >>> false_discoveries([0.001, 0.5, 0.02, 0.9], 0.1).tolist()
    [True, False, True, False]
    """
    values = np.asarray(p, float)
    order = np.argsort(values)
    passed = values[order] <= share * np.arange(1, len(values) + 1) / max(1, len(values))
    found = np.zeros(len(values), np.bool_)
    if passed.any():
        found[order[: int(np.flatnonzero(passed).max()) + 1]] = True
    return found


def pair_lifts(runs: Iterable[PlayedRun], milestone: int = MILESTONE, least: int = LEAST_RUNS) -> list[Lift]:
    """Lifts of all pairs of jokers that enough runs held together at the milestone, surest first."""
    there = [run for run in runs if milestone in run.at]
    if not there:
        return []
    states = [run.at[milestone] for run in there]
    won = np.array([run.won for run in there], float)
    jokers = sorted({key for state in states for key in state["jokers"]})
    place = {key: number for number, key in enumerate(jokers)}
    held = np.zeros((len(there), len(jokers)), np.bool_)
    for number, state in enumerate(states):
        held[number, [place[key] for key in state["jokers"]]] = True
    expected = _expected(np.column_stack([_controls(there, states), held[:, held.sum(axis=0) >= least]]), won)
    together = held.T.astype(np.int64) @ held
    lifts = []
    for a, b in np.argwhere(np.triu(together, 1) >= least):
        value, error, p = expected.beyond(np.flatnonzero(held[:, a] & held[:, b]), won)
        if math.isfinite(error):
            ends = value - 1.96 * error, value + 1.96 * error
            lifts.append((jokers[a], jokers[b], value, *ends, p, int(together[a, b])))
    found = false_discoveries([lift[5] for lift in lifts])
    return sorted((Lift(*lift, bool(one)) for lift, one in zip(lifts, found, strict=True)), key=lambda lift: lift.p)


def edges_of(lifts: Iterable[Lift], command: str) -> list[Edge]:
    """What was found, as claims of the graph: log-odds of winning, not log-score."""
    return [
        Edge(SYNERGY, one.a, one.b, one.log_odds, one.low, one.high, CHANNEL, PLAYED, one.runs, command=command,
             details={"p": one.p})
        for one in lifts
        if one.found
    ]  # fmt: skip


def agreement(lifts: Sequence[Lift], measured: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """How far games say the same as the simulator: rank correlation, and the pairs where they contradict most."""
    common = [lift for lift in lifts if (lift.a, lift.b) in measured and math.isfinite(lift.low)]
    if len(common) < 3:
        return {"pairs": len(common), "rank_correlation": None, "agree": 0, "disagree": []}
    played = np.array([lift.log_odds for lift in common])
    strength = np.array([measured[lift.a, lift.b] for lift in common])
    sure = [lift for lift in common if lift.found]
    disagree = [lift for lift in sure if lift.log_odds * measured[lift.a, lift.b] < 0]
    return {
        "pairs": len(common),
        "rank_correlation": rank_correlation(played, strength),
        "agree": len(sure) - len(disagree),
        "disagree": [[lift.a, lift.b, lift.log_odds, measured[lift.a, lift.b]] for lift in disagree],
    }


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's; ties share their mean rank.

    >>> rank_correlation(np.array([1.0, 2, 3]), np.array([10.0, 30, 20]))
    0.5
    """
    first, second = _mean_ranks(one), _mean_ranks(other)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1].round(12))


def _mean_ranks(values: np.ndarray) -> np.ndarray:
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[which]


# --- runs that were written down: in datasets, on the bus, or by a training run (jax_ppo.extensions.far_games) ---


FILE = "far_runs.jsonl"  # of a run


class _Reader:
    """Reads observations of one game."""

    def __init__(self, entry: GameEntry, where: str) -> None:
        knowledge, milestones = entry.knowledge, entry.milestones
        if knowledge is None or knowledge.read_observation is None or milestones is None:
            raise UsageError(
                f"{where} holds games of '{entry.spec.id}', whose observations do not tell what a run holds."
            )
        self._read, self._milestone = knowledge.read_observation, milestones.name
        self._won = entry.spec.episode_stats.index("won")
        self._seed = entry.seed_form.write if entry.seed_form else str

    def run(self, seed: int, stats: np.ndarray, player: str) -> PlayedRun:
        return PlayedRun(self._seed(seed), bool(stats[self._won]), player=player)

    def note(self, run: PlayedRun, observation: np.ndarray) -> None:
        state = self._read(observation)
        reached = int(state[self._milestone])
        run.at.setdefault(reached, state)
        run.reached = max(run.reached, reached)


def runs_of_dataset(path: str | Path) -> list[PlayedRun]:
    """The finished games of a dataset that `jimbot record` wrote, in the order they began."""
    with Dataset.open(path) as dataset:
        reader = _Reader(game_entry(dataset.spec.id), str(path))
        player = dataset.info.policy
        runs = [reader.run(int(seed), stats, player) for seed, stats in zip(dataset.seeds, dataset.stats, strict=True)]
        for number in range(len(dataset.info.chunks)):
            chunk = dataset.chunk(number)
            for row, observation in zip(chunk.rows, chunk.observation, strict=True):
                reader.note(runs[int(dataset.trajectory[row])], observation)
    return [run for run in runs if run.at]


def runs_of_played(game: str, games: Iterable[PlayedGame], player: str = "bus") -> list[PlayedRun]:
    """Games that were played elsewhere and told, for instance on the event bus."""
    reader = _Reader(game_entry(game), "The bus")
    runs = []
    for one in games:
        run = reader.run(one.seed, one.stats, player)
        for observation in one.observation:
            reader.note(run, observation)
        runs.append(run)
    return [run for run in runs if run.at]


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
    return PlayedRun(
        str(values["seed"]), bool(values["won"]), int(values["reached"]), at=at, player=str(values["player"])
    )


def _plain(state: Holdings) -> bool:
    jokers: Any = state.get("jokers")
    named = isinstance(jokers, Sequence) and all(isinstance(key, str) for key in jokers)
    return named and isinstance(state.get("money"), int | float)
