"""What follows from the number of games, and what stays as it was given."""

from __future__ import annotations

from typing import Any

import pytest

from jimbot.errors import SettingsError
from jimbot.training.settings.batch import nearest_divisor
from jimbot.training.settings.layers import complete, resolve
from jimbot.training.settings.record import TrainSettings, load_settings


def shape(settings: TrainSettings) -> tuple[int, int, int, float]:
    """(minibatches, epochs, gradient steps, learning rate)"""
    return settings.ppo.num_minibatches, settings.ppo.update_epochs, settings.gradient_steps, settings.ppo.lr


def started(game: str, **given: Any) -> TrainSettings:
    return resolve({"game": game}, given).settings


def test_the_worked_example_of_2048_games_holds_from_the_general_defaults() -> None:
    assert shape(started("probe", num_envs=2048, num_steps=128)) == (32, 2, 64, pytest.approx(6.25e-5))


@pytest.mark.parametrize("game", ["hackmatrix", "probe"])
def test_the_worked_example_of_2048_games_holds_with_its_own_flags(game: str) -> None:
    given = {"total_timesteps": 10**9, "num_envs": 2048, "num_steps": 128, "lr": 6.25e-5, "ent_coef": 0.15}
    settings = started(game, **given)
    assert shape(settings) == (32, 2, 64, 6.25e-5)
    assert settings.ppo.ent_coef == 0.15


def test_2048_games_of_hackmatrix_take_as_many_gradient_steps_as_its_preset_at_its_rate() -> None:
    usual, many = started("hackmatrix"), started("hackmatrix", num_envs=2048)
    assert shape(usual) == (16, 4, 64, 1e-3)
    assert shape(many) == (32, 2, 64, 1e-3)


@pytest.mark.parametrize("game", ["hackmatrix", "balatro", "vgc", "probe"])
def test_a_few_games_more_change_nothing_else(game: str) -> None:
    assert shape(started(game, num_envs=260)) == shape(started(game, num_envs=256))


def test_512_battles_are_learned_as_its_preset_says() -> None:
    assert shape(started("vgc", num_envs=512)) == shape(started("vgc"))


@pytest.mark.parametrize("game", ["hackmatrix", "probe"])
def test_short_rollouts_never_raise_the_rate(game: str) -> None:
    assert started(game, num_envs=512, num_steps=16).ppo.lr == started(game).ppo.lr


@pytest.mark.parametrize("game", ["hackmatrix", "probe"])
@pytest.mark.parametrize(("name", "value"), [("lr", 6.25e-5), ("num_minibatches", 64), ("update_epochs", 7)])
def test_what_was_given_stays(game: str, name: str, value: float) -> None:
    assert started(game, num_envs=2048, **{name: value})[name] == value


def test_twice_the_epochs_halve_a_rate_nobody_gave() -> None:
    once, twice = (started("probe", num_envs=2048, update_epochs=epochs) for epochs in (2, 4))
    assert twice.ppo.lr == pytest.approx(once.ppo.lr / 2)


def test_up_to_256_games_nothing_is_scaled() -> None:
    assert shape(started("probe", num_envs=256, update_epochs=8)) == (4, 8, 32, 2.5e-4)


def test_scaling_can_be_turned_off() -> None:
    assert shape(started("probe", num_envs=2048, batch="fixed")) == (4, 4, 16, 2.5e-4)


def test_minibatches_nobody_chose_are_made_to_divide_the_batch() -> None:
    settings, _, notes = resolve({"game": "hackmatrix", "num_envs": 10, "num_steps": 50})
    assert settings.ppo.num_minibatches == 20
    assert notes == ["10 games × 50 steps = 500 samples per update: num_minibatches 16 → 20 (must divide them)."]


def test_what_was_derived_is_told_in_one_line_with_its_reason() -> None:
    (note,) = resolve({"game": "probe", "num_envs": 2048}).notes
    assert "\n" not in note
    assert note.startswith("2,048 games × 128 steps = 262,144 samples per update: num_minibatches 4 → 32 (about 8,192")
    assert "update_epochs 4 → 2" in note
    assert "lr 0.00025 → 6.25e-05 (64 gradient steps instead of 16)" in note
    assert not resolve({"game": "probe"}).notes


@pytest.mark.parametrize("game", ["hackmatrix", "probe"])
def test_scaled_settings_survive_being_stored_loaded_and_completed(game: str) -> None:
    settings = started(game, num_envs=1024)
    assert load_settings(settings.flat()) == settings
    assert load_settings(settings.model_dump(mode="json")) == settings
    assert complete(settings) == settings


@pytest.mark.parametrize(("total", "wanted", "found"), [(1 << 60, 33, 32), (7, 3, 1), (7, 5, 7), (10**12 + 39, 2, 1)])
def test_the_nearest_divisor_is_found_at_once(total: int, wanted: int, found: int) -> None:
    assert nearest_divisor(total, wanted) == found


@pytest.mark.parametrize(
    ("before", "choice"),
    [
        ({"autoscale": False}, "fixed"),
        ({"autoscale": True, "auto_tune": False, "grow_batch": 1}, "fitted"),
        ({"auto_tune": True}, "measured"),
        ({"autoscale": True, "auto_tune": False, "grow_batch": 16}, "growing:16"),
        ({"ppo.grow_batch": "4"}, "growing:4"),
        ({"grow_batch": 4, "batch": "fixed"}, "fixed"),
        ({"auto_tune": False}, "fitted"),
    ],
)
def test_the_three_settings_before_are_read_as_the_one(before: dict[str, Any], choice: str) -> None:
    assert load_settings(before).batch == choice


@pytest.mark.parametrize("choice", ["growing", "growing:1", "growing:x", "growing:4096", "large", "fixed:2"])
def test_another_way_to_choose_a_batch_is_refused(choice: str) -> None:
    with pytest.raises(SettingsError, match=f"batch is {choice}.*expected fixed, fitted, measured, or growing"):
        load_settings({"batch": choice})
