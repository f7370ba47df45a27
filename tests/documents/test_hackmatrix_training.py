"""HackMatrix's training reference: its flags, defaults, figures and commands, as its users know them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jimbot.cli.main import run
from jimbot.games.contract import game_entry
from jimbot.runs.checkpoint import CheckpointStore
from jimbot.training.settings.layers import resolve
from jimbot.training.settings.record import DEFAULTS, TrainSettings
from tests.training.small import SMALL

UPDATE = SMALL["num_envs"] * SMALL["num_steps"]

DOCUMENTED = {
    "num_envs": 256, "num_steps": 128, "total_timesteps": 10_000_000, "lr": 2.5e-4, "gamma": 0.99, "gae_lambda": 0.95,
    "num_minibatches": 4, "update_epochs": 4, "clip_eps": 0.2, "vf_coef": 0.5, "max_grad_norm": 0.5, "num_layers": 2,
    "log_interval": 10, "no_wandb": False, "save_interval_minutes": 10.0, "save_interval": None, "no_artifact": False,
    "rewind": False, "batch": "fitted",
}  # fmt: skip
"""The page's defaults. Others (entropy 0.15, hidden 256, the seed, W&B's names) are in the tests below."""
PRESET = {"lr": 1e-3, "gamma": 0.995, "num_minibatches": 16, "ent_coef": 0.01, "seed": 0, "anneal_lr": True}
"""Where HackMatrix's preset differs, and why: docs/games/hackmatrix.md."""

REWARDS = (
    "step_penalty", "stage_completion", "score_gain", "kills", "data_siphon", "distance_shaping", "victory",
    "death_penalty", "resource_gain", "resource_holding", "damage_penalty", "hp_recovery", "siphon_quality",
    "siphon_death_penalty", "program_waste",
)  # fmt: skip


def test_the_defaults_are_the_documented_ones_but_for_the_preset(started: list[TrainSettings]) -> None:
    assert {name: DEFAULTS[name] for name in DOCUMENTED} == DOCUMENTED
    assert run(["train", "hackmatrix", "--json"]) == 0
    expected = DOCUMENTED | PRESET
    assert {name: started[0][name] for name in expected} == expected


def test_the_common_options_are_taken_as_they_are(started: list[TrainSettings]) -> None:
    command = """train hackmatrix --total-timesteps 1000000000 --num-envs 2048 --num-steps 128 --lr 6.25e-5
        --ent-coef 0.15 --log-interval 5 --checkpoint-dir checkpoints --json"""
    assert run(command.split()) == 0
    settings = started[0]
    assert (settings.total_timesteps, settings.num_envs, settings.num_steps) == (10**9, 2048, 128)
    assert (settings.ppo.lr, settings.ppo.ent_coef, settings.log_interval) == (6.25e-5, 0.15, 5)
    assert settings.saving.checkpoint_dir == Path("checkpoints")
    assert (settings.ppo.num_minibatches, settings.ppo.update_epochs, settings.gradient_steps) == (32, 2, 64)


def test_every_flag_of_the_tables_is_there(started: list[TrainSettings]) -> None:
    command = """train hackmatrix --gamma 0.9 --gae-lambda 0.8 --num-minibatches 8 --update-epochs 3 --clip-eps 0.1
        --vf-coef 0.4 --max-grad-norm 1 --hidden-dim 64 --num-layers 3 --network mlp --no-wandb --project hackmatrix
        --entity my-team --run-name mine --run-suffix two --save-interval-minutes 5 --save-interval 1000 --no-artifact
        --rewind --seed 7 --json"""
    assert run(command.split()) == 0
    settings = started[0]
    assert (settings.network.hidden_dim, settings.network.num_layers, settings.seed) == (64, 3, 7)
    assert (settings.tracking.project, settings.tracking.entity) == ("hackmatrix", "my-team")
    assert (settings.saving.run_name, settings.saving.run_suffix) == ("mine", "two")


def test_names_of_the_older_script_mean_the_same(started: list[TrainSettings]) -> None:
    command = "train hackmatrix --learner sb3 --timesteps 100000000 --save-freq 50000 --no-wandb --json"
    assert run(command.split()) == 0
    assert (started[0].total_timesteps, started[0].saving.save_interval) == (100_000_000, 50_000)


def test_twice_the_epochs_are_half_the_rate_where_nobody_chose_one() -> None:
    once, twice = (resolve({"game": "probe", "num_envs": 2048, "update_epochs": epochs}).settings for epochs in (2, 4))
    assert twice.ppo.lr == pytest.approx(once.ppo.lr / 2)


def test_rewards_actions_and_statistics_have_the_documented_names() -> None:
    spec = game_entry("hackmatrix").spec
    assert spec.reward_terms == REWARDS
    assert [block.name for block in spec.actions.blocks] == ["move", "siphon", "program"]
    assert "highest_stage" in spec.episode_stats


def test_resume_continues_the_run_it_lies_in_and_the_agent_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = [f"--set={name}={value}" for name, value in SMALL.items() if name != "game"] + ["--network", "mlp"]
    assert run(["train", "probe", *small, "--timesteps", str(2 * UPDATE), "--run-name", "run-name"]) == 0
    first = CheckpointStore(Path("runs/run-name/checkpoints")).latest()
    assert first is not None
    params = first / f"params_{2 * UPDATE}.npz"
    assert params.is_file()
    # The run, its settings and its game come from the path.
    assert run(["train", "probe", "--resume", str(params), "--timesteps", str(4 * UPDATE)]) == 0
    assert CheckpointStore(Path("runs/run-name/checkpoints")).latest() != first
    assert sorted(path.name for path in Path("runs").iterdir()) == ["run-name"]
    assert run(["train", "probe", "--resume", str(first), "--lr", "1"]) == 2
    assert "Run 'run-name' was started with lr 0.003, now it is 1.0" in " ".join(capsys.readouterr().err.split())

    assert run(["watch", str(params), "--episodes", "2"]) == 0
    assert run(["watch", "--model", str(params), "--episodes", "1", "--hidden-dim", "32", "--num-layers", "2"]) == 0
    assert run(["watch", "probe", "--model", str(params), "--episodes", "1"]) == 0
    assert run(["watch", "--latest", "--episodes", "1"]) == 0
    capsys.readouterr()
    assert run(["watch", str(params), "--hidden-dim", "256"]) == 2
    assert "--hidden-dim is 256" in capsys.readouterr().err


def test_the_block_of_its_sb3_trainer_is_a_file(started: list[TrainSettings]) -> None:
    config = Path(__file__).resolve().parents[2] / "configs" / "hackmatrix_sb3.yaml"
    assert run(["train", "hackmatrix", "--learner", "sb3", "--config", str(config)]) == 0
    settings = started[-1]
    ppo = settings.ppo
    assert (ppo.lr, settings.num_steps, settings.minibatch_size, ppo.update_epochs) == (3e-4, 2048, 64, 10)
    assert (settings.gamma, ppo.gae_lambda, ppo.clip_eps, ppo.ent_coef) == (0.99, 0.95, 0.2, 0.1)
    assert (ppo.anneal_lr, ppo.target_kl) == (False, 0.0)
