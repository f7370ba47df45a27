"""The head that predicts the other side: what it is taught is what the other side did, and playing does not need it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.widening import can_widen, widened
from jimbot.training.framework import create_trainer
from jimbot.training.jax_ppo.program import HostUpdate, initial_state, network_for
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.league.opponents import League, Member, Seats
from tests.envs.duel import HANDS, SPEC, Duel
from tests.training.small import small_settings

PAPER = HANDS.index("paper")


class AlwaysPaper:
    name = "paper"

    def act(self, observation, legal_mask, deterministic=True, key=None):
        from jimbot.policies.contract import Decision

        actions = np.where(legal_mask[:, PAPER], PAPER, legal_mask.argmax(axis=1))
        return Decision(actions, np.eye(len(HANDS), dtype=np.float32)[actions], np.zeros(len(actions), np.float32))


def update_of(**changes) -> HostUpdate:
    settings = small_settings(num_envs=8, num_steps=12, rival_coef=0.5, **changes)
    game = Duel(8, seed=3)
    game.reset()
    league = League({"exploiter": 1.0})
    league.add(Member("paper", "exploiter", AlwaysPaper()))
    return HostUpdate(settings, network_for(settings, SPEC), game, seats=Seats(game, league, 1), halves=2)


def collected(update: HostUpdate) -> Rollout:
    settings = small_settings(num_envs=8, num_steps=12, rival_coef=0.5)
    state = initial_state(settings, network_for(settings, SPEC), update.collector.game)
    return update.collector.collect(state.params, state.tally, jax.random.key(0))[1]


def test_what_is_taught_is_what_the_other_side_did() -> None:
    rollout = collected(update_of())
    assert rollout.rival is not None
    other = rollout.action.reshape(12, 8, 2)[:, :, ::-1].reshape(12, 16)
    known = rollout.rival >= 0
    np.testing.assert_array_equal(rollout.rival[known], other[known])
    seat = np.arange(16) % 2
    watching = rollout.features[:, :, 1] % 3 == 2  # the second seat has nothing to do
    np.testing.assert_array_equal(known, ~watching | (seat == 1))
    assert rollout.counts is not None
    assert (rollout.rival[rollout.counts & known] == PAPER).all(), "whom a member of the league plays"


def test_the_head_learns_the_rival_and_plays_no_part_in_playing() -> None:
    update = update_of()
    settings = small_settings(num_envs=8, num_steps=12, rival_coef=0.5)
    network = network_for(settings, SPEC)
    state = initial_state(settings, network, update.collector.game)
    first = update(state, 3e-3)
    state, losses = first.state, first.losses
    assert float(losses["train/rival_loss"]) > 0.5
    for _ in range(12):
        state, losses, _ = update(state, 3e-3)
    assert float(losses["train/rival_loss"]) < 0.1
    assert float(losses["train/rival_agreement"]) > 0.95
    params = {name: np.asarray(value) for name, value in state.params.items()}
    model = onnx_from_params(network.description, params, SPEC.observation.size, SPEC.actions.size)
    stored = [part.name for part in onnx.load_model_from_string(model).graph.initializer]
    assert not any(name.startswith("rival") for name in stored)
    seen = jnp.asarray(update.collector.game.observation)
    for with_head, plain in zip(network.foresee(params, seen), network.apply(params, seen), strict=False):
        np.testing.assert_array_equal(with_head, plain)


def test_checkpoints_with_and_without_the_head_load_into_each_other() -> None:
    plain, headed = (describe_network(SPEC, "mlp", hidden_dim=8, rival=rival) for rival in (False, True))
    assert can_widen(plain, headed)
    assert can_widen(headed, plain)
    params = {name: np.asarray(value) for name, value in make_network(plain).init(3).items()}
    there = widened(params, headed)
    assert set(there) - set(params) == {"rival.weight", "rival.bias"}
    back = widened(there, plain)
    assert set(back) == set(params)
    for name, value in params.items():
        np.testing.assert_array_equal(back[name], value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"game": "probe", "rival_coef": 0.1}, "has 1 row here"),
        ({"game": "probe", "rival_coef": 0.1, "learner": "sb3"}, "only learner jax"),
    ],
)
def test_where_nobody_knows_the_rival_it_is_refused(changes: dict, words: str, tmp_path) -> None:
    given = {name: value for name, value in small_settings().flat().items() if name in ("num_envs", "num_steps")}
    with pytest.raises(SettingsError, match=words):
        create_trainer(changes["game"], {**given, **changes}, root=tmp_path)


def test_a_network_without_such_a_head_says_so() -> None:
    with pytest.raises(SettingsError, match="no head for the rival"):
        describe_network(game_entry("balatro").spec, "items", rival=True)
