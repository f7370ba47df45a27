"""The report: what is counted while games are played, which games are told, and a page that stands alone."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import NotWritableError, UsageError
from jimbot.evaluation import evaluate
from jimbot.evaluation.report import analyze, svg
from jimbot.evaluation.report.analyze import training_section
from jimbot.evaluation.report.chronicle import Chronicle, choose_examples
from jimbot.games.contract import game_entry
from jimbot.games.hooks.learners import Variety
from jimbot.games.narration import Event
from jimbot.runs.recorder import Recorder
from jimbot.runs.sinks import JsonlSink

VOID = {"meta"}


class Balance(HTMLParser):
    """Complains about tags that do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def sound(page: str) -> str:
    reader = Balance()
    reader.feed(page)
    assert reader.open == []
    assert reader.links == []
    assert "http" not in page
    assert "nan" not in re.findall(r'="[^"]*"', page)
    return page


def test_every_action_of_every_game_is_remembered(countdown, always) -> None:
    chronicle = Chronicle(game_entry("countdown"))
    judged = evaluate(always(0, "taker"), "countdown", games=20, num_envs=7, witness=chronicle)
    assert [len(chronicle.actions_of(number)) for number in range(20)] == judged.games.lengths.tolist()
    assert chronicle.action_counts().tolist() == [judged.games.lengths.sum(), 0, 0]
    assert chronicle.block_shares() == {"all": 1.0}


def test_what_follows_an_event_is_compared_with_games_that_came_as_far() -> None:
    """Ten games: five that took a thing on rung 1 end on rung 5, five that did not end on rung 1."""
    chronicle = Chronicle(game_entry("probe"))
    chronicle.events = [Event(game, "things", "lamp", 1.0) for game in range(5)] * 2
    chronicle.events += [Event(9, "things", "rope", 1.0, success=True), Event(8, "things", "rope", 0.0, success=False)]
    reached = np.array([5.0] * 5 + [1.0] * 5)
    lamp, rope = chronicle.table("things", reached)
    assert (lamp.name, lamp.count, lamp.games, lamp.success) == ("lamp", 10, 5, None)
    assert lamp.afterwards is not None
    assert lamp.afterwards.mean == pytest.approx(4 - 2)
    assert rope.afterwards is None, "two games are too few to tell"
    assert rope.success is not None
    assert (rope.success.mean, rope.success.count) == (0.5, 2)


def test_examples_run_from_the_best_to_the_worst(countdown, always) -> None:
    judged = evaluate(always(0, "taker"), "countdown", games=21)
    chosen = choose_examples(judged, 3)
    assert list(chosen.values()) == ["The best game", "A typical game", "The worst game"]
    returns = [judged.games.returns[number] for number in chosen]
    assert returns == sorted(returns, reverse=True)
    assert returns[0] == judged.games.returns.max()
    assert choose_examples(judged, 0) == {}
    assert len(choose_examples(judged, 50)) == 21


def test_a_report_of_a_scripted_player_stands_alone(tmp_path: Path) -> None:
    report = analyze("random", "probe", 24, output=tmp_path / "deep" / "r.html", num_envs=24)
    page = sound(report.path.read_text())
    assert "random" in page
    assert "The worst game" in page
    assert "door " in page
    assert "How it learned" not in page


def test_a_run_gets_its_report_with_its_curves(tmp_path: Path) -> None:
    from tests.cli.making import save_perfect

    save_perfect(tmp_path / "runs" / "perfect")
    recorder = Recorder([JsonlSink(tmp_path / "runs" / "perfect" / "metrics.jsonl")])
    for step in range(0, 5000, 5):
        recorder.record(
            step, {"train/mean_episode_return": step / 600, "actions/door_0_frac": 1.0, "odd": float("nan")}
        )
    recorder.close()
    report = analyze("perfect", games=16, runs_root=tmp_path / "runs", num_envs=16)
    assert report.path == tmp_path / "runs" / "perfect" / "report.html"
    page = sound(report.path.read_text())
    assert "mean episode return" in page
    assert "What it expected" in page
    assert len(page) < 300_000, "a long run is thinned out"
    checkpoint = analyze(tmp_path / "runs" / "perfect" / "checkpoints" / "000000001000", games=4, examples=0)
    assert checkpoint.path == report.path


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_a_short_run_is_drawn_as_dots(rows: int) -> None:
    """A line through two points would look like a trend."""
    spec = game_entry("probe").spec
    shares = {f"actions/{block.name}_frac": 0.5 for block in spec.actions.blocks}
    measured = [{"step": 100 * row, "train/mean_episode_return": row + 1.0, **shares} for row in range(rows)]
    page = training_section(measured, spec)
    assert page.count("<circle") == rows
    assert "<path" not in page
    assert "too few for curves" in page


