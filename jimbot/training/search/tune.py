"""`jimbot tune`: a search for good hyper-parameters. Optuna proposes, Ray Tune runs, ASHA gives up the hopeless early.

Every trial is an ordinary run that takes turns (`trials`), so what was learned survives a kill. What was proposed is in
`search.json`. A search that goes on proposes the same trials once more; turns that were taken answer at once from their
files, which tells Optuna and ASHA everything they knew, and then the search continues. `best.yaml` is what
`jimbot train --config` takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from jimbot.errors import SettingsError, TrainingError
from jimbot.training.search.record import TURNS, Search, Trial, Tuning
from jimbot.training.session.session import Session, run_name
from jimbot.training.settings.layers import complete
from jimbot.training.settings.record import TrainSettings
from jimbot.training.trials.hyperparameters import chosen_ranges
from jimbot.training.trials.turn import check_settings


class TuneOutcome(NamedTuple):
    run: str
    trials: list[Trial]
    best: Trial
    config: Path
    reason: str


def tune(
    settings: TrainSettings,
    trials: int = 20,
    trial_steps: int = 1_000_000,
    parameters: Mapping[str, Any] | None = None,
    games: int = 100,
    root: Path = Path("runs"),
    fresh: bool = False,
    quiet: bool = False,
) -> TuneOutcome:
    """Searches (or goes on searching) until `trials` were tried or the settings' minutes are over."""
    if settings.population.size:
        raise SettingsError("A search tries settings one by one and has no population; leave out one of the two.")
    settings = complete(settings)
    check_settings(settings)
    ranges = chosen_ranges(settings.algorithm, parameters, whole=True, learn="tune")
    from jimbot.training.ray.search import run_trials  # a missing Ray or Optuna is said before anything is written
    from jimbot.training.ray.tune_trials import local_ray

    if settings.saving.run_name is None:
        settings = settings.model_copy(update={"run_name": f"{run_name(settings)}-tune", "run_suffix": None})
    wanted = Search(
        trial_steps=trial_steps,
        games=games,
        ranges=json.loads(json.dumps({name: asdict(span) for name, span in ranges.items()})),
    )
    with Session.open(settings, root, fresh=fresh, quiet=quiet) as session:
        tuning = Tuning.open(session.run.path, settings, wanted, ranges)
        if tuning.search.proposed:
            session.view.note(f"Continuing a search of {len(tuning.search.proposed)} trials.", style="cyan")
        session.view.note("Starting Ray…", style="dim")
        total = trials * TURNS * tuning.interval
        with local_ray(settings), session.running(0, total):
            run_trials(tuning, session, trials, total)
            reason = session.stop_reason(0, total) or f"all {trials} trials are done"
        best, config = tuning.best(), tuning.write_best()
        if best is None or config is None:
            raise TrainingError(
                f"No trial has a score yet ({reason}). The same command goes on where it was; "
                "if every trial failed, give lower ranges of lr."
            )
        session.view.note(f"Search stopped: {reason}. Best settings: {config}", style="green")
        return TuneOutcome(session.run.name, tuning.trials(), best, config, reason)


def parse_parameters(texts: list[str]) -> dict[str, Any]:
    """`name` or `name=low:high` texts of the command line.

    >>> parse_parameters(["lr=1e-5:1e-3", "gamma"])
    {'lr': ['1e-5', '1e-3'], 'gamma': []}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, bounds = text.partition("=")
        parts = bounds.split(":") if equals else []
        if not name.strip() or (equals and len(parts) != 2):
            raise SettingsError(f"--parameter got '{text}'; expected name or name=low:high, for instance lr=1e-5:1e-3.")
        found[name.strip().replace("-", "_")] = parts
    return found
