"""`jimbot export`: one file that plays the same, carries its identity, and never overwrites by surprise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from jimbot.errors import CheckpointError
from jimbot.games import make
from jimbot.games.probe import SPEC
from jimbot.runs import CheckpointStore, Manifest, find_checkpoint, load_checkpoint
from tests.cli.making import perfect_network, save_perfect


def test_the_onnx_file_plays_without_jimbot_and_says_what_it_is(jimbot, home: Path) -> None:
    code, out, _ = jimbot("export", "perfect", "--output", "policy.onnx")
    assert code == 0
    assert "Wrote policy.onnx" in out
    assert "probe v1 at step 1,000" in out
    metadata = {entry.key: entry.value for entry in onnx.load(home / "policy.onnx").metadata_props}
    assert metadata["game"] == "probe"
    assert metadata["game_version"] == "1"
    assert metadata["observation_fingerprint"] == SPEC.observation.fingerprint
    assert metadata["action_fingerprint"] == SPEC.actions.fingerprint
    game = make("probe", 16)
    game.reset()
    session = onnxruntime.InferenceSession(home / "policy.onnx", providers=["CPUExecutionProvider"])
    answers = session.run(None, {"observation": game.observation, "legal_mask": game.legal_mask})
    found = dict(zip([output.name for output in session.get_outputs()], answers, strict=True))
    game.step(found["log_probabilities"].argmax(axis=1))
    assert (game.reward == 1).all()
    assert np.allclose(found["value"], 8)


def test_the_npz_file_holds_plain_arrays(jimbot, home: Path) -> None:
    assert jimbot("export", "perfect", "--output", "policy.npz")[0] == 0
    with np.load(home / "policy.npz", allow_pickle=False) as arrays:
        assert arrays["policy.weight"].shape == (5, 48)


def test_an_npz_file_becomes_the_same_onnx_model(jimbot, home: Path) -> None:
    params = find_checkpoint("perfect", home / "runs") / "params_1000.npz"
    assert jimbot("export", params, "--output", "from_npz.onnx")[0] == 0
    assert jimbot("export", "perfect", "--output", "from_run.onnx")[0] == 0
    one, other = (onnx.load(home / name) for name in ("from_npz.onnx", "from_run.onnx"))
    assert one.graph == other.graph


def test_json_names_what_was_written(jimbot) -> None:
    code, out, _ = jimbot("export", "perfect", "--output", "policy.onnx", "--json")
    assert code == 0
    written = json.loads(out)
    assert written["game"] == "probe"
    assert written["step"] == 1000
    assert written["bytes"] == Path("policy.onnx").stat().st_size


def test_the_best_checkpoint_is_taken_when_asked(jimbot, home: Path) -> None:
    from jimbot.runs import CheckpointStore

    store = CheckpointStore(home / "runs" / "perfect" / "checkpoints")
    store.mark_best(store.paths()[0])
    save_perfect(home / "runs" / "perfect", step=2000)
    assert "step 2,000" in jimbot("export", "perfect", "--output", "a.onnx")[1]
    assert "step 1,000" in jimbot("export", "perfect", "--best", "--output", "b.onnx")[1]


def test_a_file_is_replaced_only_by_force(jimbot, home: Path) -> None:
    (home / "policy.onnx").write_text("precious")
    code, _, err = jimbot("export", "perfect", "--output", "policy.onnx")
    assert code == 2
    assert "--overwrite" in err
    assert (home / "policy.onnx").read_text() == "precious"
    assert jimbot("export", "perfect", "--output", "policy.onnx", "--force")[0] == 0
    assert onnx.load(home / "policy.onnx").graph.name


def test_a_folder_holds_a_policy_that_plays_but_cannot_be_resumed(jimbot, home: Path) -> None:
    assert jimbot("export", "perfect", "--output", "mine")[0] == 0
    code, out, _ = jimbot("evaluate", "mine", "--games", "8", "--json")
    assert code == 0
    assert json.loads(out)["illegal_actions"] == 0
    with pytest.raises(CheckpointError, match="without training state"):
        load_checkpoint(home / "mine").state()


def test_a_failing_disk_leaves_the_old_file(jimbot, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jimbot.runs import files

    def fail(path: Path, data: bytes) -> None:
        path.write_bytes(data[:10])
        raise OSError(28, "No space left on device")

    (home / "policy.onnx").write_text("precious")
    monkeypatch.setattr(files, "_write_synced", fail)
    code, _, err = jimbot("export", "perfect", "--output", "policy.onnx", "--force")
    assert code == 1
    assert "No space left on device" in err
    assert (home / "policy.onnx").read_text() == "precious"
    assert [path.name for path in home.iterdir() if path.name.startswith(".")] == []


def test_a_checkpoint_of_another_game_or_with_broken_parameters_is_not_exported(jimbot, home: Path) -> None:
    save_perfect(home / "runs" / "other", game="chess")
    save_perfect(home / "runs" / "older", observation_fingerprint="0" * 16)
    network, params = perfect_network()
    params["value.bias"] = np.full(1, np.nan, np.float32)
    manifest = Manifest.for_game(SPEC, learner="jax", algorithm="PPO", network=network, step=10)
    sound = (home / "runs/perfect/checkpoints/000000001000/policy.onnx").read_bytes()
    CheckpointStore(home / "runs/broken/checkpoints").save(manifest, sound, params, {})
    for name, words in (("other", "'chess'"), ("older", "observation table"), ("broken", "not finite numbers")):
        for kind in ("onnx", "npz"):
            code, _, err = jimbot("export", name, "--output", f"a.{kind}")
            assert code == 2
            assert words in err
    assert not list(home.glob("a.*"))


def test_an_exported_file_is_not_exported_again(jimbot) -> None:
    jimbot("export", "perfect", "--output", "policy.onnx")
    code, _, err = jimbot("export", "policy.onnx", "--output", "again.onnx")
    assert code == 2
    assert "exported already" in err


RUN_WITHOUT_JIMBOT = """
import sys, numpy as np, torch
play, seen = torch.jit.load(sys.argv[1]), np.load(sys.argv[2])
log_probabilities, value = play(torch.tensor(seen["observation"]), torch.tensor(seen["legal_mask"]))
assert not [name for name in sys.modules if name.startswith("jimbot")]
np.savez(sys.argv[3], actions=log_probabilities.argmax(dim=1).numpy(), value=value.numpy())
"""


@pytest.mark.parametrize("reference", ["perfect", "hackmatrix", "balatro"])
def test_plain_torch_runs_a_module_file_and_jimbot_reads_its_arrays_alone(
    jimbot, home: Path, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from jimbot.policies.portable import load_policy

    assert jimbot("export", reference, "--output", "policy.pt", "--module")[0] == 0
    policy, manifest = load_policy(find_checkpoint(reference, home / "runs"))
    assert manifest is not None
    game = make(manifest.game, 16, options=manifest.game_options)
    game.reset()
    np.savez(home / "seen.npz", observation=game.observation, legal_mask=game.legal_mask)
    program = [sys.executable, "-I", "-c", RUN_WITHOUT_JIMBOT, "policy.pt", "seen.npz", "said.npz"]
    subprocess.run(program, cwd=home, check=True, timeout=300)
    with np.load(home / "said.npz") as said:
        own = policy.act(game.observation, game.legal_mask)
        assert np.array_equal(said["actions"], own.actions)
        assert np.allclose(said["value"], own.values, atol=1e-4)
    game.close()

    import torch

    def run(*_: object, **__: object) -> None:
        raise AssertionError("a file was run")

    monkeypatch.setattr(torch.jit, "load", run)
    monkeypatch.setattr(torch, "load", run)
    assert jimbot("export", "policy.pt", "--output", "again.npz")[0] == 0
    with np.load(home / "again.npz") as again:
        params = load_checkpoint(find_checkpoint(reference, home / "runs")).params()
        assert all(np.array_equal(again[name], value) for name, value in params.items())


def test_a_module_is_a_pt_file_or_nothing(jimbot, home: Path) -> None:
    code, _, err = jimbot("export", "perfect", "--output", "policy.onnx", "--module")
    assert code == 2
    assert "--module is for .pt files" in err
