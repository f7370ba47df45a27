"""VGC's training page: its commands, options, hyperparameters and troubleshooting, as its users know them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from jimbot.cli.main import run
from jimbot.games.contract import game_entry
from jimbot.logs import log_level
from jimbot.training.framework import create_trainer
from jimbot.training.settings.record import TrainSettings
from tests.training.small import SMALL


def trained(started: list[TrainSettings], flags: str) -> TrainSettings:
    assert run(["train", "vgc", "--json", *flags.split()]) == 0
    return started[-1]


def test_2025_joint_orders_come_first_in_the_table_of_actions() -> None:
    first = game_entry("vgc").spec.actions.blocks[0]
    assert (first.name, len(first.labels)) == ("order", 2025)


def test_the_documented_hyperparameters_are_the_preset(started: list[TrainSettings]) -> None:
    settings = trained(started, "--num-workers 4")
    assert settings.game_options["workers"] == 4
    assert (settings.gamma, settings.ppo.gae_lambda, settings.ppo.update_epochs) == (0.99, 0.95, 10)
    assert (settings.ppo.num_minibatches, settings.ppo.clip_eps) == (32, 0.2)
    assert (settings.ppo.ent_coef, settings.ppo.vf_coef, settings.ppo.lr) == (0.01, 0.5, 3e-4)
    places = settings.num_envs * settings.num_steps
    assert places == 2048, "the documented buffer, in battles × steps"


def test_the_commands_of_the_page_are_taken_as_they_are(started: list[TrainSettings]) -> None:
    cloned = trained(started, "--num-workers 4 --bc-model data/models/your_bc_model.pt --lr 1e-4")
    assert (cloned.start.bc_model, cloned.ppo.lr) == ("data/models/your_bc_model.pt", 1e-4)
    custom = trained(
        started,
        "--num-workers 6 --buffer-size 4096 --battle-format gen9vgc2023regulationc --checkpoint-dir ./my_checkpoints "
        "--lr 3e-4",
    )
    assert custom.game_options == {"workers": 6, "format": "gen9vgc2023regulationc"}
    assert (custom.num_envs * custom.num_steps, custom.saving.checkpoint_dir) == (4096, Path("my_checkpoints"))
    small = trained(started, "--num-workers 4 --buffer-size 1024 --checkpoint-dir /mnt/c/checkpoints")
    assert small.num_envs * small.num_steps == 1024


@pytest.mark.parametrize("places", [512, 1024, 2048, 4096])
def test_every_documented_buffer_gives_minibatches_of_the_usual_size(places: int, started: list[TrainSettings]) -> None:
    usual, chosen = trained(started, ""), trained(started, f"--num-workers 4 --buffer-size {places}")
    assert chosen.batch_size == places
    assert chosen.minibatch_size == usual.minibatch_size == 64
    assert usual.batch_size == 2048, "the documented default"


def test_tips_for_little_memory_are_flags(started: list[TrainSettings]) -> None:
    settings = trained(started, "--num-workers 2 --buffer-size 512 --share file_system --memory-limit-gb 2")
    assert (settings.memory.share, settings.memory.limit_gb) == ("file_system", 2)
    assert settings.num_envs * settings.num_steps == 512


def test_layers_can_be_kept_still_at_first(started: list[TrainSettings]) -> None:
    settings = trained(started, "--bc-model clone --freeze-trunk-updates 20 --value-warmup-updates 5")
    assert (settings.start.freeze_trunk_updates, settings.start.value_warmup_updates) == (20, 5)


def test_debug_lines_are_pythons_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`logging.basicConfig(level=logging.DEBUG)` in anybody's script shows what learners do."""
    caplog.set_level(logging.NOTSET, "jimbot")
    trainer = create_trainer("probe", SMALL | {"total_timesteps": 512}, root=tmp_path)
    with caplog.at_level(logging.DEBUG):
        assert log_level() == logging.DEBUG, "what processes started now are told"
        trainer.train()
    trainer.close()
    assert any(record.name.startswith("jimbot.training") for record in caplog.records)


def test_simulators_tell_what_they_are_asked(caplog: pytest.LogCaptureFixture) -> None:
    from jimbot.games import make

    with caplog.at_level(logging.DEBUG, "jimbot.games.vgc"):
        game = make("vgc", 2, options={"workers": 1})
        game.reset()
        game.close()
    said = caplog.text
    assert "has a seat" in said
    assert "START for 2 battles" in said
