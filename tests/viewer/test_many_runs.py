"""Very many runs, some very long: what is read, sent and kept stays small. How fast that is, no test says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psutil
import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from jimbot.viewer import curves
from jimbot.viewer.columns import MOST_BUCKETS, Columns
from jimbot.viewer.curves import GrowingFile, MetricLogs
from jimbot.viewer.http.server import Page, page_app
from jimbot.viewer.run_index import RunIndex
from tests.viewer.conftest import OpenTab, serving
from tests.viewer.many_runs import PERIOD, STEPS, append_rows, make_many, write_long

NAMES = ["train/mean_episode_return", "stats/won"]
ROWS = 3 * MOST_BUCKETS
LATER = 6_000
"""A row that comes after those of a short run."""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes that were read of each run, from now on."""
    found: dict[str, int] = {}
    for kind in GrowingFile.__subclasses__():
        monkeypatch.setattr(kind, "_take", _counting(kind._take, found))
    return found


def _counting(take: Any, found: dict[str, int]) -> Any:
    def counted(file: GrowingFile, lines: bytes) -> None:
        found[file.path.parent.name] = found.get(file.path.parent.name, 0) + len(lines)
        take(file, lines)

    return counted


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    write_long(path, ROWS)
    return path


def ask(page: Page, keys: list[str], **how: Any) -> Any:
    answer = TestClient(page_app(page)).get("/api/curves", params={"run": keys, "names": NAMES, **how})
    assert answer.status_code == 200, answer.text
    return answer.json()


def all_read(page: Page, keys: list[str], seconds: float = 60.0) -> Any:
    """The curves once every row is known."""
    until = time.monotonic() + seconds
    found = ask(page, keys, points=160)
    while any(part["behind"] for part in found.values()):
        assert time.monotonic() < until, "the long files are still being read"
        time.sleep(0.05)
        found = ask(page, keys, points=160)
    return found


def test_a_long_run_takes_no_more_room_than_a_short_one_and_loses_no_spike(long: Path) -> None:
    with open(long, "ab") as file:
        file.write(b'{"step": 99999999, "train/mean_episode_return": 77.0}\n')
    log = MetricLogs().of(long)
    curve = log.curve(NAMES[0], points=160)
    assert (log.count, curve["rows"], len(curve["x"]), curve["exact"]) == (ROWS + 1, ROWS + 1, 160, False)
    assert (max(curve["high"]), curve["last"]) == (77.0, 77.0)
    assert curve["y"][0] == pytest.approx(sum(i % PERIOD for i in range(153)) / 153 / PERIOD, rel=0.05)
    assert log.size < 8 * 40 * MOST_BUCKETS


@pytest.mark.parametrize("smooth", [0.0, 0.9])
def test_zooming_into_a_long_run_shows_its_rows_as_a_short_one_would(
    long: Path, monkeypatch: pytest.MonkeyPatch, smooth: float
) -> None:
    window = {"start": 9_001.0 * STEPS, "end": 9_100.0 * STEPS}
    near = MetricLogs().of(long).curve(NAMES[0], points=300, smooth=smooth, **window)
    monkeypatch.setattr(curves, "Columns", lambda: Columns(4 * MOST_BUCKETS))  # room for all rows
    every = MetricLogs().of(long).curve(NAMES[0], points=300, smooth=smooth, **window)
    assert near["exact"]
    shown = [(x, y) for x, y in zip(near["x"], near["y"], strict=True) if window["start"] <= x <= window["end"]]
    expected = [(x, y) for x, y in zip(every["x"], every["y"], strict=True) if window["start"] <= x <= window["end"]]
    assert len(expected) == 100
    assert np.array(shown) == pytest.approx(np.array(expected), abs=2e-3)


def test_a_second_look_reads_only_what_was_appended(tmp_path: Path, taken: dict[str, int]) -> None:
    make_many(tmp_path, runs=6, long=2, rows=300)
    page = Page([tmp_path])
    page.index.refresh()
    keys = [f"0/{number:04}" for number in range(6)]
    first = ask(page, keys)
    assert len(first) == 6
    taken.clear()
    page.index.refresh()
    again = ask(page, keys)
    assert (again, taken) == (first, {})
    wrote = append_rows(tmp_path / "0003" / "metrics.jsonl", LATER, 4)
    page.index.refresh()
    tails = ask(page, keys, since=[part["until"] for part in first.values()])
    assert taken == {"0003": 2 * (wrote - 1)}  # by the table and by the curves, without the last end of a line
    assert {key: len(part["curves"][NAMES[0]]["x"]) for key, part in tails.items() if key != "0/0003"} == {
        key: 2 for key in keys if key != "0/0003"
    }
    assert len(tails["0/0003"]["curves"][NAMES[0]]["x"]) <= 6


def test_a_file_that_lost_rows_says_that_it_is_another(tmp_path: Path) -> None:
    make_many(tmp_path, runs=1, long=1, rows=20)
    page, path = Page([tmp_path]), tmp_path / "0000" / "metrics.jsonl"
    before = ask(page, ["0/0000"])["0/0000"]
    (tmp_path / "new").write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:5]))
    (tmp_path / "new").replace(path)
    after = ask(page, ["0/0000"])["0/0000"]
    assert after["file"] != before["file"]
    assert after["curves"][NAMES[0]]["rows"] == 5


