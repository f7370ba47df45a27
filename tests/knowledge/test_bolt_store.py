"""The same contract on a real Bolt server: `arcadedb-embedded` from PyPI in a venv of its own, or whatever server
`JIMBOT_TEST_BOLT` names (its graph is replaced; user and password as always in JIMBOT_GRAPH_USER and …_PASSWORD)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jimbot.errors import KnowledgeError
from jimbot.knowledge import records
from jimbot.knowledge.bolt_store import BoltStore
from tests.knowledge.samples import GAME, sample
from tests.knowledge.store_contract import READING, WRITING, same

pytest.importorskip("neo4j")
SERVER = Path(__file__).with_name("bolt_server.py")
START_SECONDS = 180


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if named := os.environ.get("JIMBOT_TEST_BOLT"):
        yield named
        return
    folder = tmp_path_factory.mktemp("bolt")
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True, timeout=300)
    subprocess.run([python, "-m", "pip", "install", "-q", "arcadedb-embedded"], check=True, timeout=600)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(
            [python, SERVER, str(port), folder / "data"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True, cwd=folder,
        )  # fmt: skip
    try:
        _wait(server, folder / "server.log")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JIMBOT_GRAPH_USER", "root")
            patch.setenv("JIMBOT_GRAPH_PASSWORD", "tests-only")
            yield f"bolt://127.0.0.1:{port}/cards"
    finally:
        server.kill()  # its data is nobody's, and the JVM takes its time
        server.communicate(timeout=60)


def _wait(server: subprocess.Popen, log: Path) -> None:
    assert server.stdout is not None
    ends = time.monotonic() + START_SECONDS
    for line in server.stdout:
        if line.strip() == "ready":
            return
        assert time.monotonic() < ends, "the server did not start in time"
    raise AssertionError(f"The Bolt server ended: {log.read_text()[-2000:]}")


@pytest.mark.long
@pytest.mark.parametrize("promise", WRITING, ids=lambda promise: promise.__name__)
def test_the_contract_of_all_engines_writing(promise, address: str) -> None:
    promise(lambda: BoltStore(address, GAME))


@pytest.mark.long
@pytest.mark.parametrize("promise", READING, ids=lambda promise: promise.__name__)
def test_the_contract_of_all_engines_reading(promise, address: str) -> None:
    store = BoltStore(address, GAME)
    store.replace(sample())
    promise(store)
    store.close()


@pytest.mark.long
def test_versions_and_games_are_checked_on_a_server_too(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = BoltStore(address, GAME)
    with monkeypatch.context() as patch:
        patch.setattr(records, "VERSION", 7)
        store.replace(sample())
    for use in (lambda: store.ask("MATCH (j:Joker) RETURN j.key"), store.graph, lambda: store.add([])):
        with pytest.raises(KnowledgeError, match="version 7"):
            use()
    store.replace(sample())
    with pytest.raises(KnowledgeError, match="not of 'dice'"):
        BoltStore(address, "dice").graph()
    assert same(store.graph(), sample())


def test_a_server_that_is_not_there_is_named_at_once() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"bolt://127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(KnowledgeError, match=f"{address} did not answer") as problem:
            BoltStore(address, GAME).exists()
    assert "\n" not in str(problem.value)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(KnowledgeError, match="JIMBOT_GRAPH_PASSWORD") as problem:
        BoltStore("bolt://me:secret@localhost:7687", GAME)
    assert "secret" not in str(problem.value)
