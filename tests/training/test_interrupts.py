"""Ctrl+C, SIGTERM and a closed terminal ask for a clean end, on every system."""

from __future__ import annotations

import os
import pty
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jimbot.training.session import interrupts
from jimbot.training.session.interrupts import stop_requests


@pytest.mark.parametrize(
    ("sign", "words"), [("SIGINT", "Ctrl+C"), ("SIGTERM", "SIGTERM"), ("SIGHUP", "terminal was closed")]
)
def test_the_first_signal_asks_and_the_second_interrupts(sign: str, words: str) -> None:
    number, noted = getattr(signal, sign), []
    before = signal.getsignal(number)
    with stop_requests(lambda: noted.append(1)) as request:
        os.kill(os.getpid(), number)
        assert request.reason is not None
        assert words in request.reason
        assert noted == [1]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_a_run_under_nohup_goes_on_when_the_terminal_closes() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_requests(lambda: None) as request:
            os.kill(os.getpid(), signal.SIGHUP)
            assert request.reason is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_system_without_sighup_has_the_other_two(monkeypatch: pytest.MonkeyPatch) -> None:
    windows = SimpleNamespace(
        SIGINT=signal.SIGINT, SIGTERM=signal.SIGTERM, SIG_IGN=signal.SIG_IGN, signal=signal.signal,
        getsignal=signal.getsignal,
    )  # fmt: skip
    monkeypatch.setattr(interrupts, "signal", windows)
    with stop_requests(lambda: None) as request:
        os.kill(os.getpid(), signal.SIGTERM)
        assert request.reason == "stopped by SIGTERM"


TRAINER = """
import os, signal, sys
from jimbot.training.session.interrupts import stop_requests
with stop_requests(lambda: print("saving", flush=True)) as request:
    print("running", flush=True)
    while not request.reason:
        signal.pause()
    for word in ("judging", "done"):
        print(word, flush=True)
open(sys.argv[1], "w").write(request.reason)
"""


def test_a_closed_terminal_lets_a_run_be_saved_and_say_whatever_it_says(tmp_path: Path) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-c", TRAINER, str(tmp_path / "saved")], os.environ)
    while b"running" not in os.read(terminal, 100):
        pass
    os.close(terminal)  # the kernel sends SIGHUP
    assert os.waitpid(child, 0)[1] == 0
    assert "terminal was closed" in (tmp_path / "saved").read_text()
