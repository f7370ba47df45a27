"""One loss, two learners: equal parameters and an equal batch give an equal loss and equal gradients."""

from __future__ import annotations

import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jimbot.games.contract import game_entry  # noqa: E402
from jimbot.games.spec import GameSpec  # noqa: E402
from jimbot.policies.jax_networks import make_network  # noqa: E402
from jimbot.policies.networks import describe_network  # noqa: E402
from jimbot.policies.onnx_form import onnx_from_params  # noqa: E402
from jimbot.policies.portable import OnnxPolicy  # noqa: E402
from jimbot.policies.torch_networks import TorchNetwork  # noqa: E402
from jimbot.training import torch_losses as losses  # noqa: E402
from jimbot.training.jax_ppo.ppo import normalised, ppo_loss  # noqa: E402
from jimbot.training.jax_ppo.records import Hyperparameters  # noqa: E402
from tests.training.small import first_update, samples_of_arrays  # noqa: E402

CLIP, VALUE, ENTROPY = 0.2, 0.7, 0.05


def made_up(spec: GameSpec, count: int = 192) -> dict[str, np.ndarray]:
    """A batch with a legal action in every row; a board's cells are 0 or 1 and its viewer stands on it."""
    rng = np.random.default_rng(0)
    seen = rng.random((count, spec.observation.size)).astype(np.float32)
    for field in spec.observation.fields:
        if field.board:
            rows, cols, _ = field.shape
            seen[:, spec.observation.span(field.name)] = rng.integers(0, 2, (count, field.size))
            for (name, index), cells in ((field.board.row, rows), (field.board.col, cols)):
                seen[:, spec.observation.offsets[name] + index] = rng.integers(0, cells, count) / (cells - 1)
    legal = rng.random((count, spec.actions.size)) < 0.3
    actions = rng.integers(0, spec.actions.size, count).astype(np.int32)
    legal[np.arange(count), actions] = True
    return {
        "features": seen,
        "legal_mask": legal,
        "action": actions,
        "log_probability": np.log(rng.uniform(0.5, 2, count) / legal.sum(axis=1)).astype(np.float32),  # nearly uniform
        "advantage": rng.normal(size=count).astype(np.float32),
        "target": rng.normal(size=count).astype(np.float32),
    }


