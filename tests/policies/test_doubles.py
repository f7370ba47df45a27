"""The network of joint orders: one function in JAX, torch and ONNX; every logit is about what its order names."""

from __future__ import annotations

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.games.contract import functional_game, game_entry
from jimbot.games.vgc import orders
from jimbot.policies import doubles, masking
from jimbot.policies.jax_networks import JaxOps, make_network
from jimbot.policies.networks import continuous_entries, describe_network, forward_flops, param_shapes, train_flops
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


@pytest.fixture(scope="module")
def scaled() -> dict[str, Any]:
    """The same network with every number of the observation shifted and scaled by itself."""
    description = describe_network(SPEC, normalize=True)
    network = make_network(description)
    rng = np.random.default_rng(0)
    entries = continuous_entries(SPEC)
    params = network.init(0)
    moved = {name: value + 0.1 * rng.normal(size=value.shape).astype(np.float32) for name, value in params.items()}
    moved["normalize.mean"] = np.where(entries, rng.normal(size=entries.shape), 0.0).astype(np.float32)
    moved["normalize.scale"] = np.where(entries, rng.uniform(0.5, 3.0, entries.shape), 1.0).astype(np.float32)
    moved["normalize.limit"] = np.where(entries, 10.0, np.inf).astype(np.float32)
    run = jax.jit(lambda params, rows: network.apply(params, network.prepare(rows, params)))
    return {"description": description, "network": network, "params": moved, "apply": run}


@pytest.mark.parametrize("which", ["parts", "scaled"])
def test_onnx_and_jax_agree(which: str, request: pytest.FixtureRequest) -> None:
    parts = request.getfixturevalue(which)
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


@pytest.mark.parametrize("which", ["parts", "scaled"])
def test_torch_and_jax_agree(which: str, request: pytest.FixtureRequest) -> None:
    torch = pytest.importorskip("torch")
    from jimbot.policies.torch_networks import TorchNetwork

    parts = request.getfixturevalue(which)
    rows = made_up_rows(np.random.default_rng(2))
    network = TorchNetwork(parts["description"])
    network.load_arrays({name: np.asarray(array) for name, array in parts["params"].items()})
    with torch.no_grad():
        logits, value = network(torch.as_tensor(rows))
    expected, expected_value = parts["apply"](parts["params"], rows)
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(value, expected_value, rtol=1e-4, atol=1e-2)


def test_facts_do_not_depend_on_how_observations_are_scaled(scaled: dict[str, Any]) -> None:
    """Damage and HP are compared as they are, also where each entry of the observation has a scale of its own."""
    rng = np.random.default_rng(6)
    rows = made_up_rows(rng, 200)
    for name in ("damage", "threat", "matchup", "matchup_threat"):
        rows[:, SPEC.observation.span(name)] = rng.uniform(0, 1.2, (200, SPEC.observation[name].size))
    hp = doubles.describe(SPEC)["hp"]
    rows[:, hp] = rng.choice([0.0, 0.25, 0.5, 1.0], (200, len(hp)))
    network, places = scaled["network"], doubles._places(scaled["description"])
    features = network.prepare(jnp.asarray(rows), scaled["params"])
    for name in doubles.VICTIMS:
        found = doubles._hits(JaxOps, places, name, features)
        expected = doubles._hits(JaxOps, doubles.describe(SPEC), name, jnp.asarray(rows))
        for fact, right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(fact, right, err_msg=name)


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


def row_with(hp: dict[int, float], damage: dict[tuple[int, int, int], float]) -> np.ndarray:
    """One empty row with some Pokémon's HP and some (slot, move, target) damages."""
    row = np.zeros((1, SPEC.observation.size), np.float32)
    pokemon = SPEC.observation["pokemon"]
    for place, share in hp.items():
        SPEC.observation.view(row, "pokemon")[0, place, pokemon.columns.index("hp")] = share
    for place, share in damage.items():
        SPEC.observation.view(row, "damage")[(0, *place)] = share
    return row


def test_every_estimate_knows_whom_it_hits() -> None:
    assert {name: len(rows) for name, rows in doubles.VICTIMS.items()} == {
        name: SPEC.observation[name].size for name in doubles.VICTIMS
    }
    row = row_with({6: 0.3, 7: 0.0, 1: 1.0, 0: 0.5}, {(0, 1, 0): 0.5, (0, 1, 1): 0.5, (0, 1, 2): 0.5, (1, 3, 2): 0.5})
    hits = doubles._hits(JaxOps, doubles.describe(SPEC), "damage", jnp.asarray(row))
    damage, counts, out = (np.asarray(fact).reshape(2, 4, 3) for fact in hits)
    assert damage[0, 1].tolist() == [0.5, 0.5, 0.5]
    np.testing.assert_allclose(counts[0, 1], [0.3, 0.0, 0.5])  # foe a has no more to lose, foe b nothing
    assert out[0, 1].tolist() == [1, 0, 0]
    assert out[1, 3].tolist() == [0, 0, 1]  # slot b's partner is slot a


@pytest.mark.parametrize(
    ("damage_a", "damage_b", "worth"),
    [(0.2, 0.2, 1.0), (0.5, 0.5, -2.0), (0.5, 0.2, 0.0), (0.1, 0.1, 0.0)],
    ids=["only together", "twice", "one is enough", "not even together"],
)
def test_two_hits_on_one_foe_are_judged_together(damage_a: float, damage_b: float, worth: float) -> None:
    row = jnp.asarray(row_with({6: 0.3, 7: 1.0}, {(0, 1, 0): damage_a, (1, 2, 0): damage_b}))
    d = doubles.describe(SPEC)
    hits = {"damage": doubles._hits(JaxOps, d, "damage", row)}
    weights = jnp.asarray([[1.0, 10.0, -2.0, -20.0]])
    found = np.asarray(doubles._together(JaxOps, d, weights, hits, row))[0]
    a, b = orders.move_code(1, 1), orders.move_code(2, 1)
    assert found[a, b] == found[a + 5, b] == worth  # with or without the gimmick
    assert found[a, orders.move_code(2, 2)] == found[a, orders.PASS] == found[orders.switch_code(2), b] == 0


def test_a_code_strikes_whom_its_order_names() -> None:
    for foe, move in product(range(2), range(4)):
        struck = np.flatnonzero(doubles._striking(foe)[:, move])
        assert sorted(struck) == sorted(orders.move_code(move, t, g) for t in (0, foe + 1) for g in (False, True))
