"""The one configuration: defaults, precedence, scaling, and sentences for what cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.training.settings.layers import resolve_settings
from jimbot.training.settings.names import paths
from jimbot.training.settings.record import CHANGEABLE, TrainSettings, load_settings, parse_assignments, read_yaml


def test_defaults_are_those_documented() -> None:
    settings = load_settings()
    expected = {
        "num_envs": 256,
        "num_steps": 128,
        "total_timesteps": 10_000_000,
        "lr": 2.5e-4,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "num_minibatches": 4,
        "update_epochs": 4,
        "clip_eps": 0.2,
        "vf_coef": 0.5,
        "ent_coef": 0.01,
        "max_grad_norm": 0.5,
        "num_layers": 2,
        "log_interval": 10,
        "save_interval_minutes": 10,
    }
    assert {name: settings[name] for name in expected} == expected


def test_flags_win_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("game: probe\nlr: 1e-3\ngamma: 0.9\n")
    settings = resolve_settings(file, {"gamma": 0.5})
    assert (settings.game, settings.ppo.lr, settings.gamma) == ("probe", 1e-3, 0.5)


def test_rllib_names_are_mapped() -> None:
    values = {
        "num_workers": 2,
        "num_envs_per_worker": 4,
        "train_batch_size": 4000,
        "sgd_minibatch_size": 125,
        "num_sgd_iter": 30,
        "clip_param": 0.1,
        "entropy_coeff": 0.01,
        "lambda": 0.9,
    }
    settings = load_settings(values)
    assert (settings.num_envs, settings.num_steps, settings.ppo.num_minibatches) == (8, 500, 32)
    ppo = settings.ppo
    assert (ppo.update_epochs, ppo.clip_eps, ppo.ent_coef, ppo.gae_lambda) == (30, 0.1, 0.01, 0.9)


def test_an_unknown_setting_names_the_nearest_known_one() -> None:
    with pytest.raises(UnknownNameError, match=r"'num_env'.*Did you mean 'num_envs'"):
        load_settings({"num_env": 4})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"num_steps": -1}, "num_steps is -1"),
        ({"lr": 0}, "lr is 0"),
        ({"gamma": 1.5}, "gamma is 1.5"),
        ({"minutes": -1}, "minutes is -1"),
        ({"reward_transform": "cube"}, "reward_transform is cube"),
        ({"lr": "fast"}, "lr is fast"),
        ({"num_envs": 10, "num_steps": 10, "num_minibatches": 3}, "does not divide.*Use for instance 2"),
        ({"num_envs": 10_000_000_000}, "num_envs is 10000000000: Input should be less than or equal to"),
        ({"num_envs": 2**20, "num_steps": 2**20}, "1,099,511,627,776 samples per update; at most"),
        ({"hidden_dim": 10**9}, "hidden_dim is 1000000000"),
        ({"policy_layers": [256, 10**9]}, "expected at most 16 layers, each 1 to 65,536 wide"),
    ],
)
def test_unusable_values_are_one_sentence(values: dict, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load_settings(values)


@pytest.mark.parametrize(
    ("text", "words"), [("- 1\n- 2\n", "holds a list"), ("a: [", "cannot be read"), ("\x00", "cannot be read")]
)
def test_a_broken_settings_file_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=words):
        read_yaml(file)


def test_a_missing_settings_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="There is no settings file"):
        read_yaml(tmp_path / "none.yaml")


def test_assignments_without_a_value_are_refused() -> None:
    with pytest.raises(SettingsError, match="expected name=value"):
        parse_assignments(["lr"])


def test_only_real_settings_are_listed_as_changeable() -> None:
    assert set(paths(TrainSettings)) >= CHANGEABLE


def test_a_mapping_may_be_typed_after_its_flag() -> None:
    settings = load_settings({"ent_blocks": "{play: 0.5}", "adviser_settings": "{model: claude-opus-5, seconds: 4}"})
    assert settings.ppo.ent_blocks == {"play": 0.5}
    assert settings.advice.settings == {"model": "claude-opus-5", "seconds": 4}
    with pytest.raises(SettingsError, match="ent_blocks"):
        load_settings({"ent_blocks": "{play"})
