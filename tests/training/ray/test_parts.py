"""The parts of the Ray learner that need no Ray running: games, distribution, modules, losses, batches and state."""

from __future__ import annotations

import logging
import os
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")
torch = pytest.importorskip("torch")

from ray.rllib.core.columns import Columns  # noqa: E402
from ray.rllib.env.single_agent_episode import SingleAgentEpisode  # noqa: E402
from ray.rllib.evaluation.postprocessing import Postprocessing  # noqa: E402
from ray.rllib.utils.postprocessing.value_predictions import compute_value_targets  # noqa: E402

from jimbot.errors import CheckpointError, SettingsError, TrainingError, UsageError  # noqa: E402
from jimbot.games.contract import game_entry, make  # noqa: E402
from jimbot.policies import masking, torch_masking  # noqa: E402
from jimbot.policies.networks import describe_network, param_shapes  # noqa: E402
from jimbot.policies.onnx_form import onnx_from_params  # noqa: E402
from jimbot.policies.portable import OnnxPolicy  # noqa: E402
from jimbot.policies.torch_networks import TorchNetwork  # noqa: E402
from jimbot.training import torch_losses  # noqa: E402
from jimbot.training.curriculum import AnteCurriculum, Level  # noqa: E402
from jimbot.training.ray import cluster, trainer  # noqa: E402
from jimbot.training.ray.algorithms import BUILDERS, algorithm_config  # noqa: E402
from jimbot.training.ray.callbacks import BalatroCallbacks, means_of, measured_of  # noqa: E402
from jimbot.training.ray.games import MASK, OBSERVATION, RunnerGames, make_games  # noqa: E402
from jimbot.training.ray.learners import EpisodesToSamples, MaskedDQNLearner  # noqa: E402
from jimbot.training.ray.modules import (  # noqa: E402
    MaskedCategorical,
    MaskedQ,
    in_pieces,
    spec_of,
)
from jimbot.training.ray.trainer import losses_of  # noqa: E402
from jimbot.training.settings.record import TrainSettings, load_settings, network_choice  # noqa: E402

MODULE = "default_policy"
PROBE = game_entry("probe").spec
NO_GPUS = cluster.Gpus()


def settings_of(**changes: Any) -> TrainSettings:
    small = {"game": "probe", "learner": "ray", "num_envs": 4, "num_steps": 8, "num_minibatches": 1, "hidden_dim": 16}
    return load_settings(small, changes)


def learner_of(settings: TrainSettings, **network: Any) -> Any:
    """RLlib's learner of an algorithm with our module, built here and now."""
    described = describe_network(PROBE, "mlp", hidden_dim=16, **network)
    config = algorithm_config(settings, PROBE, described, NO_GPUS)
    torch.manual_seed(0)
    spec = config.rl_module_spec
    return config.build_learner(spaces={MODULE: (spec.observation_space, spec.action_space)})


