"""What somebody new does on the page: starts a training and stops it, searches seeds, gets lost, looks at the end."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from jimbot.errors import JimbotError
from jimbot.viewer.http.jobs import Trainings
from tests.viewer.conftest import OpenTab, Served, serving
from tests.viewer.making import make_run

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with serving(tmp_path_factory.mktemp("runs") / "none-yet") as served:
        yield served


def posted(served: Served, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(
        f"{served.address}/api/training",
        json.dumps(body).encode(),
        {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}},
    )
    try:
        with OPENER.open(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"{}")


def test_a_training_is_started_and_stopped_on_the_page(new: Served, open_tab: OpenTab) -> None:
    tab = open_tab(new.address)
    tab.get_by_label("Minutes").fill("3")
    expect(tab.locator("pre")).to_have_text("jimbot train hackmatrix --minutes 3")
    tab.get_by_role("button", name="Start training").click()
    expect(tab.locator("pre")).to_contain_text("--runs-dir")
    expect(tab.get_by_text("It trains;")).to_be_visible()
    training = new.page.trainings._last
    assert training is not None
    assert training.words[:5] == ["jimbot", "train", "hackmatrix", "--minutes", "3"]
    tab.get_by_role("button", name="Stop and save").click()
    expect(tab.get_by_text(re.compile("It was stopped|saves and ends"))).to_be_visible()
    training.process.wait(120)
    expect(tab.get_by_role("button", name="Start training")).to_be_visible(timeout=30_000)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"game": "balatro; touch here", "minutes": 1}, {}, 400),
        ({"game": "--config=x", "minutes": 1}, {}, 400),
        ({"game": "probe", "minutes": 0}, {}, 400),
        ({"game": "probe", "minutes": "1 --fresh"}, {}, 400),
        ({"game": "probe", "minutes": 1}, {"origin": "http://elsewhere.example"}, 403),
        ({"game": "probe", "minutes": 1}, {"host": "elsewhere.example"}, 403),
    ],
)
def test_only_known_games_and_only_from_the_page(new: Served, body: Any, headers: dict[str, str], status: int) -> None:
    before = new.page.trainings._last
    code, answer = posted(new, body, **headers)
    assert (code, bool(answer.get("error"))) == (status, True)
    assert new.page.trainings._last is before


def test_a_training_that_fails_says_why_and_one_runs_at_a_time(tmp_path: Path) -> None:
    trainings = Trainings(tmp_path)
    trainings.start("probe", 1)
    with pytest.raises(JimbotError, match="runs already"):
        trainings.start("probe", 1)
    trainings.close()
    assert trainings._last is not None
    trainings._last.process.wait(120)
    trainings._last.stopped = False
    if trainings._last.process.returncode:
        assert trainings.document()["training"]["state"] == "failed"
    with pytest.raises(JimbotError, match="No training"):
        trainings.stop()


def test_an_address_that_is_nowhere_is_a_page_with_a_way_home(new: Served, open_tab: OpenTab) -> None:
    with pytest.raises(urllib.error.HTTPError) as found:
        OPENER.open(f"{new.address}/no/such", timeout=30)
    assert found.value.code == 404
    tab = open_tab(f"{new.address}/no/such", quiet=("404",))
    expect(tab.get_by_role("heading", name="Nothing here")).to_be_visible()
    tab.get_by_role("link", name="To the runs").click()
    expect(tab.get_by_role("heading", name=re.compile("JimBot learns"))).to_be_visible()


def test_seeds_are_searched_by_a_picked_joker_and_enter(new: Served, open_tab: OpenTab) -> None:
    tab = open_tab(f"{new.address}/seeds")
    tab.get_by_label("Name").fill("Juggler")
    tab.get_by_label("By ante").fill("1")
    tab.get_by_role("button", name="Add").click()
    question = tab.get_by_label("That hold")
    expect(question).to_have_value('joker:"Juggler"@<=1')
    question.press("Enter")
    told = tab.get_by_text(re.compile(r"^24 found, [\d,.\s]+ seeds looked at\.$"))
    expect(told).to_be_visible(timeout=120_000)
    region = tab.get_by_role("region", name="Seeds that were found")
    assert region.get_attribute("tabindex") == "0"
    region.get_by_role("button").first.click()
    index = tab.get_by_role("navigation", name="Parts of this seed")
    index.get_by_role("link", name="Ante 2").click(timeout=60_000)
    expect(tab.locator("#ante-2")).to_be_in_viewport()


def test_the_headline_of_a_curve_is_its_last_value_and_wide_screens_are_used(tmp_path: Path, open_tab: OpenTab) -> None:
    make_run(tmp_path, "mine", rows=60)
    rows = [json.loads(line) for line in (tmp_path / "mine" / "metrics.jsonl").read_text().splitlines()]
    rows[-1]["train/mean_episode_return"] = 777.0
    (tmp_path / "mine" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(tmp_path) as served:
        tab = open_tab(f"{served.address}/run/0/mine?smooth=0.9")
        tab.set_viewport_size({"width": 1920, "height": 1000})
        figure = tab.locator("figure", has=tab.get_by_role("img", name="mean episode return"))
        expect(figure.locator(".last")).to_have_text("777")
        assert tab.evaluate("document.querySelector('main').clientWidth") > 1600
        tab.goto(served.address)
        cell = tab.locator("td.game").first
        expect(cell).to_be_visible()
        assert cell.evaluate("one => getComputedStyle(one).display") == "table-cell", "its line ends early otherwise"
