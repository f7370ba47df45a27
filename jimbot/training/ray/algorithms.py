"""Our settings as RLlib's configurations, one function per algorithm; what they share is in `_common`.

`num_envs` games are shared out to `num_env_runners` processes, each of which steps its share as one batch. What RLlib
calls a fragment is our `num_steps`, a train batch our `num_envs × num_steps`.

BC and MARWIL learn from datasets of `jimbot record`. RLlib reads its own files through Ray Data, in further processes;
ours are already in the right form, shuffled in constant memory by the reader that `jimbot clone` uses, so they go
straight to the learner.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.bc import BCConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.marwil import MARWILConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.offline.offline_data import OfflineData
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from jimbot.errors import DatasetError
from jimbot.games.contract import game_entry
from jimbot.games.spec import GameSpec
from jimbot.logs import log_level
from jimbot.policies.reward_transform import transform_reward
from jimbot.training.curriculum import Curriculum
from jimbot.training.environments import has_curriculum, training_options
from jimbot.training.imitation.batches import Batch, Batches
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.library_callbacks import imported
from jimbot.training.memory import GIGABYTE, MemoryBudget
from jimbot.training.ray.callbacks import BalatroCallbacks, GivenCallbacks
from jimbot.training.ray.cluster import Gpus
from jimbot.training.ray.episode_replay import CompressedEpisodeReplay
from jimbot.training.ray.games import ENVIRONMENT, MASK, OBSERVATION, register_games, runner_space
from jimbot.training.ray.learners import EpisodesToSamples, MaskedDQNLearner, MaskedPPOLearner
from jimbot.training.ray.modules import MaskedActorCritic, MaskedQ, spec_of
from jimbot.training.settings.record import TrainSettings

VALIDATION = 0.05  # of the games; held back, as by `jimbot clone`


class RecordedDecisions(OfflineData):
    """RLlib's OfflineData over one of our datasets, `config.input_`: endless epochs of shuffled decisions."""

    def __init__(self, config: Any) -> None:  # nothing of what RLlib's own does is needed
        asked = config.env_config
        self.dataset = Dataset.open(config.input_, game_entry(asked["game"]).spec.under(asked["options"]))
        if self.dataset.info.labels:
            raise DatasetError(
                f"Dataset {config.input_} holds sets of actions (replays); only `jimbot clone` learns from them."
            )
        reward = transform_reward(asked["reward_transform"], self.dataset.reward)
        # `start`: decisions learned from so far; a continued run goes on with epochs of its own.
        seed = int(np.random.SeedSequence([asked["seed"], asked["start"]]).generate_state(1)[0])
        self.batches = Batches(self.dataset, reward, config.gamma, VALIDATION, seed, probabilities=False)
        self.iter_batches_kwargs: dict[str, Any] = {}
        self._epoch = 0
        self._size = 0
        self._coming: Iterator[Batch] = iter(())

    def sample(
        self, num_samples: int, return_iterator: bool = False, num_shards: int = 1, module_state: Any = None
    ) -> Any:
        size = min(num_samples, self.batches.train_rows)
        batch = next(self._coming, None) if size == self._size else None
        if batch is None:
            self._coming, self._size = self.batches.train(self._epoch, size), size
            self._epoch += 1
            batch = next(self._coming)
        columns = SampleBatch({
            Columns.OBS: {OBSERVATION: torch.as_tensor(batch.observation), MASK: torch.as_tensor(batch.legal_mask)},
            Columns.ACTIONS: torch.as_tensor(np.asarray(batch.action, np.int64)),
            Postprocessing.VALUE_TARGETS: torch.as_tensor(batch.target),
        })  # fmt: skip
        return MultiAgentBatch({DEFAULT_MODULE_ID: columns}, env_steps=size)


SAMPLE_SECONDS = 1800.0  # a first sample may include compiling a game
RESTARTS = 1000  # of a lost runner, before RLlib gives up on it
PROBE_SECONDS = 10.0  # a lost runner that does not answer yet is asked again after the next update
ASYNC_SECONDS = 2.0  # what one iteration of an asynchronous algorithm lasts at least


