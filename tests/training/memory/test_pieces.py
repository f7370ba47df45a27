"""Learning a minibatch in pieces makes the step it makes as a whole."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.games.contract import game_entry
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network
from jimbot.training.jax_ppo.ppo import gradient_of, ppo_loss
from jimbot.training.jax_ppo.records import Hyperparameters
from tests.training.small import first_update, samples_of_arrays

SPEC = game_entry("probe").spec
ROWS = 24


def minibatch() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    legal = rng.random((ROWS, SPEC.actions.size)) < 0.4
    action = rng.integers(SPEC.actions.size, size=ROWS)
    legal[np.arange(ROWS), action] = True
    return {
        "features": rng.random((ROWS, SPEC.observation.size)).astype(np.float32),
        "legal_mask": legal,
        "action": action,
        "log_probability": rng.normal(-3, 0.2, ROWS).astype(np.float32),
        "advantage": rng.normal(1, 2, ROWS).astype(np.float32),
        "target": rng.normal(size=ROWS).astype(np.float32),
    }


@pytest.mark.parametrize("weighted", [False, True])
def test_jax_gradients_of_pieces_add_up_to_the_whole(weighted: bool) -> None:
    network = make_network(describe_network(SPEC, "mlp", hidden_dim=8))
    params = network.init(0)
    data = minibatch()
    parts = {name: jnp.asarray(value) for name, value in data.items()}
    places = jnp.arange(ROWS)
    batch = samples_of_arrays({"policy": places % 3 > 1, "value": places % 3 > 0} if weighted else None, **parts)
    hyper = Hyperparameters(0.99, 0.95, 0.2, 0.5, 0.01, 0.5, 1, 1, gradient_accumulation=1, target_kl=0.0)
    loss = partial(ppo_loss, hyper, (), first_update(network, params))
    batch = jax.tree.map(jnp.asarray, batch)
    found: list[Any] = [
        gradient_of(loss, batch, hyper._replace(gradient_accumulation=count))(params, places) for count in (1, 4)
    ]
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6), *found)


def test_torch_gradients_of_pieces_add_up_to_the_whole() -> None:
    torch = pytest.importorskip("torch")
    from jimbot.policies.torch_networks import TorchNetwork
    from jimbot.training import torch_losses as losses
    from jimbot.training.sb3.algorithms import MaskedPPO

    network = TorchNetwork(describe_network(SPEC, "mlp", hidden_dim=8))
    batch = losses.Samples(*(torch.as_tensor(value) for value in minibatch().values()))
    found = []
    for count in (1, 5):
        model: Any = MaskedPPO.__new__(MaskedPPO)  # only its arithmetic
        model.gradient_accumulation = count
        network.zero_grad()
        parts = model._gradients(network, losses.Weights(0.2, 0.5, 0.01), batch)
        gradients = {name: value.grad.numpy().copy() for name, value in network.named().items()}
        found.append((parts, gradients))
    for name, value in found[0][1].items():
        np.testing.assert_allclose(found[1][1][name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    for name, value in found[0][0].items():
        assert found[1][0][name] == pytest.approx(value, rel=1e-4), name
