"""`jimbot host`: a real one that answers and ends in order."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest


@pytest.mark.long
def test_a_hosted_game_answers_and_ends_when_told() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "jimbot", "host", "balatro", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = re.search(r"http://\S+?:\d+", process.stdout.readline())
    assert found is not None
    body = json.dumps({"jsonrpc": "2.0", "method": "health", "id": 1}).encode()
    with urllib.request.urlopen(
        urllib.request.Request(found[0], body, {"Content-Type": "application/json"}), timeout=60
    ) as answer:
        assert json.load(answer)["result"] == {"status": "ok"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
