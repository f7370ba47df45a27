"""The page beside things that really run: a training, several browsers, thousands of runs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.viewer.conftest import OpenTab, serving
from tests.viewer.making import make_run, row

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.long


def test_a_training_that_runs_is_followed_to_its_end(open_tab: OpenTab, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "jimbot", "train", "probe", "--run-name", "alive", "--num-envs", "8", "--num-steps", "16",
        "--total-timesteps", "100000000", "--minutes", "5", "--no-wandb", "--runs-dir", str(tmp_path),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with serving(tmp_path) as served:
        tab = open_tab(served.address)
        expect(tab.get_by_text("No runs yet")).to_be_visible()
        training = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
        )
        try:
            expect(tab.locator("tr.live td.name a")).to_have_text("alive", timeout=180_000)
            steps = tab.locator("tr.live td.step")
            expect(steps).not_to_have_text("0", timeout=120_000)
            before = steps.get_attribute("title") or ""
            expect(steps).not_to_have_attribute("title", before, timeout=60_000)
            tab.get_by_role("link", name="alive").click()
            curve = tab.get_by_role("img", name="mean episode return").locator("path.line")
            expect(curve).to_have_count(1, timeout=60_000)
            drawn = curve.get_attribute("d") or ""
            expect(curve).not_to_have_attribute("d", drawn, timeout=60_000)
        finally:
            training.send_signal(signal.SIGINT)
            training.wait(120)
        expect(tab.locator("header .lamp.live")).to_have_count(0, timeout=60_000)
        expect(tab.locator("#checkpoints tbody tr").first).to_be_visible(timeout=60_000)


def test_eight_browsers_on_one_server_all_hear_the_news(open_tab: OpenTab, tmp_path: Path) -> None:
    make_run(tmp_path, "shared", rows=20)
    with serving(tmp_path) as served:
        tabs = [open_tab(f"{served.address}{path}") for path in ("", "/run/0/shared") for _ in range(4)]
        for tab in tabs:
            expect(tab.get_by_text("shared").first).to_be_visible()
        curves = [tab.get_by_role("img", name="mean episode return").locator("path.line") for tab in tabs[4:]]
        before = [curve.get_attribute("d") or "" for curve in curves]
        with open(tmp_path / "shared" / "metrics.jsonl", "a") as file:
            file.write(json.dumps({"step": 77_000_000, "time": 2e9, "train/mean_episode_return": 9.0}) + "\n")
        for tab in tabs[:4]:
            expect(tab.locator("td.step")).to_have_text("77 M")
        for curve, old in zip(curves, before, strict=True):
            expect(curve).not_to_have_attribute("d", old)


def test_ten_thousand_runs_are_listed_and_filtered(open_tab: OpenTab, tmp_path: Path) -> None:
    text = "".join(f"{json.dumps(row(1000 * i, 1.0 * i, 20_000, random.Random(i)))}\n" for i in range(20))
    for number in range(10_000):
        path = tmp_path / f"run-{number:05}"
        (path / "checkpoints").mkdir(parents=True)
        (path / "config.yaml").write_text("game: probe\nlearner: jax\nalgorithm: PPO\n")
        (path / "metrics.jsonl").write_text(text)
    with serving(tmp_path) as served:
        tab = open_tab(served.address)
        expect(tab.get_by_text("10,000 runs", exact=True)).to_be_visible(timeout=180_000)
        tab.get_by_role("searchbox").fill("09999")
        expect(tab.locator("td.name a")).to_have_text(["run-09999"])


def test_a_run_of_many_rows_is_drawn_and_exact_on_zoom(open_tab: OpenTab, tmp_path: Path) -> None:
    make_run(tmp_path, "long", rows=5_000, steps=2_048)  # ten million steps
    with serving(tmp_path) as served:
        tab = open_tab(f"{served.address}/run/0/long")
        picture = tab.get_by_role("img", name="mean episode return")
        expect(picture.locator("path.line")).to_have_count(1)
        assert (picture.locator("path.line").get_attribute("d") or "").count("L") < 500
        box = picture.bounding_box()
        assert box
        tab.mouse.move(box["x"] + 100, box["y"] + 60)
        tab.mouse.down()
        tab.mouse.move(box["x"] + 110, box["y"] + 60)
        tab.mouse.up()
        expect(tab.get_by_role("button", name="Show all")).to_be_visible()
        curve = served.page.logs.of(tmp_path / "long" / "metrics.jsonl").curve("stats/won", start=1e6, end=1.2e6)
        assert curve["exact"]
