"""The service is killed again and again while somebody plays: the client notices, nobody gets an illegal move."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("grpc")

from jimbot.clients import DecisionClient
from jimbot.clients.resilience import RetryPolicy
from tests.services.asking import GAME, LEGAL, request

PATIENT = RetryPolicy(deadline=60.0, cap=5.0, attempts=400, longest_pause=0.5, budget=100.0, failures=10**6)


def start(port: int) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "jimbot", "serve", GAME, "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.search(r"Listening on \S+:(\d+)\.", line):
            return server, int(found[1])
    pytest.fail("the service did not start")


@pytest.mark.long
def test_kills_cost_time_and_nothing_else() -> None:
    server, port = start(0)
    stop = threading.Event()
    answered: dict[str, int] = {}

    def play() -> None:
        with DecisionClient(f"127.0.0.1:{port}", patience=PATIENT) as client:
            number = 0
            while not stop.is_set():
                number += 1
                row = number % 64
                answer = client.decide(request(row, request_id=f"request {number}"))
                assert answer.request_id not in answered, "one answer per id"
                assert LEGAL[row, answer.selected_action.number]
                answered[answer.request_id] = answer.selected_action.number

    playing = threading.Thread(target=play)
    playing.start()
    try:
        for _ in range(4):
            time.sleep(5)
            before = len(answered)
            server.kill()
            server.wait(10)
            server, _ = start(port)
            until = time.monotonic() + 30
            while len(answered) <= before and time.monotonic() < until:
                time.sleep(0.1)
            assert len(answered) > before, "play goes on"
    finally:
        stop.set()
        playing.join(60)
        server.kill()
        server.wait(10)
    assert sorted(answered) == sorted(f"request {number}" for number in range(1, len(answered) + 1)), "none was lost"
