"""One device, several processes: turns, order, expiry, and what is left when one of them is killed or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jimbot.processes import wait_for
from jimbot.runs.resources import INFERENCE, TRAINING, ResourceCoordinator, ResourceError

WORK = """
import sys, time
from jimbot.runs.resources import ResourceCoordinator
folder, how, priority, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
coordinator = ResourceCoordinator({"gpu": 1}, ["gpu"], folder)
if how == "hold":
    with coordinator.request("gpu", "holder", priority=priority, seconds=seconds) as grant:
        print("held", flush=True)
        while not grant.wanted_back:
            time.sleep(0.001)
        print("wanted", flush=True)
        time.sleep(1000)
for number in range(200):
    with coordinator.request("gpu", "worker", priority=priority):
        with open(folder + "/log", "a") as log:  # whoever comes in between shows here
            log.write("in\\n"); log.flush()
            time.sleep(0.0005)
            log.write("out\\n")
"""


@contextmanager
def child(folder: Path, how: str, priority: int = TRAINING, seconds: float = 600) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WORK, str(folder), how, str(priority), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def shared(folder: Path) -> ResourceCoordinator:
    return ResourceCoordinator({"gpu": 1}, ["gpu"], folder)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_processes_take_turns(tmp_path: Path) -> None:
    with child(tmp_path, "turns") as one, child(tmp_path, "turns", INFERENCE) as other:
        assert one.wait(60) == other.wait(60) == 0
    assert (tmp_path / "log").read_text().split() == ["in", "out"] * 400
    assert shared(tmp_path).in_use("gpu") == 0


def test_a_holder_elsewhere_is_told_and_a_killed_one_is_gone_at_once(tmp_path: Path) -> None:
    here = shared(tmp_path)
    with child(tmp_path, "hold") as holder:
        assert said(holder) == "held"
        assert here.in_use("gpu") == 1
        with pytest.raises(ResourceError, match="which another process holds"):
            here.request("gpu", "service", priority=INFERENCE, timeout=0.05)
        assert said(holder) == "wanted"
        holder.kill()
        holder.wait()
        began = time.monotonic()
        with here.request("gpu", "service", priority=INFERENCE, timeout=5) as grant:
            assert grant.active
            assert time.monotonic() - began < 0.5  # its grant had ten minutes left
        assert here.in_use("gpu") == 0


def test_one_that_hangs_keeps_a_device_no_longer_than_it_was_given(tmp_path: Path) -> None:
    here = shared(tmp_path)
    with child(tmp_path, "hold", seconds=1.0) as holder:
        assert said(holder) == "held"
        os.kill(holder.pid, signal.SIGSTOP)
        with here.request("gpu", "service", timeout=10):
            assert here.in_use("gpu") == 1
        os.kill(holder.pid, signal.SIGCONT)


def test_inference_of_another_process_goes_before_training_of_this_one(tmp_path: Path) -> None:
    here = shared(tmp_path)
    held = here.request("gpu", "learner")
    with child(tmp_path, "hold", INFERENCE) as service:
        assert wait_for(lambda: held.wanted_back, 30)
        held.release()
        with pytest.raises(ResourceError):
            here.request("gpu", "learner", timeout=0.1)
        assert said(service) == "held"
    with here.request("gpu", "learner", timeout=5):
        pass


def test_a_table_that_is_no_table_or_cannot_be_written_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "gpu.leases").write_bytes(b"no table at all" * 20)
    with shared(tmp_path).request("gpu", "learner", timeout=1):
        pass
    blocked = tmp_path / "file"
    blocked.write_text("")
    with shared(blocked).request("gpu", "learner", timeout=1):
        assert "take no turns" in caplog.text
    coordinator = shared(tmp_path)
    (tmp_path / "gpu.leases").unlink()
    (tmp_path / "gpu.leases").mkdir()  # as a disk that went away under it
    for _ in range(2):
        with coordinator.request("gpu", "learner", timeout=1):
            pass
