"""`--learner ray`: RLlib's algorithms over the native batch of games, on this machine or on a cluster.

The loop is the session's, as in every learner: RLlib collects and learns, the session logs, saves and stops. What it
writes is what every learner writes: parameters under the shared names, `policy.onnx` with the mask inside, and RLlib's
own state as plain arrays. A continued run has the parameters, optimiser, target networks, counters and curriculum it
had, DQN its replay, too; RLlib stores no running games, so those begin anew.

RLlib's own state (`Algorithm.get_state()`, a tree of dictionaries and lists) is stored as plain arrays named by their
place in it, the tree itself with everything small as one JSON text: a checkpoint holds no pickle. A call of
RLlib's `train()` that returns is no success, since a learner may have died in another process while everything else
goes on: success is a loss that exists and is a number.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from ray.rllib.core import DEFAULT_MODULE_ID

from jimbot.errors import CheckpointError, SettingsError, TrainingError, UnreadableError, UsageError
from jimbot.games.contract import BatchGame, game_entry
from jimbot.policies.networks import describe_network
from jimbot.reading.plain import json_value
from jimbot.runs.arrays import put_under, under
from jimbot.training.curriculum import Curriculum, curriculum_of
from jimbot.training.environments import has_curriculum
from jimbot.training.framework import Callback, Learned, RLTrainer
from jimbot.training.library_callbacks import CALLED
from jimbot.training.memory import GIGABYTE, SMALLEST_REPLAY
from jimbot.training.ray.algorithms import BUILDERS, algorithm_config
from jimbot.training.ray.callbacks import JIMBOT_SUMS, RLLIB_CALLS, measured_of, runner_failures
from jimbot.training.ray.cluster import Cluster
from jimbot.training.session.session import Session, TrainResult
from jimbot.training.settings.record import TrainSettings, network_choice

# RLlib's names of what its learners report → ours.
LOSSES = {
    "total_loss": "train/loss",
    "policy_loss": "train/pg_loss",
    "mean_pi_loss": "train/pg_loss",
    "vf_loss": "train/value_loss",
    "mean_vf_loss": "train/value_loss",  # IMPALA's vf_loss is a sum
    "entropy": "train/entropy",
    "mean_kl_loss": "train/approx_kl",
    "clip_frac": "train/clip_frac",
    "vf_explained_var": "train/explained_variance",
    "vf_explained_variance": "train/explained_variance",
    "qf_mean": "train/q_value",
    "td_error_mean": "train/td_error",
    "gradients_default_optimizer_global_norm": "train/grad_norm",
}
TIMERS = {"env_runner_sampling_timer": "simulate", "learner_update_timer": "learn"}


def losses_of(result: Mapping[str, Any]) -> dict[str, float]:
    """The losses of one iteration; empty where nothing was learned in it."""
    reported = result.get("learners", {}).get(DEFAULT_MODULE_ID, {})
    found = {ours: _number(reported[theirs]) for theirs, ours in LOSSES.items() if reported.get(theirs) is not None}
    return found if "train/loss" in found else {}


def steps_of(result: Mapping[str, Any], is_online: bool) -> int:
    """Environment steps (BC and MARWIL: recorded decisions) since the algorithm was made, as RLlib counts them."""
    place = result.get("env_runners", {}) if is_online else result
    return int(place.get("num_env_steps_sampled_lifetime", 0))


def seconds_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of the iteration in playing (with acting) and in learning."""
    timers = result.get("timers", {})
    return {ours: _number(timers[theirs]) for theirs, ours in TIMERS.items() if timers.get(theirs) is not None}


def _number(value: Any) -> float:
    return float(np.mean(value)) if np.size(value) else float("nan")


TREE = "tree"
# Kinds of nodes in the JSON tree: [kind, content]; numbers and text stand for themselves.
DICTIONARY, LIST, TUPLE, ARRAY, TENSOR, SPECIAL = "dict", "list", "tuple", "array", "tensor", "float"


