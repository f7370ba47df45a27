"""Players that need no learning: uniform random, and the heuristic players games bring along."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.contract import game_entry
from jimbot.policies import masking
from jimbot.policies.contract import Decision, Policy

RANDOM = "random"


class RandomPolicy:
    """Every legal action is equally likely. It stays random when asked to be deterministic: with the same `key`, or
    the same `seed` and calls, it answers the same."""

    name = RANDOM

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        legal = np.asarray(legal_mask, bool)
        log_probability = masking.log_probabilities(np.zeros(legal.shape, np.float32), legal)
        actions = masking.sample(log_probability, legal, uniform(key or self._rng, len(legal)))
        values = np.zeros(len(legal), np.float32)
        return Decision(actions.astype(np.int64), masking.probabilities(log_probability, legal), values)


class HeuristicPolicy:
    """A game's own player. Games know nothing of policies, so theirs answer with a plain (actions, probabilities,
    values); this gives it the common shape."""

    def __init__(self, player: Any, name: str) -> None:
        self.name = name
        self._player = player
        self.options: dict[str, Any] = dict(getattr(player, "options", {}))
        """Game options it cannot do without; see `with_needed_options`."""
        self.helped_by: dict[str, Any] = dict(getattr(player, "helped_by", {}))
        """Game options that show it more, which it can do without."""

    def planning(self, simulations: int, guess: np.ndarray | None = None) -> HeuristicPolicy | None:
        """The same player with so many simulations of its own per decision, which begin with the likely moves of
        `guess` (N, A) if there is one; None where it does not try anything out."""
        searcher = getattr(self._player, "planning", None)
        return None if searcher is None else HeuristicPolicy(searcher(simulations, guess), self.name)

    @property
    def appraise(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """What the player thinks positions are worth, where it has an opinion."""
        return getattr(self._player, "appraise", None)

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        actions, probabilities, values = self._player.act(observation, legal_mask, deterministic, key)
        return Decision(
            np.asarray(actions, np.int64), np.asarray(probabilities, np.float32), np.asarray(values, np.float32)
        )


def heuristic_names(game_id: str) -> list[str]:
    """What `heuristic_policy` knows for a game."""
    return sorted({RANDOM, *game_entry(game_id).heuristics})


def heuristic_policy(name: str, game_id: str) -> Policy:
    """The random or heuristic player of a game, by name."""
    if name == RANDOM:
        return RandomPolicy()
    players = game_entry(game_id).heuristics
    if name not in players:
        raise UnknownNameError(f"heuristic player of game {game_id}", name, heuristic_names(game_id))
    return HeuristicPolicy(players[name](), name)


def with_needed_options(policy: Policy, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The game options to play a policy with: those it cannot do without (its `options`, if any) and those given."""
    needed: Mapping[str, Any] = getattr(policy, "options", {})
    given = dict(options or {})
    for name, value in needed.items():
        if given.get(name, value) != value:
            raise UsageError(
                f"Policy '{policy.name}' plays with the game option {name}={value} only, but it was set to "
                f"{given[name]}; leave the option out."
            )
    return {**needed, **given}


def uniform(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count,) float32 draws from (0, 1], as `masking.sample` wants them."""
    return np.float32(1.0) - rng.random(count, dtype=np.float32)