def test_wrong_use_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotWritableError, match="is a folder; give the name of a file"):
        analyze("random", "probe", 4, output=tmp_path)
    with pytest.raises(UsageError, match="examples is -1"):
        analyze("random", "probe", 4, examples=-1)


def test_curves_are_drawn_to_scale() -> None:
    chart = svg.line_chart([(0, 1.0), (10, 3.0), *((x, 2.0) for x in range(20, 80, 10))], "a & b")
    assert "a &amp; b" in chart
    line = re.search(r'class="line" d="M([^"]+)"', chart)
    assert line is not None
    heights = [float(point.split(",")[1]) for point in line[1].split("L")]
    assert heights[1] < heights[2] < heights[0]
    assert heights[2] == pytest.approx((heights[0] + heights[1]) / 2)


def test_the_module_writes_the_same_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from jimbot.training.analyze import main
    from tests.cli.making import save_perfect

    save_perfect(tmp_path / "perfect")
    assert main(["--checkpoint", "perfect", "--runs-dir", str(tmp_path), "--games", "4"]) == 0
    assert str(tmp_path / "perfect" / "report.html") in capsys.readouterr().out
    assert main(["--checkpoint", "missing", "--runs-dir", str(tmp_path)]) == 2
    assert "missing" in capsys.readouterr().err


SIDES = Variety(
    "sides", "what pays now", 4, lambda seen: (np.arange(len(seen)), seen[:, :4].argmax(axis=1)),
    ("red", "green", "blue", "all of <them>").__getitem__,
)  # fmt: skip


def test_the_report_tells_how_various_play_is_and_warns_where_it_locks_in(tmp_path: Path, monkeypatch) -> None:
    entry = game_entry("probe")
    locked = Variety("moods", "moods", 2, lambda seen: (np.arange(len(seen)), np.ones(len(seen), int)), str)
    various = replace(entry, varieties=lambda: (locked,))
    monkeypatch.setattr(sys.modules["jimbot.evaluation.report.analyze"], "game_entry", lambda game: various)
    monkeypatch.setattr(sys.modules["jimbot.evaluation.report.analyze"], "ways_to_play", lambda game: SIDES)
    report = analyze("random", "probe", games=30, output=tmp_path / "r.html", examples=0)
    page = sound(report.path.read_text())
    variety = page[page.index("<h3>Variety</h3>") :]
    assert "what pays now" in variety
    assert "Play locks in:</b> 1 is there in 100 % of all moments (moods)" in variety
    assert variety.count("Play locks in") == 1
    strategies = page[page.index("<h3>Strategies</h3>") :]
    assert "all of &lt;them&gt;" in strategies


def test_a_game_counts_for_the_way_it_took_last() -> None:
    chronicle = Chronicle(game_entry("probe"), SIDES)
    judged = evaluate("random", "probe", games=30, witness=chronicle)
    ways = chronicle.ways_played(np.arange(30) % 2)
    assert sum(way.games for way in ways) == judged.count == 30
    assert sum(way.share for way in ways) == pytest.approx(1.0)
    assert [way.games for way in ways] == sorted((way.games for way in ways), reverse=True)
    assert all(way.won is not None and way.won.count == way.games for way in ways)
    assert Chronicle(game_entry("probe")).ways_played(None) == []