def algorithm_config(
    settings: TrainSettings,
    spec: GameSpec,
    description: Mapping[str, Any],
    gpus: Gpus,
    start: int = 0,
    curriculum: Curriculum | None = None,
) -> AlgorithmConfig:
    """`start`: steps of the run so far; a continued run plays other games than it began with."""
    register_games()
    return BUILDERS[settings.algorithm](settings, spec, description, gpus, start, curriculum)


def _common(
    config: Any,
    settings: TrainSettings,
    gpus: Gpus,
    start: int,
    curriculum: Curriculum | None,
) -> Any:
    return (
        config.api_stack(enable_rl_module_and_learner=True, enable_env_runner_and_connector_v2=True)
        .environment(
            ENVIRONMENT,
            env_config={
                "game": settings.game,
                "options": training_options(settings),
                "seed": settings.seed,
                "start": start,
                "reward_transform": settings.reward_transform,
                "curriculum": has_curriculum(settings),
                "log_level": log_level(),
            },
            disable_env_checking=True,
        )
        .env_runners(
            num_env_runners=settings.ray.num_env_runners,
            num_envs_per_env_runner=max(1, settings.num_envs // settings.ray.num_env_runners),
            gym_env_vectorize_mode="vector_entry_point",
            rollout_fragment_length=settings.num_steps,
            batch_mode="truncate_episodes",
            num_gpus_per_env_runner=gpus.per_runner,
            sample_timeout_s=SAMPLE_SECONDS,
            episode_lookback_horizon=0,
        )
        .learners(num_learners=gpus.learners, num_gpus_per_learner=gpus.per_learner)
        .training(gamma=settings.gamma, lr=_learning_rate(settings), grad_clip=settings.ppo.max_grad_norm)
        .fault_tolerance(
            restart_failed_env_runners=True,
            max_num_env_runner_restarts=RESTARTS,
            delay_between_env_runner_restarts_s=1.0,
            num_consecutive_env_runner_failures_tolerance=RESTARTS,
            env_runner_health_probe_timeout_s=PROBE_SECONDS,
        )
        .callbacks(_callbacks(settings, curriculum))
        .reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=0)
        .debugging(seed=settings.seed % 2**31, log_level="ERROR")
    )


def _callbacks(settings: TrainSettings, curriculum: Curriculum | None) -> list[Callable[[], Any]]:
    """Ours, and then those of the settings."""
    ours: list[Callable[[], Any]] = [functools.partial(BalatroCallbacks, curriculum=curriculum)]
    given = imported(settings.callbacks)
    return [*ours, lambda: GivenCallbacks(given)] if given else ours  # a function: RLlib copies what a partial holds


def _learning_rate(settings: TrainSettings) -> Any:
    return [[0, settings.ppo.lr], [settings.total_timesteps, 0.0]] if settings.ppo.anneal_lr else settings.ppo.lr


