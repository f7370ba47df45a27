"""Every page is found from the index, and every link leads somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, anchors, links, name

GROUPS = ["start", "games", "learners", "judging", "operations", "extending"]


def target(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, anchor = target(page, link)
        assert path.exists(), f"{name(page)} links to {link}"
        assert not anchor or anchor in anchors(path), f"{name(page)} links to {link}: no such heading"


def test_the_index_names_every_page_under_its_group() -> None:
    named = {target(DOCS / "index.md", link)[0] for link in links(DOCS / "index.md")}
    assert {page for page in PAGES if page != DOCS / "index.md"} <= named
    groups = [path.name for path in DOCS.iterdir() if path.is_dir() and path.name != "img"]
    assert sorted(groups) == sorted(GROUPS)
    assert [anchor for anchor in GROUPS if anchor not in anchors(DOCS / "index.md")] == []


def test_the_readme_leads_to_the_index() -> None:
    assert "docs/index.md" in links(PAGES[0])
