"""One preset per game, below every way to start a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from jimbot.cli.main import run
from jimbot.games.contract import make
from jimbot.training import framework
from jimbot.training import run as training_run
from jimbot.training.environments import understand
from jimbot.training.framework import TrainerConfig, available_learners, learner_class
from jimbot.training.presets import PRESETS, preset
from jimbot.training.search import tune
from jimbot.training.session.session import Session
from jimbot.training.settings.layers import complete, resolve
from jimbot.training.settings.record import TrainSettings

GAMES = sorted(path.stem for path in PRESETS.glob("*.yaml"))
ALGORITHMS = {"jax": ["PPO"], "sb3": ["PPO", "A2C", "DQN"], "ray": ["PPO", "APPO", "IMPALA", "DQN"]}


class Seen(Exception):  # noqa: N818 - not an error
    """Carries the settings a run would have been opened with."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls a function and returns the settings of the run it opens."""

    def stop(settings: TrainSettings, *_: Any, **__: Any) -> None:
        raise Seen(settings)

    monkeypatch.setattr(Session, "open", stop)

    def settings_of(start: Any) -> TrainSettings:
        with pytest.raises(Seen) as seen:
            start()
        return seen.value.args[0]

    return settings_of


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("learner", "algorithm"), [(name, one) for name, all_ in ALGORITHMS.items() for one in all_])
def test_every_learner_takes_the_preset_of_every_game(game: str, learner: str, algorithm: str) -> None:
    assert {*ALGORITHMS, "improve"} == set(available_learners())  # improve, for games of one, is test_improve.py's
    pytest.importorskip({"sb3": "torch"}.get(learner, learner))
    settings = resolve({"game": game, "learner": learner, "algorithm": algorithm}).settings
    learner_class(settings)
    whole = yaml.safe_load((PRESETS / f"{game}.yaml").read_text())
    own = preset(game, learner, algorithm)
    for name in ("gamma", "reward_transform", "game_options"):
        assert name not in whole or settings[name] == own[name]


@pytest.mark.parametrize("learner", ["jax", "sb3", "ray"])
def test_balatro_has_its_helpers_discount_and_entropy_on_every_learner(learner: str) -> None:
    settings = resolve({"game": "balatro", "learner": learner}).settings
    assert (settings.game_options, settings.gamma, settings.ppo.ent_coef) == ({"helpers": True}, 0.997, 0.01)
    assert (settings.ppo.lr, settings.minibatch_size) == (5e-4, 1024 if learner == "jax" else 2048)


def test_a_run_from_nothing_begins_with_its_teacher_and_without_by_one_word() -> None:
    begun = resolve({"game": "balatro"})
    assert (begun.settings.teacher.policy, begun.settings.teacher.updates) == ("heuristic", 300)
    assert any("--teacher none" in note for note in begun.notes)
    assert complete(begun.settings) == begun.settings
    for alone in ({"teacher": "none"}, {"teacher": None}):
        pure = resolve({"game": "balatro", **alone}).settings
        assert pure.teacher.policy is None
        assert (pure.num_steps, pure.minibatch_size, pure.ppo.update_epochs, pure.batch) == (128, 2048, 2, "fitted")
        assert complete(pure) == pure


@pytest.mark.parametrize(
    "given",
    [{"init_from": "balatro"}, {"bc_model": "clone"}, {"game_options": {"helpers": False}}, {"algorithm": "DQN"}],
)
def test_other_beginnings_have_no_teacher(given: dict[str, Any]) -> None:
    assert resolve({"game": "balatro", **given}).settings.teacher.policy is None


def test_another_teacher_takes_the_place_of_the_games_own() -> None:
    teacher = resolve({"game": "balatro", "teacher": "my-run", "teacher_share": 0.1}).settings.teacher
    assert (teacher.policy, teacher.share, teacher.coef) == ("my-run", 0.1, 5.0)


def test_the_teacher_has_its_time_in_steps_whatever_the_batch() -> None:
    large = resolve({"game": "balatro", "num_steps": 128}).settings
    assert (large.teacher.updates, large.teacher.play_updates) == (75, 5)
    assert resolve({"game": "balatro", "num_steps": 128, "teacher_updates": 300}).settings.teacher.updates == 300


