"""Checkpoints: what is saved comes back, what is damaged or foreign is refused, what must stay stays."""

from __future__ import annotations

import json
import logging
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import CheckpointError, UsageError
from jimbot.games import game_entry
from jimbot.runs import CheckpointStore, Manifest, check_matches, find_checkpoint, load_checkpoint, platform_info
from jimbot.runs.arrays import read_npz, write_npz
from jimbot.runs.checkpoint import manifest_in_npz
from jimbot.runs.files import ASIDE, TEMPORARY
from tests.runs.checkpoint_making import arrays, manifest, save

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "runs" / "mine" / "checkpoints")


def names(store: CheckpointStore) -> list[int]:
    return [int(path.name) for path in store.paths()]


def test_what_is_saved_comes_back(store: CheckpointStore) -> None:
    path = save(store, 32768)
    assert path.name == "000000032768"
    loaded = load_checkpoint(path)
    assert loaded.manifest.config == {"lr": 2.5e-4}
    assert loaded.manifest.platform == platform_info()
    assert loaded.policy_onnx() == b"onnx 32768"
    for found in (loaded.params(), loaded.state()):
        assert found.keys() == arrays(32768).keys()
        for name, expected in arrays(32768).items():
            assert found[name].dtype == expected.dtype
            assert np.array_equal(found[name], expected)


def test_params_file_alone_tells_everything_about_the_policy(store: CheckpointStore) -> None:
    path = save(store, 512) / "params_512.npz"
    inside, params = manifest_in_npz(path)
    assert (inside.game, inside.network, inside.step) == ("probe", {"kind": "mlp", "hidden": 4}, 512)
    assert params.keys() == arrays(512).keys()
    with np.load(path, allow_pickle=False) as plain:
        assert np.array_equal(plain["weights"], arrays(512)["weights"])


def test_newest_is_the_last_saved_even_after_going_back_to_an_older_one(store: CheckpointStore) -> None:
    for step in (100, 200, 300):
        save(store, step)
    again = CheckpointStore(store.root)
    save(again, 150)
    assert again.latest() == store.root / "000000000150"
    assert (store.root / "latest").read_text() == "000000000150"
    assert names(again) == [100, 150, 200, 300]


def test_keeps_last_best_and_milestones_only(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=2, keep_every=500)
    for step in range(100, 1700, 100):
        save(store, step, is_best=step == 300)
    assert names(store) == [300, 500, 1000, 1500, 1600]
    store.mark_best(tmp_path / "000000001500")
    save(store, 1700)
    assert names(store) == [500, 1000, 1500, 1600, 1700]
    assert store.best() == tmp_path / "000000001500"


def test_a_checkpoint_left_by_going_back_is_pruned_only_when_reached(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=1)
    for step in (100, 900):
        save(store, step)
    save(store, 200)
    assert names(store) == [200, 900]
    save(store, 1000)
    assert names(store) == [1000]


def test_same_step_replaces_the_old_one(store: CheckpointStore) -> None:
    save(store, 100, config={"lr": 1.0})
    path = save(store, 100, config={"lr": 2.0})
    assert load_checkpoint(path).manifest.config == {"lr": 2.0}
    assert [entry.name for entry in store.root.iterdir() if entry.is_dir()] == ["000000000100"]


def test_crash_between_the_two_renames_of_a_replacement_loses_nothing(store: CheckpointStore) -> None:
    path = save(store, 100)
    os.rename(path, store.root / f"{ASIDE}{path.name}")
    assert load_checkpoint(store.latest() or "").manifest.step == 100
    save(store, 200)
    assert names(store) == [100, 200]
    assert path.is_dir()


def test_leftovers_of_dead_processes_are_swept_and_those_of_living_ones_stay(store: CheckpointStore) -> None:
    save(store, 100)
    dead = store.root / f"{TEMPORARY}999999999-aabbccdd-0-x"
    reborn = store.root / f"{TEMPORARY}{os.getpid()}-aabbccdd-0-x"  # our number, another life
    alive = store.root / f"{TEMPORARY}{os.getppid()}-aabbccdd-0-x"
    for folder in (dead, reborn, alive):
        folder.mkdir()
    save(store, 200)
    assert [folder.exists() for folder in (dead, reborn, alive)] == [False, False, True]


@pytest.mark.parametrize("name", ["manifest.json", "policy.onnx", "params_300.npz", "state/state.npz"])
@pytest.mark.parametrize("damage", ["truncate", "remove", "flip"])
def test_damage_is_named_and_the_one_before_is_used(
    store: CheckpointStore, caplog: pytest.LogCaptureFixture, name: str, damage: str
) -> None:
    save(store, 200)
    broken = save(store, 300)
    file = broken / name
    content = file.read_bytes()
    if damage == "truncate":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "remove":
        file.unlink()
    else:
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 0x80]) + content[middle + 1 :])
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(broken)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value) or "manifest" in str(caught.value)
    with caplog.at_level(logging.WARNING):
        assert CheckpointStore(store.root).latest() == store.root / "000000000200"
    assert "Skipping a checkpoint" in caplog.text


