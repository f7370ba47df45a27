"""Pages are run from top to bottom, each in an empty folder: what they tell works, and prints what they say it prints.

`make test` runs all code in Python and the commands whose output a page shows; `make test-long` all other commands,
with small numbers, and mostly with the smallest game: flags, settings and options for the game itself are checked by
`test_commands.py`.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jimbot.cli import main
from jimbot.training.experiment import load_experiments
from jimbot.training.settings.layers import resolve
from jimbot.training.settings.record import read_yaml
from tests.docs.commands import Line, is_shell, of_block
from tests.docs.pages import PAGES, REPOSITORY, Block, blocks, name

NOT_RUN = {
    r"git clone|pip install": "needs a network",
    r"make (?!train)": "what runs these tests",
    r"make train": "a virtual environment of its own; the command in it is jimbot train",
    r"\.ci/run": "what runs these tests",
    r"cd jimbot|source |^export ": "a shell's own",
    r"pre-commit": "writes into the repository; tests/contracts/test_habits.py looks at the hooks",
    r"jimbot play (?!.*--server)": "waits for keys; tests/cli/test_play.py presses them",
    r"--server": "needs a server; tests/games/vgc/ starts one",
    r"--address|--cluster": "needs a cluster; tests/training/ray/ starts one",
    r"jimbot record vgc --replays": "needs replays; tests/training/imitation/test_replays.py makes some",
    r"jimbot bench (?!balatro)": "minutes each even when short; tests of each part stand beside it",
    r"jimbot soak": "kills itself for minutes; tests/training/test_soak.py is its short form",
    r"jimbot host balatro": "waits for clients; tests/services/test_live_host.py is one",
    r"jimbot verify balatro (live/|requests)": "needs a recording; tests/games/balatro/test_verify_live.py makes some",
    r"jimbot host events": "waits for mods; tests/services/test_events_in.py pushes like one",
    r"jimbot ui": "waits for a browser; tests/viewer/ has one",
    r"jimbot graph build": "minutes of measuring; tests/knowledge/test_build.py measures little",
    r"--graph-embeddings": "Balatro only; tests/training/test_graph_tables.py trains",
    r"jimbot serve": "waits for callers; tests/services/test_grpc_server.py calls",
    r"jimbot ask|grpc://": "needs a service; tests/services/test_grpc_server.py starts some",
    r"jimbot bus tail": "waits for events; tests/cli/test_bus.py publishes some",
    r"--from-bus|told\.npz": "needs games on a bus; tests/cli/test_bus.py plays some",
    r"jimbot up": "starts everything; tests/services/test_stack.py starts what is quick",
    r"jimbot mcp": "waits for an assistant; tests/services/test_mcp.py is one",
    r"jimbot setup": "needs a network; tests/conftest.py calls what is behind it",
}
"""Commands that are not run on the pages, and why. They are read by the parser all the same."""

SMALLER = [
    (
        r"^(jimbot (?:train|tune|record|clone|resume|export) (?!.*configs/).*)",
        lambda found: re.sub(r"hackmatrix|balatro", "probe", found[1]),
    ),
    (r"(evaluate|compare|analyze|watch) (\w+)-jax-ppo", r"\1 probe-jax-ppo"),
    (r"heuristic --game hackmatrix --games 500$", "random --game probe --games 4"),
    (r"--teacher heuristic", "--teacher random"),
    (r"--policy heuristic", "--policy random --output probe-heuristic.npz"),
    (r"checkpoints/\d+", "checkpoints/000000000128"),
    (r"--(games|num-envs|batch-size|buffer-size|population-interval) \d+", r"--\1 8"),
    (r"--(epochs|episodes|limit|trials|population) \d+", r"--\1 2"),
    (r"--minutes \d+|--total-timesteps \d+", ""),
]
"""What makes a command small, in this order."""

TRAINING = "--total-timesteps 128 --num-envs 8 --num-steps 8 --num-minibatches 2 --eval-games 4 --no-wandb --fresh"
ADDED = {
    "train": TRAINING,
    "evaluate": "--games 4",
    "analyze": "--games 4",
    "watch": "--speed 1000 --games 1",
    "tune": "--games 2 --trial-steps 128 --fresh",
}
BEFORE: dict[str, list[str]] = {
    "docs/judging/analyze.md": [f"jimbot train probe --run-name my-run {TRAINING}"],
    "docs/start/watch-and-play.md": [f"jimbot train probe --run-name my-run {TRAINING}"],
}
"""What a page takes for granted."""

STANDING_FOR = {
    "docs/games/vgc.md": {"my-run": "vgc", "other-run": "heuristic"},
    "docs/judging/evaluate.md": {"my-run": "balatro"},
    "docs/start/watch-and-play.md": {
        "vgc my-run": "vgc vgc",
        "params_3276800.npz": str(next(REPOSITORY.glob("jimbot/pretrained/hackmatrix/params_*.npz"))),
    },
}
"""Policies in the box, where a page speaks of runs of a large game."""

NUMBERS = {
    "200_000": "128\nconfig.n_envs, config.hyperparams.algorithm_specific = 4, {'n_steps': 32, 'batch_size': 32}",
    "games=1000": "games=8",
    "games=500": "games=8",
    "evaluate(100)": "evaluate(4)",
    '"my-run"': '"balatro"',
}
"""The same for code in Python."""

HEAVY = {
    "docs/operations/cluster.md": "imports Ray and RLlib",
    "docs/learners/replay.md": "imports Ray and RLlib",
}
ELSEWHERE = {
    "docs/extending/add-a-game.md": "tests/documents/test_extending_pages.py writes its files and runs its commands",
    "docs/extending/add-a-learner.md": "the same",
    "docs/extending/add-a-network.md": "the same",
    "docs/extending/add-a-loss-term.md": "the same",
    "docs/extending/add-a-metric.md": "the same",
    "docs/extending/add-a-bus-message.md": "the same",
    "docs/extending/add-a-page-tab.md": "the same",
    "docs/operations/serve.md": "needs a server; tests/services/ starts them",
    "docs/operations/bus.md": "the same",
}
"""Pages whose Python is run by other tests; here it is compiled, and what it imports is imported."""
OWN_FOLDER = {page for page in ELSEWHERE if page.startswith("docs/extending/")}
"""Pages whose commands, too, are run by those tests: they are about files the reader writes."""
PREPARED = {
    "docs/learners/replay.md": "from ray.rllib.algorithms.dqn import DQNConfig\nfrom jimbot.games import game_entry\n"
    "config, spec = DQNConfig(), game_entry('balatro').spec"
}
"""Names that code on a page is given."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with what the repository has beside the package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    for kept in ("tests", "configs", "examples"):
        (tmp_path / kept).symlink_to(REPOSITORY / kept)
    return tmp_path


