"""The pages on games and learners of your own, followed to the letter from an empty folder."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest

from jimbot.cli.main import run
from jimbot.evaluation import evaluate
from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.viewer.http.server import Page
from tests.strangers import stranger_at

PAGES = Path(__file__).resolve().parents[2] / "docs" / "extending"
BLOCK = re.compile(r"```(python|bash|toml)\n(.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger_at(tmp_path, monkeypatch)


def follow(page: str) -> list[str]:
    """Writes the files and runs the commands of a page, in its order; gives the commands."""
    commands = []
    for kind, text in BLOCK.findall((PAGES / page).read_text()):
        if kind == "python":
            name = text.splitlines()[0].removeprefix("# ")
            assert name.endswith(".py"), f"a block of {page} does not say where it is saved: {name}"
            Path(name).write_text(text)
        elif kind == "bash":
            for line in text.splitlines():
                program, *words = shlex.split(line)
                if program == "python":
                    runpy.run_path(words[0], run_name="__main__")
                else:
                    assert (program, run(words)) == ("jimbot", 0), line
                commands.append(line)
    return commands


def test_the_page_on_games_works_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(follow("add-a-game.md")) == 6
    told = capsys.readouterr().out
    assert "The game keeps the contract." in told
    assert "first" in told


def test_the_page_on_networks_works_as_written() -> None:
    assert len(follow("add-a-network.md")) == 5
    assert evaluate("policy.onnx", games=64).games.returns.mean() > 7.5
    assert load_checkpoint(find_checkpoint("mine")).manifest.network["kind"] == "residual"


def test_the_page_on_loss_terms_works_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(follow("add-a-loss-term.md")) == 2
    row = json.loads(Path("runs/careful/metrics.jsonl").read_text().splitlines()[0])
    assert row["train/certain"] >= 0
    assert evaluate("careful", games=64).games.returns.mean() > 7.5
    flags = ["--set", "extensions.nobodys_term=1", "--run-name", "nobody"]
    assert run(["train", "probe", "--total-timesteps", "512", *flags]) == 2
    assert "extension 'nobodys_term'" in " ".join(capsys.readouterr().err.split())


def test_the_page_on_metrics_works_as_written() -> None:
    assert len(follow("add-a-metric.md")) == 2
    rows = [json.loads(line) for line in Path("runs/greedy/metrics.jsonl").read_text().splitlines()]
    shares = [row["train/greedy_share"] for row in rows]
    assert 0 < shares[0] < shares[-1] <= 1, "a policy that learns becomes surer"


def test_the_page_on_bus_messages_works_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow("add-a-bus-message.md") == ["python queue_length.py"]
    assert "{'length': 3.0}" in capsys.readouterr().out


def test_the_page_on_page_tabs_works_as_written(tmp_path: Path) -> None:
    assert run(["train", "probe", "--total-timesteps", "512", "--eval-games", "0", "--run-name", "shown"]) == 0
    follow("add-a-page-tab.md")
    page = Page([Path("runs")])
    page.index.refresh()
    route = runpy.run_path("newest.py")["routes"](page).routes[0]
    assert (route.path, route.endpoint()) == ("/newest", {"runs": ["shown"]})


def test_the_page_on_learners_works_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(follow("add-a-learner.md")) == 4
    assert "imitated" in capsys.readouterr().out
    assert evaluate("imitated", games=64).games.returns.mean() > 7.5, "it must solve probe, as the page demands"
