"""Commands that serve end with 0 when they are asked to, and do what comes after the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from jimbot.cli.shared.stopping import undisturbed
from tests.conftest import REPOSITORY
from tests.services.buses import free_port

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ended(how: signal.Signals, health: str, *words: str) -> tuple[int, str]:
    """Starts a command, sends it a signal as soon as it answers; its exit code and what it said."""
    port = free_port()
    child = subprocess.Popen(
        [sys.executable, "-m", "jimbot", *words, "--port", str(port)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    try:
        while child.poll() is None:
            try:
                OPENER.open(f"http://127.0.0.1:{port}{health}", timeout=1).close()
                break
            except (OSError, urllib.error.URLError):
                continue
        child.send_signal(how)
        said, _ = child.communicate(timeout=60)
        return child.returncode, said
    finally:
        child.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_its_last_words_however_it_is_ended(how: signal.Signals, tmp_path: Path) -> None:
    code, said = ended(how, "/health", "host", "events", "--bus", f"embedded:{tmp_path / 'bus.sqlite'}")
    assert code == 0, said
    assert "0 events taken" in said


def test_the_page_ends_with_0_when_it_is_asked_to(tmp_path: Path) -> None:
    code, said = ended(signal.SIGTERM, "/api/hello", "ui", "--runs", str(tmp_path))
    assert code == 0, said


def test_ctrl_c_while_it_starts_ends_without_a_word() -> None:
    early = (
        "import os, signal, sys; from jimbot.__main__ import main; import importlib.abc as abc\n"
        "class Early(abc.MetaPathFinder):\n"
        "    def find_spec(self, name, *_): name == 'typer' and os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Early()); signal.signal(signal.SIGINT, signal.default_int_handler); main()"
    )
    ended = subprocess.run([sys.executable, "-c", early], capture_output=True, text=True, cwd=REPOSITORY, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_waits_for_an_extension_that_is_being_imported() -> None:
    """Raised inside it crashed jaxlib's import, and so did taking down what was half imported."""
    done: list[str] = []

    class Module:
        def __del__(self) -> None:
            done.append("taken down")

    def importing() -> Module:
        os.kill(os.getpid(), signal.SIGINT)
        done.append("all of it")
        return Module()

    step = undisturbed(importing)
    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupted(seconds: float, *words: str, **variables: str) -> tuple[int, str]:
    """Ctrl+C so many seconds after the start of a command that waits for lines."""
    child = subprocess.Popen(
        [sys.executable, *words], cwd=REPOSITORY, text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **variables},
    )  # fmt: skip
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(seconds)
        os.killpg(child.pid, signal.SIGINT)
        child.wait(120)
        assert child.stdout is not None
        return child.returncode, child.stdout.read()
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("seconds", [1.0, 2.5, 4.0, 6.0])
def test_ctrl_c_while_a_game_is_compiled_ends_in_order(seconds: float, tmp_path: Path) -> None:
    """XLA's programs are new every time, so that the moments lie in imports, tracing, lowering and compiling."""
    variables = {"JIMBOT_CACHE_DIR": str(tmp_path), "JAX_ENABLE_COMPILATION_CACHE": "false"}
    code, said = interrupted(seconds, "-m", "jimbot", "play", "hackmatrix", **variables)
    assert code == 130, said
    assert "Interrupted." in said
    assert "Traceback" not in said


def test_ctrl_c_that_c_code_made_an_error_of_is_still_ctrl_c(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy says so when it comes inside a function that it called."""

    def interrupted_in_c(*_: object, **__: object) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("jimbot.cli.main.with_plugins", interrupted_in_c)
    code, _, said = jimbot("runs")
    assert (code, said.strip()) == (130, "Interrupted.")


WATCHED = """
import hashlib, signal, sys
from jimbot.cli.shared.stopping import CtrlC
ctrl_c = CtrlC(print)
"""
COMPILER = "hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)  # as long as a compiler, and as deaf"
DESTRUCTOR = """
class Kept:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
        for _ in range(100): pass
try:
    Kept()
    import time; time.sleep(600)
except KeyboardInterrupt:
    print("Interrupted.")
    ctrl_c.leave(130)
"""


@pytest.mark.parametrize("command", [COMPILER, DESTRUCTOR])
def test_ctrl_c_reaches_a_command_that_cannot_hear_it(command: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WATCHED + "print('on', flush=True)\n" + command],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "on\n"
        if command is COMPILER:
            time.sleep(0.5)  # it is in the call by then
            child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "Interrupted.\n"
        assert child.wait(60) == 130
    finally:
        child.kill()
        child.wait()
