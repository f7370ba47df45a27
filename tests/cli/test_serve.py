"""`jimbot serve` and `jimbot ask` as they are typed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jimbot.cli.main import run
from tests.cli.making import save_perfect
from tests.services.asking import GAME, LEGAL, OBSERVATION, Scripted, probe_request, serve, service_of, shipped

pytest.importorskip("grpc")

from jimbot.clients import AsyncDecisionClient, EventBusClient
from jimbot.clients.event_bus import unpacked
from jimbot.services.grpc_server import ServerSettings
from jimbot.services.serving import Offer
from jimbot.services.serving import serve as serve_all
from tests.services.running import running

QUESTION = {"game": GAME, "observation": OBSERVATION[3].tolist(), "legal_mask": LEGAL[3].tolist()}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(service_of(shipped(), serve(Scripted()))) as opened:
        yield opened.address


def ask(tmp_path: Path, question: Any, address: str, *flags: str) -> int:
    file = tmp_path / "question.json"
    file.write_text(question if isinstance(question, str) else json.dumps(question))
    return run(["ask", str(file), "--address", address, *flags])


def test_an_answer_is_shown_and_printed_as_json(tmp_path: Path, address: str, capsys: Any) -> None:
    assert ask(tmp_path, QUESTION, address) == 0
    shown = capsys.readouterr().out
    assert "confidence" in shown
    assert "hackmatrix/shipped" in shown
    assert ask(tmp_path, QUESTION, address, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["selected_action"]["label"] in shown
    assert (answer["fallback"], answer["used_llm"]) == ("none", False)


def test_a_refusal_is_one_sentence_too(tmp_path: Path, address: str, capsys: Any) -> None:
    assert ask(tmp_path, {**QUESTION, "game": "hackmatri"}, address) == 1
    assert "Did you mean 'hackmatrix'" in capsys.readouterr().err


def test_a_served_policy_is_watched_and_compared_like_any_other(address: str, capsys: Any) -> None:
    remote = f"grpc://{address}/probe"
    assert run(["watch", remote, "--games", "1", "--seed", "7"]) == 0
    assert "door" in capsys.readouterr().out
    assert run(["compare", remote, "random", "--game", "probe", "--games", "4", "--json"]) == 0
    assert remote in capsys.readouterr().out


def test_serve_with_a_bus_answers_there_tells_decisions_and_shows_the_figures_of_both(tmp_path: Path) -> None:
    """Everything `jimbot serve --bus` puts together, in this process, ended by SIGTERM as people end it."""
    printed: list[str] = []
    bus = f"embedded:{tmp_path / 'bus.sqlite'}"
    save_perfect(tmp_path / "runs" / "perfect")
    offer = Offer(("perfect",), "probe", runs_dir=tmp_path / "runs", metrics_port=0, bus=bus)

    async def play() -> tuple[Any, Any, str, list[Any]]:
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(serve_all(offer, ServerSettings(port=0), printed.append, opened.set_result))
        server = await opened
        async with EventBusClient(bus) as client, AsyncDecisionClient(server.address) as direct:
            over_bus = await client.publish_and_wait(probe_request(1, request_id="over the bus"), 10)
            over_wire = await direct.decide(probe_request(2, request_id="over the wire"))
            url = next(line.split()[1] for line in printed if line.startswith("Metrics"))
            text = await asyncio.to_thread(lambda: urllib.request.urlopen(url).read().decode())
            os.kill(os.getpid(), signal.SIGTERM)
            await serving
            told_there = [event async for event in client.replay(["learning.decision.response"])]
            return over_bus, over_wire, text, told_there

    over_bus, over_wire, text, events = asyncio.run(play())
    assert over_bus.selected_action.number in range(4, 8)
    assert over_wire.policy.name == over_bus.policy.name == "perfect/1000"
    answers: list[Any] = [unpacked(event) for event in events]
    assert sorted(answer.request_id for answer in answers) == ["over the bus", "over the wire"], "each printed once"
    for line in (
        'jimbot_bus_handled_total{topic="learning.decision.request"} 1.0', "jimbot_bus_lag", 'code="OK"',
        'jimbot_bus_published_total{topic="learning.decision.response"}', "jimbot_bus_dead", "redelivered",
    ):  # fmt: skip
        assert line in text, line
    assert f"Answering on the bus {bus}." in printed


def test_figures_of_a_service_with_tokens_ask_for_one_too(tmp_path: Path) -> None:
    printed: list[str] = []
    (tmp_path / "tokens").write_text("a-token-of-many-letters look\n")
    save_perfect(tmp_path / "runs" / "perfect")
    offer = Offer(("perfect",), "probe", runs_dir=tmp_path / "runs", metrics_port=0)

    def status(url: str, **headers: str) -> int:
        try:
            return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10).status
        except urllib.error.HTTPError as refused:
            return refused.code

    async def look() -> list[int]:
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        door = ServerSettings(port=0, token_file=tmp_path / "tokens")
        serving = asyncio.create_task(serve_all(offer, door, printed.append, opened.set_result))
        await opened
        url = next(line.split()[1] for line in printed if line.startswith("Metrics"))
        known = {"Authorization": "Bearer a-token-of-many-letters"}
        found = [await asyncio.to_thread(status, url, **headers) for headers in ({}, known)]
        os.kill(os.getpid(), signal.SIGTERM)
        await serving
        return found

    assert asyncio.run(look()) == [401, 200]


def test_serve_answers_and_ends_in_order_on_sigterm(tmp_path: Path) -> None:
    """A real process: ready, asked, printed to stop, exit code 0, the log complete."""
    log = tmp_path / "decisions.jsonl"
    command = [sys.executable, "-m", "jimbot", "serve", GAME, "--port", "0", "--log", str(log), "--metrics-port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert server.stderr is not None
    try:
        printed: list[str] = []
        for line in server.stderr:
            printed.append(line)
            if found := re.search(r"Listening on (\S+)\.", line):
                break
        else:
            pytest.fail("".join(printed))
        assert ask(tmp_path, {**QUESTION, "request_id": "over the wire"}, found[1], "--json") == 0
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0, "".join(printed) + server.stderr.read()
    finally:
        server.kill()
        server.stderr.close()
    assert json.loads(log.read_text().splitlines()[-1])["request"] == "over the wire"
