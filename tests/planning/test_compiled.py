"""Simulations inside JAX are those played from Python, and read nothing hidden either."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.games.contract import game_entry, make
from jimbot.games.seeds import VALIDATION, bank_seeds
from jimbot.planning import Planner, PlanSettings
from jimbot.planning.compiled import CompiledRollouts, network_of
from jimbot.planning.rollouts import Rollouts, Simulations
from jimbot.policies.contract import decide
from jimbot.policies.heuristics import RandomPolicy
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy
from jimbot.runs.manifest import Manifest

ROWS, COPIES = 8, 32
SPEC = game_entry("probe").spec
NETWORK = describe_network(SPEC, kind="mlp", hidden_dim=32)


@pytest.fixture(scope="module")
def policy() -> OnnxPolicy:
    params = {name: np.asarray(value) for name, value in make_network(NETWORK).init(3).items()}
    params["policy.weight"] = 30 * params["policy.weight"]  # with an opinion
    params["value.weight"] = 5 * np.ones_like(params["value.weight"])
    model = onnx_from_params(NETWORK, params, SPEC.observation.size, SPEC.actions.size)
    return OnnxPolicy.from_bytes(model, "made up")


def manifest(**config) -> Manifest:
    return Manifest.for_game(SPEC, learner="jax", algorithm="PPO", step=1, network=dict(NETWORK), config=config)


@pytest.fixture
def game():
    game = make("probe", ROWS, seed=3)
    game.reset(bank_seeds(VALIDATION, ROWS))
    yield game
    game.close()


@pytest.mark.parametrize("transform", ["none", "symlog"])
def test_every_try_brings_the_same_as_from_python(game, policy: OnnxPolicy, transform: str) -> None:
    rng = np.random.default_rng(5)
    row = rng.integers(0, ROWS, 50)
    action = np.array([rng.choice(np.flatnonzero(game.legal_mask[one])) for one in row])
    simulations = Simulations(
        row, action, rng.integers(0, 2**63, 50, dtype=np.uint64), rng.integers(0, 12, 50), np.ones(50, np.int64)
    )
    found = network_of(policy, manifest())
    assert found is not None
    inside = CompiledRollouts(game, *found, 0.9, transform, COPIES).returns(game, simulations)
    outside = Rollouts(game, policy, 0.9, transform, COPIES).returns(game, simulations)
    assert inside == pytest.approx(outside, abs=1e-4)
    assert len(set(np.round(inside, 4))) > 5


def test_a_planner_compiles_what_can_be_compiled(game, policy: OnnxPolicy) -> None:
    settings = PlanSettings(rollouts=16, depth=2, certain=1.0)
    player = Planner(policy, manifest(gamma=0.9), settings, copies=COPIES)
    first = decide(player, game, np.ones(ROWS, bool))
    assert isinstance(player._rollouts, CompiledRollouts)
    game.redraw_hidden(np.arange(ROWS), np.arange(100, 100 + ROWS, dtype=np.uint64))
    second = decide(player, game, np.ones(ROWS, bool))
    assert np.array_equal(first.actions, second.actions)  # nothing hidden was read
    assert np.array_equal(first.values, second.values)


def test_what_is_no_network_of_ours_plays_from_python() -> None:
    assert network_of(RandomPolicy(), manifest()) is None
