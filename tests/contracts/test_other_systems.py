"""macOS and Windows, as far as Linux can show it: the parts they lack are taken away, and the house still stands."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from jimbot import machine
from jimbot.cli.look import keys
from jimbot.errors import UsageError
from jimbot.games.vgc import worker
from tests.conftest import REPOSITORY

WITHOUT_POSIX = """
import asyncio, multiprocessing, os, signal, subprocess, sys, types
import jax, numpy, onnxruntime, psutil, rich.console  # other people's modules know what system this is
taken = []
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK, windows.locking = 2, lambda descriptor, mode, count: taken.append(descriptor)
sys.modules["msvcrt"] = windows
for name in ("fcntl", "termios", "tty", "pty", "resource", "pwd", "grp"):
    sys.modules[name] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if sys.modules.get(name, 0) is None else found(name, package)
for name in ("fork", "forkpty", "sched_getaffinity", "getuid"):
    delattr(os, name)
del signal.SIGHUP
psutil.Process.memory_info = lambda self: types.SimpleNamespace(rss=2**26, peak_wset=2**27)
from jimbot.cli.main import run
code = run(sys.argv[1:])
assert taken, "the run was never locked"
sys.exit(code)
"""


def test_a_run_is_trained_and_judged_without_anything_of_posix(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    small = ["--num-envs=16", "--num-steps=32", "--total-timesteps=1024", "--eval-games=0", "--hidden-dim=32"]
    command = [sys.executable, "-c", WITHOUT_POSIX, "train", "probe", "--run-name", "run", *small]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs/run/checkpoints/latest").read_text() == "000000001024"


def test_cores_are_counted_where_the_system_knows_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert machine.usable_cores() == os.cpu_count()


def test_peak_memory_is_told_in_the_units_of_each_system(monkeypatch: pytest.MonkeyPatch) -> None:
    linux = machine.peak_memory_mb()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert machine.peak_memory_mb() == pytest.approx(linux / 1024, rel=0.1)
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(psutil.Process, "memory_info", lambda self: SimpleNamespace(peak_wset=3 * 2**20))
    assert machine.peak_memory_mb() == 3


def test_where_only_byte_locks_exist_the_byte_lies_behind_the_holders_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []

    def lock(descriptor: int, mode: int, count: int) -> None:
        if held:
            raise OSError("held by another process")
        held.append(os.lseek(descriptor, 0, os.SEEK_CUR))

    monkeypatch.setattr(machine, "_system", SimpleNamespace(LK_NBLCK=2, locking=lock))
    with (tmp_path / "lock").open("w+b", buffering=0) as file:
        assert machine.try_lock(file.fileno())
        machine.write_holder(file.fileno(), "4711")
        assert machine.read_holder(file.fileno()) == "4711"
        assert not machine.try_lock(file.fileno())
    assert held == [machine.FAR]


def test_a_terminal_without_single_keys_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(keys, "find_spec", lambda name: None if name == "termios" else util.find_spec(name))
    with keys.Keyboard() as keyboard:
        assert not keyboard.active
        assert keyboard.read(0.0) is None


def test_simulators_that_need_posix_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        with pytest.raises(UsageError, match="WSL"):
            worker.WorkerProcess({"patch": False})