def to_arrays(state: Any) -> dict[str, np.ndarray]:
    """The tree as arrays; `from_arrays` gives it back."""
    arrays: dict[str, np.ndarray] = {}
    tree = _encode(state, arrays, "state")
    return {**arrays, TREE: np.array(json.dumps(tree))}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `to_arrays`."""
    if TREE not in arrays:
        raise CheckpointError("The checkpoint holds no state of RLlib; it was not made by learner ray.")
    try:
        return _decode(json_value(str(arrays[TREE])), arrays)
    except (UnreadableError, KeyError, TypeError, ValueError) as problem:
        raise CheckpointError(f"The checkpoint's state of RLlib is damaged: {problem}.") from problem


def _encode(node: Any, arrays: dict[str, np.ndarray], place: str) -> Any:
    if node is None or isinstance(node, str | bool | int):
        return node
    if isinstance(node, float):
        return node if np.isfinite(node) else [SPECIAL, repr(node)]
    if isinstance(node, np.generic):
        return _encode(node.item(), arrays, place)
    if isinstance(node, Mapping):
        # Pairs: RLlib has keys that are numbers and tuples, which JSON has not.
        pairs = [
            [_encode(key, arrays, f"{place}.key"), _encode(value, arrays, f"{place}/{key}")]
            for key, value in node.items()
        ]
        return [DICTIONARY, pairs]
    if isinstance(node, list | tuple | set | frozenset) or type(node).__name__ == "deque":
        parts = [_encode(value, arrays, f"{place}/{number}") for number, value in enumerate(node)]
        return [TUPLE if isinstance(node, tuple) else LIST, parts]
    if isinstance(node, torch.Tensor):
        return [TENSOR, _store(node.detach().cpu().numpy(), arrays, place)]
    if isinstance(node, np.ndarray) and node.dtype.kind in "biufcU":
        return [ARRAY, _store(node, arrays, place)]
    raise CheckpointError(
        f"RLlib's state holds a {type(node).__name__} at '{place}', which a checkpoint cannot hold. This is a bug in "
        "jimbot/training/ray/trainer.py; please report it with the version of Ray."
    )


def _store(array: np.ndarray, arrays: dict[str, np.ndarray], place: str) -> str:
    name = place if place not in arrays else f"{place}#{len(arrays)}"
    arrays[name] = array
    return name


def _decode(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if not isinstance(node, list):
        return node
    kind, content = node
    if kind == DICTIONARY:
        return {_decode(key, arrays): _decode(value, arrays) for key, value in content}
    if kind in (LIST, TUPLE):
        parts = [_decode(part, arrays) for part in content]
        return tuple(parts) if kind == TUPLE else parts
    if kind == SPECIAL:
        return float(content)
    array = np.array(arrays[content])
    return torch.as_tensor(array) if kind == TENSOR else array


_log = logging.getLogger("jimbot.training.ray")
SPILL = "spill"
"""In the run directory: where Ray's shared memory overflows to."""
OFFLINE = ("BC", "MARWIL")
PATIENCE_SECONDS = 600.0
"""How long nothing may be learned before that is an error: runners may be starting anew, or a game compiling."""
STATE, REPLAY, CURRICULUM = "rllib/", "replay/", "curriculum/"


