"""Trainers of one process share compiled programs exactly where their settings allow it."""

from __future__ import annotations

import pytest

from jimbot.training.jax_ppo import program
from jimbot.training.jax_ppo.program import APART, TRACED, fused_update, initial_state, program_key, settings_of
from jimbot.training.settings.names import paths
from jimbot.training.settings.record import TrainSettings
from tests.training.small import probe_parts, small_settings


def test_numbers_that_mutate_are_arguments_and_take_effect() -> None:
    settings, network, game = probe_parts()
    others = settings.model_copy(update={"ent_coef": 5.0, "gamma": 0.5, "run_name": "other", "seed": 7})
    losses = []
    before = program._fused.cache_info()
    for chosen in (settings, others):
        state = initial_state(settings, network, game)
        losses.append(fused_update(chosen, network, game)(state, settings.ppo.lr).losses)
    after = program._fused.cache_info()
    assert after.hits + after.misses - before.hits - before.misses == 2
    assert after.misses - before.misses <= 1, "the second one finds the program of the first"
    assert float(losses[0]["train/loss"]) != float(losses[1]["train/loss"])
    assert float(losses[0]["train/entropy"]) != 0


@pytest.mark.parametrize("change", [{"num_steps": 64}, {"update_epochs": 2}, {"init_kl": 0.5}, {"normalize_obs": True}])
def test_what_shapes_a_program_has_one_of_its_own(change: dict[str, object]) -> None:
    settings = small_settings()
    assert program_key(settings.model_copy(update=change)) != program_key(settings)


def test_a_key_gives_back_the_settings_a_program_is_compiled_for() -> None:
    settings = small_settings(num_steps=64, game_options={"horizon": 4}, difficulty_schedule={0: "easy"})
    again = settings_of(program_key(settings))
    assert {name for name, value in again.flat("python").items() if value != settings[name]} <= set(APART)


def test_what_is_apart_is_a_setting() -> None:
    assert {*APART, *TRACED} <= set(paths(TrainSettings))
