"""Plans of a game whose heuristic player searches by itself, in a head of its own that it fills from what it sees.

That player is asked for more simulations, or a policy lends it its judgement: what the policy finds likely is tried
first. No copy of the game is played in, so nothing hidden can be read, and an observation is all such a plan needs.
"""

from __future__ import annotations

import time

import numpy as np

from jimbot.games.contract import BatchGame
from jimbot.planning.outcome import Plan, PlanReport
from jimbot.policies import masking
from jimbot.policies.contract import Decision, GameRows, Policy
from jimbot.policies.heuristics import HeuristicPolicy, heuristic_policy
from jimbot.policies.players import Player

_FEWEST = 16  # simulations, however little time there is
_DRAWN = 0.1
"""While exploring, the share of moves that are drawn: simulations are few and looked at many moves once, so a player
that draws all its moves from them reaches stage 2 of HackMatrix where the most tried ones win three games of four."""
_SHARPNESS = 3.0
"""What is learned from a search is its shares to this power: what was looked at once is no advice."""


def own_search(player: Player, simulations: int, exploring: np.random.Generator | None = None) -> OwnSearch | None:
    """The player with the search of the game's heuristic player; None where there is none.

    A policy sees what it was trained on, the search also what that player sees more by: options of the game that were
    not decided otherwise.
    """
    if isinstance(player.policy, HeuristicPolicy):
        return None if player.policy.planning(simulations) is None else OwnSearch(player.policy, simulations)
    plans = player.entry.plans
    if plans is None or plans.searcher is None:
        return None
    searcher = heuristic_policy(plans.searcher, player.game)
    assert isinstance(searcher, HeuristicPolicy)
    more = {} if player.manifest is None else searcher.helped_by
    policy = player.shown({**more, **player.options})
    found = OwnSearch(searcher, simulations, policy, exploring)
    found.options = {**more, **player.options, **found.options}
    return found


def _sharpened(shares: np.ndarray) -> np.ndarray:
    """(N, A) the improved policy."""
    sharp = shares**_SHARPNESS
    return sharp / sharp.sum(axis=1, keepdims=True)


def _sometimes_drawn(found: Decision, rng: np.random.Generator) -> np.ndarray:
    """(N,) the most tried actions, some of them drawn from what was tried."""
    tried = found.probabilities > 0
    logs = np.log(np.where(tried, found.probabilities, 1.0))
    whether, which = rng.random((2, len(tried)))
    return np.where(whether < _DRAWN, masking.sample(logs, tried, 1.0 - which), found.actions)


class OwnSearch:
    """A heuristic player's search, by itself or begun with what a policy finds likely; counts and times it."""

    needs_game, looks_at_game = False, True

    def __init__(
        self,
        searcher: HeuristicPolicy,
        simulations: int,
        policy: Policy | None = None,
        exploring: np.random.Generator | None = None,
    ) -> None:
        """`exploring` now and then draws the move played from the shares of the simulations; else the most tried one
        is."""
        self._searcher, self._simulations, self._policy, self._exploring = searcher, simulations, policy, exploring
        self.searcher = searcher.name
        self.name = f"{(policy or searcher).name} +{simulations}" + ("" if policy is None else f" by {searcher.name}")
        self.options = {**getattr(policy, "options", {}), **searcher.options}
        self.report = PlanReport(compares=policy is not None)
        self.made_of = (simulations, searcher, policy)
        self.seconds: float | None = None
        """Time for all decisions of a call, if it is bounded."""
        self._rate = 0.0  # simulations per second, of late

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
        at: GameRows | None = None,
    ) -> Decision:
        """What the search finds; a policy that lends it its judgement decides by itself where there is no game."""
        if self._policy is None:
            return self._search(observation, legal_mask, None, self._simulations, deterministic, key)
        decision = self._policy.act(observation, legal_mask, deterministic, key)
        return decision if at is None else at.improved(decision, lambda *rest: self.plan(*rest).decision)

    def plan(self, game: BatchGame, live: np.ndarray, decision: Decision, until: float | None = None) -> Plan:
        """All that was found, of as many simulations as will be over by `until` (time.monotonic)."""
        if until is None and self.seconds is not None:
            until = time.monotonic() + self.seconds
        seen = np.flatnonzero(live & game.acting)
        legal = game.legal_mask[seen]
        simulations = self._affordable(len(seen), until)
        guess = None if self._policy is None else decision.probabilities[seen]
        found = self._search(game.observation[seen], legal, guess, simulations)
        planned, spent = np.zeros(len(live), bool), np.zeros(len(live), np.int64)
        planned[seen] = legal.sum(axis=1) > 1
        spent[planned] = simulations
        actions, values, improved = decision.actions.copy(), np.array(decision.values), decision.probabilities.copy()
        actions[seen], values[seen], improved[seen] = found.actions, found.values, _sharpened(found.probabilities)
        if self._exploring is not None:
            actions[seen] = _sometimes_drawn(found, self._exploring)
        self.report.changed += int((actions != decision.actions).sum())
        return Plan(Decision(actions, decision.probabilities, values), improved, planned, spent, decision.actions)

    def close(self) -> None:
        """Nothing is held."""

    def _search(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        guess: np.ndarray | None,
        simulations: int,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        began = time.monotonic()
        searcher = self._searcher.planning(simulations, guess)
        assert searcher is not None
        decision = searcher.act(observation, legal_mask, deterministic, key)
        choices = int((np.asarray(legal_mask).sum(axis=1) > 1).sum())
        seconds = time.monotonic() - began
        self._rate = choices * simulations / max(seconds, 1e-6) or self._rate
        self.report.decisions += len(observation)
        self.report.planned += choices
        self.report.rollouts += choices * simulations
        self.report.seconds += seconds
        return decision

    def _affordable(self, decisions: int, until: float | None) -> int:
        """Simulations per decision that there is time for, as fast as the last ones were."""
        if until is None or not decisions:
            return self._simulations
        if not self._rate:  # nothing is known yet: a few
            return min(self._simulations, _FEWEST)
        return min(self._simulations, max(_FEWEST, int((until - time.monotonic()) * self._rate / decisions)))
