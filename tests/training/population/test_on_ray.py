"""Populations and searches as a user runs them: the real command, a real Ray, killed and interrupted on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.training.population.record import Line, read_lineage
from jimbot.training.trials import turns_of

REPOSITORY = Path(__file__).resolve().parents[3]
SMALL = ("num_envs=16", "num_steps=32", "hidden_dim=32", "log_interval=1", "lr=3e-3", "ent_coef=0.01")
MEMBERS, TURN = 3, 1024
POPULATION = (
    *("train", "probe", "--population", MEMBERS, "--population-interval", TURN, "--population-games", 20),
    *("--eval-games", 20, "--run-name", "people", "--save-interval", 512),
    *(part for setting in SMALL for part in ("--set", setting)),
)
SEARCH = (
    *("tune", "probe", "--trial-steps", 9 * 512, "--games", 20, "--run-name", "search"),
    *(part for setting in SMALL for part in ("--set", setting)),
)
DEADLINE = 900.0

pytestmark = pytest.mark.long


@contextmanager
def jimbot(home: Path, *arguments: object) -> Generator[subprocess.Popen[str]]:
    """The command in a process of its own; whatever is left of it at the end is killed."""
    command = [sys.executable, "-m", "jimbot", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "200"}
    with open(home / "output.txt", "a") as output:
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdout=output, stderr=output, text=True, start_new_session=True
        )
        try:
            yield process
        finally:
            kill_everything(process)


def finished(home: Path, *arguments: object) -> str:
    """Runs the command to its end and returns what it wrote."""
    (home / "output.txt").write_text("")
    with jimbot(home, *arguments) as process:
        code = process.wait(DEADLINE)
    output = (home / "output.txt").read_text()
    assert code == 0, output
    return output


def kill_everything(process: subprocess.Popen[str]) -> None:
    """kill -9 of the command and all that Ray started for it."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    for victim in [process, *family]:
        try:
            victim.kill()
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    process.wait(60)
    psutil.wait_procs(family, 60)


def wait_for(what: Callable[[], Any], process: subprocess.Popen[str], home: Path) -> None:
    end = time.monotonic() + DEADLINE
    while not what():
        assert process.poll() is None, (home / "output.txt").read_text()
        assert time.monotonic() < end, (home / "output.txt").read_text()
        time.sleep(0.05)


def check_history(lines: list[Line], generations: int) -> None:
    assert [(line.generation, line.member) for line in lines] == [
        (generation, member) for generation in range(generations) for member in range(MEMBERS)
    ]
    by_place = {(line.generation, line.member): line for line in lines}
    for line in lines:
        assert line.score is not None
        assert line.step == TURN * (line.generation + 1)
        if line.generation + 1 < generations:
            assert by_place[line.generation + 1, line.member].values == line.next_values
        if line.parent != line.member:
            parent = by_place[line.generation, line.parent]
            assert parent.score is not None
            assert parent.score >= line.score, "the worse goes on from the better"
            assert line.next_values != parent.values, "and is changed"


def test_a_killed_population_goes_on_and_its_best_member_is_an_ordinary_run(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "people"
    command = (*POPULATION, "--total-timesteps", 4 * TURN)
    with jimbot(tmp_path, *command) as process:
        # In the middle of the second generation: one member has finished its turn, another has not.
        wait_for(lambda: len(turns_of(folder / "members" / "0")) >= 2, process, tmp_path)
        kill_everything(process)
    before = read_lineage(folder)
    assert {line.generation for line in before} == {0}
    output = finished(tmp_path, *command)
    assert "Continuing generation 2" in output
    assert "goes on from member" in output
    lines = read_lineage(folder)
    assert lines[: len(before)] == before
    check_history(lines, 4)
    assert sum(line.parent != line.member for line in lines) == 3, "one of three is replaced after all but the last"
    for member in range(MEMBERS):
        assert [turn.until for turn in turns_of(folder / "members" / str(member))] == [TURN * n for n in (1, 2, 3, 4)]
    assert (folder / "lineage.png").read_bytes().startswith(b"\x89PNG")
    assert not (folder / "ray").exists()
    checkpoint = load_checkpoint(find_checkpoint("people", tmp_path / "runs"))
    best = max(lines[-MEMBERS:], key=lambda line: line.score or 0.0)
    assert checkpoint.manifest.step == 4 * TURN
    assert checkpoint.manifest.config["lr"] == best.values["lr"]
    judged = json.loads(finished(tmp_path, "evaluate", "people", "--games", 20, "--json"))
    assert judged

    # More steps, through `resume`, which finds out by itself that it is a population.
    finished(tmp_path, "resume", "people", "--total-timesteps", 5 * TURN)
    check_history(read_lineage(folder), 5)


def test_ctrl_c_ends_a_population_well_and_minutes_do(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "people"
    command = (*POPULATION, "--total-timesteps", 200 * TURN)
    with jimbot(tmp_path, *command) as process:
        wait_for(lambda: len(read_lineage(folder)) >= MEMBERS, process, tmp_path)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to Ray's processes, too
        assert process.wait(DEADLINE) == 0, (tmp_path / "output.txt").read_text()
    output = (tmp_path / "output.txt").read_text()
    assert "Training stopped: stopped by Ctrl+C" in output
    assert not (folder / "stop").exists()
    done = len(read_lineage(folder))
    output = finished(tmp_path, *command, "--minutes", 0.2)
    assert "the 0.2 minutes of this call are over" in output
    assert len(read_lineage(folder)) >= done


def test_a_killed_search_goes_on_and_writes_settings_that_train_takes(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "search"
    trials = folder / "trials"
    with jimbot(tmp_path, *SEARCH, "--trials", 5) as process:
        wait_for(lambda: len(list(trials.glob("*/turns.jsonl"))) >= 2, process, tmp_path)
        kill_everything(process)
    before = json.loads((folder / "search.json").read_text())["proposed"]
    taken = {path: path.read_text() for path in trials.glob("*/turns.jsonl")}
    result = json.loads(finished(tmp_path, *SEARCH, "--trials", 5, "--json"))
    search = json.loads((folder / "search.json").read_text())
    assert search["proposed"][: len(before)] == before
    assert len(search["proposed"]) == len(result["trials"]) == 5
    for path, text in taken.items():
        assert path.read_text().startswith(text), "no turn is taken twice"
    assert any(trial["turns"] == 9 for trial in result["trials"])
    assert any(trial["turns"] < 9 for trial in result["trials"]), "the hopeless are given up"
    best = result["best"]
    finished(tmp_path, "train", "probe", "--config", result["config"], "--total-timesteps", 512, "--eval-games", 0)
    trained = load_checkpoint(find_checkpoint("probe-jax-ppo", tmp_path / "runs")).manifest.config
    assert {name: trained[name] for name in best["values"]} == best["values"]
