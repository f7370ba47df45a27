"""Every command on a page is one that the command line takes: it exists, and so do its flags, settings and options.

All are read by the real parser, and what trains is resolved to its settings. `test_running.py` runs them.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import typer

from jimbot.cli import main
from jimbot.cli.shared.command import FILES, PLUGIN, without_plugins
from jimbot.plugins import is_module_name
from tests.docs.commands import Line, in_sentences, is_shell, of_page
from tests.docs.names import command_line, flags
from tests.docs.pages import PAGES, REPOSITORY, blocks, name

DATA = {"json": json.loads, "toml": tomllib.loads}
LANGUAGES = {"python", "yaml", "bash", "console", "text", "mermaid", *DATA}


def complaint(line: Line, whole: bool = True) -> str | None:
    """What the parser has against a command; not that words are missing, where a sentence names its beginning only."""
    if len(line.words) == 1:
        return None
    command, *words = without_plugins(line.words[1:])[0]
    if command.startswith("--"):
        return None if command in {*flags(), "--help"} else f"jimbot has no {command}"
    if command not in command_line().commands:
        return f"there is no command {command}"
    words = ["3" if word == "N" else word for word in words]
    try:
        command_line().commands[command].make_context(command, list(words))
    except typer.Exit:
        return None
    except typer.TyperException as problem:
        told_in_part = not whole and type(problem).__name__ in ("MissingParameter", "BadOptionUsage")
        return None if told_in_part else problem.format_message()
    return None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_command_line_takes_every_command(page: Path) -> None:
    lines = [(line, True) for line in of_page(page)] + [(line, False) for line in in_sentences(page)]
    found = {line.place: (line.text, complaint(line, whole)) for line, whole in lines if line.program == "jimbot"}
    wrong = {place: said for place, said in found.items() if said[1]}
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_settings_and_options_of_training_exist(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in (*of_page(page), *in_sentences(page)) if line.words[:2] == ["jimbot", "train"]]
    for line in lines:
        if PLUGIN in line.words or any(is_module_name(word) and Path(word).suffix not in FILES for word in line.words):
            continue  # of the reader's own making: tests/documents/test_extending_pages.py writes and runs it
        words = [word.replace("GAME", "probe").replace("mine", "probe") for word in line.words[1:]]
        if "--config" in words[:-1]:
            file = Path(words[words.index("--config") + 1])
            file.parent.mkdir(parents=True, exist_ok=True)
            theirs = REPOSITORY / file
            file.write_text(theirs.read_text() if theirs.is_file() else "lr: 0.001\n")
        if len(words) > 1 and not words[1].startswith("--") and "--learner probe" not in " ".join(words):
            assert main.run([*words, "--explain-config"]) == 0, f"{line.place}: {line.text}\n{capsys.readouterr().err}"


def test_make_targets_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    lines = [line for page in PAGES for line in (*of_page(page), *in_sentences(page)) if line.program == "make"]
    assert lines
    for line in lines:
        targets = [word for word in line.words[1:] if "=" not in word]
        variables = [word.split("=")[0] for word in line.words[1:] if "=" in word]
        assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets), line
        assert all(re.search(rf"^{variable} \?=", makefile, re.MULTILINE) for variable in variables), line


def test_every_block_says_what_it_is() -> None:
    """Code is run; what is none (a tree of files, an output) says `text`, so that no code is passed over."""
    found = [block for page in PAGES for block in blocks(page)]
    assert not [block.place for block in found if block.language not in LANGUAGES and not is_shell(block)]


def test_data_on_pages_can_be_read() -> None:
    for block in (block for page in PAGES for block in blocks(page) if block.language in DATA):
        assert DATA[block.language](block.text), block.place


@pytest.mark.parametrize(
    "text", ["jimbot trian probe", "jimbot train probe --mintues 3", "jimbot evaluate x --games lots"]
)
def test_a_wrong_command_is_found(text: str) -> None:
    assert complaint(Line("here", text))