@pytest.mark.parametrize(("game_id", "kind"), [("probe", "towers"), ("hackmatrix", "board"), ("balatro", "items")])
def test_jax_and_sb3_agree_on_loss_and_gradients(game_id: str, kind: str) -> None:
    spec = game_entry(game_id).spec
    batch = made_up(spec)
    described = describe_network(spec, kind, hidden_dim=32, policy_layers=[32], value_layers=[16])
    torch.manual_seed(0)
    network = TorchNetwork(described)
    pure = make_network(described)
    params = network.arrays()
    params["policy.weight"] = params["policy.weight"] * 100  # far from uniform, so that some ratios are clipped
    network.load_arrays(params)

    arrays = [torch.as_tensor(value) for value in batch.values()]
    theirs, parts = losses.ppo_loss(network, losses.Weights(CLIP, VALUE, ENTROPY), losses.Samples(*arrays))
    theirs.backward()

    hyper = Hyperparameters(0.99, 0.95, CLIP, VALUE, ENTROPY, 0.5, 1, 1, gradient_accumulation=1, target_kl=0.0)

    @jax.jit
    def loss_and_gradients(params: dict, batch: dict) -> tuple:
        samples = samples_of_arrays(**{**batch, "features": pure.prepare(batch["features"])})
        samples = samples._replace(advantage=normalised(samples.advantage, samples.weights["policy"]))
        update = first_update(pure, params)
        return jax.value_and_grad(lambda p: ppo_loss(hyper, (), update, p, samples), has_aux=True)(params)

    (ours, our_parts), gradients = loss_and_gradients(params, batch)
    assert float(theirs.detach()) == pytest.approx(float(ours), rel=1e-4)
    assert 0 < float(our_parts["train/clip_frac"]) < 1
    for name in ("pg_loss", "value_loss", "entropy", "approx_kl", "clip_frac"):
        assert float(parts[f"train/{name}"].detach()) == pytest.approx(
            float(our_parts[f"train/{name}"]), rel=1e-4, abs=1e-6
        )
    for name, gradient in gradients.items():
        found = network.named()[name].grad
        assert found is not None
        np.testing.assert_allclose(found.numpy(), gradient, rtol=2e-3, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("duelling", [False, True])
@pytest.mark.parametrize("double_q", [False, True])
def test_the_target_of_dqn_never_looks_at_an_illegal_action(double_q: bool, duelling: bool) -> None:
    described = describe_network(game_entry("probe").spec, "mlp", hidden_dim=8, action_values=True, duelling=duelling)
    network, target = TorchNetwork(described), TorchNetwork(described)
    with torch.no_grad():
        for one in (network, target):  # a tempting action that is not legal
            one.named()["policy.bias"][7] = 1000.0
    legal = torch.ones(4, 48, dtype=torch.bool)
    legal[:, 7] = False
    zeros, ones = torch.zeros(4, 5), torch.ones(4)
    batch = losses.Remembered(zeros, legal, torch.zeros(4).long(), ones, 0.9 * ones, zeros, legal, ones)
    tempted = batch._replace(next_legal_mask=torch.ones(4, 48, dtype=torch.bool))
    assert float(losses.dqn_loss(network, target, batch, double_q)[0].detach()) < 5
    assert float(losses.dqn_loss(network, target, tempted, double_q)[0].detach()) > 100
    over = tempted._replace(discount=torch.zeros(4))
    assert float(losses.dqn_loss(network, target, over, double_q)[0].detach()) < 5


def test_double_q_lets_the_net_choose_and_the_target_judge() -> None:
    described = describe_network(game_entry("probe").spec, "mlp", hidden_dim=8, action_values=True)
    network, target = TorchNetwork(described), TorchNetwork(described)
    rng = torch.Generator().manual_seed(0)
    seen, after = torch.rand(6, 5, generator=rng), torch.rand(6, 5, generator=rng)
    legal = torch.rand(6, 48, generator=rng) < 0.5
    legal[:, 0] = True
    reward, discount, weight = torch.rand(6, generator=rng), torch.full((6,), 0.8), torch.linspace(0.1, 1, 6)
    batch = losses.Remembered(seen, legal, torch.arange(6), reward, discount, after, legal, weight)
    loss, _, error = losses.dqn_loss(network, target, batch, double_q=True)
    with torch.no_grad():
        chosen = np.where(legal, network(after)[0], -np.inf).argmax(axis=1)
        judged = target(after)[0].numpy()[np.arange(6), chosen]
        value = network(seen)[0].numpy()[np.arange(6), np.arange(6)]
    wanted = value - (reward.numpy() + 0.8 * judged)
    np.testing.assert_allclose(error.numpy(), wanted, atol=1e-6)
    huber = np.where(np.abs(wanted) < 1, 0.5 * wanted**2, np.abs(wanted) - 0.5)
    assert float(loss.detach()) == pytest.approx(float((weight.numpy() * huber).mean()), rel=1e-5)


def test_a_duelling_value_is_the_mean_over_legal_actions_and_the_saved_policy_agrees() -> None:
    spec = game_entry("probe").spec
    described = describe_network(spec, "mlp", hidden_dim=8, action_values=True, duelling=True)
    network = TorchNetwork(described)
    seen = torch.rand(5, 5)
    legal = torch.rand(5, 48) < 0.3
    legal[:, 3] = True
    with torch.no_grad():
        values, (_, position) = losses.action_values(network, seen, legal), network(seen)
    mean = np.array([values[row][legal[row]].mean() for row in range(5)])
    np.testing.assert_allclose(mean, position, atol=1e-6)
    onnx = onnx_from_params(described, network.arrays(), spec.observation.size, spec.actions.size)
    decision = OnnxPolicy.from_bytes(onnx, name="duel").act(seen.numpy(), legal.numpy())
    best = np.where(legal, values, -np.inf)
    np.testing.assert_array_equal(decision.actions, best.argmax(axis=1))
    np.testing.assert_allclose(decision.values, best.max(axis=1), atol=1e-5)
