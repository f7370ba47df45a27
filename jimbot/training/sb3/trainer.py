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
import torch

from jimbot.errors import CheckpointError, SettingsError
from jimbot.games.contract import BatchGame
from jimbot.policies.networks import describe_network
from jimbot.policies.torch_networks import TorchNetwork
from jimbot.runs.arrays import put_under, under
from jimbot.training.framework import Callback, Learned, RLTrainer
from jimbot.training.init_policy import fixed_statistics_updates, start_of
from jimbot.training.memory import GIGABYTE, SMALLEST_REPLAY, MemoryBudget
from jimbot.training.replay.rare_events import events_of
from jimbot.training.running_statistics import moments_of
from jimbot.training.sb3 import Logger
from jimbot.training.sb3.algorithms import MaskedA2C, MaskedDQN, MaskedPPO, guide_of, sb3_names
from jimbot.training.sb3.games import TrainingGames
from jimbot.training.sb3.policies import MaskedPolicy, MaskedQPolicy
from jimbot.training.sb3.replay import CompressedReplay, Replay, check_memory
from jimbot.training.sb3.streamed import StreamedGames, check_streamed, measured
from jimbot.training.session.session import Session, TrainResult
from jimbot.training.settings.record import TrainSettings, network_choice

Arrays = dict[str, np.ndarray]


