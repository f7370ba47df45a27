"""`jimbot train` and `jimbot resume` as a user meets them, good input and bad."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from jimbot.cli.learn.train import report
from jimbot.cli.main import run
from jimbot.runs.checkpoint import CheckpointStore, load_checkpoint
from jimbot.training.run import Outcome
from tests.conftest import RunJimbot
from tests.reading import hostile
from tests.training.small import SMALL

FLAGS = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "game"]
UPDATE = SMALL["num_envs"] * SMALL["num_steps"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("trained") / "runs"
    assert run(["train", "probe", *FLAGS, "--runs-dir", str(root)]) == 0
    return root


@pytest.fixture
def trained(trained_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run, in a folder of the test's own that is also the working directory."""
    shutil.copytree(trained_once, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs" / "probe-jax-ppo"


def test_a_run_leaves_everything_a_user_expects(trained: Path) -> None:
    config = yaml.safe_load((trained / "config.yaml").read_text())
    assert config["num_envs"] == SMALL["num_envs"]
    rows = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [2 * UPDATE, 4 * UPDATE, 6 * UPDATE]
    for name in ("train/entropy", "train/approx_kl", "train/clip_frac", "train/pg_loss", "train/value_loss",
                 "train/explained_variance", "train/mean_reward", "train/num_episodes", "train/mean_episode_return",
                 "train/mean_episode_length", "reward/match", "stats/matches", "speed/steps_per_second",
                 "speed/simulate_share", "speed/learn_share", "health/illegal_actions", "health/rss_mb",
                 "health/entropy_collapse"):  # fmt: skip
        assert name in rows[-1], name
    assert rows[-1]["health/illegal_actions"] == 0
    assert list((trained / "tensorboard").glob("*tfevents*"))
    latest = CheckpointStore(trained / "checkpoints").latest()
    assert latest is not None
    assert {path.name for path in latest.iterdir()} == {
        "manifest.json",
        "policy.onnx",
        f"params_{6 * UPDATE}.npz",
        "state",
    }
    assert load_checkpoint(latest).manifest.metrics["train/mean_episode_return"] > 0


def test_a_finished_run_says_so_and_resume_takes_it_further(trained: Path, capsys: Capture) -> None:
    assert run(["train", "probe", *FLAGS]) == 0
    assert f"all {6 * UPDATE:,} steps are done" in capsys.readouterr().err
    assert run(["resume", "probe-jax-ppo", f"--total-timesteps={8 * UPDATE}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["step"] == 8 * UPDATE


def test_another_setting_on_the_same_run_is_refused_and_fresh_keeps_the_old_run(trained: Path, capsys: Capture) -> None:
    assert run(["train", "probe", *FLAGS, "--gamma=0.5"]) == 2
    assert "was started with gamma 0.99, now it is 0.5. Use --fresh" in capsys.readouterr().err
    assert run(["train", "probe", *FLAGS, "--gamma=0.5", "--fresh"]) == 0
    assert len(list(trained.parent.glob("probe-jax-ppo.old-*"))) == 1


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_the_last_good_checkpoint(
    trained: Path, capsys: Capture
) -> None:
    """The run is taken up with a learning rate that breaks it; what was saved before stays the newest."""
    config = trained / "config.yaml"
    config.write_text(config.read_text().replace("lr: 0.003", "lr: 1.0e+30"))
    assert run(["resume", "probe-jax-ppo", f"--total-timesteps={20 * UPDATE}"]) == 1
    sentence = capsys.readouterr().err
    assert "is not a finite number; training stopped and the last good checkpoint is" in sentence
    assert "of update" in sentence
    latest = CheckpointStore(trained / "checkpoints").latest()
    assert latest is not None
    assert load_checkpoint(latest).manifest.step == 6 * UPDATE


def test_collapse_ends_the_run_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--log-interval=1", "--total-timesteps=10000000", "--stop-on-collapse"]
    assert run(["train", "probe", *FLAGS, *flags]) == 0
    said = capsys.readouterr().err
    assert "Entropy has collapsed" in said
    assert "Training stopped: entropy collapsed" in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "prob"], "Unknown game 'prob'. Did you mean 'probe'"),
        (["train", "probe", "--learner", "jaxx"], "Unknown learner 'jaxx'. Did you mean 'jax'"),
        (["train", "probe", "--algorithm", "SAC"], "Unknown algorithm 'SAC'"),
        (["train", "probe", "--set", "num_env=4"], "Unknown setting 'num_env'. Did you mean 'num_envs'"),
        (
            ["train", "probe", "--option", "horizont=4"],
            "Unknown option of game probe 'horizont'. Did you mean 'horizon'",
        ),
        (["train", "probe", "--option", "horizon=0"], "horizon is 0; expected 1 to 64"),
        (["train", "probe", "--num-envs", "0"], "num_envs is 0"),
        (["train", "probe", "--num-envs", "ten"], "ten"),
        (["train", "probe", "--num-minibatches", "7"], "does not divide the batch"),
        (["train", "probe", "--config", "none.yaml"], "There is no settings file 'none.yaml'"),
        (["train", "probe", "--resume", "nowhere"], "nowhere"),
        (["train", "probe", "--init-from", "hackmatrix"], "The game of checkpoint"),
        (["train", "balatro", "--option", "deck=purple"], "purple"),
        (["train", "probe", "--num-envs", "10000000000"], "num_envs is 10000000000"),
        (["train", "probe", "--num-envs", "9" * 5000], "num_envs"),
        (["train", "probe", "--set", "lr=.inf"], "lr is inf"),
        (["train", "probe", "--set", "lr=.nan"], "lr is nan"),
        (["train", "probe", "--set", "lr=2023-13-45"], "--set lr cannot be read"),
        (["train", "probe", "--set", "lr=!!int foo"], "--set lr cannot be read"),
        (["train", "probe", "--set", 'run_name="a\\0b"'], "--set run_name cannot be read"),
        (["train", "probe", "--run-name", "a\udcff"], "Run name"),
        (["train", "probe", "--run-name", "x" * 300], "Run name"),
        (["train", "probe\udcff"], "cannot be used"),
        (["train", "probe", "--set", "lr=1e-3", "--set", "lr.x=1"], "--set gives lr a value and lr.x one inside it"),
        (["train", "probe", "--set", "game_options.horizon=4", "--set", "game_options=3"], "names inside it others"),
        (["train", "probe", "--option", "horizon=!!int x"], "--option horizon cannot be read"),
        (["train", "probe", "--network", "board"], "needs a game with a board"),
        (["resume", "nowhere"], "There is no run 'nowhere'"),
        (["bench", "lerner"], "Unknown benchmark 'lerner'. Did you mean 'learner'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.glob("runs/*")), "a refused command leaves no run behind"


def test_bad_input_of_the_real_command_shows_no_traceback(run_jimbot: RunJimbot) -> None:
    done = run_jimbot("train", "prob")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Unknown game 'prob'.")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", hostile.YAML.values(), ids=hostile.YAML.keys())
def test_settings_files_that_break_yaml_are_one_sentence(text: str, tmp_path: Path, capsys: Capture) -> None:
    path = hostile.written(tmp_path, "mine.yaml", text)
    assert run(["train", "probe", "--config", str(path), "--runs-dir", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err
    assert "mine.yaml" in said
    assert len(said.splitlines()) == 1


def test_a_run_whose_checkpoints_are_all_damaged_does_not_start_at_zero(trained: Path, capsys: Capture) -> None:
    for policy in trained.glob("checkpoints/*/policy.onnx"):
        policy.write_bytes(b"damaged")
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file() and path.name != "lock"}
    longer = [*FLAGS, "--total-timesteps=100000"]
    assert run(["train", "probe", *longer]) == 2
    assert "all are damaged" in capsys.readouterr().err
    kept = {path: path.read_bytes() for path in before if path.name not in ("config.yaml",)}
    assert kept.items() <= before.items()


def test_after_going_back_best_is_on_the_line_that_goes_on(trained: Path, capsys: Capture) -> None:
    flags = [*FLAGS, "--run-name=saved", "--save-interval=1", "--keep-last=9"]
    assert run(["train", "probe", *flags]) == 0
    store = CheckpointStore(trained.with_name("saved") / "checkpoints")
    first, last = store.paths()[0], store.paths()[-1]
    store.mark_best(last)
    step = load_checkpoint(first).manifest.step
    manifest = json.loads((last / "manifest.json").read_text())
    manifest["metrics"]["train/mean_episode_return"] = 1000.0  # nothing on the new line will beat it
    (last / "manifest.json").write_text(json.dumps(manifest))
    assert run(["train", "probe", *flags, f"--total-timesteps={step + UPDATE}", "--resume", str(first)]) == 0
    best = store.best()
    assert best is not None
    assert load_checkpoint(best).manifest.step <= step + UPDATE


def test_a_checkpoint_of_another_network_is_refused(trained: Path, capsys: Capture) -> None:
    wide = [flag for flag in FLAGS if "hidden-dim" not in flag]
    assert run(["train", "probe", *wide, "--hidden-dim=48", "--run-name=b", "--resume", str(trained)]) == 2
    assert "is of network mlp [32, 32]; this run uses mlp [48, 48]" in capsys.readouterr().err


def test_a_run_directory_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    assert run(["train", "probe", *FLAGS, "--runs-dir", "file"]) == 2
    assert "file" in capsys.readouterr().err


def test_naming_a_project_records_offline_with_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["train", "probe", *FLAGS, "--project=mine", "--no-artifact"]) == 0
    assert list((tmp_path / "runs/probe-jax-ppo/wandb").glob("offline-run-*/*.wandb"))
    assert run(["train", "probe", *FLAGS, "--project=mine", "--no-wandb", "--run-name=quiet"]) == 0
    assert not (tmp_path / "runs/quiet/wandb").exists()


def test_training_ends_with_a_verdict_and_what_to_type_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["train", "probe", *FLAGS, "--eval-games=16"]) == 0
    said = capsys.readouterr().out
    assert "return" in said
    assert "jimbot watch probe-jax-ppo" in said


@pytest.mark.parametrize(("game", "compared"), [("balatro", True), ("probe", False)])
def test_the_end_says_what_to_type_next(game: str, compared: bool, tmp_path: Path, capsys: Capture) -> None:
    report(Outcome("mine", 4096, tmp_path, {}, None), game, tmp_path, as_json=False)
    said = capsys.readouterr().out
    for command in ("watch", "analyze", "resume", "evaluate", "export"):
        assert f"jimbot {command} " in said
    assert f"jimbot resume mine --runs-dir {tmp_path} --minutes 30" in said
    assert ("jimbot compare" in said) == compared, "only where a policy comes with JimBot"
