"""`--learner ray`: RLlib's algorithms over the native batch of games, on this machine or on a cluster.

The loop is the session's, as in every learner: RLlib collects and learns, the session logs, saves and stops. What it
writes is what every learner writes: parameters under the shared names, `policy.onnx` with the mask inside, and RLlib's
own state as plain arrays. A continued run has the parameters, optimiser, target networks, counters and curriculum it
had, DQN its replay, too; RLlib stores no running games, so those begin anew.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ray.rllib.core import DEFAULT_MODULE_ID

from jimbot.errors import SettingsError, TrainingError, UsageError
from jimbot.games.contract import BatchGame, game_entry
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import with_metadata
from jimbot.runs.checkpoint import Manifest
from jimbot.training.curriculum.rule import Curriculum, curriculum_of
from jimbot.training.environments.given import has_curriculum
from jimbot.training.framework import Callback, RLTrainer, plain_callback
from jimbot.training.memory.budget import GIGABYTE
from jimbot.training.memory.relief import MOST_PIECES, SMALLEST_REPLAY
from jimbot.training.ray import torch
from jimbot.training.ray.algorithms import BUILDERS, algorithm_config
from jimbot.training.ray.callbacks import JIMBOT_SUMS, measured_of
from jimbot.training.ray.cluster import Cluster
from jimbot.training.ray.results import losses_of, seconds_of, steps_of
from jimbot.training.ray.state import from_arrays, to_arrays
from jimbot.training.session.log_rows import Measures
from jimbot.training.session.session import Session, TrainResult
from jimbot.training.settings.record import TrainSettings, network_choice

LEARNER = "ray"
_log = logging.getLogger("jimbot.training.ray")
SPILL = "spill"
"""In the run directory: where Ray's shared memory overflows to."""
OFFLINE = ("BC", "MARWIL")
PATIENCE_SECONDS = 600.0
"""How long nothing may be learned before that is an error: runners may be starting anew, or a game compiling."""
STATE, REPLAY, CURRICULUM = "rllib/", "replay/", "curriculum/"


