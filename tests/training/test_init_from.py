"""`--init-from`: starting from another policy, held back by freezing, warm-up and a pull that decays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import JimbotError
from jimbot.games.contract import available_games, game_entry
from jimbot.policies import masking
from jimbot.policies.networks import describe_network, param_shapes, part_of
from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.training import init_policy
from jimbot.training.framework import create_trainer
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from jimbot.training.settings.layers import resolve
from jimbot.training.settings.record import network_choice
from tests.training.small import SMALL

UPDATE = SMALL["num_envs"] * SMALL["num_steps"]
FLAGS = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "game"]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a policy that has learned a little."""
    trainer = create_trainer("probe", {**SMALL, "seed": 7}, root=tmp_path_factory.mktemp("start"))
    trainer.train(4 * UPDATE)
    path = trainer.save_model()
    trainer.close()
    return path


def trainer_from(start: Path, root: Path, **changes: Any) -> JaxPPOTrainer:
    trainer = create_trainer("probe", {**SMALL, "init_from": str(start), **changes}, root=root)
    assert isinstance(trainer, JaxPPOTrainer)
    return trainer


def params_of(trainer: JaxPPOTrainer) -> dict[str, np.ndarray]:
    assert trainer.state is not None
    return {name: np.array(value) for name, value in trainer.state.params.items()}


