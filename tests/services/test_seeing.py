"""What can be seen of the service: its log, its figures, its traces; and that it follows a run."""

from __future__ import annotations

import asyncio
import json
import shutil
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from jimbot.clients import EventBusClient
from jimbot.errors import SettingsError
from jimbot.proto.events_pb2 import LearningDecisionRequest
from jimbot.runs.checkpoint import shipped_policy
from jimbot.services.decision import RefusedError
from jimbot.services.listeners import DecisionLog
from jimbot.services.orchestrator import RayLearningOrchestrator
from jimbot.services.serving import RunWatch
from tests.services.asking import GAME, Scripted, probe_request, request, serve, service_of

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_one_line_per_decision_says_everything(tmp_path: Path) -> None:
    service = service_of(serve(Scripted()))
    log = DecisionLog(tmp_path / "log" / "decisions.jsonl", bodies=1.0)
    service.listeners.append(log)
    asked = probe_request(1, request_id="one", session_id="game 7")
    asked.context.update({"why": "test"})
    service.decide(asked)
    with pytest.raises(RefusedError):
        service.decide(LearningDecisionRequest(game="chess", request_id="two"))
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "log" / "decisions.jsonl").read_text().splitlines()]
    assert [(line["request"], line["code"], line["game"]) for line in lines] == [
        ("one", "OK", "probe"),
        ("two", "NOT_FOUND", "other"),
    ]
    first = lines[0]
    assert (first["action"], first["label"], first["session"]) == (5, "door 1 green", "game 7")
    assert first["context"] == {"why": "test"}
    assert {"time", "trace", "hash", "fallback", "queue_ms", "inference_ms", "total_ms", "body"} <= first.keys()
    assert "Did you mean" in lines[1]["message"] or "Unknown game" in lines[1]["message"]


def test_the_log_is_rotated(tmp_path: Path) -> None:
    service = service_of(serve(Scripted()))
    log = DecisionLog(tmp_path / "d.jsonl", most_bytes=2000, keep=2)
    service.listeners.append(log)
    for number in range(60):
        service.decide(probe_request(number))
    log.close()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["d.jsonl", "d.jsonl.1", "d.jsonl.2"]
    assert all(path.stat().st_size <= 2000 for path in tmp_path.iterdir())


