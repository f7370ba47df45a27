"""The networks that learners learn: one computation in jax, torch and ONNX, masks, gradients, sizes, wrong inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.errors import JimbotError, UnknownNameError
from jimbot.games.contract import game_entry
from jimbot.policies import masking
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network, param_shapes, part_of
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy
from jimbot.services.decision.served import golden_states

MODELS = (("probe", "mlp"), ("hackmatrix", "board"), ("hackmatrix", "towers"), ("balatro", "items"))
LARGE = (("balatro", "BalatroNet"), ("balatro", "fields"), ("vgc", "doubles"))
SMALL = {"hidden_dim": 16, "features_dim": 16, "policy_layers": [16], "value_layers": [16]}


@pytest.fixture(
    scope="module", params=[*MODELS, *(pytest.param(one, marks=pytest.mark.long) for one in LARGE)], ids="-".join
)
def model(request: pytest.FixtureRequest) -> tuple[Any, Mapping[str, Any], dict[str, np.ndarray]]:
    game, kind = request.param
    spec = game_entry(game).spec
    network = describe_network(spec, kind=kind, **SMALL)
    params = make_network(network).init(0)
    return spec, network, {name: np.asarray(value) for name, value in params.items()}


def answers(network: Mapping[str, Any], params: Any, observation: Any) -> tuple[Any, Any]:
    net = make_network(network)
    return net.apply(params, net.prepare(jnp.asarray(observation), params))


def test_parameters_are_those_the_description_says(model: Any) -> None:
    _, network, params = model
    assert {name: value.shape for name, value in params.items()} == dict(param_shapes(network))
    assert all(np.isfinite(value).all() for value in params.values())
    assert {"policy", "value"} <= {part_of(name) for name in params}


def test_all_backends_give_the_same_answers_and_never_an_illegal_one(model: Any) -> None:
    spec, network, params = model
    observation, legal = golden_states(spec)
    logits, value = answers(network, params, observation)
    chances = np.exp(np.asarray(masking.log_probabilities(logits, jnp.asarray(legal))))
    assert (chances[~legal] == 0).all()
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-4)
    onnx = OnnxPolicy.from_bytes(onnx_from_params(network, params, spec.observation.size, spec.actions.size))
    decision = onnx.act(observation, legal)
    assert np.allclose(decision.probabilities, chances, atol=1e-4)
    assert np.allclose(decision.values, value, atol=1e-4)
    torch = pytest.importorskip("torch")
    from jimbot.policies.torch_networks import TorchNetwork

    other = TorchNetwork(network)
    other.load_arrays(params)
    with torch.no_grad():
        torch_logits, torch_value = other(torch.tensor(observation))
    assert np.allclose(torch_logits.numpy()[legal], np.asarray(logits)[legal], atol=1e-3)
    assert np.allclose(torch_value.numpy(), value, atol=1e-3)


def test_a_few_steps_teach_it_a_move_and_a_value(model: Any) -> None:
    """What every learner relies on: the loss of a batch goes down, and all of the network takes part."""
    spec, network, params = model
    observation, legal = golden_states(spec, 4)
    legal = jnp.asarray(legal)
    wanted = jnp.argmax(legal, axis=1)

    def loss(params: Any) -> Any:
        logits, value = answers(network, params, observation)
        said = masking.of_action(masking.log_probabilities(logits, legal), wanted)
        return -said.mean() + ((value - 1.0) ** 2).mean()

    step = jax.jit(jax.value_and_grad(loss))
    first, gradient = step(params)
    learned = {part_of(name) for name, value in gradient.items() if float(jnp.abs(value).max()) > 0}
    assert {"policy", "value"} <= learned
    now, moments = params, {name: (jnp.zeros_like(value),) * 2 for name, value in params.items()}
    for number in range(1, 31):
        last, gradient = step(now)
        for name, value in gradient.items():
            mean, square = (0.9 * moments[name][0] + 0.1 * value, 0.99 * moments[name][1] + 0.01 * value**2)
            moments[name] = mean, square
            fair = mean / (1 - 0.9**number), square / (1 - 0.99**number)
            now = {**now, name: now[name] - 3e-3 * fair[0] / (jnp.sqrt(fair[1]) + 1e-8)}
    assert float(last) < 0.7 * float(first)


def test_models_that_do_not_exist_or_fit_are_sentences() -> None:
    spec = game_entry("probe").spec
    with pytest.raises(UnknownNameError, match="mlp"):
        describe_network(spec, kind="mpl")
    with pytest.raises(JimbotError):
        describe_network(spec, kind="BalatroNet")
