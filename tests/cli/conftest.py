"""A home for commands under test: an empty folder with one run in it, and the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jimbot.cli.main import run
from tests.cli.making import save_perfect

Jimbot = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with one run, `perfect`, under runs/."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    save_perfect(tmp_path / "runs" / "perfect")
    return tmp_path


@pytest.fixture
def jimbot(home: Path, capfd: pytest.CaptureFixture[str]) -> Jimbot:
    """Runs a command line in this process: (exit code, stdout, stderr)."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call
