"""Commands that serve end with 0 when they are asked to, and do what comes after the server."""

from __future__ import annotations

import os
import signal
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from jimbot.cli.main import run
from tests.services.buses import free_port


def ask_to_end(url: str, how: signal.Signals) -> threading.Thread:
    """Sends this process a signal as soon as somebody answers at an address."""

    def send() -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for _ in range(600):
            try:
                opener.open(url, timeout=1).close()
                break
            except (OSError, urllib.error.URLError):
                threading.Event().wait(0.05)
        os.kill(os.getpid(), how)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_its_last_words_however_it_is_ended(
    how: signal.Signals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port, before = free_port(), signal.getsignal(signal.SIGTERM)
    asking = ask_to_end(f"http://127.0.0.1:{port}/health", how)
    assert run(["host", "events", "--port", str(port), "--bus", f"embedded:{tmp_path / 'bus.sqlite'}"]) == 0
    asking.join()
    assert "0 events taken" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_page_ends_with_0_when_it_is_asked_to(tmp_path: Path) -> None:
    port = free_port()
    asking = ask_to_end(f"http://127.0.0.1:{port}/api/hello", signal.SIGTERM)
    assert run(["ui", "--port", str(port), "--runs", str(tmp_path)]) == 0
    asking.join()