class RayTrainer(RLTrainer):
    """One run of one of RLlib's algorithms. `algorithm` is the RLlib object, for whoever wants more of it."""

    algorithms = tuple(BUILDERS)

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        if game is not None:
            raise UsageError(
                "Learner ray makes its games itself, in the processes that play; give the game's id instead of a batch "
                "or an environment."
            )
        super().__init__(settings, session, game)
        torch.set_num_threads(1)
        self.description = describe_network(
            self.spec,
            **network_choice(settings),
            action_values=settings.algorithm == "DQN",
            duelling=settings.algorithm == "DQN" and settings.dqn.duelling,
        )
        self.cluster = Cluster(settings, session.run.path / SPILL, self._tell)
        self.algorithm: Any = None
        self.updates = 0
        self.runner_restarts = 0  # runners lost so far: Ray starts each anew
        self._healthy: set[int] = set()
        self._away = 0  # lost and not yet back
        self._begun = 0  # steps of the run before this algorithm was made
        self._steps = 0  # steps since
        self._learned_at = time.monotonic()
        self._seconds = {"simulate": 0.0, "learn": 0.0}

    @classmethod
    def check(cls, settings: TrainSettings) -> None:
        for name, wrong in (("normalize_obs", True), ("reward_transform", "normalize")):
            if settings[name] == wrong:
                raise SettingsError(
                    f"{name} is {wrong}, which only learner sb3 does; learner ray takes observations as the game "
                    "scales them and rewards through symlog. Leave it out, or use --learner sb3."
                )
        if settings.ppo.target_kl:
            raise SettingsError(
                f"target_kl is {settings.ppo.target_kl}; learner ray makes all its passes. Leave it out, or use "
                "another learner."
            )
        if settings.algorithm in OFFLINE and settings.offline.data is None:
            raise SettingsError(
                f"{settings.algorithm} learns from recorded games. Record some with `jimbot record {settings.game}` "
                "and name the file with --offline-data."
            )

    @property
    def step(self) -> int:
        return self._begun + self._steps

    def create_model(self, start: int = 0) -> None:
        self.close_algorithm()
        self._begun, self._steps = start, 0
        self.curriculum = self._curriculum()
        config = algorithm_config(self.settings, self.spec, self.description, self.cluster.gpus, start, self.curriculum)
        torch.manual_seed(self.settings.seed)  # the first parameters
        self.algorithm = config.build_algo(use_copy=False)
        callbacks: Any = self.algorithm.callbacks
        self.callbacks = callbacks[0] if isinstance(callbacks, list) else callbacks
        self.curriculum = self.callbacks.curriculum

    def described_network(self) -> Mapping[str, Any]:
        return self.description

    def put_params(self, params: Mapping[str, np.ndarray]) -> None:
        algorithm = self._live()
        weights = algorithm.learner_group.get_weights()["default_policy"]
        for name in weights:  # of the network, and of DQN's target
            given = params.get(name.rpartition(".")[2].replace("__", "."))
            weights[name] = weights[name] if given is None else given
        algorithm.learner_group.set_weights({"default_policy": weights})
        algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)

    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> TrainResult:
        if self.algorithm is None:
            self.create_model()
        callback = plain_callback(callback)
        session, total = self.session, total_timesteps or self.settings.total_timesteps
        measures = Measures(self.spec)
        with session.running(self.step, total):
            self._learned_at = time.monotonic()
            while not (reason := session.stop_reason(self.step, total)):
                self._update(measures, callback)
            if rest := measures.take():
                session.log(self.step, rest)
            path = self.save_model()
        return session.finished(self.step, reason, path)

    def _update(self, measures: Measures, callback: Callback | None) -> None:
        """One iteration of RLlib's, and what is to be done after it."""
        before = self._steps
        with self.session.turn():
            result = self._live().train()
        self._steps = max(before, steps_of(result, self.settings.algorithm not in OFFLINE))
        losses = losses_of(result)
        _log.debug("iteration of RLlib up to step %d: %s", self.step, losses)
        self._check_alive(losses)
        self._count_losses()
        self.session.check_finite(losses, self.updates, self.step)
        for phase, seconds in seconds_of(result).items():
            self._seconds[phase] += seconds
        measured = measured_of(self.spec, result.get("env_runners", {}).get(JIMBOT_SUMS, {}))
        if not losses and not measured.decisions:
            return
        self.updates += bool(losses)
        losses["health/runner_restarts"] = self.runner_restarts
        losses["health/lost_steps"] = self.lost_steps
        measures.add(losses, measured, max(1, int(measured.decisions)))
        self.after_update(max(1, self.updates), measures, self._phase_seconds, callback)

    @property
    def lost_steps(self) -> int:
        """Steps that were played and not learned from because a runner was lost: at most its piece of a batch."""
        settings = self.settings
        return self.runner_restarts * settings.num_steps * (settings.num_envs // settings.ray.num_env_runners)

    def policy_onnx(self) -> bytes:
        sizes = (self.spec.observation.size, self.spec.actions.size)
        return with_metadata(onnx_from_params(self.description, self._params(), *sizes), self._manifest())

    def save_model(self) -> Path:
        state = {f"{STATE}{name}": value for name, value in to_arrays(self._live().get_state()).items()}
        state["counters"] = np.array([self.step, self.updates, self.runner_restarts])
        if self.settings.algorithm == "DQN":
            replay = to_arrays(self._live().local_replay_buffer.get_state())
            state |= {f"{REPLAY}{name}": value for name, value in replay.items()}
        if self.curriculum is not None:
            state |= {f"{CURRICULUM}{name}": value for name, value in self.curriculum.snapshot().items()}
        path = self.session.store.save(self._manifest(), self.policy_onnx(), self._params(), state)
        self.session.saved(self.step, path)
        return path

    def load_model(self, path: str | Path) -> None:
        checkpoint = self.checked_checkpoint(path, self.description)
        manifest = checkpoint.manifest
        state = checkpoint.state()
        self.create_model(start=manifest.step)
        self._live().set_state(from_arrays(_part(state, STATE)))
        _, self.updates, self.runner_restarts = (int(value) for value in state["counters"])
        if self.settings.algorithm == "DQN":
            self._live().local_replay_buffer.set_state(from_arrays(_part(state, REPLAY)))
        # RLlib counts on from where it was; so the steps before it are in its own figure.
        self._begun, self._steps = 0, manifest.step
        if self.curriculum is not None:
            self.curriculum.restore(_part(state, CURRICULUM))
            self.callbacks.tell_level(self._live())
        self.session.latest_metrics = dict(manifest.metrics)

    def relieve(self, name: str) -> str | None:
        settings = self.settings
        if name == "smaller_replay" and settings.algorithm == "DQN":
            store = self._live().local_replay_buffer.store
            before = store.max_bytes
            if before < SMALLEST_REPLAY:
                return None
            store.resize(before // 2)
            self.session.memory.remember(buffer_gb=store.max_bytes / GIGABYTE)
            return f"the replay has {store.max_bytes / 1e6:,.0f} MB instead of {before / 1e6:,.0f} MB"
        if name == "smaller_batches" and settings.algorithm != "DQN" and settings.memory.gradient_pieces < MOST_PIECES:
            pieces = 2 * settings.memory.gradient_pieces
            self.settings = settings.model_copy(update={"gradient_pieces": pieces})
            self._live().learner_group.foreach_learner(partial(_learn_in, pieces))
            self.session.memory.remember(gradient_pieces=pieces)
            return f"minibatches are learned in {pieces} pieces, with the same steps as before"
        if name == "fewer_games" and (settings.num_envs // 2) % settings.ray.num_env_runners:
            return None  # they could not be shared out to the runners
        return super().relieve(name)

    def close_algorithm(self) -> None:
        if self.algorithm is not None:
            self.algorithm.stop()
            self.algorithm = None

    def close(self) -> None:
        try:
            self.close_algorithm()
        finally:
            self.cluster.close()
            self.session.close()

    def _curriculum(self) -> Curriculum | None:
        if not has_curriculum(self.settings):
            return None
        schedule = self.settings.curriculum.difficulty_schedule
        return curriculum_of(game_entry(self.settings.game).milestones, schedule)

    def _params(self) -> dict[str, np.ndarray]:
        """The network's parameters under their shared names."""
        weights = self._live().learner_group.get_weights()["default_policy"]
        return {
            name.removeprefix("network.").replace("__", "."): np.asarray(value)
            for name, value in weights.items()
            if name.startswith("network.")
        }

    def _check_alive(self, losses: dict[str, float]) -> None:
        now = time.monotonic()
        if losses or (self.settings.algorithm == "DQN" and self.step < self.settings.dqn.learning_starts):
            self._learned_at = now
        elif now - self._learned_at > PATIENCE_SECONDS:
            raise TrainingError(
                f"Nothing was learned for {PATIENCE_SECONDS:.0f} seconds at step {self.step:,}: RLlib's processes run "
                "but its learner reports no loss. Its log files (ray's session directory) say why."
            )

    def _count_losses(self) -> None:
        """Says and counts that a runner was lost when that happens, which may be long before it is back."""
        runners = self._live().env_runner_group
        if runners is None:  # who learns from recordings plays nothing
            return
        healthy = set(runners.healthy_env_runner_ids())
        back, self.callbacks.restarts = self.callbacks.restarts, 0
        gone = len(self._healthy - healthy)
        unseen = max(0, back - self._away - gone)  # lost and back within one update
        self._healthy = healthy
        self._away = max(0, self._away + gone - back)
        self.runner_restarts += gone + unseen
        if gone + unseen:
            self._tell(
                f"{gone + unseen} of {self.settings.ray.num_env_runners} processes that play were lost; their running "
                "games are lost, and Ray starts them anew."
            )
        if back:
            self._tell(f"{back} processes that play are back, with new games.")

    def _tell(self, sentence: str) -> None:
        self.session.view.note(sentence)
        self.session.recorder.event(getattr(self, "_steps", 0) and self.step, sentence)

    def _phase_seconds(self, elapsed: float) -> dict[str, float]:
        spent, self._seconds = self._seconds, dict.fromkeys(self._seconds, 0.0)
        return spent

    def _live(self) -> Any:
        if self.algorithm is None:
            raise SettingsError("The trainer has no model yet. Call create_model() or load_model() first.")
        return self.algorithm

    def _manifest(self) -> Manifest:
        return self.manifest_of(LEARNER, self.description, self.updates)


def _learn_in(pieces: int, learner: Any, **_: Any) -> None:
    learner.module[DEFAULT_MODULE_ID].unwrapped().pieces = pieces


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}
