"""`jimbot host`: wrong use in sentences, and a real one that answers and ends in order."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from jimbot.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["probe"], "Unknown game to host 'probe'"),
        (["balatro", "--dialect", "3.x"], "Unknown dialect '3.x'"),
        (["balatro", "--trap", "hangs"], "Unknown trap 'hangs'. Did you mean 'hang'?"),
        (["balatro", "--trap", "hang"], "hang=20"),
        (["balatro", "--trap", "sell=3"], "takes no number"),
        (["balatro", "--speed", "warp", "--port", "0"], "Speed 'warp'"),
        (["balatro", "--instances", "0"], "instances"),
        (["balatro", "--host", "0.0.0.0"], "can be reached by other machines"),
    ],
)
def test_wrong_use_is_a_sentence(words: list[str], said: str, capsys: Any) -> None:
    assert main.run(["host", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


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