def test_the_distribution_is_that_of_the_reference() -> None:
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(64, 500)) * 20).astype(np.float32)
    legal = rng.random((64, 500)) < 0.2
    legal[:, 3] = True
    legal[0] = False
    legal[0, 7] = True  # a single legal action
    reference = masking.log_probabilities(logits, legal)
    found = MaskedCategorical.from_logits(
        torch_masking.log_probabilities(torch.as_tensor(logits), torch.as_tensor(legal))
    )
    actions = np.array([np.flatnonzero(row)[-1] for row in legal])
    np.testing.assert_allclose(
        found.logp(torch.as_tensor(actions)), masking.of_action(reference, actions), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(found.entropy(), masking.entropy(reference, legal), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found.to_deterministic().sample(), masking.best(reference, legal))
    for _ in range(20):
        assert legal[np.arange(64), found.sample().numpy()].all()
    assert float(found.kl(found).abs().max()) == 0.0


def test_a_minibatch_in_pieces_gives_the_same_answers_and_gradients() -> None:
    torch.manual_seed(0)
    network = TorchNetwork(describe_network(PROBE, "mlp", hidden_dim=16))
    observation = torch.rand(10, PROBE.observation.size)

    def learned(pieces: int) -> tuple[Any, dict[str, Any]]:
        network.zero_grad()
        logits, value = in_pieces(network, observation, pieces)
        (logits.square().sum() + value.sum()).backward()
        return (logits, value), {name: place.grad.clone() for name, place in network.named().items()}

    (whole, gradients), (pieces, same) = learned(1), learned(4)
    torch.testing.assert_close(pieces, whole)
    torch.testing.assert_close(same, gradients)


def test_a_game_that_ended_shows_its_last_position_and_restarts_in_a_step_that_does_not_count() -> None:
    games, twin = RunnerGames(make("probe", 3, 5)), make("probe", 3, 5)
    seen, _ = games.reset()
    twin.reset()
    np.testing.assert_array_equal(seen[OBSERVATION], twin.observation)
    played = 0
    for _ in range(40):
        actions = seen[MASK].argmax(axis=1)
        seen, reward, terminated, truncated, _ = games.step(actions)
        twin.step(actions)
        played += 3
        np.testing.assert_array_equal(terminated | truncated, twin.terminated | twin.truncated)
        np.testing.assert_array_equal(reward, twin.reward)
        if (terminated | truncated).any():
            break
    assert terminated.all(), "all games of the probe are equally long"
    np.testing.assert_array_equal(seen[OBSERVATION], twin.final_observation)
    assert seen[MASK].all()
    seen, reward, terminated, _, _ = games.step(np.zeros(3, int))
    np.testing.assert_array_equal(seen[OBSERVATION], twin.observation)
    np.testing.assert_array_equal(seen[MASK], twin.legal_mask)
    assert not reward.any()
    assert not terminated.any()
    measured = games.take()
    assert (measured.decisions, measured.episodes, measured.illegal) == (played, 3, 0)
    assert games.game.illegal_actions == 0


def test_runners_tell_what_they_make_and_play(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "jimbot"):
        games = make_games({"game": "probe", "num_envs": 2})
        seen, _ = games.reset()
        games.step(seen[MASK].argmax(axis=1))
        games.take()
    assert "runner 0 makes 2 games of probe" in caplog.text
    assert "2 decisions, 0 games ended" in caplog.text


def test_an_action_outside_the_mask_is_counted() -> None:
    games = RunnerGames(make("probe", 2, 5))
    seen, _ = games.reset()
    actions = seen[MASK].argmax(axis=1)
    actions[1] = (~seen[MASK][1]).argmax()
    games.step(actions)
    assert games.take().illegal == 1


def test_runners_play_different_games_and_a_restarted_runner_plays_others_than_before() -> None:
    class Context(dict):
        worker_index = 1

    first, second = make_games(Context(game="probe", num_envs=4)), make_games({"game": "probe", "num_envs": 4})
    for games in (first, second):
        games.reset()
    assert not set(first.game.seeds) & set(second.game.seeds)
    again = make_games(Context(game="probe", num_envs=4))
    again.reset()
    np.testing.assert_array_equal(again.game.seeds, first.game.seeds)
    again.reseed([0, 1, 1, 1])
    again.reset()
    assert not set(again.game.seeds) & set(first.game.seeds)


def episode(length: int, terminated: bool, truncated: bool = False, seed: int = 0) -> SingleAgentEpisode:
    rng = np.random.default_rng(seed)

    def position() -> dict[str, np.ndarray]:
        return {OBSERVATION: rng.random(PROBE.observation.size).astype(np.float32), MASK: np.ones(48, bool)}

    return SingleAgentEpisode(
        observations=[position() for _ in range(length + 1)],
        actions=rng.integers(0, 48, length).tolist(),
        rewards=rng.random(length).tolist(),
        terminated=terminated,
        truncated=truncated,
        extra_model_outputs={Columns.ACTION_LOGP: (-rng.random(length)).tolist()},
        len_lookback_buffer=0,
    ).to_numpy()


def in_played_order(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch back in the order it was played, by the same luck."""
    torch.manual_seed(5)
    order = torch.argsort(torch.randperm(len(batch[Columns.ACTIONS])))
    return {
        name: {k: v[order] for k, v in part.items()} if isinstance(part, dict) else part[order]
        for name, part in batch.items()
    }


def test_the_first_pass_is_shuffled() -> None:
    """RLlib shuffles between two passes; a first pass in the order of play would learn from one game after another."""
    learner = learner_of(settings_of())
    played = episode(64, True)
    torch.manual_seed(5)
    batch = EpisodesToSamples(0.9, 0.8)(rl_module=learner.module, batch={}, episodes=[played])[MODULE]
    actions = played.get_actions()
    assert (np.asarray(batch[Columns.ACTIONS]) != actions).any()
    np.testing.assert_array_equal(in_played_order(batch)[Columns.ACTIONS], actions)


def test_advantages_are_those_of_rllib() -> None:
    learner = learner_of(settings_of())
    episodes = [episode(5, True), episode(3, False, True, 1), episode(7, False, False, 2)]
    torch.manual_seed(5)
    batch = in_played_order(EpisodesToSamples(0.9, 0.8)(rl_module=learner.module, batch={}, episodes=episodes)[MODULE])
    begun = 0
    for part in episodes:
        seen = torch.as_tensor(part.get_observations(slice(0, len(part) + 1))[OBSERVATION])
        with torch.no_grad():
            values = learner.module[MODULE].network(seen)[1].numpy()
        rewards = np.append(part.get_rewards(), 0.0)
        ends = np.zeros(len(part) + 1)
        ends[-2] = 1.0
        targets = compute_value_targets(
            values, rewards, ends * part.is_terminated, ends * (not part.is_terminated), 0.9, 0.8
        )
        here = slice(begun, begun + len(part))
        np.testing.assert_allclose(batch[Postprocessing.VALUE_TARGETS][here], targets[:-1], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(batch[Columns.OBS][OBSERVATION][here], seen[:-1])
        np.testing.assert_array_equal(batch[Columns.ACTIONS][here], part.get_actions())
        begun += len(part)
    assert len(batch[Columns.ACTIONS]) == begun == 15


def test_ray_and_the_other_learners_agree_on_loss_and_gradients() -> None:
    """`test_equal_maths` holds jax and sb3 together; this holds ray to them."""
    settings = settings_of(clip_eps=0.2, vf_coef=0.7, ent_coef=0.05)
    learner = learner_of(settings)
    rng = np.random.default_rng(0)
    legal = rng.random((64, 48)) < 0.3
    actions = rng.integers(0, 48, 64)
    legal[np.arange(64), actions] = True
    floats = {name: rng.normal(size=64).astype(np.float32) for name in ("advantage", "target")}
    samples = torch_losses.Samples(
        torch.as_tensor(rng.random((64, 5)).astype(np.float32)),
        torch.as_tensor(legal),
        torch.as_tensor(actions),
        torch.as_tensor(np.log(rng.uniform(0.02, 0.2, 64)).astype(np.float32)),
        *map(torch.as_tensor, floats.values()),
    )
    batch = {
        Columns.OBS: {OBSERVATION: samples.observation, MASK: samples.legal_mask},
        Columns.ACTIONS: samples.action,
        Columns.ACTION_LOGP: samples.log_probability,
        Postprocessing.ADVANTAGES: samples.advantage,
        Postprocessing.VALUE_TARGETS: samples.target,
    }
    module = learner.module[MODULE]
    ours = learner.compute_loss_for_module(
        module_id=MODULE,
        config=learner.config.get_config_for_module(MODULE),
        batch=batch,
        fwd_out=module.forward_train(batch),
    )
    gradients = torch.autograd.grad(ours, list(module.network.parameters()))
    theirs, parts = torch_losses.ppo_loss(module.network, torch_losses.Weights(0.2, 0.7, 0.05), samples)
    expected = torch.autograd.grad(theirs, list(module.network.parameters()))
    assert 0 < float(parts["train/clip_frac"]) < 1
    torch.testing.assert_close(ours, theirs)
    for found, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(found, wanted)


def following(legal_after: torch.Tensor) -> dict[str, Any]:
    rows = len(legal_after)
    zeros, everything = torch.zeros(rows, 5), torch.ones(rows, 48, dtype=torch.bool)
    return {
        Columns.OBS: {OBSERVATION: zeros, MASK: everything},
        Columns.NEXT_OBS: {OBSERVATION: zeros, MASK: legal_after},
        Columns.ACTIONS: torch.zeros(rows).long(),
        Columns.REWARDS: torch.ones(rows),
        Columns.TERMINATEDS: torch.zeros(rows, dtype=torch.bool),
        Columns.TRUNCATEDS: torch.zeros(rows, dtype=torch.bool),
        "n_step": torch.ones(rows),
        "weights": torch.ones(rows),
    }


def dqn_loss(learner: MaskedDQNLearner, batch: dict[str, Any]) -> float:
    module = learner.module[MODULE]
    config = learner.config.get_config_for_module(MODULE)
    arguments = {"module_id": MODULE, "config": config, "batch": dict(batch), "fwd_out": module.forward_train(batch)}
    return float(learner.compute_loss_for_module(**arguments).detach())


@pytest.mark.parametrize("double_q", [True, False])
def test_the_targets_of_dqn_stay_inside_the_mask_and_cut_off_steps_are_not_learned(double_q: bool) -> None:
    learner = learner_of(settings_of(algorithm="DQN", double_q=double_q), action_values=True, duelling=True)
    module = learner.module[MODULE]
    with torch.no_grad():
        for network in (module.network, module.target_network):
            network.named()["policy.bias"][7] = 1000.0  # a tempting action that is not legal
    legal = torch.ones(4, 48, dtype=torch.bool)
    tempting = following(legal.clone())
    legal[:, 7] = False
    assert dqn_loss(learner, following(legal)) < 100
    assert dqn_loss(learner, tempting) > 500
    cut_off = {**tempting, Columns.TRUNCATEDS: torch.ones(4, dtype=torch.bool)}
    assert dqn_loss(learner, cut_off) == 0.0


def test_dqn_explores_and_chooses_legal_actions_only() -> None:
    described = describe_network(PROBE, "mlp", hidden_dim=16, action_values=True, duelling=True)
    module = spec_of(described, PROBE, MaskedQ, epsilon=[[0, 1.0], [10, 0.0]]).build()
    legal = torch.as_tensor(np.random.default_rng(0).random((256, 48)) < 0.1)
    legal[:, 5] = True
    batch = {Columns.OBS: {OBSERVATION: torch.zeros(256, 5), MASK: legal}}
    for t in (0, 5, 10):
        chosen = module.forward_exploration(batch, t=t)[Columns.ACTIONS]
        assert bool(legal[torch.arange(256), chosen].all())
    greedy = module.forward_inference(batch)[Columns.ACTIONS]
    torch.testing.assert_close(module.forward_exploration(batch, t=10)[Columns.ACTIONS], greedy)


def test_the_portable_form_of_a_duelling_network_gives_the_value_of_the_best_legal_action() -> None:
    described = describe_network(PROBE, "mlp", hidden_dim=16, action_values=True, duelling=True)
    torch.manual_seed(1)
    module: Any = spec_of(described, PROBE, MaskedQ, epsilon=0.0).build()
    rng = np.random.default_rng(1)
    observation, legal = rng.random((32, 5)).astype(np.float32), rng.random((32, 48)) < 0.2
    legal[:, 0] = True
    batch = {Columns.OBS: {OBSERVATION: torch.as_tensor(observation), MASK: torch.as_tensor(legal)}}
    with torch.no_grad():
        values = module.compute_q_values(batch)["qf_preds"].numpy()
    policy = OnnxPolicy.from_bytes(onnx_from_params(described, module.network.arrays(), 5, 48), name="duelling")
    decision = policy.act(observation, legal)
    np.testing.assert_allclose(decision.values, np.where(legal, values, -np.inf).max(axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(decision.actions, np.where(legal, values, -np.inf).argmax(axis=1))


def test_state_becomes_arrays_and_back() -> None:
    tree = {
        "weights": {"a": np.arange(6.0).reshape(2, 3), 7: torch.ones(2)},
        ("a", 1): [None, True, 3, float("inf"), "text"],
        "many": (np.float32(1.5), deque([1, 2])),
    }
    found = trainer.from_arrays(trainer.to_arrays(tree))
    np.testing.assert_array_equal(found["weights"]["a"], tree["weights"]["a"])
    assert isinstance(found["weights"][7], torch.Tensor)
    assert found[("a", 1)] == [None, True, 3, float("inf"), "text"]
    assert found["many"] == (1.5, [1, 2])
    with pytest.raises(CheckpointError, match="object at 'state/x'"):
        trainer.to_arrays({"x": object()})
    with pytest.raises(CheckpointError, match="no state of RLlib"):
        trainer.from_arrays({})


def test_what_runners_report_becomes_the_sums_of_every_learner() -> None:
    class Logger(dict):
        def log_value(self, key: tuple[str, ...], value: float, reduce: str) -> None:
            place = self
            for part in key[:-1]:
                place = place.setdefault(part, {})
            place[key[-1]] = max(place.get(key[-1], value), value) if reduce == "max" else place.get(key[-1], 0) + value

    logger = Logger()
    games = RunnerGames(make("probe", 3, 5))
    runner = type("Runner", (), {"env": type("Env", (), {"unwrapped": games})})
    seen, _ = games.reset()
    for _ in range(20):
        seen, *_ = games.step(seen[MASK].argmax(axis=1))
    expected = games.tally
    sums = {name: np.array(value) for name, value in expected._sums.items()}
    BalatroCallbacks().on_sample_end(env_runner=runner, metrics_logger=logger, samples=[])
    found = measured_of(PROBE, logger["jimbot_sums"])
    for name, value in sums.items():
        np.testing.assert_allclose(getattr(found, name), value, err_msg=name)
    assert games.take().decisions == 0


def test_what_a_result_shows_are_means_with_the_names_of_every_learner() -> None:
    """Two runners, three episodes of 4, 8 and 6 points in 20 decisions."""
    sums = {
        "decisions": 20.0, "illegal": 0.0, "episodes": 3.0, "episode_return": 18.0, "episode_length": 20.0,
        "reward_terms": {"match": 18.0}, "blocks": {"door_0": 15.0, "door_1": 5.0},
        "stats": {"matches": 18.0, "highest_match": 18.0}, "best_stats": {"matches": 8.0, "highest_match": 8.0},
    }  # fmt: skip
    means = means_of(sums)
    assert means["stats"] == {"matches": 6.0, "highest_match": 8.0}
    assert (means["mean_episode_return"], means["mean_episode_length"]) == (6.0, pytest.approx(20 / 3))
    assert means["reward"] == {"match": 0.9}
    assert means["actions"] == {"door_0_frac": 0.75, "door_1_frac": 0.25}
    before_any_end = means_of({"decisions": 5.0, "illegal": 0.0, "episodes": 0.0})
    assert "stats" not in before_any_end


def test_the_curriculum_of_all_runners_rises_together() -> None:
    level, curriculum = Level(), AnteCurriculum(window=4)
    for success in (True, True, True):
        assert not level.record(success)
    assert not curriculum.hear(*level.take())
    level.record(True)
    assert curriculum.hear(*level.take())
    assert (curriculum.max_ante, level.max_ante) == (3, 2)


@pytest.mark.parametrize("algorithm", [name for name in BUILDERS if name not in ("BC", "MARWIL")])
def test_every_algorithm_gets_a_valid_configuration_with_its_games_shared_out(algorithm: str) -> None:
    settings = settings_of(algorithm=algorithm, num_env_runners=2)
    described = describe_network(PROBE, "mlp", hidden_dim=16, action_values=algorithm == "DQN")
    config = algorithm_config(settings, PROBE, described, NO_GPUS)
    config.validate()
    assert (config.num_env_runners, config.num_envs_per_env_runner) == (2, 2)
    assert config.env_config["game"] == "probe"


def test_nothing_learned_is_no_loss() -> None:
    assert losses_of({"learners": {MODULE: {"entropy": 1.0}}}) == {}
    assert losses_of({}) == {}
    assert losses_of({"learners": {MODULE: {"total_loss": 2.0}}}) == {"train/loss": 2.0}


def test_more_runners_than_processors_and_games_that_cannot_be_shared_out_are_sentences() -> None:
    with pytest.raises(SettingsError, match=r"num_env_runners is 4, but there are 2 CPUs.*--num-env-runners 2"):
        cluster.check_runners(settings_of(num_env_runners=4), 2)
    with pytest.raises(SettingsError, match=r"num_envs 5 cannot be shared out evenly to 2.*--num-envs 4"):
        cluster.check_runners(settings_of(num_envs=5, num_steps=8), 2)


def test_gpus_that_are_not_there_are_said_and_replaced() -> None:
    told: list[str] = []
    assert cluster.usable_gpus(settings_of(num_gpus=1), 0.0, told.append) == NO_GPUS
    assert told == [
        "1 GPUs were asked for and 0 are there: learning and playing use the CPU instead "
        "(num_gpus, num_gpus_per_env_runner)."
    ]
    assert cluster.usable_gpus(settings_of(num_gpus=1), 2.0, told.append) == (0, 1, 0)
    assert len(told) == 1


@pytest.mark.parametrize("algorithm", ["PPO", "APPO", "IMPALA"])
def test_two_gpus_are_two_learners_that_share_every_batch(algorithm: str) -> None:
    chosen = {"num_gpus": 2, "num_gpus_per_env_runner": 0.5, "num_env_runners": 2, "num_steps": 32}
    settings = settings_of(algorithm=algorithm, num_minibatches=4, **chosen)
    gpus = cluster.usable_gpus(settings, 3.0, pytest.fail)
    config = algorithm_config(settings, PROBE, describe_network(PROBE, "mlp", hidden_dim=16), gpus)
    assert (config.num_learners, config.num_gpus_per_learner, config.num_gpus_per_env_runner) == (2, 1, 0.5)
    assert (config.train_batch_size_per_learner, config.total_train_batch_size) == (64, 128)
    if algorithm == "PPO":
        assert config.minibatch_size == settings.minibatch_size // 2 == 16


def test_spilling_may_use_so_much_of_the_disk_and_never_all(tmp_path: Any) -> None:
    little = cluster.spill_threshold(tmp_path, 0.001)
    assert 0 < little <= cluster.spill_threshold(tmp_path, 1.0) <= 0.95
    assert cluster.spill_threshold(tmp_path, 1e9) == 0.95


def test_games_of_several_players_are_refused() -> None:
    game: Any = make("probe", 2)
    game.spec = type("Spec", (), {"players": 2, "id": "duel"})
    with pytest.raises(UsageError, match="'duel' has 2 players"):
        RunnerGames(game)


def test_no_cluster_at_an_address_is_a_sentence() -> None:
    with pytest.raises(SettingsError, match=r"There is no Ray cluster at address '127.0.0.1:1'"):
        cluster.join("127.0.0.1:1")


@pytest.mark.parametrize(
    ("name", "instead"),
    [("num_rollout_workers", "num_env_runners"), ("observation_filter", "normalize_obs"), ("horizon", "option of the")],
)
def test_names_rllib_gave_up_are_refused_with_what_replaces_them(name: str, instead: str) -> None:
    with pytest.raises(SettingsError, match=f"'{name}' is a name RLlib gave up.*{instead}"):
        load_settings({"env": "probe", name: 1})


def test_a_learned_row_per_joker_widens_balatronet() -> None:
    spec = game_entry("balatro").spec
    described = describe_network(
        spec, **network_choice(load_settings({"network": "BalatroNet", "memgraph_embedding_dim": 12}))
    )
    shapes = param_shapes(described)
    assert shapes["table_joker_graph"] == (spec.observation["joker_id"].ids, 12)
    assert shapes["shared_0.weight"][0] == 512 + 2 * 12
    assert "table_joker_graph" not in param_shapes(describe_network(spec, "BalatroNet"))


@pytest.mark.parametrize("failure", [Exception("The current node timed out during startup."), TimeoutError("slow")])
def test_a_cluster_that_does_not_start_is_a_sentence(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine: Ray gives up after half a minute with a plain Exception."""

    def init(**_: Any) -> None:
        raise failure

    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "1")
    monkeypatch.setattr(cluster.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(cluster.ray, "init", init)
    monkeypatch.setattr(cluster.ray, "shutdown", lambda: None)
    with pytest.raises(TrainingError, match=f"Ray could not be started here: {failure}"):
        cluster.Cluster(settings_of(), tmp_path / "spill", lambda _: None)


def test_without_an_address_a_cluster_of_our_own_starts_on_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # a cluster that is gone
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "1")
    monkeypatch.setattr(cluster.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(cluster.ray, "init", lambda **arguments: asked.update(arguments))
    monkeypatch.setattr(cluster.ray, "cluster_resources", lambda: {"CPU": 2.0})
    cluster.Cluster(load_settings({"game": "probe", "learner": "ray"}), tmp_path / "spill", print)
    assert asked["address"] == "local"
    assert asked["_node_ip_address"] == "127.0.0.1"
    assert asked["include_dashboard"] is False


def test_the_token_of_a_new_cluster_is_for_its_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    token = tmp_path / ".ray" / "auth_token"
    before = os.umask(0)
    try:
        cluster.keep_token_private()
    finally:
        os.umask(before)
    made = token.read_text()
    assert (token.stat().st_mode & 0o777, token.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert len(made) >= 32
    token.chmod(0o644)  # as Ray itself writes it
    cluster.keep_token_private()
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text() == made
