"""`jimbot bench graph` measures what it says; the metrics themselves are nobody's promise here."""

from __future__ import annotations

import json

import pytest

from jimbot.cli import main

pytest.importorskip("ladybug")


def test_the_figures_stand_beside_their_baseline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.graph.JOKERS", 6)
    assert main.run(["bench", "graph", "--seconds", "0.1", "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["graph"]
    assert metrics["edges"] == 45
    assert metrics["synergies_p50_ms"] > 0
    assert metrics["synergies_to_nothing_p50"] > 0
