"""What others wrote (names, tags, notes, events, messages) is read on a terminal and never obeyed by it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from rich.live import Live
from rich.table import Table
from rich.text import Text

import jimbot as package
from jimbot.foreign_text import Terminal, visible
from jimbot.logs import setup_logging
from jimbot.runs.directory import RunDirectory
from tests.cli.conftest import Jimbot
from tests.cli.making import save_perfect
from tests.conftest import RunJimbot

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]\x7f\u202e[/nothing]"
"""Sets a window's title, clears the screen, colours, turns the direction of writing, and is wrong as rich's markup."""
OBEYED = ("\x1b", "\x07", "\x7f", "\x9b", "\u202e")
PLACES = {"foreign_text.py", "notebook.py", "envs/pictures.py", "games/hook_checks.py"}
"""Where rich consoles are made: the one for terminals, and those that draw into memory."""


@pytest.fixture
def evil_run(home: Path) -> str:
    with RunDirectory(home / "runs", "evil").open_or_create() as run:
        save_perfect(run.path)
        run.write_config({"game": f"probe{EVIL}", "learner": ["jax"], "algorithm": EVIL, "lr": EVIL, "num_envs": EVIL})
        (run.path / "tags.json").write_text(json.dumps([EVIL, 3, "fine"]))
        (run.path / "notes.txt").write_text(f"a note {EVIL}")
        run.events_path.write_bytes(b"2026-01-01 step 3: \xff\xfe " + EVIL.encode() + b"\n")
        (run.path / "evaluation.json").write_text(json.dumps({"ladder": [EVIL], "win_rate": EVIL}))
    (home / "runs" / "no\x1b[2Jname" / "checkpoints").mkdir(parents=True)
    return "evil"


@pytest.mark.parametrize(
    "arguments",
    [
        ("runs",),
        ("runs", "--json"),
        ("runs", "show", "evil"),
        ("runs", "show", "evil", "--json"),
        ("runs", "note", "evil", f"mine {EVIL}"),
        ("runs", "tag", "evil", "more"),
        ("runs", "rename", "evil", f"other{EVIL}"),
        ("runs", "show", f"nobody{EVIL}"),
        ("runs", "delete", "evil", "--yes"),
        ("evaluate", f"missing{EVIL}"),
        ("train", "probe", "--set", f"{EVIL}=3"),
        ("train", f"game{EVIL}"),
        ("replay", f"no-file{EVIL}.json"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]).encode("ascii", "ignore").decode()[:20],
)
def test_no_command_hands_an_escape_to_the_terminal(jimbot: Jimbot, evil_run: str, arguments: tuple[str, ...]) -> None:
    code, out, err = jimbot(*arguments)
    assert code in (0, 2)
    assert not [mark for mark in OBEYED if mark in out + err]


def test_json_says_exactly_what_was_written(jimbot: Jimbot, evil_run: str) -> None:
    found = json.loads(jimbot("runs", "show", evil_run, "--json")[1])
    assert found["summary"]["game"] == f"probe{EVIL}"
    assert found["note"] == f"a note {EVIL}"


def test_events_of_the_bus_are_one_line_each_whatever_they_say(jimbot: Jimbot) -> None:
    message = json.dumps({"game": EVIL, "kind": "a\nb\tc", "subjects": [EVIL]})
    assert jimbot("bus", "publish", "knowledge.update", message, "--bus", "embedded:bus.sqlite")[0] == 0
    for more in ((), ("--json",)):
        code, out, _ = jimbot("bus", "replay", "--bus", "embedded:bus.sqlite", *more)
        assert code == 0
        assert len(out.splitlines()) == 1
        assert not [mark for mark in OBEYED if mark in out]


def test_text_styles_tables_and_live_pictures_are_all_made_visible(capsys: pytest.CaptureFixture[str]) -> None:
    console = Terminal(force_terminal=False, width=200)
    table = Table(EVIL, title=EVIL)
    table.add_row(EVIL)
    console.print(EVIL, Text(EVIL, "bold"), table)
    with Live(Text(EVIL), console=console):
        pass
    shown = capsys.readouterr().out
    assert not [mark for mark in OBEYED if mark in shown]
    assert shown.count("[red]") == 6, "brackets are brackets"


def test_log_lines_quote_what_came_in(capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging("INFO").warning("a client sent %s", EVIL)
    assert not [mark for mark in OBEYED if mark in capsys.readouterr().err]


def test_warnings_that_nobody_set_up_are_quoted_too(home: Path, run_jimbot: RunJimbot) -> None:
    """A log line where no logging is set up is printed by Python itself."""
    name = "no\x1b[2Jname"
    model = save_perfect(home / "runs" / name) / "policy.onnx"
    model.write_bytes(model.read_bytes()[:-1])
    said = run_jimbot("evaluate", name).stderr
    assert "Skipping a checkpoint" in said
    assert not [mark for mark in OBEYED if mark in said]


def test_text_without_control_characters_stays_as_it_is() -> None:
    assert visible("Pokémon ♠ 7LB2 – 61 %\n") == "Pokémon ♠ 7LB2 – 61 %\n"
    assert visible("half \ud800") == "half \\ud800"


def test_everything_that_is_shown_goes_through_the_one_console() -> None:
    root = Path(package.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Console":
                found.add(path.relative_to(root).as_posix())
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.echo", "typer.secho"):
                assert path.name in ("terminal.py", "doctor.py"), f"{path}: use terminal.say or terminal.note"
    assert found <= PLACES
