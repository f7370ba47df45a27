"""One call of training on one run: its directory, metrics, checkpoints in time, health, and when to stop.

Every learner drives its own loop and asks the session the same few questions, so all of them log, save, resume and
stop alike.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import psutil

from jimbot import plugins
from jimbot.errors import SettingsError, TrainingError
from jimbot.runs.alerts import ROW_TIME, Alert, AlertThread
from jimbot.runs.checkpoint import CheckpointStore, find_checkpoint, load_checkpoint
from jimbot.runs.directory import RunDirectory, default_name
from jimbot.runs.recorder import Recorder, standard_sinks
from jimbot.runs.resources import GPU, TRAINING, Grant, default_coordinator
from jimbot.runs.sinks import Sink, http
from jimbot.runs.sinks.jsonl import read_rows
from jimbot.training.learners import learner_name
from jimbot.training.memory import MemoryBudget, MemoryLimit, is_continuation, seconds_before
from jimbot.training.presets import expected
from jimbot.training.session.dashboard import TrainingView
from jimbot.training.session.health import HEALTH_METRICS, HealthWatch
from jimbot.training.session.interrupts import StopRequest, stop_requests
from jimbot.training.settings.record import RunSettings, TrainSettings

if TYPE_CHECKING:
    from jimbot.evaluation import Evaluation

TRAINED_RETURN, JUDGED_RETURN, WON = "train/mean_episode_return", "eval/mean_return", "stats/won"
LOCK_SECONDS = 600.0  # an update that compiles takes minutes


class TrainResult(NamedTuple):
    """What a call of `RLTrainer.train` came to."""

    run: str
    step: int
    """Environment steps learned from, those of earlier calls included."""
    reason: str
    """Why it ended."""
    checkpoint: Path
    metrics: dict[str, float]
    """The last log row."""


class Outcome(NamedTuple):
    """What a call of `run_training` leaves behind."""

    run: str
    step: int
    checkpoint: Path | None
    """None: its learner has no policy that could be written down."""
    metrics: dict[str, float]
    evaluation: Evaluation | None


class Session:
    """See the module's docstring. Open with `Session.open`, close when done."""

    def __init__(self, settings: RunSettings, run: RunDirectory, recorder: Recorder, view: TrainingView) -> None:
        self.settings = settings
        self.run = run
        self.recorder = recorder
        self.view = view
        self.store: CheckpointStore = run.checkpoints(settings.saving.keep_last, settings.saving.keep_every)
        self.latest_metrics: dict[str, float] = {}
        self.memory = MemoryLimit(MemoryBudget(settings.memory.limit_gb), run.path)
        self._health = HealthWatch()
        self._alerts = AlertThread(self._ring)
        self._process = psutil.Process()
        self._request = StopRequest()
        self._stop: str | None = None
        self._began = self._saved_at = self._row_at = time.monotonic()
        self._row_cpu = self._cpu_seconds()
        self._row_step = self._saved_step = self._evaluated_step = 0
        self._evaluated: dict[str, float] = {}  # waits for the next log row
        self._phases: dict[str, float] = {}  # seconds since the last log row that were not spent learning, by phase
        self._first_phase = ""  # what the first update also does, until it is over
        self._unrated: tuple[int, Path] | None = None  # the newest checkpoint, until it is compared with the best
        self._rated_later = 0
        self.judge_by(TRAINED_RETURN)

    @classmethod
    def open(cls, settings: RunSettings, root: Path = Path("runs"), fresh: bool = False, quiet: bool = False) -> Self:
        """Takes the run's directory (continuing what is there unless `fresh`) and opens its metrics."""
        run = RunDirectory(root, run_name(settings))
        run.open_or_create(fresh=fresh, checkpoint_dir=settings.saving.checkpoint_dir)
        try:
            _check_same_run(run, settings)
            run.write_config(settings.flat())
            view = TrainingView(quiet=quiet, title=run.name, about=_about(settings), full=settings.tracking.full)
            return cls(settings, run, Recorder(_sinks(run, settings), run.check_held), view)
        except BaseException:
            run.close()
            run.discard()
            raise

    def resume_point(self) -> Path | None:
        """The checkpoint to start from: the one asked for, else the run's newest, else none."""
        if self.settings.saving.resume and not is_continuation():
            return find_checkpoint(self.settings.saving.resume, runs_root=self.run.root)
        if (newest := self.store.latest()) is None:
            self.store.refuse_damage()
        return newest

    def resumed(self, step: int) -> None:
        """Tells the metrics that history continues from here."""
        self.store.rewind(step, lambda manifest: manifest.metrics.get(self._judged_by))
        self._best = self._best_so_far(self._judged_by)
        self.recorder.trim(step)
        self.recorder.event(step, "continued from a checkpoint of this step")
        self._row_step = self._saved_step = self._evaluated_step = step

    @contextmanager
    def running(self, step: int, total_timesteps: int, first_phase: str = "start") -> Generator[None]:
        """Shows progress and turns Ctrl+C and SIGTERM into a clean stop while the body learns.

        `first_phase` is what the first update also does (compile) and what its time is called.
        """
        self._saved_at = self._row_at = time.monotonic()
        self._began, self._row_cpu = self._saved_at - seconds_before(), self._cpu_seconds()
        self._row_step = self._saved_step = step
        self._phases, self._first_phase = {}, first_phase
        minutes = self.settings.minutes
        self.view.start(
            step,
            total_timesteps,
            None if minutes is None else 60 * minutes,
            seconds_before(),
            first_phase,
            history=read_rows(self.run.metrics_path),
            expect=_expectation(self.settings),
        )
        with stop_requests(self._note_request) as self._request, AlertThread(self._ring) as self._alerts:
            self._alerts.look({ROW_TIME: time.time()})  # a start that never gets to its first row is no progress, too
            try:
                yield
            finally:
                self.view.close()

    def device_lock(self) -> Grant:
        """The lock of the device, for one update: others in this process (a decision service) come first."""
        return default_coordinator().request(GPU, self.run.name, priority=TRAINING, seconds=LOCK_SECONDS)

    def stop_reason(self, step: int, total_timesteps: int) -> str | None:
        """Why to end now, or None."""
        minutes = self.settings.minutes
        if step >= total_timesteps:
            return f"all {total_timesteps:,} steps are done"
        if self._request.reason:
            return self._request.reason
        if minutes is not None and time.monotonic() - self._began >= 60 * minutes:
            return f"the {minutes:g} minutes of this call are over"
        return self._stop

    @property
    def seconds(self) -> float:
        """Time trained by this call, restarts included."""
        return time.monotonic() - self._began

    @property
    def row_seconds(self) -> float:
        """Time since the last log row."""
        return time.monotonic() - self._row_at

    @property
    def learning_seconds(self) -> float:
        """Time since the last log row that was spent on nothing but updates."""
        return max(0.0, self.row_seconds - sum(self._phases.values()))

    @contextmanager
    def timed_phase(self, phase: str) -> Generator[None]:
        """Counts and shows what the body takes as a phase of its own: saving, evaluating."""
        began = time.monotonic()
        with self.view.during(phase):
            yield
        self._phases[phase] = self._phases.get(phase, 0.0) + time.monotonic() - began

    @contextmanager
    def evaluating(self) -> Generator[None]:
        """Games that only evaluate: given up when the user asks to stop, so that saving never waits for them."""
        try:
            with self.timed_phase("judge"):
                self._request.at_once = True
                try:
                    yield
                finally:
                    self._request.at_once = False
        except KeyboardInterrupt:
            if self._request.reason is None:  # not asked of us: outside of `running`
                raise
            self.view.note("The evaluation was given up.")

    @property
    def asked_to_stop(self) -> bool:
        """Whether the user asked for the end (Ctrl+C, SIGTERM)."""
        return self._request.reason is not None

    def updated(self, step: int, measured: Callable[[], dict[str, float]]) -> None:
        """After every update. `measured` gives the metrics since the last log row, when the screen asks."""
        if self._first_phase:
            self._phases[self._first_phase] = self.row_seconds
            self._first_phase = ""
        self.view.tick(step)
        if self.view.due:
            speed = {"speed/steps_per_second": self.view.standing.rate} if self.view.standing.rate else {}
            self.view.metrics(measured() | speed | (self.memory.metrics() if self.memory.used else {}))

    def _cpu_seconds(self) -> float:
        """Of this process and of children that have ended."""
        return sum(self._process.cpu_times()[:4])

    def log(self, step: int, metrics: dict[str, float], seconds: dict[str, float] | None = None) -> dict[str, float]:
        """Completes a row with speed and health, and records it. `seconds`: time per phase since the last row."""
        now = time.monotonic()
        elapsed = max(1e-9, now - self._row_at)
        metrics = {**metrics, **self._evaluated}
        self._evaluated = {}
        metrics["speed/steps_per_second"] = (step - self._row_step) / elapsed
        if "train/num_decisions" in metrics:
            metrics["speed/decisions_per_second"] = metrics["train/num_decisions"] / elapsed
        spent_before, self._row_cpu = self._row_cpu, self._cpu_seconds()
        if {WON, "train/num_episodes"} <= metrics.keys() and self._row_cpu > spent_before:
            won = metrics[WON] * metrics["train/num_episodes"]
            metrics["speed/wins_per_cpu_hour"] = 3600 * won / (self._row_cpu - spent_before)
        for phase, spent in {**(seconds or {}), **(self._phases if seconds else {})}.items():
            metrics[f"speed/{phase}_share"] = min(1.0, spent / elapsed)
        metrics["health/rss_mb"] = self._process.memory_info().rss / 2**20
        metrics["health/disk_share"] = self.run.disk_share()
        metrics |= self.memory.metrics()
        findings = self._health.look(metrics)
        for name in HEALTH_METRICS:
            metrics[f"health/{name}"] = float(any(finding.metric == name for finding in findings))
        for finding in findings:
            self.view.note(f"step {step:,}: {finding.sentence}")
            self.recorder.event(step, finding.sentence)
            if finding.metric == "entropy_collapse" and self.settings.judging.stop_on_collapse:
                self._stop = "entropy collapsed (--stop-on-collapse)"
        self.recorder.record(step, metrics)
        self.view.row(step, metrics)
        self.latest_metrics = metrics
        self._row_at, self._row_step, self._phases = now, step, {}
        self._alerts.look({**metrics, ROW_TIME: time.time()})
        return metrics

    def keep_memory(self, relieve: Callable[[str], str | None], step: int) -> None:
        """Looks at the memory in use; near the limit the trainer is asked to give some back (see `MemoryLimit`)."""
        for sentence in self.memory.look(relieve):
            self.view.note(f"step {step:,}: {sentence}")
            self.recorder.event(step, sentence)
        if self.memory.restart_wanted:
            self._stop = "memory is nearly full: the run goes on from its checkpoint in a clean process"

    def end(self, sentence: str) -> None:
        """Asks the loop to stop, with this reason."""
        self._stop = sentence

    def finished(self, step: int, reason: str, checkpoint: Path) -> TrainResult:
        """The end of a call, noted and summed up."""
        self.view.note(f"Training stopped: {reason}. Checkpoint: {checkpoint}", style="green")
        return TrainResult(self.run.name, step, reason, checkpoint, self.latest_metrics)

    def evaluation_due(self, step: int) -> bool:
        interval = self.settings.judging.eval_interval
        return interval is not None and step - self._evaluated_step >= interval and not self.asked_to_stop

    def evaluated(self, step: int, mean: float, spread: float) -> None:
        """The return on validation games; part of the next log row."""
        self._evaluated_step = step
        self._evaluated = {JUDGED_RETURN: mean, "eval/std_return": spread}
        self.latest_metrics = self.latest_metrics | self._evaluated

    def evaluated_checkpoint(self, checkpoint: Path) -> Evaluation:
        """The finished policy on held-out seeds, from its checkpoint, as any user would evaluate it."""
        from jimbot.evaluation import evaluate

        games, options = self.settings.judging.eval_games, self.settings.game_options
        with self.view.counting("evaluating") as progress:
            return evaluate(str(checkpoint), games=games, options=options, progress=progress)

    def judge_by(self, metric: str) -> None:
        """From now on the best checkpoint is the one with the highest of this metric."""
        self._judged_by, self._best = metric, self._best_so_far(metric)

    def judged(self, step: int) -> bool:
        """Whether validation games have been played at this step."""
        return self._evaluated_step == step and JUDGED_RETURN in self.latest_metrics

    def checkpoint_due(self, step: int) -> bool:
        if self.settings.saving.save_interval is not None:
            return step - self._saved_step >= self.settings.saving.save_interval
        return time.monotonic() - self._saved_at >= 60 * self.settings.saving.save_interval_minutes

    def saved(self, step: int, path: Path) -> None:
        """Called by the trainer after each checkpoint: keeps the clock and, unless that comes later, `best`."""
        self._saved_at, self._saved_step = time.monotonic(), step
        self._unrated = step, path
        if not self._rated_later:
            self._rate()

    @contextmanager
    def rating_later(self) -> Generator[None]:
        """Checkpoints that the body writes are compared with the best when it is over: it may try them meanwhile."""
        self._rated_later += 1
        try:
            yield
        finally:
            self._rated_later -= 1
        if not self._rated_later:
            self._rate()

    def _rate(self) -> None:
        """The newest checkpoint with what is known about it by now."""
        if self._unrated is None:
            return
        (step, path), self._unrated = self._unrated, None
        self.store.note_metrics(path, self.latest_metrics)
        score = self.latest_metrics.get(self._judged_by)
        is_best = score is not None and (self._best is None or score > self._best)
        if is_best:
            self._best = score
            self.store.mark_best(path)
        self.recorder.event(step, f"saved {path.name}{' (best so far)' if is_best else ''}")
        self.recorder.checkpoint(step, path, is_best)

    def check_finite(self, losses: dict[str, Any], update: int, step: int) -> None:
        """Raises as soon as a loss is not a number; the last good checkpoint stays what it was."""
        broken = [name for name, value in losses.items() if not abs(float(value)) < float("inf")]
        if not broken:
            return
        latest = self.store.latest()
        kept = f"the last good checkpoint is {latest}" if latest else "no checkpoint had been written yet"
        raise TrainingError(
            f"{broken[0]} of update {update} (step {step:,}) is not a finite number; training stopped and {kept}. "
            "Lower lr (for instance by half) and start again."
        )

    def close(self) -> None:
        self.recorder.close()
        self.run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        if kind is not None:
            self.run.discard()  # a command that was refused leaves no run behind

    def _best_so_far(self, metric: str) -> float | None:
        best = self.store.best()
        return load_checkpoint(best).manifest.metrics.get(metric) if best else None

    def _ring(self, alert: Alert) -> None:
        self.view.note(f"step {self._row_step:,}: {alert.text}", style="bold red" if alert.firing else "green")
        self.recorder.alert(self._row_step, alert)

    def _note_request(self) -> None:
        self.view.note("Finishing this update and saving (Ctrl+C again to quit without saving)…")


