"""`jimbot runs`: the list of runs, and what may be done to one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jimbot.cli.main import run as jimbot
from jimbot.cli.shared.common import complete_policy, complete_run
from jimbot.errors import CheckpointError, StorageError, UsageError
from jimbot.runs import catalogue
from jimbot.runs.directory import RunDirectory
from tests.cli.making import save_perfect

INTERVAL = {"mean": 0.198, "low": 0.174, "high": 0.224}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    for name, steps in (("one", (1000, 2000, 3000)), ("it's two", (500,))):
        with RunDirectory(root, name).open_or_create() as run:
            run.write_config({"game": "probe", "learner": "jax", "algorithm": "PPO"})
            for step in steps:
                save_perfect(run.path, step=step)
            run.metrics_path.write_text(json.dumps({"step": 100, "train/mean_episode_return": 3.5}) + "\n")
    return root


def test_a_list_says_what_each_run_is(runs: Path) -> None:
    found = {one.name: one for one in catalogue.list_runs(runs)}
    one = found["one"]
    assert (one.game, one.learner, one.algorithm, one.step, one.live) == ("probe", "jax", "PPO", 3000, None)
    assert str(one.best) == "return 3.50"
    assert one.size > 1000
    assert catalogue.list_runs(runs / "nowhere") == []


def test_a_judged_run_shows_its_figure_with_the_interval(runs: Path) -> None:
    with RunDirectory(runs, "one").open_or_create() as run:
        catalogue.store_evaluation(run, {"win_rate": INTERVAL, "mean_return": INTERVAL}, 3000)
    assert str(catalogue.summary(runs, "one").best) == "won 19.8 % (17.4–22.4)"
    no_win = {"mean": 0.0, "low": 0.0, "high": 0.1}
    never = {"win_rate": no_win, "ladder": {"stat": "stage"}, "stats": {"stage": INTERVAL}}
    assert str(catalogue.headline(never)) == "stage 0.20 (0.17–0.22)"


def test_a_run_that_is_being_written_is_live_and_left_alone(runs: Path) -> None:
    with RunDirectory(runs, "one").open_or_create():
        assert catalogue.summary(runs, "one").live is not None
        for change in (lambda: catalogue.delete_run(runs, "one"), lambda: catalogue.rename_run(runs, "one", "new"),
                       lambda: catalogue.prune_run(runs, "one")):  # fmt: skip
            with pytest.raises(StorageError, match="is being written by process"):
                change()
    assert catalogue.summary(runs, "one").live is None
    assert catalogue.summary(runs, "one").step == 3000


def test_runs_are_renamed_and_deleted_with_their_checkpoints_elsewhere(runs: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "big disk"
    with RunDirectory(runs, "far").open_or_create(checkpoint_dir=elsewhere) as run:
        save_perfect(run.path)
    catalogue.rename_run(runs, "far", "farther")
    assert catalogue.summary(runs, "farther").step == 1000
    assert [path.name for path in elsewhere.iterdir()] == ["farther"]
    with pytest.raises(UsageError, match="There is a run 'one'"):
        catalogue.rename_run(runs, "farther", "one")
    catalogue.delete_run(runs, "farther")
    assert list(elsewhere.iterdir()) == []
    with pytest.raises(CheckpointError, match=r"There is no run 'farther' .*one"):
        catalogue.delete_run(runs, "farther")


def test_pruning_keeps_the_newest_and_the_best(runs: Path) -> None:
    store = RunDirectory(runs, "one").checkpoints()
    store.mark_best(store.paths()[0])
    gone, gained = catalogue.prune_run(runs, "one")
    assert [path.name[-4:] for path in gone] == ["2000"]
    assert gained > 1000
    assert [path.name[-4:] for path in catalogue.details(runs, "one").checkpoints] == ["1000", "3000"]


def test_tags_are_added_and_taken_away(runs: Path) -> None:
    assert catalogue.tag_run(runs, "one", ("good", "paper", "good")) == ("good", "paper")
    assert catalogue.tag_run(runs, "one", remove=("good",)) == ("paper",)
    with pytest.raises(UsageError, match="cannot be used"):
        catalogue.tag_run(runs, "one", ("two words",))


def test_the_commands(runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    where = ["--runs-dir", str(runs)]
    monkeypatch.setenv("COLUMNS", "80")
    assert jimbot(["runs", *where]) == 0
    shown = capsys.readouterr().out
    assert "it's two" in shown
    assert "3 k" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert jimbot(["runs", *where, "--json"]) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)} == {"one", "it's two"}
    assert jimbot(["runs", "show", "one", *where]) == 0
    assert "jimbot watch" in capsys.readouterr().out
    assert jimbot(["runs", "tag", "one", "good", *where]) == 0
    assert jimbot(["runs", *where, "--tag", "good", "--json"]) == 0
    assert [one["tags"] for one in json.loads(capsys.readouterr().out.split("\n", 1)[1])] == [["good"]]
    assert jimbot(["runs", "prune", "one", "--yes", *where]) == 0
    assert jimbot(["runs", "rename", "one", "uno", *where]) == 0
    assert jimbot(["runs", "delete", "uno", "--yes", *where]) == 0
    assert [one.name for one in catalogue.list_runs(runs)] == ["it's two"]


def test_deleting_asks_first(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.confirm", lambda text: False)
    assert jimbot(["runs", "delete", "one", "--runs-dir", str(runs)]) == 130
    assert catalogue.summary(runs, "one").step == 3000


def test_tab_offers_runs_and_games(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs.parent)
    assert complete_run(None, "on") == ["one"]
    assert "balatro" in complete_policy(None, "")
    assert "one" in complete_policy(None, "")


def test_of_a_link_to_a_run_only_the_link_is_deleted(runs: Path, tmp_path: Path) -> None:
    (runs / "link").symlink_to(runs / "one", target_is_directory=True)
    catalogue.delete_run(runs, "link")
    assert sorted(path.name for path in runs.iterdir()) == ["it's two", "one"]
    assert catalogue.summary(runs, "one").step == 3000


def test_checkpoints_that_lead_to_a_folder_of_somebody_else_stay(runs: Path, tmp_path: Path) -> None:
    letters = tmp_path / "letters"
    letters.mkdir()
    (letters / "dear.txt").write_text("dear")
    with RunDirectory(runs, "copied").open_or_create() as run:
        run.checkpoints_path.rmdir()
        run.checkpoints_path.symlink_to(letters, target_is_directory=True)
    catalogue.delete_run(runs, "copied")
    assert not (runs / "copied").exists()
    assert [path.name for path in letters.iterdir()] == ["dear.txt"]
