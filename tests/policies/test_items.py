"""The items network: what follows from the spec, actions that know their cards, JAX against ONNX."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnxruntime
import pytest

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.games.probe import SPEC as PROBE
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec
from jimbot.policies import items, masking
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network, forward_flops, param_shapes, train_flops
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.runs.checkpoint import PRETRAINED, load_checkpoint

CARDS, OFFERS, WIDE = 4, 2, 100
SUBSETS = ((0,), (1,), (0, 1), (2, 3), (0, 2, 3))
TABLE_GAME: GameSpec = dataclasses.replace(
    PROBE,
    id="tablelike",
    observation=ObservationSpec(
        (
            Field("turn", (3,), "numbers"),
            Field("weather", (1,), "an id", ids=5),
            Field("card", (CARDS,), "what they are", ids=9, items="hand"),
            Field("hand", (CARDS, 2), "numbers of the cards", items="hand"),
            Field("offer", (OFFERS,), "from a wide vocabulary", ids=WIDE, vocabulary="thing", items="shop"),
            Field("shop", (OFFERS, 1), "prices", items="shop"),
            Field("last", (1,), "the thing bought last", ids=WIDE, vocabulary="thing"),
        )
    ),
    actions=ActionSpec(
        (
            ActionBlock("play", tuple(f"play {s}" for s in SUBSETS), "hand", SUBSETS),
            ActionBlock("buy", ("buy 0", "buy 1", "buy what is not shown"), "shop", ((0,), (1,), ())),
            ActionBlock("pass", ("pass", "wait")),
        )
    ),
)
SPEC = TABLE_GAME.observation


def observations(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count, SPEC.size)).astype(np.float32)
    for field in SPEC.fields:
        if field.ids:
            values[:, SPEC.span(field.name)] = rng.integers(0, field.ids, (count, field.size))
    return values


def network_and_params() -> tuple:
    network = make_network(describe_network(TABLE_GAME, hidden_dim=16))
    rng = np.random.default_rng(3)
    shapes = param_shapes(network.description)
    return network, {name: rng.normal(size=shape).astype(np.float32) * 0.2 for name, shape in shapes.items()}


def test_auto_takes_items_where_a_game_declares_them() -> None:
    assert describe_network(TABLE_GAME)["kind"] == "items"
    with pytest.raises(SettingsError, match="'probe' has none"):
        describe_network(PROBE, "items")


def test_fresh_parameters_have_the_declared_shapes_and_a_nearly_uniform_policy() -> None:
    network = make_network(describe_network(TABLE_GAME))
    params = network.init(0)
    assert {name: value.shape for name, value in params.items()} == param_shapes(network.description)
    logits, _ = network.apply(params, observations(50))
    assert np.abs(np.asarray(logits)).max() < 1


def test_onnx_gives_the_same_masked_policy_and_value_as_jax() -> None:
    network, params = network_and_params()
    seen = observations(50)
    legal_mask = np.random.default_rng(1).random((50, TABLE_GAME.actions.size)) < 0.4
    legal_mask[:, -1] = True
    model = onnx_from_params(network.description, params, SPEC.size, TABLE_GAME.actions.size)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    log_probability, value = session.run(None, {"observation": seen, "legal_mask": legal_mask})
    logits, expected_value = network.apply(params, network.prepare(seen))
    np.testing.assert_allclose(log_probability, masking.log_probabilities(logits, legal_mask), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(value, expected_value, rtol=1e-5, atol=1e-4)


def test_a_description_read_from_a_file_with_its_keys_in_another_order_is_the_same_network() -> None:
    network, params = network_and_params()
    seen = observations(20)
    items = network.description["items"]
    turned = {**items, "groups": dict(reversed(items["groups"].items()))}
    assert list(turned["groups"]) != list(items["groups"])
    again = make_network({**network.description, "items": turned})
    for found, expected in zip(again.apply(params, seen), network.apply(params, seen), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_swapping_two_cards_swaps_the_actions_about_them_when_the_trunk_is_deaf() -> None:
    """With a trunk that sees nothing, a logit depends on an action's own cards only."""
    network, params = network_and_params()
    params["trunk_0.weight"] = np.zeros_like(params["trunk_0.weight"])
    params["actions.bias"] = np.zeros_like(params["actions.bias"])
    seen = observations(1)
    swapped = seen.copy()
    for name in ("card", "hand"):
        rows = SPEC.view(seen, name)[:, [1, 0, 2, 3]]
        swapped[:, SPEC.span(name)] = rows.reshape(1, -1)
    before, after = (np.asarray(network.apply(params, x)[0])[0] for x in (seen, swapped))
    np.testing.assert_allclose(after[1], before[0], rtol=1e-5)
    np.testing.assert_allclose(after[0], before[1], rtol=1e-5)
    np.testing.assert_allclose(after[3], before[3], rtol=1e-5, err_msg="an action about other cards")
    assert not np.isclose(after[4], before[4]), "an action about one of them"