def test_a2c_on_balatro_learns_from_rewards_that_its_entropy_bonus_cannot_drown() -> None:
    """It normalises no advantages: of plain rewards nothing was left in its loss, and a discount pays for delay."""
    settings = resolve({"game": "balatro", "algorithm": "A2C"}).settings
    assert (settings.reward_transform, settings.gamma, settings["network"]) == ("normalize", 1.0, "auto")
    assert resolve({"game": "balatro", "algorithm": "A2C", "gamma": 0.99}).settings.gamma == 0.99


def test_numbers_of_ppo_are_not_those_of_other_algorithms() -> None:
    settings = resolve({"game": "balatro", "algorithm": "DQN"}).settings
    assert (settings.gamma, settings.ppo.lr, settings.num_steps) == (0.997, 1e-4, 1)
    assert settings.game_options == {"helpers": True}


def test_every_entry_point_starts_from_the_preset(opened: Any, tmp_path: Path) -> None:
    """The same hyper-parameters, whichever door was taken."""

    expected = resolve({"game": "hackmatrix", "seed": 1}).settings
    assert (expected.ppo.ent_coef, expected.gamma, expected.ppo.lr) == (0.01, 0.995, 1e-3)
    by_hand = TrainSettings(game="hackmatrix", seed=1)
    command = ["train", "hackmatrix", "--seed", "1"]
    doors = {
        "mapping": lambda: framework.create_trainer("hackmatrix", {"seed": 1}, root=tmp_path),
        "record": lambda: framework.create_trainer("hackmatrix", TrainSettings(seed=1), root=tmp_path),
        "run_training": lambda: training_run.run_training(by_hand, tmp_path),
        "command": lambda: run([*command, "--runs-dir", str(tmp_path)]),
        "module": lambda: training_run.main(["--set", "game=hackmatrix", "--set", "seed=1"]),
    }
    for name, door in doors.items():
        assert opened(door) == expected, name
    searched = opened(lambda: tune(by_hand, root=tmp_path))
    assert searched.model_copy(update={"run_name": None}) == expected
    several = opened(lambda: training_run.run_training(by_hand.model_copy(update={"population": 2}), tmp_path))
    assert several.model_copy(update={"population": 0}) == expected
    assert complete(by_hand) == expected


def test_a_trainer_config_states_how_to_learn_and_the_preset_what_the_game_needs(opened: Any, tmp_path: Path) -> None:
    settings = opened(lambda: framework.create_trainer("balatro", TrainerConfig(), root=tmp_path))
    assert settings.game_options == {"helpers": True}
    assert (settings.gamma, settings.ppo.lr, settings.ppo.anneal_lr, settings.num_envs) == (0.99, 3e-4, False, 8)


def test_an_environment_that_was_given_keeps_its_own_options() -> None:
    assert understand(make("balatro", 1)).settings["game_options"]["helpers"] is False
    assert understand(make("balatro", 1, options={"helpers": True})).settings["game_options"]["helpers"] is True


def test_a_game_without_a_preset_has_the_general_defaults() -> None:
    assert preset("probe", "jax") == {}
    assert resolve({"game": "probe"}).settings.ppo.ent_coef == 0.01


def test_the_precedence_is_default_algorithm_preset_file_flag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One setting per layer that nobody above gives, and one that everybody gives."""
    (tmp_path / "probe.yaml").write_text("lr: 3\nmax_grad_norm: 3\nclip_eps: 3\n")
    monkeypatch.setattr("jimbot.training.presets.PRESETS", tmp_path)
    settings = resolve({"game": "probe", "learner": "sb3", "lr": 4, "clip_eps": 4}, {"lr": 5}).settings
    assert settings.start.init_kl_updates == 200, "the field's default"
    assert settings.ppo.update_epochs == 10, "the algorithm's"
    assert settings.ppo.max_grad_norm == 3, "the preset's"
    assert settings.ppo.clip_eps == 4, "the file's"
    assert settings.ppo.lr == 5, "what was given beside it"
