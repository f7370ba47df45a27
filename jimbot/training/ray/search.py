"""The side of a search that talks to Ray Tune and Optuna; `search.record` holds what is known and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jimbot.errors import MissingExtraError
from jimbot.training.ray.tune_trials import SCRATCH, STOP, Finish, Watch, fit, tune
from jimbot.training.search import TURNS, Tuning, counts
from jimbot.training.session.session import Session
from jimbot.training.settings.record import TrainSettings
from jimbot.training.trials import Range, proposal, run_config

try:
    import optuna
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which jimbot tune needs,", "tune") from problem

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch

KEPT_SHARE = 3  # of so many trials one goes on past a comparison of ASHA (after turn 1, 3 and 9)


def run_trials(tuning: Tuning, session: Session, trials: int, total: int) -> None:
    """Tries settings until there were `trials` of them, or all trials are asked to stop."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    stop_file = tuning.folder / STOP
    stop_file.unlink(missing_ok=True)
    finish = Finish()
    tried = tuning.search.proposed[:trials]
    search = OptunaSearch(
        {name: distribution(name, span, tuning.settings, tuning.ranges) for name, span in tuning.ranges.items()},
        metric="score",
        mode="max",
        points_to_evaluate=list(tried) or [tuning.own_proposal()],
        seed=tuning.settings.seed + len(tried),  # or a search that goes on would propose its first trials again
    )
    run = run_config(
        None,
        {},
        root=tuning.trials_folder,
        settings=tuning.trial_settings(),
        interval=tuning.interval,
        total=tuning.interval * TURNS,
        turns_before=0,
        games=tuning.search.games,
        stop_file=stop_file,
        distances=tuning.distances,
    )
    pruning = ASHAScheduler(time_attr="training_iteration", max_t=TURNS, grace_period=1, reduction_factor=KEPT_SHARE)
    fit(
        tuning.settings,
        run,
        tune.TuneConfig(
            metric="score",
            mode="max",
            search_alg=ConcurrencyLimiter(search, max_concurrent=1),
            scheduler=pruning,
            num_samples=trials,
            reuse_actors=True,
        ),
        tuning.folder / SCRATCH,
        finish,
        TrialWatch(tuning, session, stop_file, total, finish),
    )
    stop_file.unlink(missing_ok=True)


class TrialWatch(Watch):
    """Remembers what was proposed, and logs what came of it."""

    def __init__(self, tuning: Tuning, session: Session, stop_file: Path, total: int, finish: Finish) -> None:
        super().__init__(session, tuning.trials_folder, stop_file, finish, total)
        self._tuning = tuning

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        self._tuning.propose(proposal(trial.config))

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **_: Any) -> None:
        if result["interrupted"]:
            self._finish.finish()

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        tuning, session = self._tuning, self._session
        proposed = proposal(trial.config)
        if trial.last_result.get("interrupted", True) or proposed not in tuning.search.proposed:
            return  # it was stopped with all others
        known = tuning.trial(tuning.search.proposed.index(proposed))
        shown = ", ".join(f"{name} {value:.4g}" for name, value in known.values.items())
        score = f"failed ({known.failure})" if known.score is None else f"score {known.score:.2f}"
        early = "" if known.turns >= TURNS else f", given up after turn {known.turns} of {TURNS}"
        text = f"trial {known.number}: {score} with {shown}{early}"
        session.recorder.event(known.turns * tuning.interval, text)
        session.view.note(text, style="dim")
        tuning.write_best()


def distribution(name: str, span: Range, settings: TrainSettings, ranges: Mapping[str, Range]) -> BaseDistribution:
    """A range as Optuna knows it; a complement is searched as its distance from 1."""
    if span.whole:
        return CategoricalDistribution(counts(name, span, settings, ranges))
    if span.scale == "complement":
        return FloatDistribution(round(1.0 - span.high, 9), round(1.0 - span.low, 9), log=True)
    return FloatDistribution(span.low, span.high, log=span.scale == "log")
