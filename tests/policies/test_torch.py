"""Torch against the references: masked maths against `masking`, networks against JAX and ONNX."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
import onnxruntime
import pytest

torch = pytest.importorskip("torch")

from jimbot.errors import CheckpointError, SettingsError, UsageError  # noqa: E402
from jimbot.games.contract import game_entry  # noqa: E402
from jimbot.games.probe import SPEC as PROBE  # noqa: E402
from jimbot.games.spec import BoardView, Field, GameSpec, ObservationSpec  # noqa: E402
from jimbot.policies import masking, torch_masking  # noqa: E402
from jimbot.policies.jax_networks import make_network  # noqa: E402
from jimbot.policies.network_program import slot_groups  # noqa: E402
from jimbot.policies.networks import continuous_entries, describe_network, layer_shapes, param_shapes  # noqa: E402
from jimbot.policies.onnx_form import onnx_from_params  # noqa: E402
from jimbot.policies.torch_networks import TorchNetwork  # noqa: E402

CARDS = dataclasses.replace(
    PROBE,
    id="cardlike",
    observation=ObservationSpec(
        (
            Field("hand_card", (6,), "cards", ids=54),
            Field("hand_seal", (6,), "their seals", ids=5),
            Field("hand", (6, 3), "numbers of the cards"),
            Field("shop_item", (2,), "items", ids=200),
            Field("joker_id", (3,), "jokers", ids=200),
            Field("pile", (20, 2), "many"),
            Field("boss", (1,), "one id", ids=9),
            Field("rest", (4,), "numbers"),
        )
    ),
)
BOARD = dataclasses.replace(
    PROBE,
    id="boardlike",
    observation=ObservationSpec(
        (
            Field("place", (2,), "row and column, scaled"),
            Field(
                "grid", (3, 4, 9), "cells", board=BoardView(("place", 0), ("place", 1), ((2, 8),), (2, 3), (4,), (8,))
            ),
            Field("rest", (3,), "other numbers"),
        )
    ),
)
ITEMS = dataclasses.replace(
    CARDS,
    observation=ObservationSpec(
        tuple(
            dataclasses.replace(field, items="hand") if field.name.startswith("hand") else field
            for field in CARDS.observation.fields
        )
    ),
)
GAMES = {"mlp": CARDS, "towers": CARDS, "fields": CARDS, "items": ITEMS, "board": BOARD}


def observations(spec: GameSpec, count: int = 40) -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(count, spec.observation.size)).astype(np.float32)
    for field in spec.observation.fields:
        if field.ids:
            values[:, spec.observation.span(field.name)] = rng.integers(0, field.ids, (count, field.size))
        if field.board:
            values[:, spec.observation.span(field.name)] = rng.integers(0, 2, (count, field.size))
    if spec is BOARD:
        values[:, 0], values[:, 1] = rng.integers(0, 3, count) / 2, rng.integers(0, 4, count) / 3
    return values


def masks(spec: GameSpec, count: int = 40) -> np.ndarray:
    legal = np.random.default_rng(1).random((count, spec.actions.size)) < 0.1
    legal[:, 3] = True
    return legal


def made(kind: str, spec: GameSpec, **choice: Any) -> TorchNetwork:
    torch.manual_seed(0)
    network = TorchNetwork(describe_network(spec, kind, hidden_dim=16, features_dim=24, **choice))
    with torch.no_grad():
        network.named()["policy.weight"].mul_(300)  # far from uniform
    return network


@pytest.mark.parametrize("kind", GAMES)
@pytest.mark.parametrize("normalize", [False, True])
def test_torch_jax_and_onnx_compute_the_same_network(kind: str, normalize: bool) -> None:
    spec = GAMES[kind]
    network = made(kind, spec, normalize=normalize)
    seen, legal = observations(spec), masks(spec)
    if normalize:
        entries = continuous_entries(spec)
        network.named()["normalize.mean"].copy_(torch.as_tensor(np.where(entries, 0.5, 0.0)))
        network.named()["normalize.scale"].copy_(torch.as_tensor(np.where(entries, 3.0, 1.0)))
        network.named()["normalize.limit"].copy_(torch.as_tensor(np.where(entries, 2.0, np.inf)))
    with torch.no_grad():
        logits, value = network(torch.as_tensor(seen))
    model = onnx_from_params(network.description, network.arrays(), spec.observation.size, spec.actions.size)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    log_probability, onnx_value = session.run(None, {"observation": seen, "legal_mask": legal})
    expected = masking.log_probabilities(logits.numpy(), legal)
    np.testing.assert_allclose(log_probability, expected, atol=2e-4, rtol=1e-4)
    np.testing.assert_allclose(onnx_value, value.numpy(), atol=1e-4)
    if not normalize:
        pure = make_network(network.description)
        features = pure.prepare(seen)
        jax_logits, jax_value = pure.apply(jax.tree.map(np.asarray, network.arrays()), features)
        np.testing.assert_allclose(jax_logits, logits.numpy(), atol=2e-4, rtol=1e-4)
        np.testing.assert_allclose(jax_value, value.numpy(), atol=1e-4)


def test_of_action_values_the_best_legal_one_is_the_value() -> None:
    network = made("mlp", CARDS, action_values=True)
    seen, legal = observations(CARDS), masks(CARDS)
    model = onnx_from_params(network.description, network.arrays(), CARDS.observation.size, CARDS.actions.size)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    values = session.run(["value"], {"observation": seen, "legal_mask": legal})[0]
    with torch.no_grad():
        numbers, _ = network(torch.as_tensor(seen))
    np.testing.assert_allclose(values, np.where(legal, numbers.numpy(), -np.inf).max(axis=1), rtol=1e-5)


def test_torch_masked_maths_equals_the_reference_in_a_big_space_with_extreme_logits() -> None:
    rng = np.random.default_rng(2)
    logits = (rng.normal(size=(8, 10_000)) * 50).astype(np.float32)
    logits[0, 5], logits[1, 7] = 3e38, -3e38
    legal = rng.random((8, 10_000)) < 0.3
    legal[2] = False
    legal[2, 77] = True
    uniform = 1.0 - rng.random(8).astype(np.float32)
    reference = masking.log_probabilities(logits, legal)
    ours = torch_masking.log_probabilities(torch.as_tensor(logits), torch.as_tensor(legal))
    np.testing.assert_allclose(ours.numpy(), reference, rtol=1e-5, atol=1e-5)
    mask = torch.as_tensor(legal)
    np.testing.assert_allclose(
        torch_masking.entropy(ours, mask), masking.entropy(reference, legal), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(torch_masking.best(ours, mask), masking.best(reference, legal))
    drawn = torch_masking.sample(ours, mask, torch.as_tensor(uniform)).numpy()
    assert legal[np.arange(8), drawn].all()
    assert drawn[2] == 77


def test_a_mask_without_any_legal_action_is_one_sentence() -> None:
    mask = np.ones((3, 4), bool)
    mask[1] = False
    with pytest.raises(UsageError, match="The mask of row 1 has 0 legal actions of 4"):
        torch_masking.legal_tensor(mask, torch.zeros(3, 4))


def test_parameters_of_another_net_are_one_sentence() -> None:
    with pytest.raises(CheckpointError, match="It is of another net"):
        made("mlp", CARDS).load_arrays(made("towers", CARDS).arrays())


def test_only_numbers_may_be_normalised() -> None:
    entries = continuous_entries(CARDS)
    assert not entries[CARDS.observation.span("hand_card")].any()
    assert entries[CARDS.observation.span("hand")].all()
    board = continuous_entries(BOARD)
    assert not board[:2].any(), "the viewer's own place"
    assert not board[BOARD.observation.span("grid")].any()
    assert board[BOARD.observation.span("rest")].all()


def test_fields_of_the_same_slots_share_an_encoder_and_large_numberings_their_rows() -> None:
    described = describe_network(CARDS, "fields")
    assert {key: [field.name for field in fields] for key, fields in slot_groups(CARDS).items()} == {
        ("hand", 6): ["hand_card", "hand_seal", "hand"],
        ("shop", 2): ["shop_item"],
        ("joker", 3): ["joker_id"],
        ("pile", 20): ["pile"],
    }
    shapes = param_shapes(described)
    assert shapes["table_item_200"] == (200, 16)
    assert shapes["slot_hand_6_0.weight"] == (16 + 4 + 3, 64)


def test_balatronet_has_the_sizes_it_is_known_by_and_computes_the_same_everywhere() -> None:
    spec = game_entry("balatro").spec
    network = made("BalatroNet", spec)
    shapes = layer_shapes(network.description)
    assert (shapes["card_0"], shapes["card_1"]) == ((52 * 4, 256), (256, 128))
    assert (shapes["joker_0"], shapes["joker_1"]) == ((150 * 8, 512), (512, 256))
    assert (shapes["shared_0"], shapes["shared_1"]) == ((512, 512), (512, 512))
    assert (shapes["policy"], shapes["value"]) == ((512, 1000), (512, 1))
    seen, legal = observations(spec, 6), masks(spec, 6)
    with torch.no_grad():
        logits, value = network(torch.as_tensor(seen))
    assert logits.shape == (6, spec.actions.size)
    model = onnx_from_params(network.description, network.arrays(), spec.observation.size, spec.actions.size)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    log_probability, onnx_value = session.run(None, {"observation": seen, "legal_mask": legal})
    expected = masking.log_probabilities(logits.numpy(), legal)
    np.testing.assert_allclose(log_probability, expected, atol=1e-2, rtol=1e-3)
    np.testing.assert_allclose(onnx_value, value.numpy(), atol=1e-3)


def test_balatronet_is_for_balatro_only() -> None:
    with pytest.raises(SettingsError, match="made for Balatro; game 'probe' has no cards"):
        describe_network(PROBE, "BalatroNet")
