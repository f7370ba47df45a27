"""A training and a service that share one device: each goes on when the other is killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from jimbot.clients import DecisionClient
from jimbot.processes import Child, free_port, wait_for
from jimbot.runs.sinks.jsonl import read_rows
from tests.services.asking import request

pytest.importorskip("grpc")
pytestmark = pytest.mark.long


def test_training_and_serving_take_turns_and_survive_each_other(tmp_path: Path) -> None:
    port, jimbot = free_port(), [sys.executable, "-m", "jimbot"]
    own = {**os.environ, "JIMBOT_SHARED": "cpu", "JIMBOT_RUNTIME_DIR": str(tmp_path / "meeting")}
    metrics = tmp_path / "runs" / "beside" / "metrics.jsonl"
    log = (tmp_path / "log").open("ab")

    def start(*words: str) -> Child:
        return Child([*jimbot, *words], log, cwd=tmp_path, env=own)

    def train() -> Child:
        return start("train", "probe", "--run", "beside", "--no-wandb", "--total-timesteps", "1000000000",
                     "--num-envs", "64", "--set=num_steps=64", "--set=save_interval=8192")  # fmt: skip

    def rows() -> int:
        return len(read_rows(metrics)) if metrics.exists() else 0

    def answers(count: int) -> None:
        with DecisionClient(f"127.0.0.1:{port}") as client:
            for number in range(count):
                answer = client.decide(request(1 + number % 60))
                assert not answer.fallback_reason

    learner, service = train(), start("serve", "hackmatrix", "--port", str(port))
    try:
        assert learner.becomes(lambda: rows() > 1, 120)
        assert service.becomes(lambda: "Listening" in (tmp_path / "log").read_text(), 120)
        assert (tmp_path / "meeting" / "cpu.leases").exists()
        answers(50)
        before = rows()
        assert wait_for(lambda: rows() > before + 1, 60), "training goes on while it is asked"
        learner.kill()
        learner.wait()
        answers(50)
        learner, before = train(), rows()
        assert learner.becomes(lambda: rows() > before + 1, 120)
        service.kill()
        service.wait()
        before = rows()
        assert learner.becomes(lambda: rows() > before + 3, 60)
    finally:
        learner.end()
        service.end()
        log.close()
