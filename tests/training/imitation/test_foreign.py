"""Clones of other projects: what fits is copied, what does not is listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import CheckpointError
from jimbot.games.contract import game_entry
from jimbot.policies.networks import describe_network, param_shapes
from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.training.framework import create_trainer
from jimbot.training.init_policy import filled, fitting_params
from jimbot.training.settings.layers import resolve
from tests.training.small import SMALL

torch = pytest.importorskip("torch")

OBSERVED, HIDDEN = game_entry("probe").spec.observation.size, SMALL["hidden_dim"]
ACTIONS = game_entry("probe").spec.actions.size


def state_dict(actions: int = ACTIONS, hidden: int = HIDDEN, observed: int = OBSERVED) -> Any:
    """As a model with a stack of layers and two heads is saved by torch."""
    torch.manual_seed(0)
    Linear = torch.nn.Linear  # noqa: N806 - torch's name
    model = torch.nn.ModuleDict({
        "ff_stack": torch.nn.Sequential(Linear(observed, hidden), torch.nn.ReLU(), Linear(hidden, hidden)),
        "action_head": torch.nn.Linear(hidden, actions),
        "win_head": torch.nn.Linear(hidden, 1),
        "norm": torch.nn.LayerNorm(hidden),
    })  # fmt: skip
    return model.state_dict()


def hybrid() -> Any:
    """As their training builds it today: recurrent in the middle, heads of several layers, a head for previews."""
    torch.manual_seed(0)
    nn, wide = torch.nn, 24
    stack = nn.Sequential(nn.Linear(77, wide), nn.ReLU(), nn.Linear(wide, wide))
    head = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, ACTIONS - 8))
    return nn.ModuleDict({
        "ff_stack": stack, "pos_embedding": nn.Embedding(17, wide), "lstm": nn.LSTM(wide, wide),
        "turn_action_head": head, "teampreview_head": nn.Linear(wide, 4), "win_head": nn.Linear(wide, 1),
    }).state_dict()  # fmt: skip


KEPT = {
    "checkpoint": {"model_state_dict": hybrid(), "config": {"hidden": [24], "lr": 1e-4}, "epoch": 3},
    "plain": hybrid(),
    "compiled": {"model_state_dict": {f"_orig_mod.{name}": value for name, value in hybrid().items()}},
}


def saved(path: Path, tensors: Any) -> Path:
    torch.save(tensors, path)
    return path


def test_a_run_begins_with_what_fits_and_says_what_does_not(tmp_path: Path) -> None:
    theirs = state_dict(actions=ACTIONS - 8)
    path = saved(tmp_path / "clone.pt", theirs)
    trainer: Any = create_trainer("probe", SMALL | {"network": "mlp", "bc_model": str(path)}, root=tmp_path)
    ours, told = trainer._params(), trainer.start_from_clone(path)
    trainer.close()
    head = theirs["action_head.weight"].numpy().T
    np.testing.assert_array_equal(ours["policy.weight"][:, : ACTIONS - 8], head)
    np.testing.assert_array_equal(ours["policy.bias"][: ACTIONS - 8], theirs["action_head.bias"].numpy())
    np.testing.assert_array_equal(ours["trunk_0.weight"], theirs["ff_stack.0.weight"].numpy().T)
    assert not np.allclose(ours["value.weight"], theirs["win_head.weight"].numpy().T), "the critic starts fresh"
    assert told == (
        f"Loaded from {path}: ff_stack.0 → trunk_0, ff_stack.2 → trunk_1, action_head → policy. Fresh: all else. "
        "Left alone: win_head (the value head starts fresh), norm.weight (no dense layer), norm.bias (no dense layer)."
    )


def test_a_stack_for_another_observation_is_listed_and_the_head_still_taken() -> None:
    fitting = _fitting(state_dict(observed=77))
    assert list(fitting.params) == ["trunk_1.weight", "trunk_1.bias", "policy.weight", "policy.bias"]
    assert f"ff_stack.0 (77, {HIDDEN}) (here trunk_0 is ({OBSERVED}, {HIDDEN}))" in fitting.sentence


@pytest.mark.parametrize("wrong", [{"hidden": 16}, {"actions": ACTIONS + 1}])
def test_a_head_of_another_width_or_with_more_actions_is_one_sentence(wrong: dict[str, int]) -> None:
    with pytest.raises(CheckpointError, match=r"Nothing of the policy of clone .* fits .* action_head .* --hidden-dim"):
        _fitting(state_dict(**wrong))


def test_a_clone_of_joint_orders_fills_the_orders_of_vgc_and_leaves_its_previews_fresh(tmp_path: Path) -> None:
    """As the page's hybrid model is: its own embedding of a battle, 2,025 joint orders, a head that guesses the win."""
    spec = game_entry("vgc").spec
    orders, previews = (len(block.labels) for block in spec.actions.blocks)
    theirs = state_dict(actions=orders, hidden=64, observed=3000)
    path = saved(tmp_path / "clone.pt", theirs)
    network = describe_network(spec, "mlp", hidden_dim=64, num_layers=2)
    fitting = fitting_params(path, spec, network)
    shapes = param_shapes(network)
    assert shapes["policy.weight"] == (64, orders + previews) == (64, 2115)
    assert set(fitting.params) == {"trunk_1.weight", "trunk_1.bias", "policy.weight", "policy.bias"}
    head = filled(np.zeros(shapes["policy.weight"], np.float32), fitting.params["policy.weight"])
    np.testing.assert_array_equal(head[:, :orders], theirs["action_head.weight"].numpy().T)
    assert not head[:, orders:].any()
    assert f"ff_stack.0 (3000, 64) (here trunk_0 is ({spec.observation.size}, 64))" in fitting.sentence
    assert "win_head (the value head starts fresh)" in fitting.sentence


