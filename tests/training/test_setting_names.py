"""Settings have a flat name that people type and a group that code reads; all spellings mean the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from jimbot.cli.main import run
from jimbot.errors import SettingsError, UnknownNameError, UsageError, nearest
from jimbot.policies.networks import DEFAULT_WIDTH, KINDS
from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.training.imitation.settings import CloneSettings
from jimbot.training.settings import names
from jimbot.training.settings.groups import NetworkSettings
from jimbot.training.settings.layers import resolve, resolve_settings
from jimbot.training.settings.names import BATCH, DERIVED, FLAT, RENAMED, RLLIB_NAMES, UNKNOWN_HERE, group_of, paths
from jimbot.training.settings.record import RunSettings, TrainSettings, load_settings, parse_assignments
from jimbot.training.settings.trainer_config import HyperparameterConfig, TrainerConfig

FLAT_RUN = Path(__file__).parent / "fixtures" / "flat-run"
"""A run of the time when all settings lay side by side: its config.yaml and its checkpoint."""


@pytest.mark.parametrize("record", [RunSettings, TrainSettings, CloneSettings])
def test_no_two_settings_share_a_flat_name(record: type[RunSettings]) -> None:
    groups = [group_of(record, name) for name in record.model_fields]
    assert len(paths(record)) == sum(len(group.model_fields) if group else 1 for group in groups)


def test_names_in_the_table_are_settings() -> None:
    assert {tuple(path.split(".")) for path in FLAT} <= set(paths(TrainSettings).values())


@pytest.mark.parametrize(
    "values",
    [
        {"lr": "1e-3", "network": "mlp", "population": 4, "use_curriculum": True},
        {"ppo.lr": "1e-3", "network.kind": "mlp", "population.size": 4, "curriculum.use": True},
        {"ppo": {"lr": 1e-3}, "network": {"kind": "mlp"}, "population": {"size": 4}, "curriculum": {"use": True}},
        parse_assignments(["ppo.lr=1e-3", "network=mlp", "population.size=4", "use_curriculum=true"]),
    ],
)
def test_flat_dotted_and_nested_spellings_mean_the_same(values: dict) -> None:
    settings = load_settings(values)
    assert (settings.ppo.lr, settings.network.kind) == (1e-3, "mlp")
    assert (settings.population.size, settings.curriculum.use) == (4, True)
    assert TrainSettings(**values) == settings


def test_the_shares_of_a_league_are_told_from_its_group() -> None:
    shares = {"self": 0.5, "past": 0.5}
    assert load_settings({"league": shares}).league.shares == shares
    both = load_settings({"league": {"shares": shares, "members": "heuristic,mine"}})
    assert (both.league.shares, both.league.members) == (shares, ["heuristic", "mine"])
    assert load_settings({"league": shares}, {"league": {}}).league.shares == {}


def test_later_layers_win_whatever_the_spelling() -> None:
    assert load_settings({"ppo": {"lr": 1e-3, "clip_eps": 0.1}}, {"lr": 2e-3}).ppo.lr == 2e-3
    settings = load_settings({"lr": 1e-3}, {"ppo.lr": 3e-3})
    assert (settings.ppo.lr, settings["lr"], settings["ppo.lr"]) == (3e-3, 3e-3, 3e-3)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ppo.lrr": 1}, r"'ppo.lrr'. Did you mean 'ppo.lr'"),
        ({"ppo": {"clip_ep": 1}}, r"'ppo.clip_ep'. Did you mean 'ppo.clip_eps'"),
        ({"pop.lr": 1}, r"group of settings 'pop'. Did you mean"),
        ({"hiden_dim": 1}, r"'hiden_dim'. Did you mean 'hidden_dim'"),
        ({"ppo": 3}, r"'ppo' is a group of settings \(lr, "),
        ({"ppo": {"lr": "fast"}}, r"Setting lr is fast"),
        ({"lr": ".inf"}, r"Setting lr is .inf"),
        ({"lr": float("inf")}, r"Setting lr is inf"),
        ({"ent_coef": float("nan")}, r"Setting ent_coef is nan"),
        ({"rare_event_boosts": {"first_win": "x"}}, r"Setting rare_event_boosts.first_win is x"),
    ],
)
def test_what_is_not_a_setting_or_does_not_fit_is_one_sentence(values: dict, words: str) -> None:
    with pytest.raises((SettingsError, UnknownNameError), match=words):
        load_settings(values)


def test_a_copy_takes_names_of_any_spelling_and_leaves_the_original_alone() -> None:
    settings = load_settings()
    copy = settings.model_copy(update={"lr": 1.0, "ppo.clip_eps": 2.0, "network": "mlp", "seed": 7})
    assert (copy.ppo.lr, copy.ppo.clip_eps, copy.network.kind, copy.seed) == (1.0, 2.0, "mlp", 7)
    assert settings == load_settings()
    with pytest.raises(UnknownNameError, match="'rate'"):
        settings.model_copy(update={"rate": 1})


def test_flat_names_can_still_be_read_as_attributes() -> None:
    settings = load_settings({"lr": 1e-3, "hidden_dim": 32})
    assert (getattr(settings, "lr"), getattr(settings, "hidden_dim")) == (1e-3, 32)  # noqa: B009 - not for our own code
    with pytest.raises(AttributeError):
        getattr(settings, "rate")  # noqa: B009


def test_only_what_was_set_is_told_apart_also_when_it_was_assigned_later() -> None:
    settings = TrainSettings(lr=1e-3, seed=1)  # ty: ignore[unknown-argument] - flat names are for everybody else
    settings.network.hidden_dim = 64
    assert settings.flat(only_set=True) == {"seed": 1, "lr": 1e-3, "hidden_dim": 64}


def test_a_config_of_the_flat_time_says_the_same_today() -> None:
    stored = yaml.safe_load((FLAT_RUN / "config.yaml").read_text())
    today = load_settings(stored).flat()
    stored = {RENAMED.get(name, name): value for name, value in stored.items()}
    assert [stored.pop(name) for name in ("autoscale", "auto_tune")] == [True, False]
    assert today.pop("batch") == "fitted"
    assert {name: today[name] for name in stored} == stored
    added = {name: value for name, value in today.items() if name not in stored}
    assert added == {name: load_settings({}).flat()[name] for name in added}, "what came later has its default"


def test_a_run_of_the_flat_time_is_continued(tmp_path: Path) -> None:
    shutil.copytree(FLAT_RUN, tmp_path / "flat")
    assert run(["resume", "flat", "--total-timesteps", "192", "--runs-dir", str(tmp_path), "--json"]) == 0
    manifest = load_checkpoint(find_checkpoint(tmp_path / "flat")).manifest
    assert (manifest.step, manifest.config["lr"], manifest.config["hidden_dim"]) == (192, 1e-3, 8)


def test_the_help_of_networks_names_every_kind_and_width() -> None:
    kinds = NetworkSettings.model_fields["kind"].description or ""
    widths = NetworkSettings.model_fields["hidden_dim"].description or ""
    assert all(kind in kinds for kind in KINDS)
    assert all(str(width) in widths and kind in widths for kind, width in DEFAULT_WIDTH.items())


SAME = {  # one way to learn in the words of four libraries
    "ours": {"lr": 1e-3, "num_envs": 16, "num_steps": 64, "num_minibatches": 8, "update_epochs": 3, "clip_eps": 0.1},
    "sb3": {"learning_rate": 1e-3, "n_envs": 16, "n_steps": 64, "batch_size": 128, "n_epochs": 3, "clip_range": 0.1},
    "cleanrl": {
        **{"learning_rate": "1e-3", "num_envs": 16, "num_steps": 64, "minibatch_size": 128, "update_epochs": 3},
        "clip_coef": 0.1,
    },
    "rllib": {
        **{"lr": 1e-3, "num_workers": 2, "num_envs_per_worker": 8, "train_batch_size": 1024, "num_sgd_iter": 3},
        **{"sgd_minibatch_size": 128, "clip_param": 0.1},
    },
}


def learned(settings: TrainSettings) -> tuple:
    return settings.ppo.model_dump(), settings.num_envs, settings.num_steps, settings.minibatch_size


@pytest.mark.parametrize("words", SAME)
def test_names_of_other_libraries_mean_the_same_everywhere(words: str, tmp_path: Path) -> None:
    values, wanted = SAME[words], learned(resolve({"game": "probe"}, SAME["ours"]).settings)
    assert learned(resolve({"game": "probe"}, values).settings) == wanted
    assigned = parse_assignments([f"{name}={value}" for name, value in values.items()])
    assert learned(resolve(assigned, {"game": "probe"}).settings) == wanted
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump(values))
    assert learned(resolve_settings(file, {"game": "probe"})) == wanted


def test_a_batch_size_is_shared_out_to_the_games_that_a_later_layer_names() -> None:
    settings = resolve({"game": "probe", "batch_size": 64, "n_steps": 32}, {"num_envs": 8}).settings
    assert (settings.batch_size, settings.minibatch_size) == (256, 64)
    settings = resolve({"game": "probe", "batch_size": 64}, {"algorithm": "DQN"}).settings
    assert settings.dqn.batch_size == 64


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"learning_rate": 1e-3, "lr": 1e-4}, "learning_rate and lr are one setting"),
        ({"net_arch": [64]}, "policy_layers"),
        ({"tau": 0.9}, "target_update_interval"),
        ({"norm_adv": True}, "always normalised"),
        ({"value_function_coefficient": "much"}, "value_function_coefficient is 'much'; expected a number"),
        ({"learning_rte": 1e-3}, "Did you mean 'learning_rate'"),
    ],
)
def test_other_names_without_a_counterpart_are_answered(values: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve({"game": "probe", **values})


def test_groups_records_and_clones_know_them_too() -> None:
    known: dict = {"learning_rate": 1e-3}
    grouped: dict = {"ppo": known}
    assert TrainSettings(**known).ppo.lr == TrainSettings(**grouped).ppo.lr == 1e-3
    assert CloneSettings(**known, batch_size=7).lr == 1e-3
    assert load_settings({"value_function_coefficient": 0.5, "clip_vloss": True, "clip_coef": 0.3}).ppo.vf_coef == 1
    with pytest.raises(UnknownNameError, match=r"It is hyperparams\.entropy_coefficient"):
        TrainerConfig().ent_coef = 0.1
    with pytest.raises(UnknownNameError, match=r"an entry of algorithm_specific"):
        HyperparameterConfig().n_steps = 5


def test_every_name_of_the_tables_leads_to_a_setting_and_is_none_itself() -> None:
    ours = paths(TrainSettings)
    assert {*RENAMED.values(), *BATCH.values(), *(name for name, _ in DERIVED.values())} <= {*ours, *RLLIB_NAMES}
    assert not {*RENAMED, *DERIVED, *UNKNOWN_HERE} & ours.keys()


def test_what_is_no_more_is_accepted_with_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    names.warn_gone.cache_clear()
    for _ in range(2):
        assert (
            load_settings({"game": "probe", "curriculum.deep_starts": 0.2, "rival_coef": 0.0, "lr": 1e-3}).ppo.lr
            == 1e-3
        )
    (record,) = caplog.records
    assert record.getMessage().startswith("deep_starts is ignored: beginning games deep gave no gain")
    assert not names.GONE.keys() & paths(TrainSettings).keys()


def test_no_name_of_ours_is_proposed_for_another_one() -> None:
    """A setting that is left out of the list is not mistaken for one with other words in it."""
    words = {"learning_rate": "learning_starts", "eval_games": "eval_interval", "num_steps": "num_envs"}
    for typed, wrong in words.items():
        assert nearest(typed, [wrong]) is None, typed
    for slip, meant in {"num_env": "num_envs", "ent-coef": "ent_coef", "gamm": "gamma", "hidden": "hidden_dim"}.items():
        assert nearest(slip, paths(TrainSettings)) == meant, slip


def test_names_of_other_libraries_are_flags_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--n-envs=4", "--n-steps", "8", "--hidden-dim", "8", "--total-timesteps", "32", "--eval-games", "0"]
    others = ["--learning-rate", "0.002", "--entropy-coeff=0.03", "--num-sgd-iter", "3", "--clip-range", "0.1"]
    assert run(["train", "probe", "--runs-dir", str(tmp_path), "--run", "mine", *small, *others]) == 0
    stored = yaml.safe_load((tmp_path / "mine" / "config.yaml").read_text())
    named = ("lr", "ent_coef", "update_epochs", "clip_eps", "num_envs", "num_steps")
    assert [stored[name] for name in named] == [0.002, 0.03, 3, 0.1, 4, 8]
    capsys.readouterr()
    assert run(["train", "probe", "--tau", "0.1"]) == 2
    assert "target_update_interval" in capsys.readouterr().err
    assert run(["train", "probe", "--learning-rats", "1"]) == 2
    assert "--learning-starts" not in capsys.readouterr().err
