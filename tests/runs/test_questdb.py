"""QuestDB: every line is one its parser takes, and whatever the server does, nobody who trains notices."""

from __future__ import annotations

import logging
import math
import string
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jimbot.background import BackgroundSender, RefusedError
from jimbot.errors import SettingsError
from jimbot.runs.recorder import Recorder
from jimbot.runs.sinks.http import TOKEN_VARIABLE, QuestDBSink, line
from tests.runs.questdb_server import BadLineError, QuestDB, lines, parse

HARD = st.text(st.sampled_from(string.printable + "äß€🂡"), min_size=1, max_size=40)


@settings(max_examples=200, deadline=None)
@given(run=HARD, metric=HARD, text=HARD, value=st.floats(allow_nan=False, allow_infinity=False))
def test_whatever_a_run_is_called_its_lines_are_read_back(run: str, metric: str, text: str, value: float) -> None:
    symbols = {"run": run, "metric": metric}
    (only,) = lines(line("jimbot_metrics", symbols, {"value": value, "step": 7, "text": text}, 1.7e9))
    assert parse(only) == (
        "jimbot_metrics",
        {"run": ("symbol", run), "metric": ("symbol", metric), "value": ("double", value), "step": ("long", 7),
         "text": ("string", text)},
        1_700_000_000_000_000_000,
    )  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    [
        "t value=1.0",
        "t,run=a value=one 1700000000000000000",
        "t train/entropy=1.0 1700000000000000000",
        "t,run= value=1.0 1700000000000000000",
        't text="open 1700000000000000000',
        "t value=1.0,value=2.0 1700000000000000000",
        "t value=nan 1700000000000000000",
    ],
)
def test_the_stand_in_is_strict(bad: str) -> None:
    with pytest.raises(BadLineError):
        parse(bad)


def test_rows_events_and_checkpoints_become_rows_of_two_tables() -> None:
    with QuestDB() as server:
        recorder = Recorder([QuestDBSink(server.url, "my run, b", "probe", linger=0.01)])
        recorder.record(256, {"train/entropy": 1.5, "train/value_loss": math.nan})
        recorder.event(256, 'said "hello"\nand = left')
        recorder.checkpoint(256, Path("runs/a b/checkpoints/000000000256"), is_best=True)
        recorder.trim(200)
        recorder.close()
        assert server.errors == []
        metrics = {row["metric"]: (row["value"], row["step"], row["run"]) for row in server.rows["jimbot_metrics"]}
        assert metrics == {
            "train/entropy": (1.5, 256, "my run, b"),
            "health/sink_failures": (0.0, 256, "my run, b"),
        }
        assert [(row["kind"], row["step"], row["text"]) for row in server.rows["jimbot_events"]] == [
            ("event", 256, 'said "hello"\nand = left'),
            ("best", 256, "runs/a b/checkpoints/000000000256"),
            ("resumed", 200, ""),
        ]


def test_lines_travel_in_batches() -> None:
    with QuestDB() as server:
        sink = QuestDBSink(server.url, "r", "probe", linger=0.05)
        for step in range(100):
            sink.record(step, 1.7e9, {f"train/{number}": 1.0 for number in range(10)})
        sink.close()
        assert sum(server.requests) == sink.sender.sent == 1000
        assert len(server.requests) < 100


def test_a_server_that_comes_back_gets_what_waited(caplog: pytest.LogCaptureFixture) -> None:
    with QuestDB() as server:
        server.broken = 503
        sink = QuestDBSink(server.url, "r", "probe", linger=0.01)
        sink.event(1, 1.7e9, "first")
        sink.event(2, 1.7e9, "second")
        while "takes nothing for now" not in caplog.text:
            time.sleep(0.01)
        server.broken = 0
        sink.close()
        assert [row["text"] for row in server.rows["jimbot_events"]] == ["first", "second"]


def test_a_server_that_is_away_costs_memory_only_up_to_the_bound(caplog: pytest.LogCaptureFixture) -> None:
    def away(lines: list[str]) -> None:
        raise ConnectionRefusedError("nobody there")

    sender = BackgroundSender("Nowhere", away, most_waiting=10, batch=5, linger=0.0, grace=0.1)
    for number in range(30):
        sender.offer(f"{number}")
        assert sender.waiting <= 10
    sender.close()
    sender.close()
    assert not sender.offer("late")
    assert (sender.sent, sender.dropped) == (0, 31)
    assert caplog.text.count("takes nothing for now") == 1


def test_what_is_refused_is_given_up_and_the_rest_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    taken: list[str] = []

    def picky(lines: list[str]) -> None:
        if lines == ["bad"]:
            raise RefusedError("400 no")
        taken.extend(lines)

    sender = BackgroundSender("Picky", picky, most_waiting=10, batch=1, linger=0.0)
    for word in ("good", "bad", "better"):
        sender.offer(word)
    sender.close()
    assert (taken, sender.refused) == (["good", "better"], 1)
    with caplog.at_level(logging.WARNING):
        assert "400 no" in caplog.text


def test_a_slow_server_does_not_hold_up_who_records() -> None:
    with QuestDB() as server:
        server.seconds = 0.5
        sink = QuestDBSink(server.url, "r", "probe", linger=0.0)
        for step in range(2000):
            sink.record(step, 1.7e9, {"train/entropy": 1.0})
        assert sum(server.requests) < 2000  # it has not answered yet, and all is taken
        server.seconds = 0.0
        sink.close()
        assert sum(server.requests) == 2000


def test_the_token_is_in_the_environment(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with QuestDB(token="s3cret-and-long") as server:
        QuestDBSink(server.url, "r", "probe", linger=0.0).close()
        without = QuestDBSink(server.url, "r", "probe", linger=0.0)
        without.event(1, 1.7e9, "nobody")
        without.close()
        assert without.sender.refused == 1
        assert "401" in caplog.text
        monkeypatch.setenv(TOKEN_VARIABLE, "s3cret-and-long")
        sink = QuestDBSink(server.url, "r", "probe", linger=0.0)
        sink.event(1, 1.7e9, "somebody")
        sink.close()
        assert [row["text"] for row in server.rows["jimbot_events"]] == ["somebody"]


@pytest.mark.parametrize(
    "url", ["localhost:9000", "ftp://host", "http://", "http://host:port", "http://me:pw@host:9000"]
)
def test_an_address_that_is_none_is_told_at_the_start(url: str) -> None:
    with pytest.raises(SettingsError, match="questdb"):
        QuestDBSink(url, "r", "probe")