def plain(text: str) -> str:
    return " ".join(text.split())


def assert_shown(place: str, shown: list[str] | tuple[str, ...], printed: str) -> None:
    """Every line of an output on a page was printed; `…` stands for any."""
    there = {plain(line) for line in printed.splitlines()}
    missing = [line for line in shown if plain(line) and "…" not in line and plain(line) not in there]
    assert not missing, f"{place} shows lines that were not printed:\n" + "\n".join(missing) + f"\n--- but:\n{printed}"


def run_python(block: Block, known: dict[str, object]) -> None:
    text = block.text
    for number, small in NUMBERS.items():
        text = text.replace(number, small)
    exec(compile("\n" * block.line + text, block.page, "exec"), known)


def imports_work(block: Block) -> None:
    tree = compile(block.text, block.page, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    ours = [node for node in tree.body if isinstance(node, ast.ImportFrom) and str(node.module).startswith("jimbot")]
    exec(compile(ast.Module(ours, []), block.page, "exec"), {})


def smaller(line: Line) -> str:
    text = line.text
    for run, policy in STANDING_FOR.get(line.place.split(":")[0], {}).items():
        text = text.replace(run, policy)
    for pattern, small in SMALLER:
        text = re.sub(pattern, small, text)
    return f"{text} {ADDED.get(line.words[1], '')}" if line.program == "jimbot" else text


def run_command(line: Line) -> None:
    text = line.text if line.output else smaller(line)
    words = Line(line.place, text).words
    if line.program == "jimbot":
        assert main.run(words[1:]) == 0, f"{line.place}: {text}"
    else:
        words[0] = sys.executable if line.program == "python" else line.program
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line.place}: {text}\n{done.stderr}"


def check_yaml(block: Block) -> None:
    """A file named in its first line is kept for the commands; settings are resolved."""
    titled = re.match(r"# (\S+\.yaml)\n", block.text)
    path = Path(titled[1] if titled else "settings.yaml")
    path.write_text(block.text)
    if "experiments:" in block.text:
        assert load_experiments(path)
    else:
        assert resolve({"game": "probe", **read_yaml(path)}, {}, {}).settings.game == "probe"


def is_run(line: Line) -> bool:
    return not any(re.search(pattern, line.text) for pattern in NOT_RUN)


def has(page: Path, *languages: str) -> bool:
    return any(block.language in languages or (is_shell(block) and "shell" in languages) for block in blocks(page))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.long] if name(page) in HEAVY else [])
        for page in PAGES
        if has(page, "python", "yaml", "console")
    ],
    ids=name,
)
def test_code_runs_and_prints_what_the_page_shows(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, object] = {"__name__": "page"}
    exec(PREPARED.get(name(page), ""), known)
    printed = ""
    for block in blocks(page):
        if block.language == "python" and name(page) in ELSEWHERE:
            imports_work(block)
        elif block.language == "python":
            capsys.readouterr()
            run_python(block, known)
            printed = capsys.readouterr().out
        elif block.language == "text" and printed:
            assert_shown(block.place, block.text.splitlines(), printed)
            printed = ""
        elif block.language == "yaml":
            check_yaml(block)
        elif block.language == "console":
            for line in of_block(block):
                capsys.readouterr()
                run_command(line)
                assert_shown(line.place, line.output, capsys.readouterr().out)


@pytest.mark.long
@pytest.mark.parametrize(
    "page", [page for page in PAGES if has(page, "shell") and name(page) not in OWN_FOLDER], ids=name
)
def test_commands_run(page: Path, folder: Path) -> None:
    for text in BEFORE.get(name(page), []):
        assert main.run(Line("before", text).words[1:]) == 0
    for block in blocks(page):
        if block.language == "yaml":
            check_yaml(block)
        elif is_shell(block) and block.language != "console":
            for line in of_block(block):
                if is_run(line):
                    run_command(line)


def test_every_reason_is_still_needed() -> None:
    lines = [line.text for page in PAGES for block in blocks(page) if is_shell(block) for line in of_block(block)]
    assert not [pattern for pattern in NOT_RUN if not any(re.search(pattern, line) for line in lines)]
