"""Every page, light and dark, for people who hear it or use the keyboard: headings in order, what scrolls is reached by
Tab, and, as a long test because npm fetches it, everything that axe-core knows to look for."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.conftest import needs
from tests.viewer.conftest import OpenTab, Served, serving
from tests.viewer.making import make_run

LONG = "a-run-whose-name-goes-on-for-longer-than-a-telephone-is-wide"
TABLE = "/watch?game={}&policy=random&seed={}#move=3"
PAGES = {
    "first": ("none", "/"),
    "runs": ("some", "/"),
    "run": ("some", f"/run/0/{LONG}"),
    "no such run": ("some", "/run/0/none"),
    "watch": ("some", "/watch"),
    "probe": ("some", TABLE.format("probe", 42)),
    "hackmatrix": ("some", TABLE.format("hackmatrix", 3)),
    "balatro": ("some", TABLE.format("balatro", "7LB2WVPK")),
    "balatro later": ("some", "/watch?game=balatro&policy=heuristic&seed=7LB2WVPK#move=12"),
    "vgc": ("some", "/watch?game=vgc&policy=random&seed=5#move=6"),
    "played": ("some", "/watch?game=balatro&mode=play&policy=random&seed=7LB2WVPK"),
    "seeds": ("some", "/seeds"),
    "seed": ("some", "/seeds?game=balatro&seed=7LB2WVPK&antes=2"),
    "compare": ("some", "/compare"),
    "knowledge": ("some", "/knowledge"),
    "services": ("some", "/services"),
    "404": ("some", "/no/such"),
}
SCHEMES = ("light", "dark")
LEVELS = "[...document.querySelectorAll('h1,h2,h3,h4')].map(one => Number(one.tagName[1]))"
OUT_OF_REACH = """
const inside = "a[href], button, input, select, textarea, [tabindex='0']";
const overflows = (one) => {
  const style = getComputedStyle(one);
  const [across, down] = [style.overflowX, style.overflowY].map((way) => ["auto", "scroll"].includes(way));
  return (across && one.scrollWidth > one.clientWidth + 1) || (down && one.scrollHeight > one.clientHeight + 1);
};
return [...document.querySelectorAll("body *")]
  .filter((one) => overflows(one) && one.tabIndex < 0 && !one.querySelector(inside))
  .map((one) => one.outerHTML.slice(0, 120));
"""


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Served]]:
    root = tmp_path_factory.mktemp("runs")
    make_run(root, LONG, rows=40, judged=True)
    make_run(root, "second", rows=5, game="hackmatrix", age=90_000)
    with serving(root) as some, serving(root / "none-yet") as none:
        yield {"some": some, "none": none}


def opened(open_tab: OpenTab, homes: dict[str, Served], page: str, **settings: Any) -> Tab:
    if page == "vgc":
        needs("vgc")
    home, path = PAGES[page]
    tab = open_tab(f"{homes[home].address}{path}", quiet=("404",), **settings)
    expect(tab.locator("main h1, main h2").first).to_be_visible(timeout=60_000)
    if "game=" in path:
        expect(tab.locator(".scene, .words").first).to_be_visible(timeout=60_000)
    tab.wait_for_load_state("networkidle")
    return tab


@pytest.mark.parametrize("page", PAGES)
def test_headings_are_in_order_and_what_scrolls_can_be_reached(
    page: str, homes: dict[str, Served], open_tab: OpenTab
) -> None:
    for scheme, width in zip(SCHEMES, (1280, 390), strict=True):
        tab = opened(open_tab, homes, page, scheme=scheme, width=width)
        expect(tab.get_by_role("heading", level=1)).to_have_count(1)
        levels = tab.evaluate(LEVELS)
        assert levels[0] == 1
        assert max(np.diff(levels), default=0) <= 1, levels
        assert tab.evaluate(f"(() => {{ {OUT_OF_REACH} }})()") == []
        tab.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("axe")
    assert npm, "npm is missing; install Node 20 or newer"
    (folder / "package.json").write_text("{}")
    command = [npm, "install", "--no-audit", "--no-fund", "axe-core@4"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing(page: str, scheme: str, homes: dict[str, Served], open_tab: OpenTab, axe: str) -> None:
    tab = opened(open_tab, homes, page, scheme=scheme)
    tab.evaluate(axe)
    found = tab.evaluate("axe.run().then(({ violations }) => violations)")
    told = [(one["id"], one["help"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]
    assert not told, json.dumps(told, indent=1)
