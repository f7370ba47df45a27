"""`jimbot bench bus` and `jimbot bench serve`: every figure is there; how large it is, is the machine's affair."""

from __future__ import annotations

import json
import math
import re

import pytest

from jimbot.cli import main
from jimbot.errors import MissingExtraError

pytest.importorskip("grpc")


def metrics(capsys: pytest.CaptureFixture[str], name: str, *words: str) -> dict[str, float]:
    assert main.run(["bench", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[name]
    numbers = {name: value for name, value in found.items() if isinstance(value, int | float)}
    assert all(math.isfinite(value) and value >= 0 for value in numbers.values())
    assert {"cores", "load_average", "load_average_after"} <= numbers.keys(), "the load they were taken at"
    return numbers


def test_the_bus_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    found = metrics(capsys, "bus", "bus", "--seconds", "0.1")
    assert found["nats_durable_events_per_second"] > 0
    assert found["nats_request_reply_p99_9_ms"] >= found["nats_request_reply_p50_ms"] > 0


@pytest.mark.long
def test_the_service_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Open-loop arrivals to p99.9, saturation, streams, batches against one by one, and overload."""
    found = metrics(capsys, "serve_hackmatrix", "serve", "--game", "hackmatrix", "--seconds", "1")
    assert found["unary_offered_per_second"] == 500
    assert found["unary_p99_9_ms"] >= found["unary_p99_ms"] >= found["unary_p50_ms"] > 0
    wanted = {
        *("in_process_p99_ms", "streamed_decisions_per_second", "batching_ratio", "unary_1000_p99_ms"),
        *("unary_saturated_per_second", "echo_saturated_per_second", "saturated_share_of_echo", "unix_1000_p99_ms"),
        *("overload_goodput_fraction", "overload_accepted_p99_ms"),
    }
    assert wanted <= found.keys()


def test_comparisons_are_made_in_turns_and_without_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import benchmarks

    asked: list[str] = []

    def measured(what: str, *_: object) -> list[tuple[str, dict[str, float]]]:
        asked.append(what)
        if what == "vgc":
            raise MissingExtraError("the simulator", "vgc")
        compared = next(one for one in benchmarks.COMPARISONS if one.what == what)
        return [(compared.figures, {compared.rate: 100.0 * len(asked), compared.ratio: float(len(asked))})]

    monkeypatch.setattr(benchmarks, "measure", measured)
    assert main.run(["bench", "all", "--compare"]) == 0
    out = capsys.readouterr().out
    assert asked == 3 * [one.what for one in benchmarks.COMPARISONS]
    assert "PPO on Balatro" in out
    assert re.search(r"6 ×.*1 to 11.*MaskablePPO", " ".join(out.split()))
    assert "poke-env" not in out