def test_a_pair_counts_beyond_its_two_cards() -> None:
    network, params = network_and_params()
    params["actions.bias"] = np.zeros_like(params["actions.bias"])
    play = {"first": 0, "second": 1, "both": 2}
    logits = np.asarray(network.apply(params, observations(20))[0])
    scalar = np.asarray(network.apply({**params, "query.weight": 0 * params["query.weight"]}, observations(20))[0])
    assert not np.allclose(logits[:, play["both"]], logits[:, play["first"]] + logits[:, play["second"]] - scalar[:, 0])


def test_incidence_says_which_actions_are_about_which_rows() -> None:
    block = items.describe(TABLE_GAME)["blocks"][0]
    table = items.incidence(block, CARDS)
    assert [tuple(np.flatnonzero(column)) for column in table.T] == list(SUBSETS)
    pairs = items.pair_incidence(block).reshape(CARDS, CARDS, -1)
    assert pairs[:, :, 4].nonzero() == pytest.approx(np.array([[0, 0, 2], [2, 3, 3]]))
    assert pairs[:, :, 0].sum() == 0


def test_flops_count_item_layers_once_per_item() -> None:
    described = describe_network(TABLE_GAME, hidden_dim=16)
    more_cards = dataclasses.replace(
        TABLE_GAME,
        observation=ObservationSpec(
            tuple(
                dataclasses.replace(field, shape=(2 * CARDS, *field.shape[1:])) if field.items == "hand" else field
                for field in SPEC.fields
            )
        ),
    )
    assert forward_flops(describe_network(more_cards, hidden_dim=16)) > forward_flops(described)
    assert 2 * forward_flops(described) < train_flops(described) < 3 * forward_flops(described)


def test_a_group_of_nothing_but_embedded_ids_is_seen() -> None:
    """Its items are what their ids are, and the action about them knows them."""
    fields = (
        Field("turn", (3,), "numbers"),
        Field("offer", (OFFERS,), "from a wide vocabulary", ids=WIDE, vocabulary="thing", items="shop"),
    )
    actions = ActionSpec((ActionBlock("buy", ("buy 0", "buy 1"), "shop", ((0,), (1,))),))
    game = dataclasses.replace(TABLE_GAME, observation=ObservationSpec(fields), actions=actions)
    network = make_network(describe_network(game, hidden_dim=16))
    assert "item_shop.weight" not in param_shapes(network.description)
    params = network.init(0)
    seen = np.array([[1, 2, 3, 7, 8], [1, 2, 3, 7, 9]], np.float32)
    logits, value = (np.asarray(part) for part in network.apply(params, seen))
    assert logits[0, 1] != logits[1, 1]
    assert value[0] != value[1]
    assert forward_flops(network.description) > 0


def test_the_shipped_balatro_policy_gives_what_its_portable_form_gives() -> None:
    """The stored parameters still mean to this code what they meant when the policy was written as ONNX."""
    checkpoint = load_checkpoint(PRETRAINED / "balatro")
    network = make_network(checkpoint.manifest.network)
    spec = game_entry("balatro").spec
    rng = np.random.default_rng(0)
    seen = rng.uniform(0, 1, (16, spec.observation.size)).astype(np.float32)
    for field in spec.observation.fields:
        if field.ids:
            seen[:, spec.observation.span(field.name)] = rng.integers(0, field.ids, (16, field.size))
    legal_mask = rng.random((16, spec.actions.size)) < 0.5
    session = onnxruntime.InferenceSession(PRETRAINED / "balatro" / "policy.onnx", providers=["CPUExecutionProvider"])
    log_probability, value = session.run(None, {"observation": seen, "legal_mask": legal_mask})
    params = {name: np.asarray(array, np.float32) for name, array in checkpoint.params().items()}
    logits, expected_value = network.apply(params, seen)
    np.testing.assert_allclose(log_probability, masking.log_probabilities(logits, legal_mask), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(value, expected_value, rtol=1e-4, atol=1e-3)
