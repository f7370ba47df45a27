"""The training screen: what it says, and that it fits whatever terminal it is shown on."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from jimbot.training.presets import expected
from jimbot.training.session.dashboard import RunProgress, TrainingView, line, picture, shares, spark
from jimbot.training.session.session import Session
from tests.training.small import small_settings

ROW = {
    "train/mean_episode_return": 1.25,
    "train/mean_episode_length": 183.0,
    "train/num_episodes": 1610.0,
    "train/entropy": 0.6876,
    "train/approx_kl": 0.0042,
    "train/clip_frac": 0.04,
    "train/explained_variance": 0.8,
    "train/value_loss": 0.0096,
    "train/pg_loss": 0.0002,
    **{f"stats/{name}": 6.5 for name in ("ante", "blinds_cleared", "rounds", "money", "jokers", "hands_played")},
    "stats/won": 0.2118,
    "stats/highest_ante": 9.0,
    "speed/steps_per_second": 1845.2,
    "speed/simulate_share": 0.31,
    "speed/learn_share": 0.6,
    "speed/save_share": 0.001,
    "health/memory_mb": 1464.0,
    "health/memory_share": 0.183,
    "health/illegal_actions": 0.0,
}


def standing(rows: int = 40) -> RunProgress:
    now = RunProgress("bal4", "balatro, PPO (jax)", "learning", 400_000, 8_000_000, 125.0, 600.0, 1845.2)
    for row in range(rows):
        now.add_row(10_000 * row, ROW | {"train/mean_episode_return": float(row % 30)})
    now.expect = lambda steps: expected("balatro", steps)
    return now


def drawn(now: RunProgress, width: int, height: int) -> str:
    console = Console(width=width, height=height, file=io.StringIO(), record=True, force_terminal=True)
    console.print(picture(now, console))
    return console.export_text()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 35), (60, 20), (40, 16), (200, 60)])
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_the_picture_fits_the_terminal_and_breaks_no_word(width: int, height: int, rows: int) -> None:
    lines = drawn(standing(rows), width, height).splitlines()
    assert len(lines) < height  # the cursor has a line of its own
    assert max(map(len, lines)) <= width
    words = {word for text in lines for word in text.replace("│", " ").split()}
    assert {"learning", "step", "left", "saves"} <= words
    assert not rows or "return" in words


def test_at_80_columns_everything_that_matters_is_there() -> None:
    text = drawn(standing(), 80, 24)
    for words in ("Playing", "Learning", "Where the time goes", "Machine", "best 29.00", "won", "21.2%", "simulate",
                  "2:05 of 10:00", "7:55 left", "1,845 steps/s", "At this speed it ends at 1.28 M steps",
                  "Expect about ante 2"):  # fmt: skip
        assert words in text, words
    assert any(block in text for block in "▁▂▃▄▅▆▇█")


def test_only_the_time_is_split_and_its_largest_part_comes_first() -> None:
    assert shares(ROW) == [("learn", 0.6), ("simulate", 0.31)]


def test_with_minutes_the_bar_and_the_time_left_follow_the_limit_or_the_end_of_the_run() -> None:
    now = standing()
    assert now.left == 475
    assert now.done == pytest.approx(125 / 600)
    now.step = now.total - 1845
    assert now.left == pytest.approx(1, abs=0.01)
    assert now.done == pytest.approx(1, abs=0.001)


def test_a_curve_of_many_rows_shows_all_of_them() -> None:
    now = RunProgress()
    for row in range(5000):
        now.add_row(row, {"train/mean_episode_return": abs(row - 2500.0)})
    assert spark(now.curves["train/mean_episode_return"], 5) == "█▄▁▄█"
    assert now.best == (2500, 0)


def test_off_a_terminal_lines_come_with_the_first_update_and_at_the_end() -> None:
    told = io.StringIO()
    view = TrainingView(Console(file=told, width=80), title="bal4")
    view.start(0, 1_000_000, None)
    for update in range(1, 6):
        view.tick(100 * update)
        if view.due:
            view.metrics(ROW)
        view.row(100 * update, ROW)
    view.close()
    lines = told.getvalue().splitlines()
    assert [text.partition(":")[0] for text in lines] == ["step 100", "step 500"]
    assert "return 1.25" in lines[0]
    assert "won 21.2%" in lines[0]


def test_a_line_has_the_first_metrics_and_the_time_left_and_with_full_all_of_them() -> None:
    now = standing()
    now.metrics |= {f"stats/{name}": 123_456.789 for name in ("ante", "money", "jokers", "score")}
    text, full = line(now), line(now, full=True)
    assert text.startswith("step 400,000: return ")
    assert len(text) <= 120
    assert text.count(", ") <= 9
    for one in (text, full):
        assert one.endswith("(2:05 so far, 7:55 left)")
    assert all(f"{name} 123,456.79" in full for name in ("ante", "money", "jokers", "score"))


def test_judging_is_counted_where_there_is_no_terminal_either() -> None:
    told = io.StringIO()
    with TrainingView(Console(file=told, width=80)).counting("judging") as progress:
        progress(120, 200)
    assert "judging 120/200" in told.getvalue()


def test_what_to_expect_is_told_for_games_that_were_measured() -> None:
    assert expected("balatro", 10) == "Expect little: learning shows from 700,000 steps on."
    assert expected("balatro", 1_100_000) == "Expect about ante 2 on average."
    assert expected("probe", 10) == ""


def test_a_row_says_how_many_games_an_hour_of_a_core_wins(tmp_path: Path) -> None:
    settings = small_settings(run_name="wins")
    with Session.open(settings, tmp_path, quiet=True) as session:
        before = session._row_cpu
        while session._cpu_seconds() < before + 0.05:
            pass
        row = session.log(500, {"stats/won": 0.25, "train/num_episodes": 8.0})
        spent = session._row_cpu - before
        assert row["speed/wins_per_cpu_hour"] == pytest.approx(3600 * 2 / spent)
        assert "speed/wins_per_cpu_hour" not in session.log(600, {"train/num_episodes": 8.0})
