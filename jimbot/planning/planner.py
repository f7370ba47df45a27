"""A player that plans: a policy, and tries in copies of the game where the policy is not sure.

It needs the game it plays, so it answers `act_in(game, live)`; who plays games asks every policy through
`policies.contract.decide`. The worlds of a plan depend on what the player sees and nothing else: the same position is
always planned in the same way, and nothing hidden can be read from the real game.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame
from jimbot.planning.halving import Candidates, rounds_of, worlds_of
from jimbot.planning.rollouts import Rollouts, Tries
from jimbot.planning.settings import PlanSettings
from jimbot.policies.contract import Decision, Policy
from jimbot.policies.players import Player
from jimbot.runs.manifest import Manifest


@dataclass
class PlanReport:
    """What planning did so far."""

    decisions: int = 0
    planned: int = 0
    changed: int = 0
    rollouts: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        if not self.planned:
            return f"planned none of {self.decisions:,} decisions"
        return (
            f"planned {self.planned / self.decisions:.0%} of {self.decisions:,} decisions, changed "
            f"{self.changed / self.planned:.0%} of those; {1000 * self.seconds / self.planned:.0f} ms each"
        )


def planning(player: Player, rollouts: int | None) -> Player:
    """The player, looking ahead with so many tries per decision; None: as it is."""
    if rollouts is None:
        return player
    if player.entry.two_sides is not None:
        raise UsageError(f"Game '{player.game}' has two players; plans are for games of one.")
    planner = Planner(player.policy, player.manifest, PlanSettings(rollouts=rollouts))
    return replace(player, policy=planner, name=f"{player.name} +{rollouts}")


class Planner:
    """A policy that looks ahead; see the module's docstring."""

    def __init__(
        self,
        policy: Policy,
        manifest: Manifest | None = None,
        settings: PlanSettings = PlanSettings(),
        seed: int = 0,
        copies: int = 256,
    ) -> None:
        config = manifest.config if manifest is not None else {}
        self.policy = policy
        self.settings = settings
        self.name = f"{policy.name} +{settings.rollouts}"
        self.options = getattr(policy, "options", {})
        self.report = PlanReport()
        self._gamma = float(config.get("gamma", 0.99))
        self._transform = str(config.get("reward_transform", "none"))
        self._seed, self._copies = seed, copies
        self._rollouts: Rollouts | None = None
        self._game: BatchGame | None = None
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
    ) -> Decision:
        """What the policy alone would do: a plan needs the game (`act_in`)."""
        return self.policy.act(observation, legal_mask, deterministic, key)

    def act_in(self, game: BatchGame, live: np.ndarray, decision: Decision) -> Decision:
        """The policy's decision, improved where trying moves out shows a better one; only `live` rows count."""
        began = time.monotonic()
        rollouts = self._rollouts_for(game)
        top = decision.probabilities.max(axis=1)
        unsure = live & game.acting & (top < self.settings.certain) & (game.legal_mask.sum(axis=1) > 1)
        rows = np.flatnonzero(unsure)
        self.report.decisions += int((live & game.acting).sum())
        self.report.planned += len(rows)
        if not len(rows):
            return decision
        found = self._search(game, rollouts, rows, decision, began)
        actions, values = decision.actions.copy(), decision.values.copy()
        for row, candidates in zip(rows, found, strict=True):
            move = candidates.verdict(self.settings.margin, self.settings.prior)[0]
            actions[row] = candidates.actions[move]
            values[row] = np.mean(candidates.returns[move])
            self.report.changed += move != 0
        self.report.seconds += time.monotonic() - began
        return Decision(actions, decision.probabilities, values)

    def close(self) -> None:
        if self._rollouts is not None:
            self._rollouts.close()
            self._rollouts = self._game = None

    def _search(
        self, game: BatchGame, rollouts: Rollouts, rows: np.ndarray, decision: Decision, began: float
    ) -> list[Candidates]:
        settings = self.settings
        found = [
            Candidates.of(decision.probabilities[row], int(decision.actions[row]), settings.candidates) for row in rows
        ]
        seeds = [np.random.default_rng([self._seed, *game.observation[row].view(np.uint32)]) for row in rows]
        rounds = rounds_of(settings.candidates)
        for turn in range(rounds):
            parts, owners = [], []
            for row, candidates, luck in zip(rows, found, seeds, strict=True):
                many = worlds_of(settings.rollouts, rounds, len(candidates.alive))
                worlds = luck.integers(0, 2**63, many, dtype=np.uint64)
                for move in candidates.alive:
                    parts.append(Tries(np.full(many, row), np.full(many, candidates.actions[move]), worlds))
                    owners.append(candidates.returns[move])
            brought = rollouts.returns(game, Tries(*map(np.concatenate, zip(*parts, strict=True))), settings.depth)
            first = 0
            for owner, part in zip(owners, parts, strict=True):
                owner += brought[first : first + len(part.row)].tolist()
                first += len(part.row)
            self.report.rollouts += len(brought)
            late = settings.seconds is not None and time.monotonic() - began >= settings.seconds
            if late or turn == rounds - 1:
                break
            for candidates in found:
                candidates.drop_half(settings.prior)
        return found

    def _rollouts_for(self, game: BatchGame) -> Rollouts:
        if game.spec.players != 1:
            raise UsageError(f"Game '{game.spec.id}' has {game.spec.players} players; plans are for games of one.")
        if self._rollouts is None or self._game is not game:
            self.close()
            self._game = game
            self._rollouts = Rollouts(game, self.policy, self._gamma, self._transform, self._copies)
        return self._rollouts
