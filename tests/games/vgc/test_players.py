"""Heuristic players: the simulator's and NumPy's agree on every decision, and they beat what they should beat."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.games.checker import random_legal
from jimbot.games.contract import make
from jimbot.games.vgc.game import VgcGame
from jimbot.games.vgc.heuristic import VgcHeuristic
from jimbot.policies.heuristics import heuristic_names, heuristic_policy

NAMES = ("max_power", "max_damage", "heuristic")


def test_both_forms_decide_alike() -> None:
    game = make("vgc", 8, seed=4, options={"opponent": "self"})
    assert isinstance(game, VgcGame)
    rng = np.random.default_rng(2)
    compared = 0
    try:
        game.reset()
        for _ in range(24):
            for name in NAMES:
                actions, probabilities, _ = VgcHeuristic(name).act(game.observation, game.legal_mask)
                assert (probabilities.sum(axis=1) == 1).all()
                for row in rng.choice(game.num_rows, 4, replace=False).tolist():
                    question = {"what": "advise", "battle": row // 2, "side": row % 2, "player": name}
                    advice = game.pool.ask(question, row // 2)
                    if game.acting[row]:
                        assert advice == actions[row], f"{name}: {game.describe(row)}"
                        compared += 1
                    else:
                        assert advice is None
            game.step(random_legal(rng, game.legal_mask))
    finally:
        game.close()
    assert compared > 150


def test_policies_are_known_by_name() -> None:
    assert heuristic_names("vgc") == ["heuristic", "max_damage", "max_power", "random"]
    assert heuristic_policy("max_power", "vgc").name == "max_power"


def wins(player: str, opponent: str, games: int) -> float:
    game = make("vgc", games, options={"opponent": opponent, "teams": "train"})
    policy = heuristic_policy(player, "vgc")
    done = np.zeros(games, bool)
    won = np.zeros(games)
    try:
        game.reset(np.arange(games, dtype=np.uint64))
        while not done.all():
            game.step(policy.act(game.observation, game.legal_mask).actions, hold=done)
            ended = game.terminated | game.truncated
            won[ended] = game.final_stats[ended, game.spec.episode_stats.index("won")]
            done |= ended
        assert game.illegal_actions == 0
    finally:
        game.close()
    return float(won.mean())


@pytest.mark.parametrize("player", NAMES)
def test_they_beat_random_play(player: str) -> None:
    assert wins(player, "random", 24) >= 0.75


@pytest.mark.long
@pytest.mark.parametrize(("player", "opponent"), [("heuristic", "max_power"), ("heuristic", "max_damage")])
def test_the_heuristic_beats_the_simple_ones(player: str, opponent: str) -> None:
    assert wins(player, opponent, 200) >= 0.55
