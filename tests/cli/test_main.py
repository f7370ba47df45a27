"""The frame of the command line: help, version, exit codes, sentences instead of tracebacks."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
import typer

from jimbot import __version__
from jimbot.cli import main
from jimbot.errors import StorageError, UsageError


def test_help_names_every_command(run_jimbot) -> None:
    done = run_jimbot("--help")
    assert done.returncode == 0
    for command in main.COMMANDS:
        assert f" {command} " in done.stdout


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_command_has_help_with_examples(jimbot, command: str) -> None:
    code, out, _ = jimbot(command, "--help")
    assert code == 0
    assert f"jimbot {command}" in out.split("Examples", 1)[1]
    usage = out.split("Usage: ", 1)[1].splitlines()[0]
    assert not {"[]", "[[", "{}"} & {usage[at : at + 2] for at in range(len(usage))}, usage


def test_help_is_broken_where_the_terminal_ends(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = jimbot("evaluate", "--help")[1].split("╭")[0].splitlines()
    paragraph = [line.strip() for line in printed if line.strip()][2:]
    assert len(paragraph) >= 3
    assert all(len(line) + len(after.split()[0]) >= 78 for line, after in pairwise(paragraph))


def test_version(jimbot) -> None:
    assert jimbot("--version")[:2] == (0, f"jimbot {__version__}\n")


def test_without_a_command_help_is_shown(run_jimbot) -> None:
    done = run_jimbot()
    assert "Usage: jimbot" in done.stdout + done.stderr


@pytest.mark.parametrize(("problem", "code"), [(UsageError("No such thing."), 2), (StorageError("Disk full."), 1)])
def test_known_errors_become_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem: Exception, code: int
) -> None:
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise problem

    monkeypatch.setattr(main, "command_line", lambda names: app)
    assert main.run([]) == code
    assert capsys.readouterr().err == f"{problem}\n"


def test_an_unexpected_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(main, "command_line", lambda names: app)
    with pytest.raises(ZeroDivisionError):
        main.run([])


def test_an_interrupt_is_one_line_and_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "command_line", lambda names: app)
    assert main.run([]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_the_error_sentence_is_red_on_a_terminal_only(tmp_path: Path) -> None:
    """A real pseudo-terminal on stderr: colour there, none in a pipe (above)."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.getcwd()}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "jimbot", "play", "prob"]
    subprocess.run(command, cwd=tmp_path, stderr=follower, stdout=subprocess.DEVNULL, env=environment, timeout=60)
    os.close(follower)
    text = os.read(leader, 10_000).decode()
    os.close(leader)
    assert text.startswith("\x1b[31m")
    assert "Did you mean 'probe'" in text


def interrupted_play(folder: Path) -> tuple[int, str]:
    """(exit code, stderr) of a real command that Ctrl+C ended."""
    command = [sys.executable, "-m", "jimbot", "play", "probe", "--seed", "1"]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert process.stdout is not None
    while "Type the key" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.5)  # it prints the question before it waits for the answer
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait(), process.communicate()[1]


def test_ctrl_c_leaves_a_real_command_with_130(tmp_path: Path) -> None:
    # On a busy machine a signal can strike while Python is between two moments; then it is asked again.
    answers = (interrupted_play(tmp_path) for _ in range(3))
    code, err = next((answer for answer in answers if answer[0] == 130), (None, ""))
    assert code == 130
    assert err == "Interrupted.\n"