def test_filtering_and_sorting_read_nothing(
    tmp_path: Path, taken: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_many(tmp_path, runs=12, long=2, rows=100)
    index = RunIndex([tmp_path])
    index.refresh()
    taken.clear()
    monkeypatch.setattr("os.stat", lambda *_, **__: pytest.fail("a file was looked at"))
    assert len(index.rows("000", "best")) == 10
    assert [row.key.name for row in index.rows("balatro 0011")] == ["0011"]
    assert not taken


def test_a_long_run_is_drawn_before_all_of_it_is_read(
    long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_many(tmp_path / "runs", runs=2, long=1, rows=ROWS)
    monkeypatch.setattr(curves, "AT_ONCE", 2**16)
    page = Page([tmp_path / "runs"])
    preview, short = ask(page, ["0/0000", "0/0001", "0/gone", "nothing"]).values()
    assert (preview["behind"], short["behind"]) == (True, False)
    curve = preview["curves"][NAMES[0]]
    assert (curve["x"][0], curve["x"][-1]) == (STEPS, STEPS * ROWS)
    assert len(curve["x"]) <= curves.SPOTS + 1
    whole = all_read(page, ["0/0000"])["0/0000"]
    assert whole["curves"][NAMES[0]]["rows"] == ROWS
    page.close()


def test_the_table_shows_long_runs_before_it_has_read_them(tmp_path: Path, taken: dict[str, int]) -> None:
    make_many(tmp_path, runs=3, long=2, rows=ROWS)
    index = RunIndex([tmp_path])
    index.refresh()
    assert max(taken.values()) < 2**18
    before = {row.key.name: row for row in index.rows()}
    assert before["0000"].step == before["0001"].step == STEPS * ROWS
    version, taken["0000"] = index.version, 0
    index.catch_up()
    assert taken["0000"] > 2**20
    after = next(row for row in index.rows() if row.key.name == "0001")
    assert after.best is not None
    assert after.best.mean >= (PERIOD - 1) / PERIOD - 1e-4
    assert index.news(version) == (version + 1, ["0/0000", "0/0001"])
    index.catch_up()
    assert index.version == version + 1


def test_columns_that_have_no_room_are_dropped_and_read_again(tmp_path: Path) -> None:
    make_many(tmp_path, runs=8, long=0)
    paths = [tmp_path / f"{number:04}" / "metrics.jsonl" for number in range(8)]
    one = MetricLogs().of(paths[0]).size
    logs = MetricLogs(most=3 * one)
    for path in paths:
        assert logs.of(path).count == 40
    assert 2 * one <= logs.size <= 3 * one


def test_the_page_asks_for_what_is_new_of_the_run_that_grew(open_tab: OpenTab, tmp_path: Path) -> None:
    make_many(tmp_path, runs=3, long=2, rows=200)
    asked: list[dict[str, list[str]]] = []
    with serving(tmp_path) as served:
        tab = open_tab(f"{served.address}/run/0/0000?with=0/0001&with=0/0002")
        lines = tab.get_by_role("img", name="mean episode return").locator("path.line")
        expect(lines).to_have_count(3)
        tab.wait_for_timeout(3_000)  # the news it begins with
        before = lines.nth(2).get_attribute("d") or ""
        tab.on("request", lambda one: asked.append(parse_qs(urlsplit(one.url).query)) if "/curves" in one.url else None)
        append_rows(tmp_path / "0002" / "metrics.jsonl", LATER, 5)
        expect(lines.nth(2)).not_to_have_attribute("d", before)
        assert (lines.nth(2).get_attribute("d") or "").count("L") == before.count("L") + 5
    assert asked
    for query in asked:
        assert (query["run"], query["since"]) == (["0/0002"], [str(40 * 262_144)])


@pytest.mark.long
def test_a_thousand_runs_two_hundred_of_a_million_rows(tmp_path: Path, taken: dict[str, int]) -> None:
    make_many(tmp_path, runs=1_000, long=200, rows=1_000_000)
    page = Page([tmp_path])
    page.index.refresh()
    assert len(page.index) == 1_000
    assert sum(taken.values()) < 100 * 2**20
    keys = [f"0/{number:04}" for number in (*range(5), *range(500, 545))]
    found = all_read(page, keys, seconds=1_800)
    assert len(found) == 50
    assert all(len(curve["x"]) <= 160 for part in found.values() for curve in part["curves"].values())
    assert page.logs.size < 64 * 2**20
    taken.clear()
    memory = _memory_after(page, keys, looks=20)
    for number in range(10):
        append_rows(tmp_path / "0700" / "metrics.jsonl", LATER + number, 1)
        page.index.refresh()
    assert _memory_after(page, keys, looks=200) - memory < 32 * 2**20
    assert sum(taken.values()) < 2**16
    page.close()


def _memory_after(page: Page, keys: list[str], looks: int) -> int:
    for _ in range(looks):
        page.index.refresh()
        page.index.rows("balatro 00")
        ask(page, keys, points=160)
    return psutil.Process().memory_info().rss
