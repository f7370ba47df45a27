"""The table of docs/operations/runbook.md: 0 success, 1 failure while working, 2 wrong use, 130 interrupted."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jimbot import errors
from jimbot.cli import main
from jimbot.cli.look.play import TerminalGame
from jimbot.runs.directory import RunDirectory
from tests.conftest import REPOSITORY

DOCUMENT = REPOSITORY / "docs/operations/runbook.md"


def classes() -> Iterator[type[errors.JimbotError]]:
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, errors.JimbotError):
            yield value


def test_every_error_class_stands_in_the_table_with_its_code() -> None:
    rows = re.findall(r"^\| (\d+) \|([^|]*)\|([^|]*)\|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    codes = {int(code): names for code, _, names in rows}
    assert sorted(codes) == [0, 1, 2, 130]
    for kind in classes():
        assert f"`{kind.__name__}`" in codes[kind.exit_code], f"{kind.__name__} leaves with {kind.exit_code}"


def test_a_run_that_another_process_writes_is_wrong_use(jimbot, home: Path) -> None:
    with RunDirectory(home / "runs", "probe-jax-ppo").open_or_create():
        code, _, err = jimbot("train", "probe")
    assert code == 2
    assert "being written by process" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "perfect", "--output", "/proc/policy.onnx"),
        ("analyze", "perfect", "--games", "4", "--output", "/proc/report.html"),
        ("watch", "perfect", "--record", "/proc/game.json"),
        ("play", "probe", "--record", "missing/game.json"),
        ("record", "probe", "--policy", "perfect", "--games", "2", "--output", "/proc/data.npz"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_target_that_cannot_be_written_is_told_before_the_work(
    jimbot, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    for place in ("jimbot.evaluation.play.play", "jimbot.training.export.exported"):
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("it worked first"), raising=False)
    code, _, err = jimbot(*arguments)
    assert code == 2
    assert arguments[-1] in err


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "runs/a"), "No space left on device (runs/a)"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), "Connection reset by peer"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_a_machine_that_gives_out_is_one_sentence_and_1(
    jimbot, monkeypatch: pytest.MonkeyPatch, problem: Exception, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr("jimbot.policies.players.find_player", fail)
    monkeypatch.setattr("jimbot.training.export.exported", fail)
    code, _, err = jimbot("export", "perfect", "--output", "a.onnx")
    assert code == 1
    assert words in err
    assert len(err.splitlines()) == 1


def test_an_error_nobody_foresaw_shows_itself(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "a bug")

    monkeypatch.setattr("jimbot.training.export.exported", fail)
    with pytest.raises(FileNotFoundError, match="a bug"):
        jimbot("export", "perfect", "--output", "a.onnx")


def test_ctrl_c_keeps_the_game_that_is_being_recorded(jimbot, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["open red 1", "?"])

    class Typing:
        def __init__(self, prompt: bool) -> None: ...
        def __enter__(self) -> Typing:
            return self

        def __exit__(self, *_: object) -> None: ...
        def read(self) -> str:
            for line in lines:
                return line
            raise KeyboardInterrupt

    taken: list[str] = []
    take = TerminalGame.take

    def first_legal(self: TerminalGame, text: str) -> bool:
        taken.append(text)
        label = self.entry.spec.actions.label(int(self.game.legal_mask[0].argmax()))
        return take(self, label if text != "?" else text)

    monkeypatch.setattr("jimbot.cli.look.play._Lines", Typing)
    monkeypatch.setattr(TerminalGame, "take", first_legal)
    assert jimbot("play", "probe", "--seed", "5", "--record", "game.json")[0] == main.INTERRUPTED
    assert len(taken) == 2
    code, out, _ = jimbot("replay", "game.json")
    assert code == 0
    assert "1 moves" in out
