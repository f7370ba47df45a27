"""Ray Tune as both the population and the search use it: a bounded local start, and a trainable that takes turns.

A trial holds no state of its own. Its checkpoint for Tune is a few bytes, because the run directory it works on has the
real one; that makes pausing, moving and restarting trials free, and one actor serves all of them in turn. Whatever Ray
writes is scratch: a killed run starts Ray afresh and continues from our files.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from jimbot.errors import JimbotError, MissingExtraError, TrainingError
from jimbot.runs.files import write_atomically
from jimbot.runs.sinks.jsonl import last_row
from jimbot.training.learners import learner_name
from jimbot.training.session.session import Session
from jimbot.training.settings.record import TrainSettings
from jimbot.training.trials import order_of, take_turn

# Read by Ray when it is imported or starts: no usage reports, our own Ctrl+C, no files and no folder of its own.
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # Ray would train at the lowest priority, and starve beside anything else
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
os.environ.update({name: os.environ.get(name, value) for name, value in SETTINGS.items()})

try:
    import ray
    from ray import tune
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which populations and searches need,", "tune") from problem

OBJECT_STORE_BYTES = 100 * 2**20  # trials hand over a few numbers; Ray takes no less than 75 MB
RESTARTS = 3  # of a trial whose process died (out of memory, for instance); it goes on from its run's checkpoint
FAILED = -1e30  # Tune compares finite numbers only: learning that failed is worse than anything
CHECKPOINT = "trial.json"
STOP = "stop"  # the file in a run directory that asks all its turns to end
SCRATCH = "ray"  # what Ray writes into a run directory, removed at the end
SECONDS_BETWEEN_LOOKS = 1.0


def processors(settings: TrainSettings) -> list[dict[str, float]]:
    """What one trial takes: the whole machine, so that trials take turns. Learner ray has processes of its own, which
    must fit into its trial."""
    if learner_name(settings) == "ray":
        return [{"CPU": 1.0}] * (1 + settings.ray.num_env_runners)
    return [{"CPU": float(os.cpu_count() or 1)}]


@contextmanager
def local_ray(settings: TrainSettings) -> Generator[None]:
    """A Ray for the body: the cluster the settings name, or one started here, small and without dashboard. One that
    this process is connected to already is used and left running."""
    if ray.is_initialized():
        yield
        return
    if settings.ray.address is not None:
        from jimbot.training.ray.cluster import join

        join(settings.ray.address)
    else:
        _start(settings)
    try:
        yield
    finally:
        ray.shutdown()


def _start(settings: TrainSettings) -> None:
    from jimbot.training.ray.cluster import LOOPBACK, keep_token_private, listen_on_loopback, object_store

    whole_rollouts = learner_name(settings) == "ray"
    store = object_store(settings) if whole_rollouts else OBJECT_STORE_BYTES
    listen_on_loopback()
    keep_token_private()
    try:
        ray.init(
            _node_ip_address=LOOPBACK,
            num_cpus=int(sum(bundle["CPU"] for bundle in processors(settings))),
            object_store_memory=store,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            address="local",
        )
    except Exception as problem:  # Ray's start fails in many ways, each with a class of its own
        raise TrainingError(
            f"Ray could not be started on this machine ({type(problem).__name__}: {_first_line(problem)}). "
            "Free memory and disk space in the temporary directory, then give the same command again."
        ) from problem


class TurnTrainable(tune.Trainable):
    """Turns of one run: iteration n trains to the n-th comparison. `config`: see `order_of`."""

    def setup(self, config: dict[str, Any]) -> None:
        self._config = config

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._config = new_config
        return True

    def step(self) -> dict[str, Any]:
        turn = take_turn(order_of(self._config, self.iteration))
        return {
            "score": FAILED if turn.score is None else turn.score,
            "step": turn.step,
            "seconds": turn.seconds,
            "failure": turn.failure,
            "interrupted": turn.interrupted,
        }

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        (Path(checkpoint_dir) / CHECKPOINT).write_text(json.dumps({"iteration": self.iteration}))

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Nothing to load: the state is in the run directory."""


class Here:
    """For what belongs to this process (it holds the session): Tune also stores a copy of everything it is given, for
    restoring an experiment, which nobody does here."""

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __deepcopy__(self, _: Any) -> Self:
        return self


class Finish(Here, tune.Stopper):
    """Ends the experiment once `finish()` was called; single trials are the scheduler's affair."""

    def __init__(self) -> None:
        self._finished = False

    def finish(self) -> None:
        self._finished = True

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        return self._finished


class Watch(Here, tune.Callback):
    """Shows how the runs in `folder` get on, and turns Ctrl+C and the end of `--minutes` into the file that asks
    all trials to stop. `members`: how many runs share a step that is shown; 0: steps add up."""

    def __init__(
        self, session: Session, folder: Path, stop_file: Path, finish: Finish, total: int, members: int = 0
    ) -> None:
        self._session, self._folder, self._stop_file, self._finish = session, folder, stop_file, finish
        self._total, self._members = total, members
        self._looked = 0.0
        self._steps: dict[str, int] = {}

    def on_step_begin(self, iteration: int, trials: list[Any], **_: Any) -> None:
        reason = self._session.stop_reason(0, self._total)
        if reason and not self._stop_file.exists():
            write_atomically(self._stop_file, reason.encode())
        if time.monotonic() - self._looked > SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            self._look()

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """A turn that cannot be taken ends everything; `fit` says why."""
        self._finish.finish()

    def _look(self) -> None:
        for path in sorted(self._folder.glob("*/metrics.jsonl")):
            name, row = path.parent.name, last_row(path)
            if row and self._steps.get(name) != row["step"]:
                self._steps[name] = row["step"]
                metrics = {key: value for key, value in row.items() if isinstance(value, float)}
                if self._members:
                    metrics["population/member"] = float(name)
                self._session.view.row(row["step"], metrics)
        self._session.view.tick(sum(self._steps.values()) // max(1, self._members))


def fit(
    settings: TrainSettings, run: Any, config: tune.TuneConfig, scratch: Path, finish: Finish, watch: Watch
) -> None:
    """Runs trials to their end; one that failed for good is one sentence."""
    shutil.rmtree(scratch, ignore_errors=True)
    tuner = tune.Tuner(
        tune.with_resources(TurnTrainable, tune.PlacementGroupFactory(processors(settings))),
        param_space={"run": run},
        tune_config=config,
        run_config=tune.RunConfig(
            name="tune",
            storage_path=str(scratch.resolve()),
            stop=finish,
            callbacks=[watch],
            failure_config=tune.FailureConfig(max_failures=RESTARTS),
            verbose=0,
        ),
    )
    try:
        results = tuner.fit()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for problem in results.errors:
        cause = getattr(problem, "cause", problem)
        if isinstance(cause, JimbotError):
            raise cause
        raise TrainingError(
            f"A turn failed {RESTARTS + 1} times ({type(cause).__name__}: {_first_line(cause)}). What was learned is "
            "kept; the same command goes on."
        ) from problem


def _first_line(problem: BaseException) -> str:
    return next((line.strip() for line in reversed(str(problem).splitlines()) if line.strip()), "no message")
