"""Random and heuristic players have the common shape and stay inside the mask."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import UnknownNameError
from jimbot.games.contract import GameEntry, game_entry
from jimbot.policies.heuristics import HeuristicPolicy, RandomPolicy, heuristic_names, heuristic_policy


def test_random_is_uniform_over_legal_actions_only() -> None:
    legal = np.zeros((40_000, 6), bool)
    legal[:, [1, 2, 5]] = True
    decision = RandomPolicy(seed=1).act(np.zeros((len(legal), 3)), legal)
    counts = np.bincount(decision.actions, minlength=6)
    assert counts[[0, 3, 4]].sum() == 0
    assert np.abs(counts[[1, 2, 5]] / len(legal) - 1 / 3).max() < 0.01
    assert np.allclose(decision.probabilities, np.where(legal, 1 / 3, 0))
    assert (decision.actions.dtype, decision.probabilities.dtype) == (np.int64, np.float32)
    assert not decision.values.any()


def test_random_repeats_itself_with_the_same_luck() -> None:
    legal = np.ones((100, 9), bool)
    nothing = np.zeros((100, 1))
    one, two = RandomPolicy(seed=3), RandomPolicy(seed=3)
    assert np.array_equal(one.act(nothing, legal).actions, two.act(nothing, legal).actions)
    again = [RandomPolicy().act(nothing, legal, False, np.random.default_rng(5)).actions for _ in range(2)]
    assert np.array_equal(*again)
    assert not np.array_equal(one.act(nothing, legal).actions, again[0])


class Lowest:
    """A game's own player, as games write them: a plain triple."""

    def act(self, observation, legal_mask, deterministic, key):
        actions = legal_mask.argmax(axis=1)
        return actions, np.eye(legal_mask.shape[1])[actions], [0.5] * len(actions)


def test_a_games_own_player_gets_the_common_shape() -> None:
    legal = np.array([[False, True, True], [True, False, False]])
    decision = HeuristicPolicy(Lowest(), "lowest").act(np.zeros((2, 1)), legal)
    assert decision.actions.tolist() == [1, 0]
    assert decision.probabilities.dtype == decision.values.dtype == np.float32


def test_players_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = game_entry("probe")
    entry = GameEntry(probe.spec, probe.make, probe.functional, {"lowest": Lowest})
    monkeypatch.setattr("jimbot.games.probe.GAME", entry)
    assert heuristic_names("probe") == ["lowest", "random"]
    assert heuristic_policy("lowest", "probe").name == "lowest"
    assert heuristic_policy("random", "probe").name == "random"
    with pytest.raises(UnknownNameError, match="Did you mean 'lowest'"):
        heuristic_policy("lovest", "probe")
