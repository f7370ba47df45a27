"""The pages people read, and what is found in them: blocks of code, code within sentences, links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "SECURITY.md",
    REPOSITORY / "CODE_OF_CONDUCT.md",
    REPOSITORY / "examples" / "README.md",
    *sorted(DOCS.glob("**/*.md")),
]
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(name(page), text.count("\n", 0, found.start()) + 1, found[2], found[3]) for found in FENCED.finditer(text)
    ]


def prose(page: Path) -> str:
    """The page without its blocks; lines keep their numbers."""
    return FENCED.sub(lambda found: "\n" * found[0].count("\n"), page.read_text())


def spans(page: Path) -> list[tuple[str, str]]:
    """(place, text) of everything in backticks within sentences."""
    lines = prose(page).splitlines()
    return [(f"{name(page)}:{number}", text) for number, line in enumerate(lines, 1) for text in SPAN.findall(line)]


def links(page: Path) -> list[str]:
    return [link for link in LINK.findall(prose(page)) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """The names GitHub gives to headings."""
    titles = HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
