"""The loopback server and the benchmark that compares with poke-env's network players."""

from __future__ import annotations

import socket

import pytest

from benchmarks.vgc import bench_vgc
from jimbot.games.vgc.server import ShowdownServer


def listening(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(2)
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.long
def test_the_server_listens_on_loopback_and_leaves_nothing_behind() -> None:
    with ShowdownServer() as server:
        assert listening(server.port)
    assert not listening(server.port)


@pytest.mark.long
def test_the_benchmark_compares_on_the_same_teams() -> None:
    pytest.importorskip("poke_env")
    metrics = bench_vgc(8, seconds=2.0)
    assert metrics["illegal_actions"] == 0
    assert metrics["decisions_per_second"] > 0
    assert metrics["poke_env_decisions_per_second"] > 0


def test_the_benchmark_counts_decisions_without_a_baseline() -> None:
    metrics = bench_vgc(8, seconds=1.0, baseline=False)
    assert metrics["illegal_actions"] == 0
    assert metrics["decisions_per_cpu_second"] > 0
    assert 50 < metrics["worker_megabytes"] < 500
