"""Actors: a player plays many games at once, and every state, action and result goes on the bus (`jimbot bus play`).

With the address of a service as the player (grpc://HOST:PORT/GAME) its policy is asked for every move, whichever it has
by then; what is published is learned from by `jimbot train GAME --from-bus`, recorded by `jimbot record --from-bus`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jimbot.games.contract import make
from jimbot.policies.contract import Policy
from jimbot.services.bus.publisher import MOST_WAITING, BackgroundPublisher
from jimbot.services.bus.run_events import GamePublisher

PAUSE = 0.01  # seconds between two looks whether a slow bus has caught up


def play_games(
    game_id: str, policy: Policy, publisher: BackgroundPublisher, games: int, *, options: Mapping[str, Any],
    num_envs: int, seed: int, deterministic: bool = True, noise: float = 0.0,
    progress: Callable[[int, int], None] = lambda done, of: None, stopped: Callable[[], Any] = lambda: None,
) -> np.ndarray:  # fmt: skip
    """Plays whole games of the train bank and returns what each brought. `noise` is the share of moves played at
    random. A bus that is away is waited for: what is played is published."""
    game = make(game_id, min(num_envs, games), seed=seed, options=dict(options))
    rng, rows = np.random.default_rng([seed, 2]), np.arange(game.num_rows)
    try:
        game.reset()

        def begin(row: int) -> GamePublisher:
            return GamePublisher(publisher, game, str(game.seeds[row]), policy.name, row)

        tables, running = [begin(row) for row in rows], np.zeros(game.num_rows)
        begun, returns, live = len(rows), [], np.ones(game.num_rows, bool)
        while live.any() and not stopped():
            asked = rows[live]
            decision = policy.act(game.observation[asked], game.legal_mask[asked], deterministic, rng)
            chosen = np.where(
                rng.random(len(asked)) < noise, random_legal(game.legal_mask[asked], rng), decision.actions
            )
            actions = np.zeros(game.num_rows, np.int64)
            actions[asked] = chosen
            for row in asked:
                tables[row].before(int(actions[row]))
            game.step(actions, hold=None if live.all() else ~live)
            running[asked] += game.reward[asked]
            for row in asked:
                tables[row].after()
            for row in asked[(game.terminated | game.truncated)[asked]]:
                returns.append(running[row])
                running[row], live[row] = 0.0, begun < games
                tables[row], begun = begin(row), begun + 1
                progress(len(returns), games)
            while publisher.waiting > MOST_WAITING // 2 and not stopped():
                time.sleep(PAUSE)
        return np.array(returns)
    finally:
        game.close()


def random_legal(legal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(N,) uniform over the legal actions of each row."""
    return np.where(legal, rng.random(legal.shape), -1.0).argmax(axis=1)
