"""Networks that look things up in rows of the knowledge graph: fixed or learned, the same in JAX, torch and ONNX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.contract import game_entry
from jimbot.policies import masking
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network, param_shapes
from jimbot.policies.onnx_form import onnx_from_params
from tests.policies.test_items import TABLE_GAME, WIDE, observations

WIDTH = 6
ROWS = np.random.default_rng(5).normal(size=(WIDE, WIDTH)).astype(np.float32)


def made(choice: str) -> tuple[Any, dict[str, Any]]:
    described = describe_network(TABLE_GAME, hidden_dim=16, memgraph_embedding_dim=WIDTH, graph_embeddings=choice)
    network = make_network(described)
    return network, {**network.init(0), "table_graph": jnp.asarray(ROWS)}


def test_rows_are_parameters_of_their_own_beside_what_is_learned() -> None:
    without, with_rows = (param_shapes(describe_network(TABLE_GAME, hidden_dim=16, graph_embeddings=choice))
                          for choice in ("off", "fixed"))  # fmt: skip
    assert {name: shape for name, shape in with_rows.items() if name not in without} == {
        "graph.weight": (128, 32), "graph.bias": (32,), "table_graph": (WIDE, 128),
    }  # fmt: skip
    assert without == param_shapes(describe_network(TABLE_GAME, hidden_dim=16))


@pytest.mark.parametrize("choice", ["fixed", "trainable"])
def test_jax_torch_and_onnx_compute_the_same(choice: str) -> None:
    torch = pytest.importorskip("torch")
    from jimbot.policies.torch_networks import TorchNetwork

    network, params = made(choice)
    arrays = {name: np.asarray(value) for name, value in params.items()}
    seen = observations(5)
    legal = np.ones((5, TABLE_GAME.actions.size), bool)
    logits, value = network.apply(params, network.prepare(seen, params))
    other = TorchNetwork(network.description)
    other.load_arrays(arrays)
    with torch.no_grad():
        theirs, their_value = other(torch.as_tensor(seen))
    np.testing.assert_allclose(theirs.numpy(), logits, atol=1e-5)
    np.testing.assert_allclose(their_value.numpy(), value, atol=1e-5)
    model = onnx_from_params(network.description, arrays, TABLE_GAME.observation.size, TABLE_GAME.actions.size)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    log_probability, onnx_value = session.run(None, {"observation": seen, "legal_mask": legal})
    np.testing.assert_allclose(log_probability, masking.log_probabilities(np.asarray(logits), legal), atol=1e-4)
    np.testing.assert_allclose(onnx_value, value, atol=1e-5)


def test_other_rows_are_another_policy() -> None:
    network, params = made("fixed")
    features = network.prepare(observations(5), params)
    first, _ = network.apply(params, features)
    second, _ = network.apply({**params, "table_graph": 2 * params["table_graph"]}, features)
    assert float(jnp.abs(first - second).max()) > 1e-4


@pytest.mark.parametrize(("choice", "learns"), [("fixed", False), ("trainable", True)])
def test_fixed_rows_get_no_gradient(choice: str, learns: bool) -> None:
    network, params = made(choice)
    features = network.prepare(observations(5), params)
    gradient = jax.grad(lambda given: jnp.sum(network.apply(given, features)[1] ** 2))(params)
    assert bool(jnp.any(gradient["table_graph"] != 0)) is learns
    assert bool(jnp.any(gradient["graph.weight"] != 0))


def test_balatronet_looks_its_jokers_up_in_the_same_way() -> None:
    torch = pytest.importorskip("torch")
    from jimbot.policies.torch_networks import TorchNetwork

    spec = game_entry("balatro").spec
    described = describe_network(spec, "BalatroNet", graph_embeddings="fixed", memgraph_embedding_dim=8)
    assert described["graph"]["table"] == "table_joker_graph"
    assert described["graph"]["shape"] == [spec.observation["joker_id"].ids, 8]
    network = TorchNetwork(described)
    network(torch.zeros(2, spec.observation.size))[1].sum().backward()
    assert network.table_joker_graph.grad is None
    assert network.shared_0__weight.grad is not None


def test_wrong_choices_are_sentences() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'fixed'"):
        describe_network(TABLE_GAME, graph_embeddings="fixd")
    with pytest.raises(SettingsError, match="not mlp"):
        describe_network(TABLE_GAME, "mlp", graph_embeddings="fixed")
