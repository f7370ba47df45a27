"""What games are told by training: the learner's discount, where they shape rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.games.balatro.game import BalatroGame
from jimbot.training.environments import training_game, training_options
from jimbot.training.framework import create_trainer
from jimbot.training.settings.record import TrainSettings
from tests.training.small import small_settings


def settings(game: str, **changes: Any) -> TrainSettings:
    return small_settings(game=game, num_envs=2, **changes)


@pytest.mark.parametrize("game", ["balatro", "vgc"])
@pytest.mark.parametrize("gamma", [0.9, 0.997])
def test_shaped_rewards_are_discounted_as_the_learner_discounts(game: str, gamma: float) -> None:
    assert training_options(settings(game, gamma=gamma))["discount"] == gamma


def test_a_discount_that_was_chosen_stays() -> None:
    assert training_options(settings("balatro", gamma=0.9, game_options={"discount": 1.0}))["discount"] == 1.0


@pytest.mark.parametrize("game", ["probe", "hackmatrix"])
def test_a_game_that_does_not_shape_is_told_nothing(game: str) -> None:
    assert training_options(settings(game)) == {}


def test_games_go_on_under_another_discount() -> None:
    """A member of a population that takes over another's games learns with its own gamma."""
    one, another = (training_game(settings("balatro", gamma=gamma)) for gamma in (0.99, 0.9))
    assert isinstance(another, BalatroGame)
    one.reset()
    another.restore(one.snapshot())
    assert another.options.discount == 0.9
    money = another.spec.reward_terms.index("money")
    select = np.array([another.spec.actions.index("select")] * 2)
    one.step(select)
    another.step(select)
    potential = another.games["money"] / 100
    paid = one.reward_terms[:, money] - another.reward_terms[:, money]
    np.testing.assert_allclose(paid, 0.1 * 0.09 * potential, rtol=1e-4)


@pytest.mark.parametrize("learner", ["jax", "sb3", "ray"])
def test_every_learner_tells_its_games(learner: str, tmp_path: Path) -> None:
    if learner == "ray":
        algorithms = pytest.importorskip("jimbot.training.ray.algorithms")
        config = algorithms._common(algorithms.PPOConfig(), settings("balatro", gamma=0.95), algorithms.Gpus(), 0, None)
        assert config.env_config["options"]["discount"] == 0.95
        return
    trainer: Any = create_trainer("balatro", settings("balatro", learner=learner, gamma=0.95), root=tmp_path)
    game = trainer.game if learner == "jax" else trainer.games.game
    assert game.options.discount == 0.95
    trainer.close()
