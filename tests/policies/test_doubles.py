"""The network of joint orders: one function in JAX, torch and ONNX; every logit is about what its order names."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.games.contract import functional_game, game_entry
from jimbot.games.vgc import orders
from jimbot.policies import doubles, masking
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network, forward_flops, param_shapes, train_flops
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy

SPEC = game_entry("vgc").spec
ROWS = 5


def made_up_rows(rng: np.random.Generator, count: int = ROWS) -> np.ndarray:
    """Rows of the right kind: ids in their range, numbers anywhere."""
    rows = rng.normal(size=(count, SPEC.observation.size)).astype(np.float32)
    for field in SPEC.observation.fields:
        if field.ids:
            rows[:, SPEC.observation.span(field.name)] = rng.integers(0, field.ids, (count, field.size))
    return rows


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    description = describe_network(SPEC)
    network = make_network(description)
    rng = np.random.default_rng(0)
    params = network.init(0)
    params = {name: value + 0.1 * rng.normal(size=value.shape).astype(np.float32) for name, value in params.items()}
    return {"description": description, "network": network, "params": params, "apply": jax.jit(network.apply)}


def test_battles_get_it_by_themselves_and_other_games_do_not(parts: dict[str, Any]) -> None:
    assert parts["description"]["kind"] == "doubles"
    probe = functional_game("probe")
    assert probe is not None
    assert not doubles.suits(probe.spec)


def test_its_tables_are_those_of_the_rules() -> None:
    assert doubles.CODES == orders.SLOT_CODES
    labels = ["team " + "".join(str(place + 1) for place in preview) for preview in doubles.PREVIEWS]
    assert list(SPEC.actions.blocks[1].labels) == labels


def test_it_is_small(parts: dict[str, Any]) -> None:
    assert sum(np.prod(shape) for shape in param_shapes(parts["description"]).values()) < 2_000_000
    assert 2 * forward_flops(parts["description"]) < train_flops(parts["description"])


def test_onnx_and_jax_agree(parts: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    rows = made_up_rows(rng)
    legal = rng.random((ROWS, SPEC.actions.size)) < 0.05
    legal[:, 0] = True
    logits, value = parts["apply"](parts["params"], rows)
    arrays = {name: np.asarray(array) for name, array in parts["params"].items()}
    model = onnx_from_params(parts["description"], arrays, SPEC.observation.size, SPEC.actions.size)
    decision = OnnxPolicy.from_bytes(model).act(rows, legal)
    expected = masking.probabilities(masking.log_probabilities(np.asarray(logits), legal), legal)
    np.testing.assert_allclose(decision.probabilities, expected, atol=1e-3)
    np.testing.assert_allclose(decision.values, value, rtol=1e-4, atol=1e-2)


def test_torch_and_jax_agree(parts: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    from jimbot.policies.torch_networks import TorchNetwork

    rows = made_up_rows(np.random.default_rng(2))
    network = TorchNetwork(parts["description"])
    network.load_arrays({name: np.asarray(array) for name, array in parts["params"].items()})
    with torch.no_grad():
        logits, value = network(torch.as_tensor(rows))
    expected, expected_value = parts["apply"](parts["params"], rows)
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(value, expected_value, rtol=1e-4, atol=1e-2)


def orders_that_change(parts: dict[str, Any], changed: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(45, 45) bool: which joint logits differ by more than what both rows share."""
    before, after = (np.asarray(parts["apply"](parts["params"], jnp.asarray(r))[0])[0, :2025] for r in (rows, changed))
    return np.abs(after - before).reshape(45, 45)


def test_the_damage_of_a_move_moves_the_orders_that_aim_it_there(parts: dict[str, Any]) -> None:
    """Beside what the trunk makes of it, the aimed order moves by the slot's own weight."""
    rows = made_up_rows(np.random.default_rng(3), 1)
    changed = rows.copy()
    SPEC.observation.view(changed, "damage")[0, 0, 2, 0] += 5.0  # slot a, third move, foe a
    change = orders_that_change(parts, changed, rows)
    aimed, other = orders.move_code(2, 1), orders.move_code(2, 2)
    assert abs(change[aimed].mean() - change[other].mean()) > 1e-3


def test_swapping_the_two_slots_swaps_the_orders(parts: dict[str, Any]) -> None:
    """The slots share all weights: with equal slots, (x, y) and (y, x) are equally good where neither aims."""
    rows = made_up_rows(np.random.default_rng(4), 1)
    view = SPEC.observation.view
    for field in SPEC.observation.fields:
        if field.items or field.name in ("slot", "damage", "outspeeds", "matchup", "matchup_threat"):
            view(rows, field.name)[0, 1] = view(rows, field.name)[0, 0]
    view(rows, "threat")[..., 1] = view(rows, "threat")[..., 0]
    joint = np.asarray(parts["apply"](parts["params"], rows)[0])[0, :2025].reshape(45, 45)
    joint = joint - np.asarray(parts["params"]["actions.bias"])[:2025].reshape(45, 45)
    unaimed = [orders.move_code(move, 0) for move in range(4)] + [orders.switch_code(2), orders.PASS]
    part = joint[np.ix_(unaimed, unaimed)]
    np.testing.assert_allclose(part, part.T, rtol=1e-4, atol=1e-2)


def test_a_preview_is_about_the_four_it_brings(parts: dict[str, Any]) -> None:
    """Changing one Pokémon's row moves previews that lead with it by another amount than those that leave it out."""
    rows = made_up_rows(np.random.default_rng(5), 1)
    changed = rows.copy()
    SPEC.observation.view(changed, "matchup")[0, 4] += 3.0
    before, after = (np.asarray(parts["apply"](parts["params"], r)[0])[0, 2025:] for r in (rows, changed))
    leads = np.array([4 in preview[:2] for preview in doubles.PREVIEWS])
    left_out = np.array([4 not in preview for preview in doubles.PREVIEWS])
    moved = after - before
    assert abs(moved[leads].mean() - moved[left_out].mean()) > 1e-2
