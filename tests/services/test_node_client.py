"""The bus as a program in another language meets it: subjects, stream and bytes as docs/operations/bus.md has them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict

from jimbot.clients import EventBusClient
from jimbot.services.orchestrator import RayLearningOrchestrator
from tests.docs.pages import REPOSITORY
from tests.services.asking import Scripted, probe_request, serve, service_of
from tests.services.buses import NatsServer

LIBRARIES = ("@nats-io/transport-node@3", "@nats-io/jetstream@3", "protobufjs@8")


@pytest.mark.long
def test_a_program_in_node_asks_for_a_move_and_hears_it(tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm, "npm is missing; install Node 20 or newer"
    assert node
    command = [npm, "install", "--no-audit", "--no-fund", *LIBRARIES]
    (tmp_path / "package.json").write_text("{}")
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    asked = MessageToDict(probe_request(7, request_id="from node"))
    assert base64.b64decode(asked["gameState"]["observation"]["values"])
    (tmp_path / "question.json").write_text(json.dumps(asked))
    server = NatsServer(tmp_path / "store")

    async def work() -> tuple[int, str, str]:
        worker = RayLearningOrchestrator(EventBusClient(server.address), service_of(serve(Scripted())))
        await worker.start()
        try:
            child = await asyncio.create_subprocess_exec(
                node, str(REPOSITORY / "examples" / "bus.mjs"), server.address, "question.json",
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ),
            )  # fmt: skip
            out, err = await asyncio.wait_for(child.communicate(), 120)
            return child.returncode or 0, out.decode(), err.decode()
        finally:
            await worker.stop()
            await worker.event_bus.close()

    try:
        code, out, err = asyncio.run(work())
    finally:
        server.kill()
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["requestId"], answer["selectedAction"]["number"]) == ("from node", 5)
    assert answer["correlationId"] in err
    assert "stream JIMBOT" in err
