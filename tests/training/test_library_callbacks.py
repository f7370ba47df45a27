"""`config["callbacks"]`: RLlib's way to be told, under the learners that are not RLlib (ray: tests/training/ray)."""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from jimbot.cli.main import run
from jimbot.errors import SettingsError, TrainingError, UsageError
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.framework import RLTrainer, create_trainer
from jimbot.training.run import stored_settings
from jimbot.training.settings.layers import resolve
from tests.training.small import SMALL

UPDATE = SMALL["num_envs"] * SMALL["num_steps"]
SB3 = {
    **SMALL, "learner": "sb3", "network": "mlp", "num_steps": 16, "log_interval": 4, "total_timesteps": 8 * 256,
}  # fmt: skip
HERE = f"{__name__}:Watch"


class Watch:
    """Keeps what it is told."""

    told: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def on_algorithm_init(self, *, algorithm: Any, **values: Any) -> None:
        Watch.told.append(("init", {"algorithm": algorithm, **values}))

    def on_train_result(self, *, algorithm: Any, metrics_logger: Any = None, result: dict, **values: Any) -> None:
        Watch.told.append(("result", {"algorithm": algorithm, **result}))

    def on_evaluate_end(self, *, algorithm: Any, evaluation_metrics: dict, **values: Any) -> None:
        Watch.told.append(("evaluation", evaluation_metrics))

    def on_checkpoint_loaded(self, *, algorithm: Any, **values: Any) -> None:
        Watch.told.append(("loaded", {"step": algorithm.step}))


class EachGame(Watch):
    def on_episode_end(self, **values: Any) -> None:
        raise AssertionError("only learner ray calls it")


class Breaks:
    def on_train_result(self, *, result: dict[str, Any], **values: Any) -> None:
        raise KeyError(result["training_iteration"])


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    Watch.told.clear()


def names() -> list[str]:
    return [name for name, _ in Watch.told]


@pytest.mark.parametrize("values", [SMALL, SB3], ids=["jax", "sb3"])
def test_own_methods_are_called_by_rllibs_names(values: dict[str, Any], tmp_path: Path) -> None:
    if values is SB3:
        pytest.importorskip("stable_baselines3")
    config = {**values, "run_name": "mine", "eval_interval": values["total_timesteps"]}
    config["callbacks"] = Watch
    trainer = create_trainer("probe", config, root=tmp_path)
    trainer.train()
    trainer.close()
    assert names()[0] == "init"
    assert names().count("evaluation") == 1
    results = [told for name, told in Watch.told if name == "result"]
    assert len(results) > 1
    assert [one["training_iteration"] for one in results] == sorted({one["training_iteration"] for one in results})
    assert results[-1]["num_env_steps_sampled_lifetime"] == trainer.step == values["total_timesteps"]
    assert results[-1]["env_runners"]["episode_return_mean"] == results[-1]["train/mean_episode_return"]
    assert results[-1]["algorithm"] is trainer
    assert isinstance(trainer, RLTrainer)

    Watch.told.clear()
    create_trainer("probe", config, root=tmp_path, resume=True).close()
    assert names() == ["init", "loaded"]
    assert Watch.told[1][1]["step"] == trainer.step


def test_what_the_run_keeps_is_a_name_that_nobody_imports(tmp_path: Path) -> None:
    config = {**SMALL, "run_name": "mine", "total_timesteps": UPDATE, "callbacks": [Watch(), functools.partial(Watch)]}
    trainer = create_trainer("probe", config, root=tmp_path)
    path = trainer.train().checkpoint
    trainer.close()
    stored = yaml.safe_load((tmp_path / "mine" / "config.yaml").read_text())
    assert stored["callbacks"] == load_checkpoint(path).manifest.config["callbacks"] == [HERE, HERE]
    assert stored_settings("mine", {}, tmp_path).callbacks == []
    assert stored_settings("mine", {"callbacks": HERE}, tmp_path).callbacks == [HERE]
    create_trainer("probe", {**config, "callbacks": []}, root=tmp_path, resume=True).close()  # the same run without


def test_from_the_command_line_it_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = [f"--set={name}={value}" for name, value in SMALL.items() if name != "game"]
    command = ["train", "probe", *small, "--json", "--run", "mine", f"--set=total_timesteps={2 * UPDATE}"]
    assert run([*command, "--callbacks", HERE]) == 0
    assert names() == ["init", "result"]
    Watch.told.clear()
    assert run(["resume", "mine", f"--callbacks={HERE}", "--total-timesteps", str(4 * UPDATE), "--json"]) == 0
    assert names() == ["init", "loaded", "result"]


def test_methods_that_this_learner_never_calls_are_told_in_one_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "jimbot.training"):
        create_trainer("probe", {**SMALL, "callbacks": EachGame}, root=tmp_path).close()
    (sentence,) = [record.getMessage() for record in caplog.records if "never calls" in record.getMessage()]
    assert "Learner 'jax' never calls EachGame.on_episode_end." in sentence
    assert "learner ray calls all" in sentence


def test_a_callback_that_fails_ends_the_run_after_saving(tmp_path: Path) -> None:
    trainer = create_trainer("probe", {**SMALL, "callbacks": Breaks}, root=tmp_path)
    with pytest.raises(TrainingError, match=r"on_train_result of the callback .*:Breaks failed: KeyError: 2") as failed:
        trainer.train()
    latest = trainer.session.store.latest()
    trainer.close()
    assert isinstance(failed.value.__cause__, KeyError)
    assert latest is not None
    assert load_checkpoint(latest).manifest.step == 2 * UPDATE, "it failed at the first log row"


def test_what_is_no_callback_is_one_sentence(tmp_path: Path) -> None:
    for wrong in (7, "Watch", "no module:Watch"):
        with pytest.raises(SettingsError, match="is no callback; expected a class"):
            resolve({**SMALL, "callbacks": wrong})
    for missing in ("not_there:Watch", f"{__name__}:NotThere"):
        with pytest.raises(UsageError, match=r"There is no module|has no 'NotThere'"):
            create_trainer("probe", {**SMALL, "callbacks": missing}, root=tmp_path)
    assert not list(tmp_path.iterdir()), "a run that cannot begin leaves nothing"
