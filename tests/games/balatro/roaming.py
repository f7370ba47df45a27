"""Random legal play that sees the whole game: diverse actions, and help to survive.

Uniform random players die in the first ante. Here every kind of action is equally likely, and from time to time a game
gets money and the points it needs. Run as a program it plays a fixed plan and prints a digest of all it saw, so that
compiled, uncompiled and bounds-checked code can be compared.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from jimbot.games import make
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.options import CHALLENGE_NAMES, DECK_NAMES, STAKE_NAMES
from jimbot.games.balatro.rules.state import SELECTING_HAND

EVERY_START: list[dict[str, Any]] = [
    *({"deck": deck, "stake": 1 + number % 8} for number, deck in enumerate(DECK_NAMES)),
    *({"stake": stake, "endless": True} for stake in STAKE_NAMES),
    *({"challenge": challenge} for challenge in CHALLENGE_NAMES),
]


def new_game(count: int, seed: int = 0, **options: Any) -> BalatroGame:
    game = make("balatro", count, seed=seed, options=options, checked=True)
    assert isinstance(game, BalatroGame)
    game.reset()
    return game


def diverse(rng: np.random.Generator, game: BalatroGame) -> np.ndarray:
    """A legal action per row: first its kind, then which."""
    spec = game.spec.actions
    mask = game.legal_mask
    starts = np.flatnonzero(np.diff(spec.block_of, prepend=-1))
    counts = np.add.reduceat(mask, starts, axis=1, dtype=np.int64)
    share = 1.0 / np.maximum(counts, 1)
    keys = np.where(mask, rng.random(mask.shape), 0.0) ** (1.0 / share[:, spec.block_of])
    return np.where(mask, keys, -1.0).argmax(axis=1)


def help_along(rng: np.random.Generator, game: BalatroGame, odds: float = 0.2) -> None:
    """Gives some games money, and some the points of their round: their next hand wins it."""
    games = game.games
    lucky = rng.random(len(games)) < odds
    games["money"][lucky] += 10
    winning = (games["phase"] == SELECTING_HAND) & (rng.random(len(games)) < odds)
    games["score"][winning] = games["requirement"][winning]
    game.look()


def roam(game: BalatroGame, steps: int, seed: int = 0, odds: float = 0.2) -> Iterator[np.ndarray]:
    """Plays; yields the actions of each step before they are taken."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        help_along(rng, game, odds)
        actions = diverse(rng, game)
        yield actions
        game.step(actions)


def digest(starts: list[dict[str, Any]], count: int, steps: int) -> str:
    """A hash of every record, observation, mask and reward of a fixed plan."""
    seen = hashlib.sha256()
    for number, options in enumerate(starts):
        game = new_game(count, seed=number, **options)
        for _ in roam(game, steps, seed=number):
            for part in (game.games, game.observation, game.legal_mask, game.reward):
                seen.update(part.tobytes())
            assert not game.faults(), game.faults()
        game.close()
    return seen.hexdigest()


if __name__ == "__main__":
    every, count, steps = (int(argument) for argument in sys.argv[1:])
    print(digest(EVERY_START[::every], count, steps))
