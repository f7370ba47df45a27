"""The SB3 learner: all three algorithms learn under the mask and only there, resume exactly, share every file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jimbot.cli.main import run  # noqa: E402
from jimbot.errors import CheckpointError, SettingsError, TrainingError, UsageError  # noqa: E402
from jimbot.games.contract import make  # noqa: E402
from jimbot.games.functional import FunctionalBatchGame  # noqa: E402
from jimbot.games.probe import DOORS, Options  # noqa: E402
from jimbot.games.probe import SPEC as PROBE  # noqa: E402
from jimbot.policies.portable import OnnxPolicy  # noqa: E402
from jimbot.runs.checkpoint import load_checkpoint  # noqa: E402
from jimbot.training.framework import create_trainer  # noqa: E402
from jimbot.training.replay.lockstep import Steps  # noqa: E402
from jimbot.training.sb3.replay import Replay, bytes_needed  # noqa: E402
from jimbot.training.sb3.trainer import SB3Trainer  # noqa: E402
from tests.training.test_learning import UnmaskedProbe  # noqa: E402

GAMES = 64
GENERAL = {
    "learner": "sb3",
    "num_envs": GAMES,
    "network": "mlp",
    "hidden_dim": 32,
    "ent_coef": 0.01,
    "eval_games": 0,
    "normalize_obs": True,
    "reward_transform": "normalize",
}
OWN: dict[str, dict[str, Any]] = {
    "PPO": {"num_steps": 16, "num_minibatches": 4, "update_epochs": 4, "lr": 5e-3, "log_interval": 4},
    "A2C": {"num_steps": 5, "num_minibatches": 1, "lr": 1e-2, "log_interval": 10, "gae_lambda": 1.0},
    "DQN": {
        "num_steps": 1, "num_minibatches": 1, "lr": 3e-3, "log_interval": 20, "learning_starts": 640,
        "buffer_size": 6400, "replay_batch_size": 64, "target_update_interval": 512, "exploration_fraction": 0.4,
        "train_freq": 8,
    },
}  # fmt: skip
RAINBOW = {"prioritized_replay": True, "n_step": 2, "double_q": True, "duelling": True, "buffer_gb": 0.001}
STEPS = {"PPO": 16 * 1024, "A2C": 64 * 320, "DQN": 8192}


def made(algorithm: str, root: Path, game: Any = "probe", **changes: Any) -> SB3Trainer:
    values = {**GENERAL, **OWN[algorithm], "algorithm": algorithm, **changes}
    trainer = create_trainer(game, values, root=root, resume=True)
    assert isinstance(trainer, SB3Trainer)
    return trainer


@pytest.mark.parametrize("algorithm", OWN)
def test_probe_is_solved_with_the_mask_and_no_action_is_ever_illegal(algorithm: str, tmp_path: Path) -> None:
    trainer = made(algorithm, tmp_path)
    rows: list[dict[str, float]] = []
    trainer.train(STEPS[algorithm], callback=lambda step, metrics: rows.append(metrics))
    mean, _ = trainer.evaluate(64)
    trainer.close()
    assert mean > 0.97 * Options().horizon
    assert rows[-1]["health/illegal_actions"] == 0
    assert rows[-1]["train/num_episodes"] > 0


@pytest.mark.parametrize(("target_kl", "steps"), [(0.0, 16), (1e9, 16), (1e-12, 4)])
def test_passes_end_once_the_policy_has_moved_too_far(target_kl: float, steps: int, tmp_path: Path) -> None:
    """A pass is judged as a whole: it is finished, and no other follows."""
    trainer = made("PPO", tmp_path, target_kl=target_kl)
    trainer.train(GAMES * OWN["PPO"]["num_steps"])
    assert trainer.model is not None
    taken = {int(state["step"]) for state in trainer.model.policy.optimizer.state.values()}
    trainer.close()
    assert taken == {steps}


def test_dqn_remembers_rewards_as_they_came_and_scales_them_when_it_draws(tmp_path: Path) -> None:
    trainer = made("DQN", tmp_path, learning_starts=2 * GAMES)
    trainer.train(4 * GAMES)
    model: Any = trainer.model
    stored = model.replay_buffer.reward[: model.replay_buffer.added]
    assert set(np.unique(stored)) <= {0.0, 1.0}, "the probe pays 0 or 1"
    factor = trainer.games.reward_scale
    assert factor is not None
    assert abs(factor - 1) > 0.01
    np.testing.assert_allclose(model._seen(torch.tensor([0.0, 1.0, 1e6])), [0.0, factor, 10.0], rtol=1e-6)
    trainer.close()


def test_the_bias_of_priorities_is_corrected_fully_by_the_end(tmp_path: Path) -> None:
    trainer = made("DQN", tmp_path, **RAINBOW, total_timesteps=1024)
    betas = []
    trainer.train(1024, callback=lambda step, metrics: betas.append(metrics.get("replay/beta")))
    replay: Any = trainer.model and trainer.model.replay_buffer
    trainer.close()
    assert replay.first_beta == 0.4
    assert 0.9 < replay.beta <= 1.0
    assert replay.beta_steps == 1024


def test_dqn_with_priorities_n_steps_double_and_duelling_solves_probe(tmp_path: Path) -> None:
    trainer = made("DQN", tmp_path, **RAINBOW)
    rows: list[dict[str, float]] = []
    trainer.train(2 * STEPS["DQN"], callback=lambda step, metrics: rows.append(metrics))
    mean, _ = trainer.evaluate(64)
    trainer.close()
    assert mean > 0.97 * Options().horizon
    assert rows[-1]["health/illegal_actions"] == 0
    assert 0 < rows[-1]["replay/megabytes"] < 1.3, "the limit in bytes, and the few rows that wait"


@pytest.mark.parametrize("algorithm", OWN)
def test_probe_cannot_be_learned_without_the_mask(algorithm: str, tmp_path: Path) -> None:
    game = FunctionalBatchGame(UnmaskedProbe(), GAMES, 1)
    trainer = made(algorithm, tmp_path, game)
    rows: list[dict[str, float]] = []
    trainer.train(STEPS[algorithm], callback=lambda step, metrics: rows.append(metrics))
    trainer.close()
    assert rows[-1]["train/mean_episode_return"] < 1.4 * Options().horizon / DOORS


@pytest.mark.parametrize(("algorithm", "changes"), [*((name, {}) for name in OWN), ("DQN", RAINBOW)])
def test_continued_equals_straight_through(algorithm: str, changes: dict[str, Any], tmp_path: Path) -> None:
    once = {"PPO": 1024, "A2C": 320, "DQN": 64}[algorithm]
    first, total = (20, 40 * once) if algorithm == "DQN" else (2, 4 * once)  # DQN learns from step 640 on
    straight = made(algorithm, tmp_path / "straight", log_interval=first, **changes)
    straight.train(total)
    stopped = made(algorithm, tmp_path / "stopped", log_interval=first, **changes)
    stopped.train(total, callback=lambda step, metrics: False)
    stopped.close()
    again = made(algorithm, tmp_path / "stopped", log_interval=first, **changes)
    assert again.step == first * once
    again.train(total)
    expected = {**straight.network.arrays(), **straight.learning_state()}
    found = {**again.network.arrays(), **again.learning_state()}
    straight.close()
    again.close()
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_the_saved_policy_is_the_learners_normalisation_included(tmp_path: Path) -> None:
    trainer = made("PPO", tmp_path)
    trainer.train(2048)
    latest = trainer.session.store.latest()
    assert latest is not None
    assert np.abs(trainer.network.arrays()["normalize.mean"]).max() > 0.1
    game = make("probe", 32, seed=5)
    game.reset()
    decision = OnnxPolicy.from_checkpoint(latest).act(game.observation, game.legal_mask)
    actions, _ = trainer.model.predict(game.observation, deterministic=True, action_masks=game.legal_mask)
    np.testing.assert_array_equal(decision.actions, actions)
    with torch.no_grad():
        value = trainer.network(torch.as_tensor(game.observation))[1]
    np.testing.assert_allclose(decision.values, value.numpy(), atol=1e-5)
    trainer.close()


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_prediction_stays_inside_the_mask_and_refuses_to_go_without(algorithm: str, tmp_path: Path) -> None:
    trainer = made(algorithm, tmp_path)
    game = make("probe", 200, seed=5)
    game.reset()
    for deterministic in (True, False):
        actions, _ = trainer.model.predict(game.observation, deterministic=deterministic, action_masks=game.legal_mask)
        assert game.legal_mask[np.arange(200), actions].all()
    with pytest.raises(UsageError, match="without action_masks"):
        trainer.model.predict(game.observation, deterministic=True)
    trainer.close()


def test_a_buffer_larger_than_memory_says_how_much_it_needs(tmp_path: Path) -> None:
    steps = 10**12
    needed = bytes_needed(PROBE, steps) / 1e9
    with pytest.raises(SettingsError, match=rf"needs {needed:.1f} GB of memory; .* are free. Use for instance"):
        made("DQN", tmp_path, buffer_size=steps)


def test_a_compressed_replay_larger_than_memory_or_plain_with_priorities_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"A replay of 1000000.0 GB \(buffer_gb\) does not fit"):
        made("DQN", tmp_path / "a", replay="compressed", buffer_gb=1e6)
    with pytest.raises(SettingsError, match="Use --replay compressed"):
        made("DQN", tmp_path / "b", replay="plain", n_step=3)


def test_a_checkpoint_of_another_net_or_algorithm_is_one_sentence(tmp_path: Path) -> None:
    trainer = made("PPO", tmp_path / "a")
    path = trainer.save_model()
    trainer.close()
    wide = made("PPO", tmp_path / "b", hidden_dim=48)
    with pytest.raises(CheckpointError, match=r"is of network mlp \[32, 32\]; this run uses mlp \[48, 48\]"):
        wide.load_model(path)
    wide.close()
    other = made("A2C", tmp_path / "c")
    with pytest.raises(CheckpointError, match="was trained by PPO; this run is A2C"):
        other.load_model(path)
    other.close()


def test_callbacks_of_sb3_are_called_and_can_end_training(tmp_path: Path) -> None:
    from stable_baselines3.common.callbacks import BaseCallback

    class StopSoon(BaseCallback):
        def _on_step(self) -> bool:
            return self.num_timesteps < 1000

    trainer = made("PPO", tmp_path)
    trainer.train(100_000, callback=StopSoon())
    assert trainer.step == 1024
    trainer.close()


def test_the_command_trains_evaluates_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = [f"--{n.replace('_', '-')}={v}" for n, v in OWN["PPO"].items()]
    command = ["train", "probe", "--algorithm", "MaskablePPO", "--num-envs=64", *flags, "--json"]
    assert run([*command, "--total-timesteps=4096", "--eval-games=16"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["run"], said["step"]) == ("probe-sb3-ppo", 4096)
    manifest = load_checkpoint(said["checkpoint"]).manifest
    assert (manifest.learner, manifest.algorithm, manifest.network["kind"]) == ("sb3", "PPO", "fields")
    row = json.loads((tmp_path / "runs/probe-sb3-ppo/metrics.jsonl").read_text().splitlines()[-1])
    for name in ("train/entropy", "train/approx_kl", "train/pg_loss", "train/value_loss", "train/explained_variance",
                 "train/mean_episode_return", "reward/match", "stats/matches", "speed/learn_share",
                 "health/illegal_actions"):  # fmt: skip
        assert name in row, name
    assert run([*command, "--total-timesteps=5120"]) == 0
    assert json.loads(capsys.readouterr().out)["step"] == 5120
    assert run(["evaluate", "probe-sb3-ppo", "--games=16", "--json"]) == 0
    assert run(["export", "probe-sb3-ppo", "--output", "policy.onnx"]) == 0


class TestReplay:
    """The ring of remembered steps."""

    def filled(self, steps: int, truncated: float = 0.2) -> Replay:
        import gymnasium

        rng = np.random.default_rng(0)
        ring = Replay(30, gymnasium.spaces.Box(-1, 1, (2,)), gymnasium.spaces.Discrete(11), "cpu", 3)
        for step in range(steps):
            seen = np.stack([np.full(3, step), np.arange(3)], axis=1)
            legal = np.zeros((3, 11), bool)
            legal[:, step % 11] = True
            cut = rng.random(3) < truncated
            ended = ~cut & (step % 4 == 3)
            ring.add(Steps(seen, legal, np.full(3, step % 11), np.full(3, step / 10), ended, cut))
        return ring

    @pytest.mark.parametrize("steps", [5, 10, 37])
    def test_what_follows_a_step_is_the_next_step_of_the_same_game_with_its_mask(self, steps: int) -> None:
        np.random.seed(0)
        ring = self.filled(steps)
        batch = ring.sample(500)
        at, row = batch.observation[:, 0].numpy(), batch.observation[:, 1].numpy()
        np.testing.assert_array_equal(batch.next_observation[:, 0], at + 1)
        np.testing.assert_array_equal(batch.next_observation[:, 1], row)
        np.testing.assert_array_equal(batch.next_legal_mask.numpy().argmax(axis=1), (at + 1) % 11)
        assert at.max() == steps - 2, "the newest step waits for its successor"
        assert at.min() >= steps - ring.capacity
        assert not ring.truncated[at.astype(int) % ring.capacity, row.astype(int)].any()

    def test_it_survives_being_stored(self) -> None:
        ring, other = self.filled(37), self.filled(0)
        other.load_arrays(ring.arrays())
        np.random.seed(1)
        expected = ring.sample(50)
        np.random.seed(1)
        for ours, theirs in zip(other.sample(50)[:-1], expected[:-1], strict=True):  # without `index`
            assert torch.equal(ours, theirs)

    def test_a_smaller_ring_keeps_the_newest(self) -> None:
        ring = self.filled(37)
        ring.shrink(0.5)
        assert ring.observation.shape[0] == 5
        np.random.seed(0)
        batch = ring.sample(200)
        at = batch.observation[:, 0].numpy()
        assert set(at) <= {32, 33, 34, 35}
        np.testing.assert_array_equal(batch.next_observation[:, 0], at + 1)

    def test_nothing_but_truncated_steps_is_an_error_and_no_endless_search(self) -> None:
        with pytest.raises(TrainingError, match="Nearly every step"):
            self.filled(10, truncated=1.1).sample(4)
