"""Commands that serve end with 0 when they are asked to, and do what comes after the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

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
