"""A player that plans: a policy, and simulations in copies of the game where the policy is not sure.

It looks at the game it plays (`policies.contract.decide` shows it). The determinizations of a plan depend on what the
player sees and nothing else: the same position is always planned in the same way, and nothing hidden can be read from
it.

Another player may play the simulations out (`player`): then it is that player's move which is improved, while the
policy proposes the others and says what the end of a simulation is worth.

In games of two players a heuristic sits opposite, whom the game's table names (`Plans.opponent`).

Where the game has a heuristic player that searches by itself, from what it sees, that one plans (`own_search`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame, game_entry
from jimbot.planning.outcome import Plan, PlanReport
from jimbot.planning.own_search import own_search
from jimbot.planning.rollouts import Rollouts, Simulations
from jimbot.planning.settings import PlanSettings, PlanTable
from jimbot.policies.contract import Decision, GameRows, Policy
from jimbot.policies.players import Player, find_player
from jimbot.policies.win_chances import WinChances, win_chances
from jimbot.runs.manifest import Manifest

if TYPE_CHECKING:
    from jimbot.planning.compiled import CompiledRollouts

MOST_NATS = 5.0  # by which trying moves out changes a log-probability at most
HOPELESS, ENOUGH = 2.0, 4  # standard errors below the policy's own move, in so many determinizations: given up
_LEAST = 1e-12


@dataclass
class Candidates:
    """The moves of one decision and what trying them brought; move 0 is the policy's own."""

    actions: np.ndarray  # (k,) int64
    log_probabilities: np.ndarray  # (k,) float64
    alive: list[int]
    returns: list[list[float]] = field(default_factory=list)  # per move, in the order of the determinizations
    noise: np.ndarray | None = None  # (k,) float64

    @classmethod
    def of(cls, probabilities: np.ndarray, own: int, count: int, noise: np.ndarray | None = None) -> Candidates:
        """The `count` moves with most log π + noise, the policy's own first."""
        logs = np.log(np.maximum(probabilities.astype(np.float64), _LEAST))
        likely = np.argsort(-(logs if noise is None else logs + noise), kind="stable")
        likely = likely[(probabilities[likely] > 0) & (likely != own)][: count - 1]
        actions = np.concatenate([[own], likely]).astype(np.int64)
        drawn = None if noise is None else noise[actions]
        return cls(actions, logs[actions], list(range(len(actions))), [[] for _ in actions], drawn)

    def gain(self, move: int, prior: float) -> tuple[float, float]:
        """By how much a move is better than the policy's own, and the standard error of that."""
        many = len(self.returns[move])
        difference = np.array(self.returns[move]) - np.array(self.returns[0][:many])
        error = float(difference.std(ddof=1)) / math.sqrt(many) if many > 1 else math.inf
        return float(difference.mean()) + prior * float(self.log_probabilities[move] - self.log_probabilities[0]), error

    def drop_half(self, prior: float) -> None:
        """Goes on with the better half of the other moves, without those that are clearly worse than the policy's own:
        where none is left nothing more need be tried."""
        others = sorted(self.alive[1:], key=lambda move: -self.gain(move, prior)[0])
        better = others[: max(1, len(others) // 2)]
        self.alive = [0, *(move for move in better if not self._hopeless(move, prior))]

    def _hopeless(self, move: int, prior: float) -> bool:
        gain, error = self.gain(move, prior)
        return len(self.returns[move]) >= ENOUGH and gain + HOPELESS * error < 0

    def verdict(self, margin: float, prior: float, least: float = 0.0) -> tuple[int, float, float]:
        """(move to take, its gain, the gain's standard error)."""
        if self.noise is not None:
            return self._drawn()
        if len(self.alive) == 1:
            return 0, 0.0, math.inf
        best = max(self.alive[1:], key=lambda move: self.gain(move, prior)[0])
        gain, error = self.gain(best, prior)
        needed = max(least, margin * error if margin else 0.0)  # without a margin one determinization will do
        return (best, gain, error) if gain > needed else (0, 0.0, error)

    def nats(self) -> np.ndarray:
        """(k,) float64, σ(q): how much more likely trying makes each move."""
        found = np.zeros(len(self.actions))
        for move in range(1, len(found)):
            gain, error = self.gain(move, 0.0) if self.returns[move] else (0.0, math.inf)
            found[move] = math.copysign(MOST_NATS, gain) if error == 0.0 and gain else gain / max(error, _LEAST)
        return np.clip(found, -MOST_NATS, MOST_NATS)

    def improved(self, probabilities: np.ndarray) -> np.ndarray:
        """(A,) float32, the policy in the light of what was tried: softmax(log π + σ(q))."""
        nats = self.nats()
        weights = probabilities.astype(np.float64)
        weights[self.actions] = np.maximum(weights[self.actions], _LEAST) * np.exp(nats - nats.max())
        untried = np.ones(len(weights), bool)
        untried[self.actions] = False
        weights[untried] *= math.exp(-nats.max())
        return (weights / weights.sum()).astype(np.float32)

    def _drawn(self) -> tuple[int, float, float]:
        """The move of the noise: a sample of the improved policy, as far as it was looked at."""
        assert self.noise is not None
        scores = self.noise + self.log_probabilities + self.nats()
        best = max(self.alive, key=lambda move: scores[move])
        return (best, *self.gain(best, 0.0))


def rounds_of(candidates: int) -> int:
    """Rounds until one other move is left.

    >>> [rounds_of(k) for k in (2, 3, 5, 9)]
    [1, 2, 3, 4]
    """
    return max(1, math.ceil(math.log2(max(1, candidates - 1))) + 1)


def determinizations_of(rollouts: int, rounds: int, alive: int) -> int:
    """Worlds in which each move still alive is tried in a round, of a budget for all rounds."""
    return max(1, rollouts // (rounds * alive))


_FIRST_SIMULATIONS = 16
MOST_SIMULATIONS = 4096
"""Of a decision that is given time instead of a number of simulations."""
LONGEST = 600.0
ITSELF = "itself"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def planning(
    player: Player,
    rollouts: int | None,
    playing_on: str | None = None,
    asked: Mapping[str, Any] = _NOTHING,
    seconds: float | None = None,
) -> Player:
    """The player, looking ahead with so many simulations per decision; None: as it is. `playing_on` names who plays the
    simulations out: a player, or `ITSELF`; None: whom the game's table names. `asked` are settings in place of that
    table's. With `seconds` a decision takes so long at most, and without `rollouts` about that."""
    if seconds is not None:
        if not 0 < seconds <= LONGEST:
            raise UsageError(
                f"A plan of {seconds:g} seconds cannot be made; expected more than 0, at most {LONGEST:g}."
            )
        rollouts = MOST_SIMULATIONS if rollouts is None else rollouts
    if rollouts is None:
        if playing_on is not None or asked:
            raise UsageError("How a plan is made was said, but not of how many tries; add --plan N.")
        return player
    if player.entry.two_sides is not None:
        opponent_of(player.game)  # told before anything is played
    if playing_on is None and (thinker := own_search(player, rollouts)) is not None:
        if asked:
            raise UsageError(
                f"{player.name} plans by the search of '{thinker.searcher}', where --plan N is all there is to say; "
                f"--plan-with {ITSELF} takes other settings."
            )
        thinker.seconds = seconds
        return replace(player, policy=thinker, name=thinker.name, options={**player.options, **thinker.options})
    other = _who_plays_on(player, playing_on)
    timed = {} if seconds is None else {"seconds": seconds}
    settings = PlanTable(player.entry, asked={**asked, **timed, "rollouts": rollouts})
    chances = win_chances(player) if other is None else None
    planner = Planner(
        player.policy, player.manifest, settings, player=None if other is None else other.policy, chances=chances
    )
    much = f"{seconds:g} s" if seconds is not None else f"{rollouts}"
    name = f"{player.name} +{much}" + ("" if other is None else f" with {other.name}")
    planner.name = name
    options = {**player.options, **({} if other is None else getattr(other.policy, "options", {}))}
    return replace(player, policy=planner, name=name, options=options)


def opponent_of(game: str) -> Policy:
    """The heuristic that sits opposite in simulations of a game of two players; raises if its table names none."""
    plans = game_entry(game).plans
    if plans is None or plans.opponent is None:
        raise UsageError(f"Game '{game}' has two players and names nobody who sits opposite in a plan; do without one.")
    return find_player(plans.opponent, game).policy


def _who_plays_on(player: Player, asked: str | None) -> Player | None:
    """Who plays the simulations out, if it is not the player itself."""
    if asked == ITSELF:
        return None
    if asked is not None:
        return find_player(asked, player.game)
    plans = player.entry.plans
    if plans is None or plans.player is None:
        return None
    usual = find_player(plans.player, player.game)
    needed = getattr(usual.policy, "options", {})
    return usual if all(player.options.get(name) == value for name, value in needed.items()) else None


class Planner:
    """A policy that looks ahead; see the module's docstring."""

    needs_game = looks_at_game = True

    def __init__(
        self,
        policy: Policy,
        manifest: Manifest | None = None,
        settings: PlanSettings | PlanTable = PlanSettings(),
        seed: int = 0,
        copies: int = 256,
        player: Policy | None = None,
        exploring: np.random.Generator | None = None,
        chances: WinChances | None = None,
    ) -> None:
        """`exploring` draws the moves that are looked at, and the one played, from the improved policy. With `chances`
        a simulation brings the chance to win where it ends, and rewards do not count."""
        config = manifest.config if manifest is not None else {}
        self.policy, self.player, self.exploring = policy, player, exploring
        self.settings = settings
        most = settings.rollouts if isinstance(settings, PlanSettings) else settings.kinds[0].rollouts
        self.name = f"{policy.name} +{most}"
        self.options = {**getattr(policy, "options", {}), **getattr(player, "options", {})}
        self.report = PlanReport()
        self.made_of = (settings if isinstance(settings, PlanSettings) else settings.kinds, policy, player)
        """What the same plan is made of again."""
        self._gamma = float(config.get("gamma", 0.99))
        self._transform = str(config.get("reward_transform", "none"))
        self._seed, self._copies, self._manifest = seed, copies, manifest
        self._rollouts: Rollouts | CompiledRollouts | None = None
        self._table: PlanTable | None = None
        self._game: BatchGame | None = None
        self._chances = chances
        self._rate = 0.0  # simulations per second, of late
        self._seeing: dict[int, Planner] = {}  # by how much of a row it sees
        if self._transform == "normalize":
            raise UsageError(
                f"Policy '{policy.name}' was trained with reward_transform normalize, whose values no plan can add to "
                "rewards; train with none, sqrt or symlog to plan with it."
            )

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
        at: GameRows | None = None,
    ) -> Decision:
        """The policy's decision, improved where trying moves out shows a better one; without a game it is as it is."""
        decision = self.policy.act(observation, legal_mask, deterministic, key)
        return decision if at is None else at.improved(decision, lambda *rest: self.plan(*rest).decision)

    def plan(self, game: BatchGame, live: np.ndarray, decision: Decision, until: float | None = None) -> Plan:
        """What simulations make of a decision, where it is `live`; none are begun that would not be over by `until`
        (time.monotonic)."""
        began = time.monotonic()
        rollouts, table = self._ready_for(game)
        if until is None and table.seconds is not None:
            until = began + table.seconds
        own = self._own(game, live, decision)
        kinds = table.kind_of(game.observation, game.legal_mask)
        simulations = np.array([kind.simulations for kind in table.kinds])[kinds]
        certain = np.array([kind.certain for kind in table.kinds])[kinds]
        unsure = decision.probabilities[np.arange(len(own)), own] < certain
        wanted = live & game.acting & unsure & (simulations >= 2) & (game.legal_mask.sum(axis=1) > 1)
        rows = np.flatnonzero(wanted)
        settings = [table.kinds[kind] for kind in kinds[rows]]
        improved, spent = decision.probabilities.copy(), np.zeros(len(own), np.int64)
        actions, values = own.copy(), np.array(decision.values)
        found = self._search(game, rollouts, rows, settings, decision, own, until) if len(rows) else []
        for row, kind, candidates in zip(rows, settings, found, strict=False):
            spent[row] = sum(map(len, candidates.returns))
            if not spent[row]:
                continue
            move = candidates.verdict(kind.margin, kind.prior, kind.least)[0]
            actions[row] = candidates.actions[move]
            values[row] = np.mean(candidates.returns[move])
            improved[row] = candidates.improved(decision.probabilities[row])
        self.report.decisions += int((live & game.acting).sum())
        self.report.planned += int((spent > 0).sum())
        self.report.changed += int((actions != own).sum())
        self.report.rollouts += int(spent.sum())
        self.report.seconds += time.monotonic() - began
        return Plan(Decision(actions, decision.probabilities, values), improved, spent > 0, spent, own)

    def seeing_first(self, size: int) -> Planner:
        """The same in games that show more, behind the `size` numbers the policy knows."""
        if size not in self._seeing:
            seeing = self._seeing[size] = copy(self)
            policy: Any = self.policy
            seeing.policy, seeing._rollouts, seeing._seeing = policy.seeing_first(size), None, {}
        return self._seeing[size]

    def close(self) -> None:
        for seeing in self._seeing.values():
            seeing.close()
        if self._rollouts is not None:
            self._rollouts.close()
            self._rollouts = self._game = self._table = None

    def _own(self, game: BatchGame, live: np.ndarray, decision: Decision) -> np.ndarray:
        """(N,) what is played where nothing better is found."""
        own = decision.actions.copy()
        if self.player is not None and live.any():
            own[live] = self.player.act(game.observation[live], game.legal_mask[live])[0]
        return own

    def _search(
        self,
        game: BatchGame,
        rollouts: Rollouts | CompiledRollouts,
        rows: np.ndarray,
        settings: list[PlanSettings],
        decision: Decision,
        own: np.ndarray,
        until: float | None,
    ) -> list[Candidates]:
        noise = None if self.exploring is None else self.exploring.gumbel(size=decision.probabilities[rows].shape)
        found = [
            Candidates.of(decision.probabilities[row], int(own[row]), kind.candidates, None if noise is None else drawn)
            for row, kind, drawn in zip(rows, settings, rows if noise is None else noise, strict=True)
        ]
        seeds = [np.random.default_rng([self._seed, *game.observation[row].view(np.uint32)]) for row in rows]
        part = self._affordable(sum(kind.simulations for kind in settings), until)
        if part <= 0.0:
            return found
        for turn in range(max(rounds_of(kind.candidates) for kind in settings)):
            parts, owners = [], []
            for row, kind, candidates, rng in zip(rows, settings, found, seeds, strict=True):
                rounds = rounds_of(kind.candidates)
                if 0 < turn < rounds and len(candidates.alive) > 1:
                    candidates.drop_half(kind.prior)
                if turn >= rounds or len(candidates.alive) < 2:
                    continue
                many = determinizations_of(round(kind.simulations * part), rounds, len(candidates.alive))
                determinizations = rng.integers(0, 2**63, many, dtype=np.uint64)
                for move in candidates.alive:
                    same = np.full((4, many), [[row], [candidates.actions[move]], [kind.depth], [kind.horizon]])
                    parts.append(Simulations(same[0], same[1], determinizations, same[2], same[3]))
                    owners.append(candidates.returns[move])
            if not parts:
                break
            began = time.monotonic()
            brought = rollouts.returns(game, Simulations(*map(np.concatenate, zip(*parts, strict=True))))
            ended = time.monotonic()
            self._rate = len(brought) / max(ended - began, 1e-6)
            first = 0
            for owner, piece in zip(owners, parts, strict=True):
                owner += brought[first : first + len(piece.row)].tolist()
                first += len(piece.row)
            if until is not None and ended >= until:
                break
        return found

    def _affordable(self, simulations: int, until: float | None) -> float:
        """The part of so many simulations that there is time for, as fast as the last ones were."""
        if until is None:
            return 1.0
        if not self._rate:  # nothing is known yet: a few
            return min(1.0, _FIRST_SIMULATIONS / simulations)
        return min(1.0, max(0.0, (until - time.monotonic()) * self._rate / simulations))

    def _rollouts_in(self, game: BatchGame) -> Rollouts | CompiledRollouts:
        """Inside JAX where game and policy are, else from Python."""
        if self.player is None and self._chances is None and game_entry(game.spec.id).functional is not None:
            from jimbot.planning.compiled import CompiledRollouts, network_of

            if (found := network_of(self.policy, self._manifest)) is not None:
                return CompiledRollouts(game, *found, self._gamma, self._transform, self._copies)
        opponent = opponent_of(game.spec.id) if game.spec.players > 1 else None
        return Rollouts(
            game, self.policy, self._gamma, self._transform, self._copies, self.player, opponent, self._chances
        )

    def _ready_for(self, game: BatchGame) -> tuple[Rollouts | CompiledRollouts, PlanTable]:
        if self._rollouts is None or self._table is None or self._game is not game:
            self.close()
            self._game = game
            settings = self.settings
            self._table = settings if isinstance(settings, PlanTable) else PlanTable(game_entry(game.spec.id), settings)
            self._rollouts = self._rollouts_in(game)
        return self._rollouts, self._table


# Positions that were told rather than played, as much of a game as a planner looks at.


class SnapshotGame:
    """The same object for all positions of a game and its options, so that a planner keeps its copies of the game."""

    def __init__(self, game: str, options: Any) -> None:
        self.spec, self.options = game_entry(game).spec, options

    def stand(
        self, snapshots: Sequence[Mapping[str, np.ndarray]], observation: np.ndarray, legal_mask: np.ndarray
    ) -> BatchGame:
        """Now at these positions, one snapshot each; none for a planner that does not need the game."""
        self._snapshot = {
            name: part if part.ndim == 0 else np.concatenate([snapshot[name] for snapshot in snapshots])
            for name, part in (snapshots[0] if snapshots else {}).items()
        }
        self.observation, self.legal_mask = observation, legal_mask
        self.acting = np.ones(len(observation), bool)
        return cast(BatchGame, self)

    def snapshot(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {name: part if part.ndim == 0 else part[rows] for name, part in self._snapshot.items()}