def _about(settings: RunSettings) -> str:
    return f"{settings.game}, {settings.algorithm} ({settings.learner})"


def _expectation(settings: RunSettings) -> Callable[[int], str]:
    """Steps → what a run of this game had reached by then, for runs that start from nothing with its preset."""
    start = settings.start if isinstance(settings, TrainSettings) else None
    plain = start is not None and not (start.init_from or start.bc_model) and settings.algorithm == "PPO"
    taught = isinstance(settings, TrainSettings) and settings.teacher.policy is not None
    return lambda steps: expected(settings.game, steps, taught) if plain else ""


def run_name(settings: RunSettings) -> str:
    name = settings.saving.run_name or default_name(
        settings.game.replace("/", "-"), learner_name(settings), settings.algorithm
    )
    if settings.saving.run_name is None and isinstance(settings, TrainSettings) and settings.population.size:
        name = f"{name}-population"
    return f"{name}-{settings.saving.run_suffix}" if settings.saving.run_suffix else name


def _sinks(run: RunDirectory, settings: RunSettings) -> list[Sink]:
    """The files every run has, what the user named, and W&B where it is set up or a project is named."""
    sinks, operators = standard_sinks(run), settings.operators
    if settings.tracking.bus is not None:
        sinks.append(plugins.provided("jimbot.sinks", "bus")(settings.tracking.bus, run.name, settings.game))
    if operators.questdb is not None:
        sinks.append(http.QuestDBSink(operators.questdb, run.name, settings.game))
    if (webhook := http.open_webhook(operators.alert_webhook, run.name, settings.game)) is not None:
        sinks.append(webhook)
    if not settings.tracking.no_wandb:
        sinks += _wandb(run, settings)
    if operators.metrics_port is not None:  # the last one: a port that was opened for nothing would stay open
        from jimbot.runs.sinks.prometheus import PrometheusSink

        shown = operators.metrics_port, run.name, settings.game, operators.metrics_host
        tokens = operators.metrics_token_file
        sinks.append(PrometheusSink(*shown, Path(tokens) if tokens is not None else None))
    return sinks


def _wandb(run: RunDirectory, settings: RunSettings) -> list[Sink]:
    if not settings.tracking.project and importlib.util.find_spec("wandb") is None:
        return []
    from jimbot.runs.sinks import wandb

    if not settings.tracking.project and wandb.choose_mode() != "online":
        return []
    sink = wandb.WandbSink(
        run.path,
        project=settings.tracking.project or settings.game,
        entity=settings.tracking.entity,
        run_name=run.name,
        config=settings.flat(),
        upload_checkpoints=not settings.tracking.no_artifact,
        rewind=settings.tracking.rewind,
    )
    return [sink]


def _check_same_run(run: RunDirectory, settings: RunSettings) -> None:
    """A run is continued only with the settings it was started with."""
    stored = run.read_config()
    if stored is None or not (run.metrics_path.exists() or run.checkpoints().paths()):
        return  # nothing was learned yet: a first start that failed may be corrected
    for name, value in settings.flat().items():
        if name not in settings.changeable and name in stored and stored[name] != value:
            raise SettingsError(
                f"Run '{run.name}' was started with {name} {stored[name]!r}, now it is {value!r}. "
                "Use --fresh to start over, or another --run."
            )
