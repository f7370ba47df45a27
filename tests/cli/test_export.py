"""`jimbot export`: one file that plays the same, carries its identity, and never overwrites by surprise."""

from __future__ import annotations

import json
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
