"""Fits how likely Balatro's heuristic player is to win to games of its own, and prints the tables of the fit.

It plays training seeds with its tastes jittered, looks at every blind it is about to choose, and asks by logistic
regression what winners had: points, dollars, slots, every joker. `jimbot/games/balatro/heuristic` keeps the tables
(`outlook`, `preferences.FITTED`); what they changed in play: docs/learners/training-log.md.

    python examples/fit_outlook.py --games 12800
"""

from __future__ import annotations

import argparse

import numpy as np

from jimbot.evaluation.play import play_games
from jimbot.games.balatro.encoding.fields import FIRST_JOKER_ITEM, JOKER_ROWS
from jimbot.games.balatro.heuristic import Heuristic, outlook, sight
from jimbot.games.balatro.heuristic.preferences import Taste
from jimbot.games.balatro.heuristic.workspace import new_plans
from jimbot.games.balatro.rules.content import JOKERS
from jimbot.games.balatro.rules.state import BLIND_SELECT
from jimbot.games.contract import BatchGame
from jimbot.games.seeds import TRAIN, bank_seeds
from jimbot.policies.heuristics import HeuristicPolicy

GROUP = 200  # games of one taste
JITTERED = (
    "dollar", "spend_shops", "excess", "interest_rounds", "earning_rounds", "safe_margin", "margin_scale", "ahead",
    "ahead_share", "planet", "reroll", "joker_worth", "purse", "arcana", "celestial", "buffoon", "vouchers",
    "consumables", "extras", "fitted",
)  # fmt: skip
SPREAD = 0.45  # of a number's logarithm
RIDGE, JOKER_RIDGE = 2.0, 60.0  # few games had some jokers
NEWTON_STEPS = 15


class Blinds:
    """Remembers what is seen whenever a blind is about to be chosen (a `Witness` of games)."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []
        self.numbers: list[np.ndarray] = []

    def begin(self, game: BatchGame, numbers: np.ndarray) -> None:
        self._game, self._numbers, self._was = game, numbers, np.zeros(game.num_envs, bool)

    def before(self, actions: np.ndarray, live: np.ndarray) -> None:
        choosing = (self._game.observation[:, sight.PHASE + BLIND_SELECT] > 0) & live
        new = np.flatnonzero(choosing & ~self._was)
        self._was = choosing
        self.seen.append(self._game.observation[new].copy())
        self.numbers.append(self._numbers[new])

    def after(self, ended: np.ndarray) -> None:
        pass


def jittered(rng: np.random.Generator, group: int) -> Taste:
    """The player's own taste in every third group, else one beside it."""
    own = Taste()
    if group % 3 == 0:
        return own
    return own._replace(**{name: getattr(own, name) * float(np.exp(rng.normal(0, SPREAD))) for name in JITTERED})


def record(games: int, start: int) -> tuple[np.ndarray, np.ndarray]:
    """(what was seen, whether that game was won)."""
    rng, seen, won = np.random.default_rng(start), [], []
    for group, first in enumerate(range(0, games, GROUP)):
        count, blinds = min(GROUP, games - first), Blinds()
        player = HeuristicPolicy(Heuristic(jittered(rng, group)), Heuristic.name)
        seeds = bank_seeds(TRAIN, count, start=start + first)
        played = play_games(player, "balatro", seeds, num_envs=count, witness=blinds)
        seen.append(np.concatenate(blinds.seen))
        won.append(played.stat("won")[np.concatenate(blinds.numbers)])
        print(f"{first + count} of {games} games, {played.stat('won').mean():.0%} of these won", flush=True)
    return np.concatenate(seen), np.concatenate(won)


def design(seen: np.ndarray) -> np.ndarray:
    """What the fit looks at, spread over the rows of its table by the shops left; then every joker held."""
    looked, left = np.zeros((len(seen), outlook.COLUMNS)), np.zeros(len(seen))
    outlook.look_all(np.ascontiguousarray(seen, np.float32), new_plans(Taste()), looked, left)
    shares = np.stack([np.interp(left, outlook.SHOPS_LEFT, row) for row in np.eye(len(outlook.SHOPS_LEFT))], axis=1)
    jokers = np.zeros((len(seen), len(JOKERS)))
    for place in range(JOKER_ROWS):
        joker = seen[:, sight.JOKER_ID + place].astype(np.int64) - FIRST_JOKER_ITEM
        held = np.flatnonzero(joker >= 0)
        jokers[held, joker[held]] += 1
    return np.hstack([(shares[:, :, None] * looked[:, None, :]).reshape(len(seen), -1), jokers])


def fit(inputs: np.ndarray, won: np.ndarray) -> np.ndarray:
    """Weights of a logistic regression, by Newton's method."""
    ridge = np.full(inputs.shape[1], RIDGE)
    ridge[-len(JOKERS) :] = JOKER_RIDGE
    weights = np.zeros(inputs.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -15, 15)))
        curvature = inputs.T @ (inputs * (chance * (1 - chance) + 1e-6)[:, None]) + np.diag(ridge)
        weights += np.linalg.solve(curvature, inputs.T @ (won - chance) - ridge * weights)
    return weights


def main(games: int = 12_800, start: int = 5_000_000) -> int:
    """Plays, fits and prints; returns how many positions the fit saw."""
    seen, won = record(games, start)
    weights = fit(design(seen), won)
    table, jokers = weights[: -len(JOKERS)].reshape(-1, outlook.COLUMNS), weights[-len(JOKERS) :]
    print(f"{len(won)} positions. By shops left:")
    for left, row in zip(outlook.SHOPS_LEFT, table, strict=True):
        print(f"{left:4.0f}  [{', '.join(f'{value:.2f}' for value in row)}]")
    for joker in np.argsort(-jokers):
        if abs(jokers[joker]) >= 0.03:
            print(f"{JOKERS.keys[joker].removeprefix('j_')}: {jokers[joker]:.2f}")
    return len(won)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=12_800)
    parser.add_argument("--start", type=int, default=5_000_000, help="the first training seed")
    arguments = parser.parse_args()
    main(arguments.games, arguments.start)
