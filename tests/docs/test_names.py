"""Whatever stands in backticks on a page exists: files, modules, names, settings, flags."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs import names
from tests.docs.commands import PROGRAMS
from tests.docs.pages import DOCS, PAGES, blocks, name, spans

SOURCES = ("jimbot/", "tests/", "docs/", "configs/", "examples/")
ENDINGS = "py|md|yaml|yml|json|jsonl|npz|js|toml|txt|svg|png|gz|log|onnx|html|cff|sh"
PATH = re.compile(rf"(?:[\w.-]+/)*[\w.-]+\.(?:{ENDINGS})|(?:[\w.-]+/)+")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
FLAG = re.compile(r"--[a-z][\w-]*")

FOREIGN = {
    "names of Gymnasium, SB3 and JAX": "make_vec make_vec_env vec_env player_0 jax_explain_cache_misses",
    "files and variables of Ray": "auth_token session_latest RAY_AUTH_MODE",
    "programs and files of a system": "chmod nohup proc",
    "a browser's page": "chrome tracing",
    "files of a remake, as it names them": "backs",
    "what a reader puts in": "SEED my_package my_game high_low yours",
    "an example of a name": "test_a_held_row_stands_still",
    "Python": "True",
}
KNOWN = {word for line in FOREIGN.values() for word in line.split()}
FILES_OF_READERS = {"mine", "my", "game", "high_low.py", "traces-mine", "seeds_white_2", "policy", "compare"}
"""Files that a reader is told to write or to get; of what is no code, by their names without ending."""


def missing(page: Path, text: str) -> Iterator[str]:
    """What of a text in backticks does not exist."""
    if PATH.fullmatch(text):
        if not (names.is_file(text) or text in FILES_OF_READERS or is_written_by_a_run(text)):
            yield f"no file ends in {text}"
        return
    dotted = DOTTED.match(text)
    if dotted and dotted[0].startswith("jimbot."):
        if not names.resolves(dotted[0]):
            yield f"{dotted[0]} does not exist"
        return
    if dotted and not is_variable(page, dotted[0].split(".")[0]):
        base, attribute = dotted[0].split(".")[:2]
        if base in names.members() and attribute not in names.members()[base]:
            yield f"{base} has no {attribute}"
    yield from (f"no command has the flag {flag}" for flag in FLAG.findall(text) if flag not in names.flags())
    for word in names.WORD.findall(FLAG.sub("", text)):
        counted = word.removesuffix("_total")  # Prometheus' ending of what is counted
        known = {word, counted} & names.words() or word in KNOWN or names.is_figure(word)
        if len(word) > 2 and not known:
            yield f"nothing is called {word}"


def is_written_by_a_run(path: str) -> bool:
    """Whether the package has the names of which such a path is made; paths of source must be there themselves."""
    if path.startswith(SOURCES) or path.endswith((".py", ".md", ".js")):
        return False
    return all(word in names.words() | FILES_OF_READERS for word in re.findall(r"[A-Za-z][\w-]*", path))


def is_variable(page: Path, word: str) -> bool:
    """Whether an example on the page gives something this name."""
    return any(re.search(rf"^\s*(?:\w+, )*{word}(?:, \w+)* = ", block.text, re.MULTILINE) for block in blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_everything_in_backticks_exists(page: Path) -> None:
    found = [
        f"{place}: `{text}`: {what}"
        for place, text in spans(page)
        if text.split()[0] not in PROGRAMS
        for what in missing(page, text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    ["jimbot/training/nothing.py", "jimbot.training.nothing", "GameSpec.nothing", "--nothing", "no_such_setting"],
)
def test_what_does_not_exist_is_found(text: str) -> None:
    assert list(missing(PAGES[0], text))


def test_no_exception_has_become_needless() -> None:
    written = {word for page in PAGES for _, text in spans(page) for word in names.WORD.findall(text)}
    assert not KNOWN - written


def test_the_picture_of_the_data_flow_names_files_that_exist() -> None:
    lanes = runpy.run_path(str(DOCS / "img" / "dataflow.py"))["LANES"]
    files = [file for boxes in lanes.values() for _, file in boxes]
    assert not [file for file in files if not names.is_file(f"jimbot/{file}")]
    drawn = (DOCS / "img" / "dataflow.svg").read_text()
    assert not [file for file in files if f"<!-- {file} -->" not in drawn], "draw it again: python docs/img/dataflow.py"


def test_every_room_and_game_has_its_words_in_the_architecture() -> None:
    text = (DOCS / "architecture.md").read_text()
    package = DOCS.parent / "jimbot"
    rooms = [f"jimbot/{room.name}/" for room in package.iterdir() if room.is_dir() and any(room.glob("*"))]
    engines = [f"games/{game.name}/" for game in (package / "games").iterdir() if (game / "entry.py").is_file()]
    for subject in ("cli", "training"):
        rooms += [f"`{room.name}`" for room in (package / subject).iterdir() if (room / "__init__.py").is_file()]
    assert len(rooms) > 20
    assert [room for room in (*rooms, *engines) if "__pycache__" not in room and room not in text] == []
