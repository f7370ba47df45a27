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
from jimbot.training.jax_ppo.gradients import gradient_of
from jimbot.training.jax_ppo.samples import Samples
from jimbot.training.jax_ppo.update import LossSettings, ppo_loss

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
    acts, counts = (jnp.asarray(np.arange(ROWS) % 3 > least) if weighted else None for least in (1, 0))
    batch = Samples(*(jnp.asarray(data[name]) for name in list(data)), acts=acts, counts=counts)
    loss = partial(ppo_loss, network, LossSettings(0.99, 0.95, 0.2, 0.5, 0.01, 0.5, 1, 1))
    found: list[Any] = [gradient_of(loss, batch, count)(params, jnp.arange(ROWS)) for count in (1, 4)]
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
        model.gradient_pieces = count
        network.zero_grad()
        parts = model._gradients(network, losses.Weights(0.2, 0.5, 0.01), batch)
        gradients = {name: value.grad.numpy().copy() for name, value in network.named().items()}
        found.append((parts, gradients))
    for name, value in found[0][1].items():
        np.testing.assert_allclose(found[1][1][name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    for name, value in found[0][0].items():
        assert found[1][0][name] == pytest.approx(value, rel=1e-4), name
