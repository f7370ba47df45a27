"""What commands say to type next runs as it is printed, also where a name has a space in it."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator

import pytest

from jimbot.cli.shared import terminal
from tests.cli.conftest import Jimbot
from tests.training.small import SMALL

FLAGS = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "game"]
CHEAPER = {"1000": "4", "30": "0.001"}  # games to judge, minutes to train further


def printed(text: str) -> Iterator[list[str]]:
    """The commands in what was printed: from `jimbot` to the next gap or the end of the line."""
    for command in re.findall(r"(?:^|  |: )jimbot (.+?)(?=   ?\S|\s*$)", text, re.MULTILINE):
        yield [CHEAPER.get(word, word) for word in shlex.split(command)]


@pytest.fixture
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))


def follow(jimbot: Jimbot, *arguments: object, least: int) -> list[str]:
    """Runs a command and everything it says to type next; returns which commands those were."""
    code, out, err = jimbot(*arguments)
    assert code == 0, err
    commands = list(printed(out + err))
    assert len(commands) >= least, out + err
    for words in commands:
        own = FLAGS if words[0] == "train" else []
        code, _, complaint = jimbot(*words, *own)
        assert code == 0, f"jimbot {shlex.join(words)}: {complaint}"
    return [words[0] for words in commands]


@pytest.mark.usefixtures("nobody_types")
def test_after_training(jimbot: Jimbot) -> None:
    found = follow(jimbot, "train", "probe", "--run", "my run", *FLAGS, least=5)
    assert found == ["watch", "analyze", "resume", "evaluate", "export"]


@pytest.mark.usefixtures("nobody_types")
def test_after_recording_and_cloning(jimbot: Jimbot) -> None:
    recording = ("record", "probe", "--policy", "random", "--games", 20, "--output", "my games.npz")
    assert follow(jimbot, *recording, least=1) == ["clone"]
    cloned = follow(jimbot, "clone", "my games.npz", "--run", "my clone", "--epochs", 1, "--hidden-dim", 32, least=3)
    assert cloned == ["evaluate", "watch", "train"]


@pytest.mark.usefixtures("nobody_types")
def test_after_games_that_were_recorded(jimbot: Jimbot) -> None:
    watched = ("watch", "perfect", "--seed", 5, "--record", "my game.json")
    assert follow(jimbot, *watched, least=1) == ["replay"]
    played = follow(jimbot, "play", "probe", "--seed", 5, "--record", "my other game.json", least=2)
    assert played == ["replay", "play"]


@pytest.mark.usefixtures("nobody_types")
def test_of_a_run_that_is_shown(jimbot: Jimbot) -> None:
    assert jimbot("runs", "rename", "perfect", "my perfect run")[0] == 0
    assert follow(jimbot, "runs", "show", "my perfect run", least=2) == ["watch", "analyze"]


@pytest.mark.parametrize("columns", [80, 40])
def test_narrow_terminals_break_the_meanings_by_words_and_never_the_commands(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    command, meaning = (
        "jimbot analyze my-run-of-today",
        "a page about it: curves, what it buys and plays, where it dies",
    )
    terminal.print_next([(command, meaning)])
    lines = capsys.readouterr().out.splitlines()
    assert command in lines[0]
    assert all(len(line) <= columns for line in lines)
    assert " ".join(lines).split() == [*command.split(), *meaning.split()]
