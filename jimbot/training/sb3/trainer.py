"""`--learner sb3`: Stable-Baselines3's PPO, A2C and DQN, all masked, over the native batch of games.

The loop is the session's, as in every learner: SB3 collects and learns, the session logs, saves and stops. What it
writes is what every learner writes: parameters under the shared names, `policy.onnx` with mask and normalisation
inside, and everything a continued run needs as plain arrays.

On CPU a continued PPO, A2C or DQN run equals the uninterrupted one: parameters, optimiser, generators, games,
statistics and replay are all stored. What is not: SB3's own window of recent episodes, which nothing here reads.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import CheckpointError, SettingsError
from jimbot.games.contract import BatchGame
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import with_metadata
from jimbot.policies.torch_networks import TorchNetwork
from jimbot.runs.checkpoint import Manifest
from jimbot.training.environments.given import training_game
from jimbot.training.framework import Callback, RLTrainer
from jimbot.training.init_policy import fixed_statistics_updates, start_of
from jimbot.training.memory.budget import GIGABYTE, MemoryBudget
from jimbot.training.memory.relief import MOST_PIECES, SMALLEST_REPLAY
from jimbot.training.replay.rare_events import events_of
from jimbot.training.running_statistics import moments_of
from jimbot.training.sb3 import Logger, torch
from jimbot.training.sb3.algorithms import MaskedA2C, MaskedDQN, MaskedPPO, sb3_names
from jimbot.training.sb3.compressed_replay import CompressedReplay
from jimbot.training.sb3.games import TrainingGames, part
from jimbot.training.sb3.guidance import guide_of
from jimbot.training.sb3.policies import MaskedPolicy, MaskedQPolicy
from jimbot.training.sb3.replay import Replay, check_memory
from jimbot.training.sb3.state import load_luck, load_optimiser, luck_arrays, optimiser_arrays
from jimbot.training.session.log_rows import Measures
from jimbot.training.session.session import Session, TrainResult
from jimbot.training.settings.record import TrainSettings, network_choice

LEARNER = "sb3"
_log = logging.getLogger("jimbot.training.sb3")
RMSPROP = {"alpha": 0.99, "eps": 1e-5, "weight_decay": 0}  # as SB3's own A2C


class SB3Trainer(RLTrainer):
    """One run of one of SB3's algorithms. `model` is the SB3 object, for whoever wants more of it."""

    algorithms = ("PPO", "A2C", "DQN")

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        super().__init__(settings, session, game)
        torch.set_num_threads(1)  # small nets on shared cores: more threads were up to ten times slower
        if game is None:
            game = training_game(settings)
        self.curriculum = getattr(game, "curriculum", None)
        observe = settings.normalize_obs
        action_values = settings.algorithm == "DQN"
        self.games = TrainingGames(game, settings.reward_transform, settings.gamma, observe, remember=action_values)
        self.description = describe_network(
            self.spec,
            **network_choice(settings),
            action_values=action_values,
            duelling=action_values and settings.dqn.duelling,
            normalize=observe,
        )
        self.model: MaskedPPO | MaskedDQN | None = None
        self.updates = 0
        self._reference: TorchNetwork | None = None  # the policy that init_kl pulls to
        self._seconds = {"simulate": 0.0, "act": 0.0, "learn": 0.0}

    @classmethod
    def check(cls, settings: TrainSettings) -> None:
        if settings.replay.kind == "plain" and (settings.replay.prioritized or settings.dqn.n_step > 1):
            raise SettingsError(
                "The plain replay has neither priorities nor n-step targets (prioritized_replay, n_step). "
                "Use --replay compressed, or leave --replay out."
            )
        if settings.replay.rare_event_boosts:
            events_of(settings.game, settings.replay.rare_event_boosts)
        for name in ("init_kl", "value_warmup_updates") if settings.algorithm == "DQN" else ():
            if value := settings[name]:
                raise SettingsError(
                    f"{name} is {value}, but DQN learns values of actions: it has no policy that could be pulled "
                    "or kept still. Leave it out, or use PPO or A2C."
                )

    @property
    def step(self) -> int:
        return self._live().num_timesteps

    @property
    def network(self) -> TorchNetwork:
        """The network that acts."""
        return self._live().policy.network  # ty: ignore[invalid-return-type]

    def create_model(self) -> None:
        self.model = self._dqn() if self.settings.algorithm == "DQN" else self._on_policy()
        self.model.gradient_pieces = self.settings.memory.gradient_pieces
        self.model.set_logger(Logger(folder=None, output_formats=[]))  # SB3's own would leave a folder per model
        if self.settings.start.init_kl:
            self._reference = TorchNetwork(self.description).to(self.model.device)  # until a start is given
        self.games.reset()
        self.games_restarted()

    def start_from(self, path: str | Path) -> None:
        start = start_of(path, self.spec, self.description)
        for network in (*self._networks(), self._reference):
            if network is not None:
                network.load_arrays(start.params)
        if self.settings.normalize_obs:
            self.games.observed = moments_of(start.params, start.step)

    def described_network(self) -> Mapping[str, Any]:
        return self.description

    def put_params(self, params: Mapping[str, np.ndarray]) -> None:
        for network in self._networks():
            network.load_arrays({**network.arrays(), **params})

    def train(self, total_timesteps: int | None = None, callback: Callback | Any = None) -> TrainResult:
        """`callback`: ours (step, metrics), or SB3's own callbacks."""
        if self.model is None:
            self.create_model()
        model, session = self._live(), self.session
        total = total_timesteps or self.settings.total_timesteps
        ours = callback if callback is None or _is_ours(callback) else None
        measures = Measures(self.spec)
        with session.running(self.step, total):
            _, theirs = model._setup_learn(max(0, total - self.step), None if ours else callback, False)
            theirs.on_training_start({}, {})
            while not (reason := session.stop_reason(self.step, total)):
                before = self.step
                with session.turn():
                    losses = self._update(theirs, total)
                if losses is None:
                    session.end("a callback of SB3 asked to stop")
                    continue
                session.check_finite(losses, self.updates, self.step)
                measures.add(losses, self.games.tally.take(), self.step - before)
                self.after_update(self.updates, measures, self._phase_seconds, ours)
            theirs.on_training_end()
            if rest := measures.take():
                session.log(self.step, rest)
            path = self.save_model()
        return session.finished(self.step, reason, path)

    def policy_onnx(self) -> bytes:
        model = onnx_from_params(
            self.description, self.network.arrays(), self.spec.observation.size, self.spec.actions.size
        )
        return with_metadata(model, self._manifest())

    def save_model(self) -> Path:
        path = self.session.store.save(self._manifest(), self.policy_onnx(), self.network.arrays(), self._state())
        self.session.saved(self.step, path)
        return path

    def load_model(self, path: str | Path) -> None:
        checkpoint = self.checked_checkpoint(path, self.description)
        if self.model is None:
            self.create_model()
        self._load_state(checkpoint.params(), checkpoint.state(), f"checkpoint {path}")
        self.session.latest_metrics = dict(checkpoint.manifest.metrics)

    def relieve(self, name: str) -> str | None:
        memory, model = self.session.memory, self._live()
        if name == "smaller_replay" and isinstance(model, MaskedDQN):
            replay = model.replay_buffer
            before = replay.nbytes
            if before < SMALLEST_REPLAY:
                return None
            replay.shrink(0.5)
            if isinstance(replay, CompressedReplay):
                memory.remember(buffer_gb=replay.store.max_bytes / GIGABYTE)
            else:
                memory.remember(buffer_size=replay.capacity * replay.rows)
            return f"the replay has {replay.nbytes / 1e6:,.0f} MB instead of {before / 1e6:,.0f} MB"
        if name == "smaller_batches" and model.gradient_pieces < MOST_PIECES:
            model.gradient_pieces *= 2
            memory.remember(gradient_pieces=model.gradient_pieces)
            return f"minibatches are learned in {model.gradient_pieces} pieces, with the same steps as before"
        return super().relieve(name)

    def games_restarted(self) -> None:
        model = self._live()
        model._last_obs = self.games.game.observation.copy()
        model._last_episode_starts = np.ones(self.games.num_envs, bool)

    def close(self) -> None:
        self.games.close()
        self.session.close()

    def _on_policy(self) -> MaskedPPO:
        settings, is_a2c = self.settings, self.settings.algorithm == "A2C"
        policy_kwargs: dict[str, Any] = {"description": self.description}
        if is_a2c:
            policy_kwargs |= {"optimizer_class": torch.optim.RMSprop, "optimizer_kwargs": RMSPROP}
        return (MaskedA2C if is_a2c else MaskedPPO)(
            MaskedPolicy,
            self.games,
            learning_rate=self._schedule(),
            batch_size=settings.batch_size if is_a2c else settings.minibatch_size,
            n_epochs=1 if is_a2c else settings.ppo.update_epochs,
            **sb3_names(settings),
            target_kl=settings.ppo.target_kl or None,
            policy_kwargs=policy_kwargs,
            seed=_seed(settings.seed),
            device="auto",
        )

    def _dqn(self) -> MaskedDQN:
        settings, games = self.settings, self.games.num_envs
        replay, replay_kwargs = self._replay()
        # `train_freq` counts steps of all games together, whatever their number: the same learning for any num_envs.
        rounds = max(1, settings.dqn.train_freq // games)
        model = MaskedDQN(
            MaskedQPolicy,  # ty: ignore[invalid-argument-type]
            self.games,
            learning_rate=self._schedule(),
            buffer_size=settings.replay.buffer_size,
            learning_starts=settings.dqn.learning_starts,
            batch_size=settings.dqn.batch_size,
            gamma=settings.gamma,
            train_freq=rounds,
            gradient_steps=max(1, round(rounds * games / settings.dqn.train_freq)),
            replay_buffer_class=replay,
            replay_buffer_kwargs=replay_kwargs,
            target_update_interval=settings.dqn.target_update_interval,
            exploration_fraction=settings.dqn.exploration_fraction,
            exploration_final_eps=settings.dqn.exploration_final_eps,
            max_grad_norm=settings.ppo.max_grad_norm,
            policy_kwargs={"description": self.description},
            seed=_seed(settings.seed),
            device="auto",
        )
        model.double_q = settings.dqn.double_q
        return model

    def _replay(self) -> tuple[Any, dict[str, Any]]:
        """The class of DQN's memory and what it is made with."""
        settings = self.settings
        compressed = settings.replay.prioritized or settings.dqn.n_step > 1
        if settings.replay.kind == "plain" or (settings.replay.kind == "auto" and not compressed):
            check_memory(self.spec, settings.replay.buffer_size)
            return Replay, {"gamma": settings.gamma}
        given = settings.replay.buffer_gb
        return CompressedReplay, {
            "spec": self.spec,
            "max_bytes": int(given * GIGABYTE) if given else MemoryBudget(settings.memory.limit_gb).part("buffer"),
            "gamma": settings.gamma,
            "n_step": settings.dqn.n_step,
            "alpha": settings.replay.priority_alpha if settings.replay.prioritized else 0.0,
            "beta": settings.replay.priority_beta if settings.replay.prioritized else 0.0,
            "beta_steps": settings.total_timesteps,
            "boosts": settings.replay.rare_event_boosts,
        }

    def _update(self, callback: Any, total: int) -> dict[str, float] | None:
        """Collects and learns once; None if a callback of SB3 ended it."""
        model, games = self._live(), self.games
        games.seconds = 0.0
        began = time.perf_counter()
        if isinstance(model, MaskedDQN):
            model.losses = {}
            collected = model.collect_rollouts(
                games,
                callback,
                train_freq=model.train_freq,  # ty: ignore[invalid-argument-type]
                replay_buffer=model.replay_buffer,  # ty: ignore[invalid-argument-type]
                learning_starts=model.learning_starts,
            ).continue_training
        else:
            collected = model.collect_rollouts(games, callback, model.rollout_buffer, model.n_steps)
        if not collected:
            return None
        played = time.perf_counter()
        _log.debug(
            "update %d: collected up to step %d in %.3f s", self.updates + 1, model.num_timesteps, played - began
        )
        model._update_current_progress_remaining(model.num_timesteps, total)
        model.guide = guide_of(self.settings, self.network, self._reference, self.updates)
        if not isinstance(model, MaskedDQN):
            model.train()
        elif model.num_timesteps > model.learning_starts:
            model.train(model.gradient_steps, model.batch_size)
        self._normalise()
        self.updates += 1
        self._seconds["simulate"] += games.seconds
        self._seconds["act"] += played - began - games.seconds
        self._seconds["learn"] += time.perf_counter() - played
        return model.losses

    def _normalise(self) -> None:
        """Hands the statistics to the network between two updates, so that what was collected is learned as seen."""
        numbers = self.games.normalisation()
        if numbers is None or self.updates < fixed_statistics_updates(self.settings):
            return
        for network in self._networks():
            for name, value in numbers.items():
                network.named()[name].copy_(torch.as_tensor(value))

    def _networks(self) -> list[TorchNetwork]:
        """What acts and learns, and DQN's target."""
        policy: Any = self._live().policy
        return [policy.q_net, policy.q_net_target] if isinstance(policy, MaskedQPolicy) else [policy.network]

    def _phase_seconds(self, elapsed: float) -> dict[str, float]:
        spent, self._seconds = self._seconds, dict.fromkeys(self._seconds, 0.0)
        return spent

    def _schedule(self) -> float | Callable[[float], float]:
        lr = self.settings.ppo.lr
        return (lambda left: lr * left) if self.settings.ppo.anneal_lr else lr

    def _state(self) -> dict[str, np.ndarray]:
        model, kept = self._live(), self.games_kept
        state = self.games.arrays(kept) | {"counters": np.array([model.num_timesteps, self.updates, model._n_updates])}
        state |= {f"optimiser/{name}": value for name, value in optimiser_arrays(model.policy.optimizer).items()}
        state |= {f"luck/{name}": value for name, value in luck_arrays().items()}
        if model._last_episode_starts is not None:
            state["episode_starts"] = np.asarray(model._last_episode_starts)[:kept]
        if self._reference is not None:
            state |= {f"reference/{name}": value for name, value in self._reference.arrays().items()}
        if isinstance(model, MaskedDQN):
            state |= {f"replay/{name}": value for name, value in model.replay_buffer.arrays(kept).items()}
            state |= {f"target/{name}": value for name, value in model.policy.q_net_target.arrays().items()}
            state["dqn"] = np.array([model._n_calls, model.exploration_rate])
        return state

    def _load_state(self, params: dict[str, np.ndarray], state: dict[str, np.ndarray], what: str) -> None:
        model = self._live()
        try:
            self.network.load_arrays(params)
            load_optimiser(model.policy.optimizer, part(state, "optimiser/"))
            if self._reference is not None:
                self._reference.load_arrays(part(state, "reference/"))
            if isinstance(model, MaskedDQN):
                model.replay_buffer.load_arrays(part(state, "replay/"))
                model.policy.q_net_target.load_arrays(part(state, "target/"))
                model._n_calls, model.exploration_rate = int(state["dqn"][0]), float(state["dqn"][1])
            if "episode_starts" in state:
                model._last_obs = self.games.load_arrays(state)
                model._last_episode_starts = np.array(state["episode_starts"])
            model.num_timesteps, self.updates, model._n_updates = (int(value) for value in state["counters"])
            load_luck(part(state, "luck/"))
        except KeyError as problem:
            raise CheckpointError(f"The {what} lacks {problem}; it is damaged or of another version.") from problem

    def _live(self) -> MaskedPPO | MaskedDQN:
        if self.model is None:
            raise SettingsError("The trainer has no model yet. Call create_model() or load_model() first.")
        return self.model

    def _manifest(self) -> Manifest:
        return self.manifest_of(LEARNER, self.description, self.updates)


def _seed(seed: int) -> int:
    """SB3 seeds NumPy's old generator, which takes 32 bits."""
    return seed % 2**32


def _is_ours(callback: Any) -> bool:
    from stable_baselines3.common.callbacks import BaseCallback

    return callable(callback) and not isinstance(callback, BaseCallback | list)