@pytest.mark.parametrize("pointer", ["000000000999", "", "../../etc", "\x00"])
def test_a_wrong_latest_file_does_no_harm(store: CheckpointStore, pointer: str) -> None:
    path = save(store, 100)
    (store.root / "latest").write_text(pointer)
    assert CheckpointStore(store.root).latest() == path


def test_foreign_directories_are_refused_in_one_sentence(store: CheckpointStore, tmp_path: Path) -> None:
    path = save(store, 100)
    text = json.loads((path / "manifest.json").read_text())
    cases = {
        "no format_version": {**text, "format_version": None},
        "reads formats 1": {**text, "format_version": 99},
        "'step'": {**text, "step": -1},
        "'game'": {key: value for key, value in text.items() if key != "game"},
        "points outside": {**text, "files": {"../../secret": {"sha256": "0", "size": 1}}},
        "does not list policy.onnx": {**text, "files": {}},
    }
    for words, changed in cases.items():
        (path / "manifest.json").write_text(json.dumps(changed))
        with pytest.raises(CheckpointError, match=words):
            load_checkpoint(path)
    with pytest.raises(CheckpointError, match="no checkpoint directory"):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        load_checkpoint(tmp_path)


def test_unknown_manifest_keys_are_ignored(store: CheckpointStore) -> None:
    path = save(store, 100)
    text = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**text, "invented_later": [1, 2]}))
    assert load_checkpoint(path).manifest.step == 100


def test_wrong_game_version_tables_or_learner_are_one_sentence_with_both_values() -> None:
    spec = game_entry("probe").spec
    right = Manifest.for_game(spec, learner="jax", algorithm="PPO", step=1)
    check_matches(right, spec, learner="jax")
    for field, value in (
        ("game", "chess"), ("game_version", 77), ("observation_fingerprint", "feed"), ("action_fingerprint", "beef"),
        ("learner", "sb3"),
    ):  # fmt: skip
        with pytest.raises(CheckpointError) as caught:
            check_matches(right.model_copy(update={field: value}), spec, learner="jax")
        assert str(value) in str(caught.value)
        assert str(getattr(right, field)) in str(caught.value)


def test_every_way_to_name_a_checkpoint_finds_it(store: CheckpointStore, tmp_path: Path) -> None:
    best = save(store, 100, is_best=True)
    latest = save(store, 200)
    runs = tmp_path / "runs"
    for reference in (latest, store.root, runs / "mine", "mine", str(runs / "mine")):
        assert find_checkpoint(reference, runs) == latest
    assert find_checkpoint("mine", runs, which="best") == best


def test_a_run_without_a_best_gives_its_latest(store: CheckpointStore, tmp_path: Path) -> None:
    path = save(store, 100)
    assert find_checkpoint("mine", tmp_path / "runs", which="best") == path


def test_missing_checkpoints_are_explained(store: CheckpointStore, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(CheckpointError, match="there are no runs"):
        find_checkpoint("mine", tmp_path / "elsewhere")
    store.root.mkdir(parents=True)
    with pytest.raises(CheckpointError, match="no complete checkpoint yet"):
        find_checkpoint("mine", runs)
    save(store, 100)
    with pytest.raises(CheckpointError, match="Did you mean the run 'mine'"):
        find_checkpoint("mime", runs)
    with pytest.raises(CheckpointError, match="neither a checkpoint nor a run"):
        find_checkpoint(tmp_path, runs)


def test_format_1_loads_for_ever(tmp_path: Path) -> None:
    """The fixture was written by JimBot 0.1; it must never be written again (make a new one for a new format)."""
    path = find_checkpoint(FIXTURES / "format-1")
    loaded = load_checkpoint(path)
    assert loaded.manifest.format_version == 1
    assert loaded.manifest.game == "probe"
    assert loaded.manifest.step == 4096
    assert loaded.manifest.files["policy.onnx"].size == len(loaded.policy_onnx())
    assert np.array_equal(loaded.params()["kernel"], np.arange(5 * 48, dtype=np.float32).reshape(5, 48) / 100)
    assert loaded.state()["['count']"] == 12
    check_matches(loaded.manifest, game_entry("probe").spec, learner="jax")
    copied = tmp_path / "copy"
    shutil.copytree(path, copied)
    assert load_checkpoint(copied).manifest == loaded.manifest


def test_no_pickle_is_ever_loaded_or_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only numbers and text"):
        write_npz(tmp_path / "a.npz", {"x": np.array([object()])})
    np.savez(tmp_path / "b.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(CheckpointError, match="damaged or not an npz"):
        read_npz(tmp_path / "b.npz")


def test_an_npz_cannot_ask_for_more_memory_than_its_size(tmp_path: Path) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(10_000_000))
    for name in ("huge.npz", "bomb.npz"):
        with pytest.raises(CheckpointError, match=r"'x\.npy'"):
            read_npz(tmp_path / name)


def test_manifest_survives_metrics_that_are_not_numbers(store: CheckpointStore) -> None:
    path = save(store, 100, metrics={"train/value_loss": float("nan")})
    assert load_checkpoint(path).manifest.metrics == {"train/value_loss": None}
    assert manifest(3).step == 3
