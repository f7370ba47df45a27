"""`make docs`: the pages as a site with search and a reference, no broken link, nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.names import modules
from tests.docs.pages import DOCS, PAGES, REPOSITORY, anchors

SITE = runpy.run_path(str(DOCS / "site.py"))
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=\"(https?:)?//|<link[^>]+rel=\"(?:stylesheet|preconnect)\"[^>]+//"
)


def test_the_reference_names_modules_that_exist() -> None:
    named = [f"jimbot.{module}" for text in SITE["REFERENCE"].values() for module in text.split()]
    assert not set(named) - modules().keys()
    assert len(named) == len(set(named))


def test_links_are_turned_wherever_a_page_lies() -> None:
    turn = SITE["with_links"]
    assert (
        turn("[a](docs/start/train.md#wb) ![b](docs/img/x.svg)", "README.md")
        == "[a](start/train.md#wb) ![b](img/x.svg)"
    )
    assert turn("[a](../README.md)", "docs/index.md") == "[a](readme.md)"
    assert turn("[a](../../README.md)", "docs/games/vgc.md") == "[a](../readme.md)"
    assert turn("[a](../jimbot/errors.py) [b](https://x.org)", "docs/index.md") == "a [b](https://x.org)"
    assert turn("```\n[a](README.md)\n```\n", "CONTRIBUTING.md") == "```\n[a](README.md)\n```\n"


def test_headings_get_the_anchors_of_github() -> None:
    for page in PAGES:
        titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
        assert anchors(page) <= {SITE["anchor"](title, "-") for title in titles}


def test_examples_in_docstrings_become_code() -> None:
    text = SITE["fenced"]("Says.\n\n>>> 1 + 1\n2\n\nMore.")
    assert text == "Says.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."


@pytest.mark.long
def test_the_site_is_built_without_a_broken_link(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=REPOSITORY, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    pages = {page.relative_to(tmp_path).as_posix(): page.read_text() for page in tmp_path.rglob("*.html")}
    assert {"index.html", "readme.html", "operations/runbook.html", "reference/games.html"} <= pages.keys()
    assert 'id="jimbot.games.spec.GameSpec"' in pages["reference/games.html"]
    assert not [name for name, text in pages.items() if LOADED.search(text)], "pages load something from elsewhere"
    found = json.loads((tmp_path / "search" / "search_index.json").read_text())["docs"]
    assert any("MemoryNearlyFull" in entry["title"] for entry in found)
