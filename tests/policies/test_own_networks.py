"""Networks of other people: known by name, kept in checkpoints, traced to ONNX and checked against their functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.errors import CheckpointError, SettingsError, UnknownNameError
from jimbot.games.contract import game_entry
from jimbot.policies import masking, own_networks
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import check_params, describe_network
from jimbot.policies.onnx_form import onnx_from_params, params_of
from jimbot.policies.own_networks import register_network
from jimbot.policies.portable import OnnxPolicy
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.framework import create_trainer
from tests.training.small import SMALL

SPEC = game_entry("probe").spec
SIZE, ACTIONS = SPEC.observation.size, SPEC.actions.size
Layers = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def _own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_networks, "_MAKERS", {})
    monkeypatch.setattr(own_networks, "_MADE", {})


def network(middle: Layers) -> Any:
    """A network of width 16 with something in its middle: (params, (N, 16)) → (N, 16)."""

    def make(spec: Any) -> tuple[Any, Any]:
        def init(seed: int) -> dict[str, Any]:
            keys = jax.random.split(jax.random.key(seed), 6)

            def some(number: int, *shape: int) -> jax.Array:
                return 0.3 * jax.random.normal(keys[number], shape)

            return {
                **{"into": some(0, spec.observation.size, 16), "middle": {"square": some(1, 16, 16)}},
                **{"kernel": some(2, 3, 4, 4), "table": some(3, 5, 16)},
                **{"policy": some(4, 16, spec.actions.size), "value": some(5, 16, 1)},
            }

        def apply(params: Any, observation: Any) -> tuple[Any, Any]:
            hidden = middle(params, jnp.tanh(observation @ params["into"]))
            return hidden @ params["policy"], (hidden @ params["value"])[:, 0]

        return init, apply

    return make


def attention(params: Any, x: Any) -> Any:
    tokens = x.reshape(-1, 4, 4)
    weights = jax.nn.softmax(jnp.einsum("nad,nbd->nab", tokens, tokens) / 2, axis=-1)
    return (weights @ tokens).reshape(-1, 16)


def normal(params: Any, x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def convolved(params: Any, x: Any) -> Any:
    numbers = ("NWC", "WIO", "NWC")
    image = x.reshape(-1, 4, 4)
    return jax.lax.conv_general_dilated(image, params["kernel"], (1,), "SAME", dimension_numbers=numbers).reshape(
        -1, 16
    )


def looked_up(params: Any, x: Any) -> Any:
    index = jnp.clip(jnp.round(2 * jnp.abs(x[:, 3])).astype(jnp.int32), 0, 4)
    return x + params["table"][index] + jnp.take(x, jnp.arange(16)[::-1], axis=1)


def pieces(params: Any, x: Any) -> Any:
    left, right = jnp.split(x, 2, axis=1)
    both = jnp.stack([left, right], axis=1)
    return jnp.pad(jnp.concatenate([x[:, 12:], x[:, :4]], 1), ((0, 0), (4, 4))) + both.transpose(0, 2, 1).reshape(
        -1, 16
    )


def activations(params: Any, x: Any) -> Any:
    kinds = (
        jax.nn.gelu,
        jax.nn.silu,
        jax.nn.elu,
        jax.nn.softplus,
        jax.nn.leaky_relu,
        jax.nn.relu6,
        jnp.sin,
        jnp.square,
    )
    return sum(kind(x) for kind in kinds) + jnp.where((x > 0) & ~(x > 1), x, -0.1) + jax.nn.log_softmax(x) + x**3


MIDDLES: dict[str, Layers] = {
    "dense": lambda params, x: jax.nn.relu(x @ params["middle"]["square"]),
    **{part.__name__: part for part in (attention, normal, convolved, looked_up, pieces, activations)},
    "jitted": lambda params, x: jax.jit(lambda y: jax.nn.relu(y).max(axis=-1, keepdims=True) + y)(x),
}


@pytest.mark.parametrize("middle", MIDDLES)
@pytest.mark.parametrize("normalize", [False, True])
def test_the_onnx_policy_answers_as_the_functions_do(middle: str, normalize: bool) -> None:
    register_network("mine", network(MIDDLES[middle]))
    described = describe_network(SPEC, "mine", normalize=normalize)
    own = make_network(described)
    params = {name: np.asarray(value) for name, value in own.init(1).items()}
    if normalize:
        params["normalize.mean"] = np.full(SIZE, 0.3, np.float32)
    check_params(described, params)
    model = onnx_from_params(described, params, SIZE, ACTIONS)
    policy = OnnxPolicy.from_bytes(model, "mine")
    luck = np.random.default_rng(3)
    for rows in (1, 7):
        seen = luck.standard_normal((rows, SIZE)).astype(np.float32)
        legal = luck.random((rows, ACTIONS)) < 0.3
        legal[:, 2] = True
        logits, values = own.apply(own.init(1) | params, own.prepare(seen, params))
        answer = policy.act(seen, legal)
        chances = np.asarray(masking.log_probabilities(np.asarray(logits), legal))
        np.testing.assert_array_equal(answer.actions, np.where(legal, chances, -np.inf).argmax(1))
        np.testing.assert_allclose(answer.values, values, rtol=1e-3, atol=1e-4)
    for name, value in params_of(described, model).items():
        np.testing.assert_array_equal(value, params[name], err_msg=name)


def rolled(params: Any, x: Any) -> Any:
    return jax.lax.scan(lambda carry, _: (carry @ params["middle"]["square"], None), x, None, length=3)[0]


@pytest.mark.parametrize(
    ("middle", "words"),
    [
        (rolled, "uses 'scan' of JAX"),
        (lambda params, x: jnp.sort(x, axis=-1), "uses 'sort' of JAX"),
        (lambda params, x: x * (1 + 0 * int(x.shape[0])), "cannot be traced for any number of rows"),
        (lambda params, x: x - x.mean(axis=0), "answers differently when other observations are beside one"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_learned(middle: Layers, words: str, tmp_path: Path) -> None:
    register_network("mine", network(middle))
    with pytest.raises(SettingsError, match=words):
        create_trainer("probe", SMALL | {"network": "mine"}, root=tmp_path)
    assert not list(tmp_path.iterdir()), "a run in which nothing could be learned leaves nothing behind"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda spec: None, "could not be made for 'probe'"),
        (lambda spec: (lambda seed: {}, lambda params, seen: (0, 0)), "float32 arrays by name"),
        (lambda spec: (lambda seed: {"w": np.zeros(1, np.float32)}, lambda params, seen: (seen, seen[:, 0])), "shapes"),
        ("no function", "expected a function of a GameSpec"),
    ],
)
def test_functions_that_are_none_are_one_sentence(make: Any, words: str) -> None:
    def use() -> None:
        register_network("mine", make)
        describe_network(SPEC, "mine")

    with pytest.raises(SettingsError, match=words):
        use()


def test_an_unknown_network_names_the_known_ones_and_how_to_bring_ones_own() -> None:
    register_network("mine", network(MIDDLES["dense"]))
    with pytest.raises(UnknownNameError, match=r"Did you mean 'mine'.*--plugin MODULE"):
        describe_network(SPEC, "min")


def test_a_run_continues_exactly_and_its_files_need_no_functions_to_play(tmp_path: Path) -> None:
    register_network("mine", network(MIDDLES["dense"]))
    batch = SMALL["num_envs"] * SMALL["num_steps"]
    values = SMALL | {"network": "mine", "run_name": "straight"}
    straight = create_trainer("probe", values, root=tmp_path)
    straight.train(4 * batch)
    straight.close()
    for until in (2, 4):
        parts = create_trainer("probe", values | {"run_name": "parts"}, root=tmp_path, resume=True)
        path = parts.train(until * batch).checkpoint
        parts.close()
    one, two = (load_checkpoint(found) for found in (straight.session.store.latest() or "", path))
    for name, value in one.params().items():
        np.testing.assert_array_equal(two.params()[name], value, err_msg=name)
    assert one.manifest.network["kind"] == "mine"
    own_networks._MAKERS.clear()
    own_networks._MADE.clear()
    answer = OnnxPolicy.from_bytes(two.policy_onnx()).act(np.zeros((1, SIZE), np.float32), np.ones((1, ACTIONS), bool))
    assert answer.actions.shape == (1,)
    with pytest.raises(CheckpointError, match="Name its module with --plugin"):
        make_network(two.manifest.network)


def test_torch_learners_say_that_they_cannot(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    register_network("mine", network(MIDDLES["dense"]))
    with pytest.raises(SettingsError, match=r"pair of JAX functions.*--learner jax"):
        create_trainer("probe", SMALL | {"network": "mine", "learner": "sb3"}, root=tmp_path)
