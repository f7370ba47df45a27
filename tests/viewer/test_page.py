"""The page, used as a person would: every part opened in a real browser, nothing complained about in its console."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from jimbot.knowledge.records import Edge, Graph, Node
from tests.viewer.conftest import OpenTab, Served, serving
from tests.viewer.making import make_run

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    root = tmp_path_factory.mktemp("runs")
    make_run(root, "first", rows=60, judged=True, age=60)
    make_run(root, "second", rows=40, age=4000, lr=0.0005)
    make_run(root, "third", rows=5, game="hackmatrix", age=90_000)
    with serving(root) as served:
        yield served


@pytest.fixture
def root(served: Served) -> Path:
    return served.page.index.roots[0]


def test_runs_are_listed_sorted_filtered_and_opened(served: Served, open_tab: OpenTab) -> None:
    tab = open_tab(served.address)
    names = tab.locator("td.name a")
    expect(names.first).to_have_text("first")
    tab.get_by_role("button", name="Game").click()
    expect(names.last).to_have_text("third")
    tab.keyboard.press("/")
    tab.keyboard.type("hackmatrix")
    expect(names).to_have_count(1)
    tab.get_by_role("searchbox").fill("no such run")
    expect(tab.get_by_text("No run fits")).to_be_visible()
    tab.get_by_role("button", name="Show all 3").click()
    tab.get_by_role("link", name="first").click()
    expect(tab.get_by_role("heading", name="first")).to_be_visible()
    expect(tab.get_by_role("img", name="mean episode return")).to_be_visible()
    expect(tab.get_by_text("of 256 games won")).to_be_visible()


def test_a_run_is_tagged_renamed_and_deleted_only_after_its_name(served: Served, open_tab: OpenTab, root: Path) -> None:
    make_run(root, "doomed", rows=3, age=1)
    tab = open_tab(served.address)
    tab.get_by_label("Rename, tag or delete doomed").click()
    tab.get_by_label("Tags").fill("keep me")
    tab.get_by_label("Note").fill("not for long")
    tab.get_by_role("button", name="Save tags and note").click()
    expect(tab.get_by_role("button", name="keep")).to_be_visible()
    expect(tab.get_by_text("not for long")).to_be_visible()
    tab.get_by_label("Rename, tag or delete doomed").click()
    tab.get_by_label("New name").fill("renamed")
    tab.get_by_role("button", name="Rename to renamed").click()
    expect(tab.get_by_role("link", name="renamed")).to_be_visible()
    assert (root / "renamed" / "notes.txt").read_text() == "not for long\n"
    tab.get_by_label("Rename, tag or delete renamed").click()
    delete = tab.get_by_role("button", name="Delete run")
    expect(delete).to_be_disabled()
    tab.get_by_label("To delete it for ever").fill("renamed")
    delete.click()
    expect(tab.get_by_role("link", name="renamed")).to_have_count(0)
    assert not (root / "renamed").exists()


def test_curves_follow_what_is_written_and_others_are_laid_over(served: Served, open_tab: OpenTab, root: Path) -> None:
    tab = open_tab(f"{served.address}/run/0/second?with=0/first")
    curve = tab.get_by_role("img", name="mean episode return").locator("path.line")
    expect(curve).to_have_count(2)
    before = curve.first.get_attribute("d")
    with open(root / "second" / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"step": 20_000_000, "time": 2e9, "train/mean_episode_return": 40.0}) + "\n")
    expect(curve.first).not_to_have_attribute("d", before or "")
    tab.get_by_role("button", name="games").click()
    tab.get_by_role("button", name="log", exact=True).click()
    expect(tab).to_have_url(re.compile("x=games.*log=true|log=true.*x=games"))
    tab.get_by_label("Difference to").select_option("0/first")
    expect(tab.locator("table.settings tbody tr")).to_have_count(1)
    expect(tab.locator("table.settings tbody")).to_contain_text("0.0005")


def test_nothing_in_a_run_becomes_part_of_the_page(served: Served, open_tab: OpenTab, root: Path) -> None:
    path = make_run(root, HOSTILE, rows=0, age=0, learner=HOSTILE, project="</script><script>alert(2)</script>")
    (path / "metrics.jsonl").write_text(json.dumps({"step": 1, f"train/{HOSTILE}": 1.0, HOSTILE: 2.0}) + "\n")
    (path / "events.log").write_text(f"2026 step 0: {HOSTILE}\n")
    (path / "notes.txt").write_text(HOSTILE)
    (path / "tags.json").write_text(json.dumps([HOSTILE]))
    (path / "report.html").write_text("<script>parent.alert(3)</script><h1>report</h1>")
    tab = open_tab(served.address, quiet=("Blocked script execution",))
    tab.get_by_role("link", name=HOSTILE).click()
    expect(tab.get_by_role("heading", name=HOSTILE)).to_be_visible()
    tab.get_by_text("Learning").first.click()
    expect(tab.locator("ol.log")).to_contain_text("onerror")
    tab.wait_for_timeout(300)
    assert tab.locator("img").count() == 0
    (path / "lock").unlink(missing_ok=True)


@pytest.mark.long
def test_a_run_deleted_while_shown_is_said_to_be_gone(served: Served, open_tab: OpenTab, root: Path) -> None:
    path = make_run(root, "short-lived", rows=3, age=0)
    tab = open_tab(f"{served.address}/run/0/short-lived", quiet=("404",))
    expect(tab.get_by_role("heading", name="short-lived")).to_be_visible()
    path.rename(root / ".away")
    expect(tab.get_by_role("alert").first).to_contain_text("no run 'short-lived'")


@pytest.mark.long
def test_a_server_that_goes_away_is_told_and_found_again(open_tab: OpenTab, tmp_path: Path) -> None:
    make_run(tmp_path, "steady", rows=3)
    with serving(tmp_path) as served:
        tab = open_tab(served.address, quiet=("ERR_", "Failed to load"))
        expect(tab.get_by_role("link", name="steady")).to_be_visible()
        served.stop()
        expect(tab.get_by_text("The server does not answer")).to_be_visible()
        make_run(tmp_path, "born-meanwhile", rows=3)
        served.start()
        expect(tab.get_by_text("The server does not answer")).to_have_count(0)
        expect(tab.get_by_role("link", name="born-meanwhile")).to_be_visible()


def test_it_fits_a_telephone_by_night(served: Served, open_tab: OpenTab) -> None:
    for path in ("/", "/run/0/first"):
        tab = open_tab(served.address + path, width=390, scheme="dark")
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
        tab.wait_for_timeout(200)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long
def test_an_empty_folder_says_how_to_begin(open_tab: OpenTab, tmp_path: Path) -> None:
    with serving(tmp_path / "not-there-yet") as served:
        tab = open_tab(served.address)
        expect(tab.get_by_text("No runs yet")).to_be_visible()
        make_run(tmp_path / "not-there-yet", "the-first", rows=1)
        expect(tab.get_by_role("link", name="the-first")).to_be_visible()


def test_a_policy_plays_and_every_move_has_a_link(served: Served, open_tab: OpenTab) -> None:
    tab = open_tab(f"{served.address}/watch?game=probe&policy=random&seed=42")
    expect(tab.get_by_label("What the policy thought")).to_contain_text("4 legal moves")
    tab.get_by_role("button", name="Pause").click()
    expect(tab.get_by_role("button", name=re.compile("^Over, matches"))).to_have_count(1)  # all of the game has come
    tab.get_by_role("button", name="Last move").click()
    expect(tab.get_by_role("status")).to_contain_text("Over, matches")
    tab.keyboard.press("ArrowLeft")
    expect(tab).to_have_url(re.compile("#move=7$"))
    other = open_tab(f"{served.address}/watch?game=probe&policy=random&second=random&seed=42#move=3")
    expect(other.get_by_role("slider", name="Move")).to_have_value("3")
    expect(other.get_by_label("What the policy thought")).to_have_count(2)
    thoughts = other.get_by_label("What the policy thought")
    assert thoughts.first.inner_text() == thoughts.last.inner_text()


def test_a_watched_game_ends_on_the_board_after_its_last_move(served: Served, open_tab: OpenTab) -> None:
    tab = open_tab(f"{served.address}/watch?game=probe&policy=random&seed=42#move=7")
    expect(tab.get_by_text(re.compile("^turn 7: "))).to_be_visible()
    expect(tab.get_by_role("button", name=re.compile("^Over, matches"))).to_have_count(1)  # all of the game has come
    tab.get_by_role("button", name="Last move").click()
    expect(tab.get_by_text(re.compile("^turn 8: "))).to_be_visible()
    expect(tab.get_by_text(re.compile("^turn [07]: "))).to_have_count(0)  # neither the next game nor the move before


def test_a_person_plays_and_asks(served: Served, open_tab: OpenTab) -> None:
    tab = open_tab(f"{served.address}/watch?game=probe&mode=play&seed=5", quiet=("400",))
    tab.get_by_label("Policy").fill("random")
    tab.get_by_role("button", name="What would you do?").click()
    expect(tab.get_by_label("What the policy thought")).to_be_visible()
    tab.get_by_label("Type a move").fill("<i>jump</i>")
    tab.get_by_label("Type a move").press("Enter")
    expect(tab.get_by_role("alert")).to_contain_text("'<i>jump</i>' is no move here")
    for number in range(8):
        expect(tab.locator("p.lead")).to_contain_text(f"move {number}")
        tab.get_by_label("Your moves").get_by_role("button").first.click()
    expect(tab.get_by_role("status")).to_contain_text("Over, matches")


def test_a_policy_looks_ahead_where_a_person_wants_it(served: Served, open_tab: OpenTab) -> None:
    tab = open_tab(f"{served.address}/watch")
    tab.get_by_role("button", name="probe").click()
    tab.get_by_label("Policy").fill("random")
    tab.get_by_label("Seed", exact=True).fill("42")
    tab.get_by_role("button", name="16 simulations").click()
    tab.get_by_role("button", name="Watch", exact=True).click()
    expect(tab.get_by_role("heading", name="random +16")).to_be_visible()
    expect(tab.get_by_role("slider", name="Move")).to_have_attribute("max", "8", timeout=60_000)
    tab.get_by_role("button", name="Last move").click()
    expect(tab.get_by_role("status")).to_contain_text("matches 5")
    asking = open_tab(f"{served.address}/watch?game=probe&mode=play&policy=random&seed=5")
    asking.get_by_role("button", name="64 simulations").click()
    asking.get_by_role("button", name="What would you do?").click()
    expect(asking.get_by_label("What the policy thought")).to_contain_text("random +64", timeout=60_000)


def test_a_recording_is_opened_and_a_damaged_one_is_a_sentence(
    served: Served, open_tab: OpenTab, tmp_path: Path
) -> None:
    good = {"format": "jimbot-game-recording", "format_version": 1, "game": "probe", "game_version": 1, "seed": 1}
    (tmp_path / "good.json").write_text(json.dumps({**good, "options": {}, "actions": [], "total_return": 0.0}))
    hostile = {**good, "options": {}, "actions": [HOSTILE], "total_return": 0.0}
    (tmp_path / "bad.json").write_text(json.dumps(hostile))
    tab = open_tab(f"{served.address}/watch", quiet=("400",))
    tab.get_by_label("Recording").set_input_files(tmp_path / "good.json")
    expect(tab.get_by_text("The recording ends here.").first).to_be_visible()
    expect(tab.get_by_text("Open here only")).to_be_visible()
    tab.goto(f"{served.address}/watch")
    tab.get_by_label("Recording").set_input_files(tmp_path / "bad.json")
    expect(tab.get_by_text(f"'{HOSTILE}', is not possible there")).to_be_visible()


def test_a_recording_beside_the_runs_has_a_link(served: Served, open_tab: OpenTab, root: Path) -> None:
    (root / "recordings").mkdir(exist_ok=True)
    game = {"format": "jimbot-game-recording", "format_version": 1, "game": "probe", "game_version": 1, "seed": 1}
    kept = {**game, "options": {}, "actions": [], "total_return": 0.0}
    (root / "recordings" / "mine.json").write_text(json.dumps(kept))
    tab = open_tab(f"{served.address}/watch", quiet=("400", "404"))
    tab.get_by_role("link", name="mine.json").click()
    expect(tab.get_by_text("The recording ends here.").first).to_be_visible()
    tab.reload()  # what a link from elsewhere does; going to the same address with a move in it loads nothing
    expect(tab.get_by_text("The recording ends here.").first).to_be_visible()
    (root / "recordings" / "mine.json").unlink()
    tab.reload()
    expect(tab.get_by_text("There is no recording mine.json")).to_be_visible()
    tab.goto(f"{served.address}/watch?file=0/../secret.json")
    expect(tab.get_by_text("is no recording")).to_be_visible()


def test_runs_and_policies_are_compared(served: Served, open_tab: OpenTab) -> None:
    tab = open_tab(served.address)
    for name in ("first", "second"):
        tab.get_by_label(f"Choose {name}").check()
    tab.get_by_role("button", name="Compare").click()
    expect(tab.get_by_text("As judged when they were trained")).to_be_visible()
    expect(tab.get_by_text("Not judged yet: second.")).to_be_visible()
    expect(tab.get_by_role("img", name=re.compile("Share of games that came"))).to_be_visible()
    tab.get_by_label("Policies, with commas").fill("random, random")
    tab.locator(".wish select").select_option("probe")
    tab.get_by_label("Games each").fill("8")
    tab.get_by_role("button", name="Play them on the same seeds").click()
    expect(tab.get_by_text("do not differ significantly")).to_be_visible(timeout=30_000)
    with tab.expect_download() as kept:
        tab.locator("figure.chart").first.hover()
        tab.locator("figure.chart").first.get_by_role("button", name="SVG").click()
    assert "<svg" in kept.value.path().read_text()
    with tab.expect_download() as kept:
        tab.locator("figure.chart").first.hover()
        tab.locator("figure.chart").first.get_by_role("button", name="PNG").click()
    assert kept.value.path().read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_a_seed_is_looked_into_filtered_and_found(served: Served, open_tab: OpenTab) -> None:
    tab = open_tab(f"{served.address}/seeds?game=balatro&seed=7LB2WVPK&antes=2", quiet=("400",))
    tab.set_default_timeout(300_000)
    expect(tab.get_by_role("heading", name="Ante 2")).to_be_visible(timeout=300_000)
    tab.get_by_label("Filter cards").fill("no such card")
    expect(tab.get_by_role("heading", name="Ante 2")).to_have_count(0)
    tab.get_by_label("That hold").fill("joker:nonsense@1")
    tab.get_by_role("button", name="Search").click()
    expect(tab.get_by_role("alert")).to_contain_text("nonsense")
    tab.get_by_label("That hold").fill("voucher:v_telescope@1")
    tab.get_by_role("button", name="Search").click()
    expect(tab.get_by_role("status")).to_contain_text("24 found", timeout=300_000)
    expect(tab.get_by_text("Telescope: ante 1, voucher")).to_have_count(24)
    tab.get_by_label("That hold").fill("joker:j_perkeo@1 and joker:j_blueprint+negative@1 and voucher:v_telescope@1")
    tab.get_by_role("button", name="Search").click()
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.get_by_role("status")).to_contain_text("then cancelled", timeout=60_000)


def test_services_and_knowledge_are_shown(served: Served, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = (Node("Joker", "j_one", HOSTILE, "adds"), Node("Joker", "j_two", "Two", "doubles"))
    edge = Edge("SYNERGIZES_WITH", "j_one", "j_two", 0.5, 0.4, 0.6, "score", command="jimbot graph measure")
    monkeypatch.setattr(served.page.known, "graph", lambda: Graph("a game", ends, (edge,)))
    tab = open_tab(f"{served.address}/knowledge")
    table, picture = tab.get_by_role("region", name="Claims"), tab.get_by_role("img", name="What works together")
    expect(table).to_be_in_viewport()
    boxes = [part.bounding_box() for part in (table, picture)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"], "the table comes first, the picture below it"
    tab.get_by_role("button", name="Two", exact=True).click()
    expect(tab).to_have_url(re.compile("around=j_two"))
    expect(tab.get_by_text("doubles")).to_be_visible()
    tab.get_by_role("link", name="Services").click()
    expect(tab.get_by_text("There is no bus at")).to_be_visible(timeout=30_000)
    expect(tab.get_by_text("None on the bus.")).to_be_visible()