def optimiser_arrays(optimiser: Any) -> Arrays:
    """Every moment of every parameter, as `<parameter number>/<name>`."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}/{name}": torch.as_tensor(value).detach().cpu().numpy().copy()
        for number, entries in state.items()
        for name, value in entries.items()
        if value is not None
    }


def load_optimiser(optimiser: Any, arrays: Arrays) -> None:
    state: dict[int, dict[str, Any]] = {}
    for path, value in arrays.items():
        number, _, name = path.partition("/")
        state.setdefault(int(number), {})[name] = torch.as_tensor(np.array(value))
    groups = optimiser.state_dict()["param_groups"]
    expected = {number for group in groups for number in group["params"]}
    if not set(state) <= expected:
        raise CheckpointError(
            "The checkpoint's optimiser is of another network. Give the settings it was trained with."
        )
    optimiser.load_state_dict({"state": state, "param_groups": groups})


def rng_arrays() -> Arrays:
    """The global generators SB3 draws from: NumPy's and torch's (CPU)."""
    _, keys, position, has_gauss, gauss = np.random.get_state()
    return {
        "numpy_keys": np.asarray(keys),
        "numpy_rest": np.array([position, has_gauss, gauss], np.float64),
        "torch": torch.get_rng_state().numpy().copy(),
    }


def load_rng(arrays: Arrays) -> None:
    position, has_gauss, gauss = arrays["numpy_rest"].tolist()
    np.random.set_state(("MT19937", np.array(arrays["numpy_keys"]), int(position), int(has_gauss), gauss))
    torch.set_rng_state(torch.as_tensor(np.array(arrays["torch"])))


_log = logging.getLogger("jimbot.training.sb3")
RMSPROP = {"alpha": 0.99, "eps": 1e-5, "weight_decay": 0}  # as SB3's own A2C


class SB3Trainer(RLTrainer):
    """One run of one of SB3's algorithms. `model` is the SB3 object, for callers that want more of it."""

    algorithms = ("PPO", "A2C", "DQN")

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        super().__init__(settings, session, game)
        torch.set_num_threads(1)  # small nets on shared cores: more threads were up to ten times slower
        self.stream: StreamedGames | None = None
        """Where the games come from that others play, if the run learns from those."""
        if settings.offline.from_bus is not None:
            self.stream = StreamedGames(settings)
            self.settings = settings = settings.model_copy(update={"num_envs": 1})  # only to tell how games look
        self.curriculum = getattr(self.batch, "curriculum", None)
        observe = settings.normalize_obs
        action_values = settings.algorithm == "DQN"
        self.games = TrainingGames(
            self.batch, settings.reward_transform, settings.gamma, observe, remember=action_values
        )
        self.description = describe_network(
            self.spec,
            **network_choice(settings),
            action_values=action_values,
            duelling=action_values and settings.dqn.duelling,
            normalize=observe,
        )
        self.model: MaskedPPO | MaskedDQN | None = None
        self._callback: Any = None  # of SB3
        self._reference: TorchNetwork | None = None  # the policy of the KL anchor
        self.seconds = {"simulate": 0.0, "act": 0.0, "learn": 0.0}

    @classmethod
    def check(cls, settings: TrainSettings) -> None:
        if settings.replay.kind == "plain" and (settings.replay.prioritized or settings.dqn.n_step > 1):
            raise SettingsError(
                "The plain replay has neither priorities nor n-step targets (prioritized_replay, n_step). "
                "Use --replay compressed, or leave --replay out."
            )
        if settings.offline.from_bus is not None:
            check_streamed(settings)
        if settings.replay.rare_event_boosts:
            events_of(settings.game, settings.replay.rare_event_boosts)
        for name in ("init_kl", "value_warmup_updates") if settings.algorithm == "DQN" else ():
            if value := settings[name]:
                raise SettingsError(
                    f"{name} is {value}, but DQN learns values of actions: it has no policy that could be anchored "
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
        self.model.gradient_accumulation = self.settings.memory.gradient_accumulation
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
        ours = callback if callback is None or _is_ours(callback) else None
        total = total_timesteps or self.settings.total_timesteps
        theirs = None if ours else callback
        _, self._callback = self._live()._setup_learn(max(0, total - self.step), theirs, False)
        self._callback.on_training_start({}, {})
        if self.stream is not None and not self.session.store.paths():
            self.save_model()  # nobody can play with it before there is something to serve
        result = super().train(total, ours)
        self._callback.on_training_end()
        return result

    def portable_network(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        return self.description, self.network.arrays()

    def load_model(self, path: str | Path) -> None:
        if self.model is None:
            self.create_model()
        super().load_model(path)

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
        return super().relieve(name)

    def accumulate(self, pieces: int) -> bool:
        self._live().gradient_accumulation = pieces
        return True

    def games_restarted(self) -> None:
        model = self._live()
        model._last_obs = self.games.game.observation.copy()
        model._last_episode_starts = np.ones(self.games.num_envs, bool)

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
        compressed = settings.replay.prioritized or settings.dqn.n_step > 1 or self.stream is not None
        if settings.replay.kind == "plain" or (settings.replay.kind == "auto" and not compressed):
            check_memory(self.spec, settings.replay.buffer_size)
            return Replay, {"gamma": settings.gamma}
        given = settings.replay.buffer_gb
        return CompressedReplay, {
            "spec": self.spec,
            "max_bytes": int(given * GIGABYTE) if given else MemoryBudget(settings.memory.limit_gb).replay,
            "gamma": settings.gamma,
            "n_step": settings.dqn.n_step,
            "alpha": settings.replay.priority_alpha if settings.replay.prioritized else 0.0,
            "beta": settings.replay.priority_beta if settings.replay.prioritized else 0.0,
            "beta_steps": settings.total_timesteps,
            "boosts": settings.replay.rare_event_boosts,
        }

    def update(self, total: int) -> Learned | None:
        if self.stream is not None:
            return self._streamed(self.stream, total)
        before = self.step
        with self.session.device_lock():
            losses = self._learned(total)
        if losses is None:
            self.session.end("a callback of SB3 asked to stop")
            return None
        return Learned(losses, self.games.tally.take(), self.step - before)

    def _streamed(self, stream: StreamedGames, total: int) -> Learned | None:
        """One update from what was published since the last one; None where that is nothing."""
        began = time.perf_counter()
        games = stream.take(self.session.view.note)
        self.seconds["simulate"] += time.perf_counter() - began
        if not games:
            return None
        model: Any = self._live()
        began = time.perf_counter()
        with self.session.device_lock():
            model._update_current_progress_remaining(model.num_timesteps, total)
            losses = stream.learn(model, self.games, games)
            self._normalise()
        self.updates += 1
        self.seconds["learn"] += time.perf_counter() - began
        return Learned(losses, measured(self.spec, games), sum(len(game.action) for game in games))

    def more_metrics(self) -> dict[str, float]:
        return super().more_metrics() | (self.stream.metrics() if self.stream is not None else {})

    def close(self) -> None:
        if self.stream is not None:
            self.stream.close()
        super().close()

    def _learned(self, total: int) -> dict[str, float] | None:
        """The losses of one update; None if a callback of SB3 ended it."""
        model, games = self._live(), self.games
        games.seconds = 0.0
        began = time.perf_counter()
        if isinstance(model, MaskedDQN):
            model.losses = {}
            collected = model.collect_rollouts(
                games,
                self._callback,
                train_freq=model.train_freq,  # ty: ignore[invalid-argument-type]
                replay_buffer=model.replay_buffer,  # ty: ignore[invalid-argument-type]
                learning_starts=model.learning_starts,
            ).continue_training
        else:
            collected = model.collect_rollouts(games, self._callback, model.rollout_buffer, model.n_steps)
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
        self.seconds["simulate"] += games.seconds
        self.seconds["act"] += played - began - games.seconds
        self.seconds["learn"] += time.perf_counter() - played
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

    def _schedule(self) -> float | Callable[[float], float]:
        lr = self.settings.ppo.lr
        return (lambda left: lr * left) if self.settings.ppo.anneal_lr else lr

    def learning_state(self) -> dict[str, np.ndarray]:
        model, kept = self._live(), self.games_kept
        state = self.games.arrays(kept) | {"counters": np.array([model.num_timesteps, self.updates, model._n_updates])}
        state |= put_under("optimiser/", optimiser_arrays(model.policy.optimizer))
        state |= put_under("luck/", rng_arrays())
        if model._last_episode_starts is not None:
            state["episode_starts"] = np.asarray(model._last_episode_starts)[:kept]
        if self._reference is not None:
            state |= put_under("reference/", self._reference.arrays())
        if isinstance(model, MaskedDQN):
            state |= put_under("replay/", model.replay_buffer.arrays(kept))
            state |= put_under("target/", model.policy.q_net_target.arrays())
            state["dqn"] = np.array([model._n_calls, model.exploration_rate])
        if self.stream is not None:
            state |= put_under("stream/", self.stream.arrays())
        return state

    def restore(self, params: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        model, place = self._live(), under("stream/", state)
        if (self.stream is not None) != bool(place):
            raise CheckpointError(
                "The run learned from games of a bus, or did not, and now it is the other way. Give the same "
                "--from-bus, or start over with --fresh."
            )
        if self.stream is not None:
            self.stream.load_arrays(place)
        self.network.load_arrays(params)
        load_optimiser(model.policy.optimizer, under("optimiser/", state))
        if self._reference is not None:
            self._reference.load_arrays(under("reference/", state))
        if isinstance(model, MaskedDQN):
            model.replay_buffer.load_arrays(under("replay/", state))
            model.policy.q_net_target.load_arrays(under("target/", state))
            model._n_calls, model.exploration_rate = int(state["dqn"][0]), float(state["dqn"][1])
        if "episode_starts" in state:
            model._last_obs = self.games.load_arrays(state)
            model._last_episode_starts = np.array(state["episode_starts"])
        model.num_timesteps, self.updates, model._n_updates = (int(value) for value in state["counters"])
        load_rng(under("luck/", state))

    def _live(self) -> MaskedPPO | MaskedDQN:
        if self.model is None:
            raise SettingsError("The trainer has no model yet. Call create_model() or load_model() first.")
        return self.model


def _seed(seed: int) -> int:
    """SB3 seeds NumPy's old generator, which takes 32 bits."""
    return seed % 2**32


def _is_ours(callback: Any) -> bool:
    from stable_baselines3.common.callbacks import BaseCallback

    return callable(callback) and not isinstance(callback, BaseCallback | list)
