"""Measures how often a policy wins from decisions of each value, and writes the table beside it.

    python -m jimbot.evaluation.win_chances balatro --games 2000

does it for a shipped policy, `jimbot evaluate` beside its judgement for the checkpoint of a run. One half of the games
says how far off a table of the other half is; the table that is written is of all of them. Shipped policies play seeds
of the bank `validation`: nobody learned from them, and `jimbot evaluate` does not judge by them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import StorageError, UsageError
from jimbot.evaluation.play import Games, play_games
from jimbot.games.contract import BatchGame
from jimbot.games.seeds import bank_seeds
from jimbot.policies.contract import Decision, Policy, looks_at_game
from jimbot.policies.heuristics import heuristic_names
from jimbot.policies.players import Player, find_player
from jimbot.policies.win_chances import FILE, WinChances, appraiser, fit, levels_of
from jimbot.runs.checkpoint import shipped_policy
from jimbot.runs.files import write_atomically

BANK = "validation"
CHECKED = 10
"""Parts into which the other half is cut to see how far off its chances are."""
FEWEST_GAMES = 100
"""Of an evaluation, below which chances would be noise."""
MOST_GAMES = 10_000
"""Whose decisions are noted: more take memory and tell nothing new."""


class Measuring:
    """A player whose decisions are noted while `play_games` plays it: give `policy` and this, as the witness."""

    def __init__(self, player: Player) -> None:
        self._player, self._by = player, appraiser(player.game)
        self.policy = _Listening(player.policy)
        self._levels: list[np.ndarray] = []
        self._games: list[np.ndarray] = []

    def begin(self, game: BatchGame, numbers: np.ndarray) -> None:
        self._numbers = np.resize(numbers, game.num_rows)

    def before(self, actions: np.ndarray, live: np.ndarray) -> None:
        noted = live & (self._numbers < MOST_GAMES)
        if noted.any():
            seen, values = self.policy.observation[noted], self.policy.values[noted]
            self._levels.append(levels_of(self._player.game, self._by, seen, values).copy())
            self._games.append(self._numbers[noted].copy())

    def after(self, ended: np.ndarray) -> None:
        pass

    def table(self, played: Games, bank: str) -> WinChances | None:
        """What the games say; None where all were won, or none was: that tells no position from another."""
        won = played.stat("won")
        values, game = np.concatenate(self._levels), np.concatenate(self._games)
        over = ~played.unfinished[game]
        values, (numbers, game) = values[over], np.unique(game[over], return_inverse=True)
        if len(np.unique(won[numbers])) < 2 or self._player.manifest is None:
            return None
        first, won = game % 2 == 0, won[numbers][game]
        levels, chances = fit(values[first], won[first])
        error = _error(np.interp(values[~first], levels, chances), won[~first])
        levels, chances = ([round(one, 4) for one in part] for part in fit(values, won))
        return WinChances(
            self._player.game,
            self._player.manifest.created,
            len(numbers),
            len(values),
            bank,
            round(error, 4),
            self._by,
            tuple(levels),
            tuple(chances),
            _opponent_of(self._player) or "",
        )


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


def measuring_of(player: Player, deterministic: bool) -> Measuring | None:
    """Notes for the table of a run's checkpoint; None where none could be shown: for who belongs to no run, draws its
    actions, looks ahead or plays under other options than it learned with, or meets nobody in particular."""
    manifest = player.manifest
    plain = deterministic and manifest is not None and dict(player.options) == dict(manifest.game_options)
    if player.run is None or not plain or looks_at_game(player.policy):
        return None
    return None if _opponent_of(player) is None else Measuring(player)


def _opponent_of(player: Player) -> str | None:
    """The heuristic player whom the game's options put on the other side, empty where there is no other side; None
    where no chance can be measured: nobody wins, or nobody says against whom."""
    spec, two_sides = player.entry.spec, player.entry.two_sides
    if "won" not in spec.episode_stats:
        return None
    options = spec.parse_options(dict(player.options))
    named = [getattr(options, name) for name in (two_sides.options if two_sides is not None else ())]
    return None if set(named) - set(heuristic_names(player.game)) else "".join(named)


def keep_table(measuring: Measuring, run: Path, played: Games, bank: str) -> Path | None:
    """Leaves the table of an evaluation in the run; None where it says too little or the run cannot be written."""
    found = measuring.table(played, bank) if len(played.seeds) >= FEWEST_GAMES else None
    if found is None or found.games < FEWEST_GAMES:
        return None
    try:
        return write_table(found, run)
    except StorageError:  # the judgement, which was asked for, is there all the same
        return None


def write_table(table: WinChances, directory: Path) -> Path:
    path = directory / FILE
    write_atomically(path, (json.dumps(table.to_dict(), indent=1) + "\n").encode())
    return path


def measure(name: str, games: int, num_envs: int = 256) -> WinChances:
    """The table of a shipped policy, from games it did not learn from."""
    player = find_player(name)
    if player.manifest is None or _opponent_of(player) is None:
        raise UsageError(
            f"No chances can be measured for '{name}'; expected the policy in the box of a game that is won, alone or "
            "against a heuristic player."
        )
    notes = Measuring(player)
    seeds = bank_seeds(BANK, games)
    played = play_games(notes.policy, player.game, seeds, player.options, num_envs=num_envs, witness=notes)
    found = notes.table(played, BANK)
    if found is None:
        raise UsageError(f"All of {games} games ended alike, which tells no position from another; play more.")
    return found


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
    path = write_table(found, shipped_policy(asked.game))
    print(f"{path}: {found.decisions:,} decisions of {found.games} games, {found.error:.1%} off on the other half.")


if __name__ == "__main__":
    main()