class RayTrainer(RLTrainer):
    """One run of one of RLlib's algorithms. `algorithm` is the RLlib object, for callers that want more of it."""

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
        self.runner_restarts = 0  # runners lost so far: Ray starts each anew
        self._healthy: set[int] = set()
        self._away = 0  # lost and not yet back
        self._begun = 0  # steps of the run before this algorithm was made
        self._steps = 0  # steps since
        self._learned_at = time.monotonic()
        self.seconds = {"simulate": 0.0, "learn": 0.0}

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
        self.callbacks, *given = callbacks if isinstance(callbacks, list) else [callbacks]
        self.own_callbacks = given[0].own if given else None
        self.curriculum = self.callbacks.curriculum

    def calls(self) -> Sequence[str]:
        return RLLIB_CALLS

    def call_back(self, name: str, **values: Any) -> None:
        if name not in ("on_algorithm_init", "on_train_result"):  # RLlib has called these
            super().call_back(name, **values)

    def as_algorithm(self) -> Any:
        return self._live()

    def _look_at_callbacks(self) -> None:
        """Ends the run where a callback failed, here or in a process that plays."""
        own, runners = self.own_callbacks, self._live().env_runner_group
        if own is not None and runners is not None and set(own.methods) - set(CALLED):
            failed = [one for found in runners.foreach_env_runner(runner_failures) for one in found]
            own.failure = own.failure or (TrainingError(failed[0]) if failed else None)
        self.end_by_callbacks()

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
        self._learned_at = time.monotonic()
        return super().train(total_timesteps, callback)

    def update(self, total: int) -> Learned | None:
        """One iteration of RLlib's."""
        before = self._steps
        with self.session.device_lock():
            result = self._live().train()
        self._steps = max(before, steps_of(result, self.settings.algorithm not in OFFLINE))
        losses = losses_of(result)
        _log.debug("iteration of RLlib up to step %d: %s", self.step, losses)
        self._check_alive(losses)
        self._count_losses()
        self._look_at_callbacks()
        for phase, seconds in seconds_of(result).items():
            self.seconds[phase] += seconds
        measured = measured_of(self.spec, result.get("env_runners", {}).get(JIMBOT_SUMS, {}))
        if not losses and not measured.decisions:
            return None
        self.updates += bool(losses)
        losses |= {"health/runner_restarts": self.runner_restarts, "health/lost_steps": self.lost_steps}
        return Learned(losses, measured, max(1, int(measured.decisions)))

    @property
    def lost_steps(self) -> int:
        """Steps that were played and not learned from because a runner was lost: at most its piece of a batch."""
        settings = self.settings
        return self.runner_restarts * settings.num_steps * (settings.num_envs // settings.ray.num_env_runners)

    def portable_network(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        return self.description, self._params()

    def learning_state(self) -> dict[str, np.ndarray]:
        state = put_under(STATE, to_arrays(self._live().get_state()))
        state["counters"] = np.array([self.step, self.updates, self.runner_restarts])
        if self.settings.algorithm == "DQN":
            state |= put_under(REPLAY, to_arrays(self._live().local_replay_buffer.get_state()))
        return state | ({} if self.curriculum is None else put_under(CURRICULUM, self.curriculum.snapshot()))

    def restore(self, params: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        step, self.updates, self.runner_restarts = (int(value) for value in state["counters"])
        self.create_model(start=step)
        self._live().set_state(from_arrays(under(STATE, state)))
        if self.settings.algorithm == "DQN":
            self._live().local_replay_buffer.set_state(from_arrays(under(REPLAY, state)))
        # RLlib counts on from where it was; so the steps before it are in its own figure.
        self._begun, self._steps = 0, step
        if self.curriculum is not None:
            self.curriculum.restore(under(CURRICULUM, state))
            self.callbacks.tell_level(self._live())

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
        if name == "fewer_games" and (settings.num_envs // 2) % settings.ray.num_env_runners:
            return None  # they could not be shared out to the runners
        return super().relieve(name)

    def accumulate(self, pieces: int) -> bool:
        if self.settings.algorithm == "DQN":
            return False
        self._live().learner_group.foreach_learner(partial(_learn_in, pieces))
        return True

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

    def _live(self) -> Any:
        if self.algorithm is None:
            raise SettingsError("The trainer has no model yet. Call create_model() or load_model() first.")
        return self.algorithm


def _learn_in(pieces: int, learner: Any, **_: Any) -> None:
    learner.module[DEFAULT_MODULE_ID].unwrapped().pieces = pieces
