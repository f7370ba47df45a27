"""How long the way of a plain decision is: every function of ours that one gRPC request walks through is counted."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

grpc = pytest.importorskip("grpc")

import jimbot  # noqa: E402
from jimbot.proto.decisions_pb2_grpc import DecisionServiceStub  # noqa: E402
from tests.services.asking import request, service_of, shipped  # noqa: E402
from tests.services.running import running  # noqa: E402

MOST_FUNCTIONS = 45
OURS = str(Path(jimbot.__file__).parent)


class Walk:
    """Counts the calls of functions of ours in the thread it is switched on in; a coroutine that goes on is no call."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._open: set[FrameType] = set()

    def start(self) -> None:
        sys.setprofile(self._note)

    def stop(self) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code: CodeType = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and frame not in self._open:
            self._open.add(frame)
            self.calls[f"{Path(code.co_filename).stem}.{code.co_qualname}"] += 1


def test_a_plain_decision_walks_few_functions() -> None:
    walk = Walk()
    with running(service_of(shipped())) as opened, grpc.insecure_channel(opened.address) as channel:
        stub = DecisionServiceStub(channel)
        for number in range(20):  # the first ones learn what an inference takes
            stub.GetDecision(request(number), timeout=10)
        opened.loop.call_soon_threadsafe(walk.start)
        stub.GetDecision(request(30), timeout=10)
        opened.loop.call_soon_threadsafe(walk.stop)
    walked = "\n".join(f"{count} {name}" for name, count in sorted(walk.calls.items()))
    assert walk.calls["service.DecisionService.decide_async"] == 1, walked
    assert any(name.startswith("batcher.") for name in walk.calls), walked
    assert any("act" in name for name in walk.calls), walked
    assert walk.calls.total() <= MOST_FUNCTIONS, walked