def changed_parts(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> set[str]:
    return {part_of(name) for name in before if (before[name] != after[name]).any()}


def test_a_run_starts_from_the_parameters_given_and_with_a_fresh_optimiser(start: Path, tmp_path: Path) -> None:
    trainer = trainer_from(start, tmp_path)
    expected = load_checkpoint(start).params()
    for name, value in params_of(trainer).items():
        np.testing.assert_array_equal(value, expected[name])
    assert trainer.step == 0
    assert trainer.state is not None
    assert float(np.abs(trainer.state.optimiser[1].mu["value.bias"]).sum()) == 0
    trainer.close()


@pytest.mark.parametrize("stepping", ["fused", "host"])
def test_frozen_parts_stay_bit_for_bit_and_then_learn(stepping: str, start: Path, tmp_path: Path) -> None:
    trainer = trainer_from(start, tmp_path, value_warmup_updates=1, freeze_trunk_updates=3, stepping=stepping)
    first = params_of(trainer)
    trainer.train(UPDATE)
    warm = params_of(trainer)
    assert changed_parts(first, warm) == {"value"}
    trainer.train(3 * UPDATE)
    heads = params_of(trainer)
    assert changed_parts(warm, heads) == {"value", "policy"}
    trainer.train(4 * UPDATE)
    assert changed_parts(heads, params_of(trainer)) == {"value", "policy", "trunk"}
    trainer.close()


def distance(one: dict[str, np.ndarray], other: dict[str, np.ndarray], trainer: JaxPPOTrainer) -> float:
    """Mean divergence of two policies over all situations of probe."""
    observation = np.concatenate([np.tile(np.eye(4, dtype=np.float32), (12, 1)), np.full((48, 1), 0.5, np.float32)], 1)
    legal = np.repeat(np.arange(48)[None] // 4 == np.arange(12)[:, None], 4, axis=0)
    ours, theirs = (
        masking.log_probabilities(np.asarray(trainer.network.apply(params, observation)[0]), legal)
        for params in (one, other)
    )
    return float((masking.probabilities(ours, legal) * np.where(legal, ours - theirs, 0)).sum(axis=1).mean())


def test_the_pull_keeps_the_policy_near_where_it_began(start: Path, tmp_path: Path) -> None:
    """The control, without a pull, goes its own way."""
    moved, said = {}, {}
    for pull in (0.0, 100.0):
        trainer = trainer_from(start, tmp_path / str(pull), init_kl=pull, init_kl_updates=10_000)
        before = params_of(trainer)
        trainer.train(12 * UPDATE)
        moved[pull] = distance(before, params_of(trainer), trainer)
        said[pull] = trainer.session.latest_metrics
        trainer.close()
    assert moved[100.0] < 0.02 < 0.1 < moved[0.0]
    assert 0 < said[100.0]["train/init_kl"] < 0.02
    assert "train/init_kl" not in said[0.0]


def test_the_pull_decays_to_nothing(start: Path, tmp_path: Path) -> None:
    trainer = trainer_from(start, tmp_path, init_kl=1.0, init_kl_updates=4, log_interval=1)
    rows: list[float] = []
    trainer.train(6 * UPDATE, callback=lambda step, metrics: rows.append(metrics["train/init_kl"]))
    trainer.close()
    assert all(value > 0 for value in rows[:4])
    assert rows[4:] == [0.0, 0.0]


@pytest.mark.parametrize("stepping", ["fused", "host"])
def test_resume_with_pull_and_freezing_is_exact_without_the_first_checkpoint(
    stepping: str, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference policy is in the state: what the run began from need not exist any more."""
    monkeypatch.chdir(tmp_path)
    init = tmp_path / "start"
    begin = ["--init-kl=0.5", "--init-kl-updates=8", "--freeze-trunk-updates=3", "--value-warmup-updates=1"]
    command = ["train", "probe", *FLAGS, *begin, f"--init-from={init}", f"--stepping={stepping}"]
    shutil.copytree(start, init)
    assert run([*command, "--run=straight", f"--total-timesteps={6 * UPDATE}"]) == 0
    assert run([*command, "--run=parts", f"--total-timesteps={2 * UPDATE}"]) == 0
    shutil.rmtree(init)
    assert run(["resume", "parts", f"--total-timesteps={6 * UPDATE}"]) == 0
    name = f"checkpoints/{6 * UPDATE:012d}"
    straight, parts = (load_checkpoint(tmp_path / "runs" / which / name) for which in ("straight", "parts"))
    expected, found = straight.state(), parts.state()
    assert expected.keys() == found.keys()
    assert any(".reference" in key for key in expected)
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)


def test_a_run_without_a_start_stores_nothing_new(start: Path) -> None:
    """So checkpoints made before this existed go on loading."""
    assert not any(".reference" in name for name in load_checkpoint(start).state())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--init-from=nowhere"], "There is no checkpoint or run 'nowhere'"),
        (["--init-from=START", "--hidden-dim=24"], "is of network mlp [32, 32]; this run uses mlp [24, 24]"),
        (["--init-kl=0.1"], "there is no policy to anchor it to"),
        (["--init-from=START", "--init-kl=-1"], "init_kl is -1"),
    ],
)
def test_a_start_that_does_not_fit_is_one_sentence(
    arguments: list[str], words: str, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    asked = [argument.replace("START", str(start)) for argument in arguments]
    flags = [flag for flag in FLAGS if not any(flag.split("=")[0] == own.split("=")[0] for own in asked)]
    assert run(["train", "probe", *flags, *asked]) == 2
    assert words in capsys.readouterr().err
    # The mistake can be corrected on the same run.
    assert run(["train", "probe", *FLAGS, f"--init-from={start}"]) == 0


def test_a_checkpoint_of_another_game_is_refused(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    manifest = start.parent / "other" / "manifest.json"
    if not manifest.exists():
        shutil.copytree(start, manifest.parent)
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "game": "hackmatrix"}))
    assert run(["train", "probe", *FLAGS, f"--init-from={manifest.parent}"]) == 2
    assert "The game of checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize("game", available_games())
def test_every_network_has_a_trunk_and_two_heads(game: str) -> None:
    spec = game_entry(game).spec
    for kind in ("mlp", "auto"):
        assert {part_of(name) for name in param_shapes(describe_network(spec, kind))} == {"trunk", "policy", "value"}


def test_a_clone_gives_its_policy_and_the_critic_starts_fresh(start: Path, tmp_path: Path) -> None:
    fresh = create_trainer("probe", SMALL, root=tmp_path / "fresh")
    trainer = create_trainer("probe", {**SMALL, "bc_model": str(start)}, root=tmp_path)
    assert isinstance(trainer, JaxPPOTrainer)
    assert isinstance(fresh, JaxPPOTrainer)
    theirs, before = load_checkpoint(start).params(), params_of(fresh)
    for name, value in params_of(trainer).items():
        np.testing.assert_array_equal(value, (before if part_of(name) == "value" else theirs)[name])
    fresh.close()
    trainer.close()


def test_of_a_clone_with_another_trunk_what_fits_is_taken_and_told(start: Path, tmp_path: Path) -> None:
    told = create_trainer("probe", SMALL, root=tmp_path / "same").start_from_clone(start)
    assert "2 of 2 parameters of the policy, 4 of 4 parameters of the trunk" in told
    assert told.endswith("Fresh: the value head.")
    deeper = {**SMALL, "num_layers": 3}
    trainer = create_trainer("probe", {**deeper, "bc_model": str(start)}, root=tmp_path / "deeper")
    told = trainer.start_from_clone(start)
    assert "4 of 6 parameters of the trunk" in told
    assert "Fresh: the value head, trunk_2.weight, trunk_2.bias." in told
    trainer.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"hidden_dim": 8}, "Nothing of the policy"), ({"num_layers": 3, "init_kl": 0.1}, "nothing to anchor it to")],
)
def test_a_clone_that_cannot_be_used_is_one_sentence(changes: dict, words: str, start: Path, tmp_path: Path) -> None:
    with pytest.raises(JimbotError, match=words) as caught:
        create_trainer("probe", {**SMALL, **changes, "bc_model": str(start)}, root=tmp_path)
    assert caught.value.exit_code == 2


def test_the_network_of_a_run_is_that_of_its_start_unless_one_was_given(start: Path, tmp_path: Path) -> None:
    shipped = resolve({"game": "hackmatrix", "init_from": "hackmatrix"})
    network = load_checkpoint(find_checkpoint("hackmatrix")).manifest.network
    assert describe_network(game_entry("hackmatrix").spec, **network_choice(shipped.settings)) == network
    assert "The network is that of hackmatrix" in shipped.notes[-1]
    plain = {name: value for name, value in SMALL.items() if name != "hidden_dim"}
    trainer = create_trainer("probe", {**plain, "init_from": str(start)}, root=tmp_path)
    assert trainer.described_network()["hidden"] == [SMALL["hidden_dim"]] * 2
    trainer.close()
    wider = resolve({**plain, "init_from": str(start), "hidden_dim": 64})
    assert wider.settings.network.hidden_dim == 64


def test_a_policy_goes_on_without_the_helpers_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = game_entry("hackmatrix").spec.under({"helpers": True}).observation.size
    monkeypatch.setattr(init_policy, "_usual_sight", lambda *_: np.full(seen, 0.5))  # playing is the next test
    helping = {**SMALL, "game": "hackmatrix", "game_options": {"helpers": True}}
    helped = create_trainer("hackmatrix", helping, root=tmp_path / "helped")
    path = helped.save_model()
    helped.close()
    spec = game_entry("hackmatrix").spec
    network = describe_network(spec, hidden_dim=SMALL["hidden_dim"])
    start = init_policy.start_of(path, spec, network)
    before = load_checkpoint(path).params()
    cut = len(before["trunk_0.weight"]) - len(start.params["trunk_0.weight"])
    assert cut == spec.under({"helpers": True}).observation.size - spec.observation.size > 0
    assert (start.params["trunk_0.bias"] != before["trunk_0.bias"]).any(), "what was usual is in the bias"
    np.testing.assert_array_equal(start.params["policy.weight"], before["policy.weight"])
    with pytest.raises(JimbotError, match="observation"):
        init_policy.start_of(path, spec, describe_network(spec, hidden_dim=24))


def test_what_a_policy_usually_sees_is_told_by_its_own_games(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_policy, "SIGHT_GAMES", 8)
    monkeypatch.setattr(init_policy, "SIGHT_STEPS", 16)
    stored = init_policy.read_policy(start)
    usual = init_policy._usual_sight(*stored)
    assert usual.shape == (game_entry("probe").spec.observation.size,)
    assert 0 < usual.max() <= 1
    np.testing.assert_array_equal(usual, init_policy._usual_sight(*stored))
