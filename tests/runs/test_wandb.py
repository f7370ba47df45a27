"""W&B without an account or a server: recorded for real, inside the run directory."""

from __future__ import annotations

import importlib.util
import json
import logging
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jimbot.errors import MissingExtraError
from jimbot.runs import CheckpointStore
from jimbot.runs.recorder import Recorder
from jimbot.runs.sinks.wandb import WandbSink, choose_mode, rewind_arguments
from tests.runs.checkpoint_making import save

needs_wandb = pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed")


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_BASE_URL", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


def records(path: Path) -> Iterator[Any]:
    """The messages in a .wandb file (blocks of 32 kB; ours is smaller than one)."""
    from wandb.proto.wandb_internal_pb2 import Record  # ty: ignore[import-not-found]  (made at run time)

    data = path.read_bytes()
    assert len(data) < 32768
    at = 7
    while at + 7 <= len(data):
        length, kind = struct.unpack_from("<HB", data, at + 4)
        assert kind == 1
        if at + 7 + length > len(data):
            return  # still being written
        yield Record.FromString(data[at + 7 : at + 7 + length])
        at += 7 + length


def finished(path: Path) -> list[Any]:
    """All messages of a run that was closed. W&B's own process may write the last ones after `finish` returned."""
    for _ in range(600):
        found = list(records(path))
        if found and found[-1].HasField("exit"):
            return found
        time.sleep(0.1)
    raise AssertionError(f"W&B never finished {path}")


def written(folder: Path) -> tuple[list[dict[str, Any]], list[Any]]:
    """History rows and artifacts of all offline runs, in order."""
    rows, artifacts = [], []
    for path in sorted(folder.glob("wandb/offline-run-*/*.wandb")):
        for record in finished(path):
            if record.HasField("history"):
                items = record.history.item
                rows.append({"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in items})
            if record.request.HasField("log_artifact"):
                artifacts.append(record.request.log_artifact.artifact)
            if record.HasField("artifact"):
                artifacts.append(record.artifact)
    return rows, artifacts


@needs_wandb
def test_records_offline_without_a_key_and_continues_the_same_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "mine"
    checkpoint = save(CheckpointStore(run / "checkpoints"), 300)
    with caplog.at_level(logging.WARNING):
        recorder = Recorder([WandbSink(run, config={"lr": 2.5e-4})])
    assert "W&B records offline" in caplog.text
    for step in (100, 200, 300):
        recorder.record(step, {"train/entropy": step / 100})
    recorder.checkpoint(300, checkpoint, is_best=True)
    recorder.close()
    resumed = Recorder([WandbSink(run, rewind=True, upload_checkpoints=False)])
    resumed.trim(300)
    resumed.record(400, {"train/entropy": 4.0})
    resumed.checkpoint(400, checkpoint)
    resumed.close()
    assert recorder.failures == resumed.failures == 0

    rows, artifacts = written(run)
    assert [(row["_step"], row["train/entropy"]) for row in rows] == [(100, 1.0), (200, 2.0), (300, 3.0), (400, 4.0)]
    (artifact,) = artifacts
    assert artifact.type == "checkpoint"
    assert {"latest", "best", "step-300"} <= set(artifact.aliases)
    assert sorted(e.path for e in artifact.manifest.contents) == ["manifest.json", "params_300.npz", "policy.onnx"]
    stored = json.loads((run / "wandb.json").read_text())
    assert stored["name"] == "mine"
    assert all(stored["id"] in path.name for path in run.glob("wandb/offline-run-*"))


def test_asking_for_wandb_without_having_it_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[wandb\]"):
        WandbSink(tmp_path)


def test_goes_online_only_when_it_could_log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_mode() == "offline"
    (tmp_path / "netrc").write_text("machine api.wandb.ai login user password not-a-real-one\n")
    assert choose_mode() == "online"
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    assert choose_mode() == "offline"
    monkeypatch.setenv("WANDB_API_KEY", "not-a-real-one")
    assert choose_mode() == "online"
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert choose_mode() == "offline"


@needs_wandb
def test_rewind_names_a_moment_that_wandb_understands() -> None:
    import wandb

    moment = wandb.Settings(**rewind_arguments("abcd1234", 32768)).resume_from
    assert moment is not None
    assert (moment.run, moment.metric, moment.value) == ("abcd1234", "_step", 32768)
