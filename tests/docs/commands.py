"""Command lines on the pages: how they are told from what surrounds them, and which of them cannot be run here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import Block, blocks, spans

PROGRAMS = (
    "jimbot",
    "make",
    "python",
    "pip",
    "git",
    "cd",
    "ray",
    "wandb",
    "tensorboard",
    "source",
    ".ci/run",
    "pre-commit",
)
REMARK = re.compile(r"\s{2,}|\s#")  # two spaces or a hash end a command; what follows is said to the reader
OPEN_END = re.compile(r"\s*(…|\.\.\.)")


@dataclass(frozen=True)
class Line:
    """One command, as written, with what the page shows as its output."""

    place: str
    text: str
    output: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)

    @property
    def program(self) -> str:
        return self.words[0]


def of_block(block: Block) -> list[Line]:
    """The commands of a block. Where some begin with `$`, everything else is output."""
    text = re.sub(r"\\\n\s*", "", block.text)
    typed = text.startswith("$ ")
    found: list[Line] = []
    for number, line in enumerate(text.splitlines()):
        if typed and not line.startswith("$ "):
            found[-1] = Line(found[-1].place, found[-1].text, (*found[-1].output, line))
        elif line.strip():
            place = f"{block.page}:{block.line + 1 + number}"
            command = REMARK.split(line.removeprefix("$ ").strip())[0]
            found += [Line(place, part.strip()) for part in command.split(" && ")]
    return found


def is_shell(block: Block) -> bool:
    """Blocks that say so, and those without a language that begin with a program."""
    first = block.text.split()[0] if block.text.split() else ""
    return block.language in ("bash", "console") or (not block.language and first in (*PROGRAMS, "$"))


def of_page(page: Path) -> Iterator[Line]:
    """The commands in the blocks of a page, from top to bottom."""
    for block in blocks(page):
        if is_shell(block):
            yield from of_block(block)


def in_sentences(page: Path) -> Iterator[Line]:
    """Commands in backticks: whole ones, and ones of which only the beginning is told."""
    for place, text in spans(page):
        if text.split()[0] in PROGRAMS:
            yield Line(place, OPEN_END.sub("", text))
