"""Measures how often a shipped policy wins from decisions of each value, and writes the table beside it.

    python -m jimbot.evaluation.win_chances balatro --games 2000

One half of the games says how far off a table of the other half is; the table that is written is of all of them. The
seeds are of the bank `validation`: nobody learned from them, and `jimbot evaluate` does not judge by them.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.play import play_games
from jimbot.games.contract import BatchGame
from jimbot.games.seeds import bank_seeds
from jimbot.policies.contract import Decision, Policy
from jimbot.policies.players import find_player
from jimbot.policies.win_chances import FILE, WinChances, fit, judge, levels_of
from jimbot.runs.files import write_atomically
from jimbot.runs.shipped import shipped_policy

BANK = "validation"
CHECKED = 10
"""Parts into which the other half is cut to see how far off its chances are."""


class _Listening:
    """The policy, and what it expected at every decision."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self.name = policy, policy.name
        self.values = self.observation = np.zeros(0, np.float32)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def act(self, observation: np.ndarray, legal_mask: np.ndarray, *args: Any, **settings: Any) -> Decision:
        decision = self._policy.act(observation, legal_mask, *args, **settings)
        self.values, self.observation = decision.values, observation
        return decision


class _Notes:
    """A witness of `play_games`: (what is looked up, game) of every decision."""

    def __init__(self, policy: _Listening, game: str, by: str) -> None:
        self._policy, self._game, self._by = policy, game, by
        self.levels: list[np.ndarray] = []
        self.games: list[np.ndarray] = []

    def begin(self, game: BatchGame, numbers: np.ndarray) -> None:
        self._numbers = np.resize(numbers, game.num_rows)

    def before(self, actions: np.ndarray, live: np.ndarray) -> None:
        seen, values = self._policy.observation[live], self._policy.values[live]
        self.levels.append(levels_of(self._game, self._by, seen, values).copy())
        self.games.append(self._numbers[live].copy())

    def after(self, ended: np.ndarray) -> None:
        pass


def measure(name: str, games: int, num_envs: int = 256) -> WinChances:
    """The table of a shipped policy, from games it did not learn from."""
    player = find_player(name)
    if player.manifest is None or "won" not in player.entry.spec.episode_stats:
        raise UsageError(f"'{name}' has no values or its game no wins; expected the policy of a game in the box.")
    policy = _Listening(player.policy)
    by = judge(player.game)
    notes = _Notes(policy, player.game, by)
    played = play_games(policy, player.game, bank_seeds(BANK, games), player.options, num_envs=num_envs, witness=notes)
    values, game = np.concatenate(notes.levels), np.concatenate(notes.games)
    won = played.stat("won")[game]
    first = game % 2 == 0
    levels, chances = fit(values[first], won[first])
    error = _error(np.interp(values[~first], levels, chances), won[~first])
    levels, chances = ([round(one, 4) for one in part] for part in fit(values, won))
    return WinChances(
        player.game,
        player.manifest.created,
        games,
        len(values),
        BANK,
        round(error, 4),
        by,
        tuple(levels),
        tuple(chances),
    )


def _error(chances: np.ndarray, won: np.ndarray) -> float:
    order = np.argsort(chances, kind="stable")
    parts = np.array_split(order, CHECKED)
    return float(sum(abs(chances[part].mean() - won[part].mean()) * len(part) for part in parts) / len(order))


def main() -> None:
    words = argparse.ArgumentParser(description="How often a shipped policy wins from decisions of each value.")
    words.add_argument("game")
    words.add_argument("--games", type=int, default=2000)
    asked = words.parse_args()
    found = measure(asked.game, asked.games)
    path = shipped_policy(asked.game) / FILE
    write_atomically(path, (json.dumps(found.to_dict(), indent=1) + "\n").encode())
    print(f"{path}: {found.decisions:,} decisions of {found.games} games, {found.error:.1%} off on the other half.")


if __name__ == "__main__":
    main()