def _ppo(settings: TrainSettings, spec: GameSpec, description: Any, gpus: Any, start: int, curriculum: Any) -> Any:
    gamma, gae_lambda = settings.gamma, settings.ppo.gae_lambda
    return (
        _common(PPOConfig(), settings, gpus, start, curriculum)
        .training(
            learner_class=MaskedPPOLearner,
            # Each learner has its part of every batch and minibatch; together they make the steps that one would.
            train_batch_size_per_learner=settings.batch_size // max(1, gpus.learners),
            minibatch_size=max(1, settings.minibatch_size // max(1, gpus.learners)),
            num_epochs=settings.ppo.update_epochs,
            lambda_=gae_lambda,
            clip_param=settings.ppo.clip_eps,
            vf_loss_coeff=settings.ppo.vf_coef,
            entropy_coeff=settings.ppo.ent_coef,
            use_kl_loss=False,
        )
        .learners(
            add_default_connectors_to_learner_pipeline=False,
            learner_connector=lambda *_: EpisodesToSamples(gamma, gae_lambda),
        )
        .rl_module(rl_module_spec=_actor_critic(settings, spec, description, lean=True))
    )


def _actor_critic(settings: TrainSettings, spec: GameSpec, description: Any, lean: bool = False) -> Any:
    return spec_of(description, spec, MaskedActorCritic, lean=lean, pieces=settings.memory.gradient_accumulation)


def _asynchronous(
    config: Any, settings: TrainSettings, spec: GameSpec, description: Any, gpus: Any, start: int, curriculum: Any
) -> Any:
    return (
        _common(config, settings, gpus, start, curriculum)
        .training(
            train_batch_size_per_learner=settings.batch_size // max(1, gpus.learners),
            vf_loss_coeff=settings.ppo.vf_coef,
            entropy_coeff=settings.ppo.ent_coef,
        )
        .reporting(min_time_s_per_iteration=ASYNC_SECONDS)
        .rl_module(rl_module_spec=_actor_critic(settings, spec, description, lean=True))
    )


def _impala(*arguments: Any) -> Any:
    return _asynchronous(IMPALAConfig(), *arguments)


def _appo(settings: TrainSettings, *arguments: Any) -> Any:
    return _asynchronous(APPOConfig(), settings, *arguments).training(clip_param=settings.ppo.clip_eps)


def _dqn(settings: TrainSettings, spec: GameSpec, description: Any, gpus: Any, start: int, curriculum: Any) -> Any:
    falling = round(settings.dqn.exploration_fraction * settings.total_timesteps)
    begins, given = settings.dqn.learning_starts, settings.replay.buffer_gb
    epsilon = [[0, 1.0], [begins + max(1, falling), settings.dqn.exploration_final_eps]]
    return (
        _common(DQNConfig(), settings, gpus, start, curriculum)
        .training(
            learner_class=MaskedDQNLearner,
            train_batch_size=settings.dqn.batch_size,
            # How many steps are learned from for each one played.
            training_intensity=settings.dqn.batch_size / settings.dqn.train_freq,
            num_steps_sampled_before_learning_starts=settings.dqn.learning_starts,
            target_network_update_freq=settings.dqn.target_update_interval,
            double_q=settings.dqn.double_q,
            dueling=settings.dqn.duelling,
            n_step=settings.dqn.n_step,
            epsilon=epsilon,
            replay_buffer_config={
                # RLlib looks for words in the name; a class of one's own must come by its full one.
                "type": f"{CompressedEpisodeReplay.__module__}.{CompressedEpisodeReplay.__name__}",
                "spec": spec,
                "capacity": settings.replay.buffer_size,
                "max_bytes": int(given * GIGABYTE) if given else MemoryBudget(settings.memory.limit_gb).replay,
                "alpha": settings.replay.priority_alpha if settings.replay.prioritized else 0.0,
                "beta": settings.replay.priority_beta if settings.replay.prioritized else 0.0,
                "beta_steps": settings.total_timesteps,
                "boosts": settings.replay.rare_event_boosts,
                "seed": settings.seed,
            },
        )
        .rl_module(rl_module_spec=spec_of(description, spec, MaskedQ, epsilon=epsilon))
    )


def _offline(
    config: Any, settings: TrainSettings, spec: GameSpec, description: Any, gpus: Any, start: int, curriculum: Any
) -> Any:
    return (
        _common(config, settings, gpus, start, curriculum)
        .environment(observation_space=runner_space(spec), action_space=Discrete(spec.actions.size))
        .env_runners(num_env_runners=0, num_envs_per_env_runner=1)
        .training(train_batch_size_per_learner=settings.batch_size)
        .offline_data(
            input_=str(settings.offline.data), offline_data_class=RecordedDecisions, dataset_num_iters_per_learner=1
        )
        .rl_module(rl_module_spec=_actor_critic(settings, spec, description))
    )


def _bc(*arguments: Any) -> Any:
    return _offline(BCConfig(), *arguments)


def _marwil(settings: TrainSettings, *arguments: Any) -> Any:
    config = _offline(MARWILConfig(), settings, *arguments)
    # The unit of advantages follows them quickly: RLlib's own rate (1e-8) never leaves its first guess of 100.
    return config.training(
        beta=settings.offline.marwil_beta,
        vf_coeff=settings.ppo.vf_coef,
        moving_average_sqd_adv_norm_update_rate=1e-2,
        moving_average_sqd_adv_norm_start=1.0,
    )


BUILDERS: dict[str, Callable[..., AlgorithmConfig]] = {
    "PPO": _ppo,
    "APPO": _appo,
    "IMPALA": _impala,
    "DQN": _dqn,
    "BC": _bc,
    "MARWIL": _marwil,
}