@pytest.mark.parametrize("kept", KEPT.values(), ids=list(KEPT))
def test_the_documented_command_loads_what_their_training_saves(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--bc-model FILE` alone: a checkpoint of a training script or a plain state dict, compiled or not; the network is
    chosen to fit and what does not is listed."""
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path / "clone.pt", kept)
    flags = ["--num-envs=4", "--num-steps=8", "--num-minibatches=1", "--total-timesteps=32", "--eval-games=0"]
    assert run(["train", "probe", f"--bc-model={path}", "--lr=1e-4", "--run=on", *flags]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "mlp 24 × 3" in said
    assert "ff_stack.2 → trunk_1, turn_action_head.0 → trunk_2, turn_action_head.2 → policy." in said
    assert f"ff_stack.0 (77, 24) (here trunk_0 is ({OBSERVED}, 24))" in said
    for left in ("teampreview_head (a head", "win_head (the value", "pos_embedding.weight (no dense", "lstm.weight_ih"):
        assert left in said, left
    network = load_checkpoint(find_checkpoint("on")).manifest.network
    assert (network["kind"], network["hidden"]) == ("mlp", [24, 24, 24])


def test_a_network_that_was_given_stays(tmp_path: Path) -> None:
    path = saved(tmp_path / "clone.pt", hybrid())
    given = {"game": "probe", "bc_model": str(path), "hidden_dim": 8}
    assert resolve(given).settings.network.hidden_dim == 8
    assert resolve({"game": "probe", "bc_model": str(path)}).settings.network.kind == "mlp"


def test_vgcs_own_network_says_that_a_dense_head_does_not_fit_it(tmp_path: Path) -> None:
    spec = game_entry("vgc").spec
    path = saved(tmp_path / "clone.pt", state_dict(actions=2025, hidden=64, observed=3000))
    with pytest.raises(CheckpointError, match=r"Nothing of the policy of clone .* fits .* doubles .* --network mlp"):
        fitting_params(path, spec, describe_network(spec, hidden_dim=64))


def test_what_is_no_state_dict_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "clone.pt"
    path.write_bytes(b"not a zip")
    with pytest.raises(CheckpointError, match="not a file of plain tensors"):
        fitting_params(path, game_entry("probe").spec, {})


def test_a_smaller_array_fills_the_leading_part() -> None:
    assert filled(np.zeros((2, 3)), np.ones((2, 2))).tolist() == [[1, 1, 0], [1, 1, 0]]
    assert filled(np.zeros(2), None).tolist() == [0, 0]


def _fitting(tensors: Any) -> Any:
    from jimbot.training.init_policy import _fitting_of_others

    network = describe_network(game_entry("probe").spec, "mlp", hidden_dim=HIDDEN, num_layers=2)
    return _fitting_of_others("clone.pt", {name: value.numpy() for name, value in tensors.items()}, network)
