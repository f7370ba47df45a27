"""Terminals that know few characters or have few columns lose no command and nothing vital."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from jimbot.cli.look import screen
from jimbot.games import game_entry, make
from tests.conftest import REPOSITORY, needs

ASCII = """
import shlex, sys
from jimbot.cli.main import run
from jimbot.cli.shared.terminal import use_plain_characters
use_plain_characters()
sys.exit(max(run(shlex.split(line)) for line in sys.argv[1:]))
"""


def test_commands_write_ascii_where_stdout_knows_no_more() -> None:
    lines = ["train --help", "doctor", "seed 7LB2WVPK --antes 1", "seed 7LB2WVPK --antes 1 --json",
             "watch random --game balatro --games 1 --seed 7LB2WVPK"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", ASCII, *lines], capture_output=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    said = done.stdout.decode("ascii")
    assert "Gold 10H" in said
    assert "Gold 10\\u2665" not in said.partition('"seed"')[0]


VITAL = {
    "hackmatrix": ("stage 1/8", "credits", "energy", "programs", "@"),
    "balatro": ("ante 1/8", "Big Blind"),
    "vgc": ("turn 2", "opponent b Tyranitar", "Rock/Dark", "94%", "tera Dragon", "Wugtrio 100%", "Golduck 100%"),
}


@pytest.mark.parametrize("game", VITAL)
@pytest.mark.parametrize(("columns", "rows"), [(40, 20), (80, 14), (80, 24)])
def test_a_small_terminal_shows_whole_words_and_the_whole_board(game: str, columns: int, rows: int) -> None:
    needs(game)
    entry = game_entry(game)
    console = Console(width=columns, height=rows, file=open(os.devnull, "w"), record=True)  # noqa: SIM115
    with closing(make(game, 1, seed=3)) as batch:
        batch.reset()
        for _ in range(3 if game == "vgc" else 0):  # the Pokémon are out then
            batch.step(batch.legal_mask.argmax(axis=1))
        console.print(screen.fitting(console, entry, batch, rows))
    printed = console.export_text()
    assert "…" not in printed
    assert len(printed.splitlines()) <= rows
    assert all(word in printed for word in VITAL[game]), printed


PIPED = {
    "train probe --total-timesteps 512 --num-envs 8 --num-steps 8 --eval-games 4 --no-wandb": "Checkpoint: runs/",
    "evaluate random --game probe --games 4": "random on probe: 4 games",
    "watch random --game probe --games 1 --seed 3": "Game 1 (seed 3): Over, matches ",
    "play probe --seed 3": "Left after 0 turns",
}


def test_in_a_pipe_commands_write_plain_whole_lines(tmp_path: Path) -> None:
    """No colours, no cursor, no line written over; a path is never broken, so that it can be copied."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    for command, printed in PIPED.items():
        done = subprocess.run(
            [sys.executable, "-m", "jimbot", *command.split()], capture_output=True, text=True, timeout=300,
            cwd=tmp_path, env={**environment, "PYTHONPATH": str(REPOSITORY)}, input="q\n",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        said = done.stdout + done.stderr
        assert not {"\x1b", "\r", "\b"} & set(said)
        assert printed in said