def test_prometheus_reads_every_figure() -> None:
    pytest.importorskip("prometheus_client")
    from jimbot.services.prometheus import open_metrics

    policy = Scripted()
    service = service_of(serve(policy))
    service.decide(probe_request(1))
    service.decide(probe_request(1))
    with pytest.raises(RefusedError):
        service.decide(LearningDecisionRequest(game="x" * 500))
    port, stop = open_metrics(service, "127.0.0.1", 0)
    with pytest.raises(SettingsError, match="Choose another port"):
        open_metrics(service, "127.0.0.1", port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    stop()
    for line in (
        'jimbot_serve_requests_total{code="OK",game="probe"} 2.0',
        'jimbot_serve_requests_total{code="NOT_FOUND",game="other"} 1.0',
        'jimbot_serve_cache_hits_total{game="probe"} 1.0',
        'jimbot_serve_illegal_actions_total{game="probe"} 0.0',
        "jimbot_serve_inference_seconds_count 1.0",
        "jimbot_serve_batch_rows_count 1.0",
        'jimbot_serve_queue_depth{game="probe",policy="scripted"} 0.0',
    ):
        assert line in text, line
    assert 'hash="scripted00000000"' in text
    assert "jimbot_serve_in_flight 0.0" in text
    assert "xxxx" not in text, "what a caller typed is no label"


def test_traces_go_on_from_the_caller_and_need_no_collector() -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from jimbot.services.listeners import Tracing

    kept = InMemorySpanExporter()
    service, tracing = service_of(serve(Scripted())), Tracing(exporter=kept)
    service.listeners.append(tracing)
    asyncio.run(service.decide_async(probe_request(1), 1.0, TRACE))
    tracing.close()
    spans = {span.name: span for span in kept.get_finished_spans()}
    assert set(spans) == {"decide", "queue", "infer"}
    assert f"{spans['decide'].context.trace_id:032x}" == TRACE.split("-")[1]
    assert spans["infer"].parent.span_id == spans["decide"].context.span_id


def test_traces_go_on_over_the_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked, handled, decided, answered: one trace, each below the one before."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from jimbot.clients import bus_tracing
    from jimbot.services.listeners import Tracing

    kept = InMemorySpanExporter()
    service, tracing = service_of(serve(Scripted())), Tracing(exporter=kept)
    service.listeners.append(tracing)
    monkeypatch.setattr(bus_tracing, "provider", tracing.provider)

    async def ask() -> None:
        address = f"embedded:{tmp_path / 'bus.sqlite'}"
        async with EventBusClient(address) as bus, RayLearningOrchestrator(EventBusClient(address), service) as worker:
            await bus.publish_and_wait(probe_request(1), 10)
            await worker.event_bus.close()

    asyncio.run(ask())
    tracing.close()
    spans = {span.name: span for span in kept.get_finished_spans()}
    asked, handled = spans["publish learning.decision.request"], spans["handle learning.decision.request"]
    answered = spans["publish learning.decision.response"]
    assert handled.parent.span_id == asked.context.span_id
    assert {spans["decide"].parent.span_id, answered.parent.span_id} == {handled.context.span_id}
    assert len({span.context.trace_id for span in (asked, handled, answered, spans["decide"], spans["infer"])}) == 1


class Trace:
    """What a listener hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def __call__(self, told: Any) -> None:
        self.heard.append(told)


def test_the_trace_travels_in_grpc_metadata() -> None:
    grpc = pytest.importorskip("grpc")
    from jimbot.proto.decisions_pb2_grpc import DecisionServiceStub
    from tests.services.running import running

    service, heard = service_of(serve(Scripted())), Trace()
    service.listeners.append(heard)
    with running(service) as opened, grpc.insecure_channel(opened.address) as channel:
        DecisionServiceStub(channel).GetDecision(probe_request(1), timeout=5, metadata=(("traceparent", TRACE),))
    assert heard.heard[0].trace_id == TRACE.split("-")[1]


def test_a_client_that_traces_itself_hands_its_trace_on() -> None:
    pytest.importorskip("grpc")
    from opentelemetry.sdk.trace import TracerProvider

    from jimbot.clients import DecisionClient
    from tests.services.running import running

    service, heard = service_of(serve(Scripted())), Trace()
    service.listeners.append(heard)
    caller = TracerProvider().get_tracer("caller")
    with (
        running(service) as opened,
        DecisionClient(opened.address) as client,
        caller.start_as_current_span("game") as span,
    ):
        client.decide(probe_request(1))
    assert heard.heard[0].trace_id == f"{span.get_span_context().trace_id:032x}"


def run_with(root: Path, step: int) -> Path:
    """A run whose best checkpoint is the shipped policy, under another number."""
    folder = root / "mine" / "checkpoints" / f"{step:012d}"
    shutil.copytree(shipped_policy(GAME), folder)
    (root / "mine" / "checkpoints" / "best").write_text(folder.name)
    return folder


def test_a_watched_run_is_followed_and_a_bad_file_is_not(tmp_path: Path) -> None:
    run_with(tmp_path, 100)
    service = service_of()
    watch = RunWatch(service, "mine", tmp_path, seconds=3600)
    watch.start()
    try:
        assert service.decide(request(3)).policy.name == "mine"
        assert not watch.poll(), "nothing new"
        bad = run_with(tmp_path, 200)
        (bad / "policy.onnx").write_bytes(b"junk")
        assert not watch.poll()
        assert service.decide(request(4)).selected_action.label, "the old one goes on"
        run_with(tmp_path, 300)
        assert watch.poll()
        assert service.metrics.reloads[GAME, "swapped"] == 1
    finally:
        watch.close()
        service.close()
