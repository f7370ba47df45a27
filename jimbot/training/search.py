"""`jimbot tune`: a search for good hyper-parameters. Optuna proposes, Ray Tune runs, ASHA gives up the hopeless early.

Every trial is an ordinary run that takes turns (`trials`), so what was learned survives a kill. What was proposed is in
`search.json`. A search that goes on proposes the same trials once more; turns that were taken answer at once from their
files, which tells Optuna and ASHA everything they knew, and then the search continues. `best.yaml` is what
`jimbot train --config` takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from jimbot.errors import CheckpointError, SettingsError, TrainingError
from jimbot.plugins import provided
from jimbot.runs.files import make_directory, read_text, write_atomically
from jimbot.training.session.session import Session, run_name
from jimbot.training.settings.layers import complete
from jimbot.training.settings.record import TrainSettings
from jimbot.training.trials import Range, check_settings, chosen_ranges, named_by, turns_of, values_of_proposal

FORMAT = 1
SEARCH, BEST, TRIALS = "search.json", "best.yaml", "trials"
TURNS = 9  # comparisons in a full trial
NOT_LEARNING = (
    "run_name", "run_suffix", "resume", "rewind", "checkpoint_dir", "minutes", "no_wandb", "project", "entity",
    "no_artifact", "bus", "questdb", "metrics_port", "metrics_host", "metrics_token_file", "alert_webhook", "init_from",
    "mutations", "population", "population_interval", "population_games", "population_quantile",
)  # fmt: skip
"""Settings that say where and how long, not how to learn: not part of best.yaml."""


class Search(BaseModel):
    """The content of search.json."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    trial_steps: int
    games: int
    ranges: dict[str, Any]
    proposed: list[dict[str, Any]] = []  # what Optuna said, in its order, exactly: runs are named by it


@dataclass(frozen=True)
class Trial:
    """What is known of one proposal."""

    number: int
    values: dict[str, Any]
    turns: int  # taken; fewer than all of them: given up early, or still to be continued
    score: float | None  # of the last one
    failure: str
    run: str


class Tuning:
    """One search in its run directory."""

    def __init__(self, folder: Path, settings: TrainSettings, search: Search, ranges: Mapping[str, Range]) -> None:
        self.folder, self.settings, self.search, self.ranges = folder, settings, search, ranges

    @classmethod
    def open(cls, folder: Path, settings: TrainSettings, wanted: Search, ranges: Mapping[str, Range]) -> Tuning:
        """What is there, if it is the same search; else a new one."""
        search, path = wanted, folder / SEARCH
        if (text := read_text(path)) is not None:
            try:
                search = Search.model_validate_json(text)
            except ValidationError as problem:
                raise CheckpointError(
                    f"{path} is damaged ({problem.errors()[0]['msg']}); use --fresh to start over."
                ) from problem
            for name in ("format", "trial_steps", "games", "ranges"):
                if getattr(search, name) != getattr(wanted, name):
                    raise SettingsError(
                        f"Search {folder.name} was started with {name} {getattr(search, name)}, now it is "
                        f"{getattr(wanted, name)}. Use --fresh to start over, or another --run."
                    )
        tuning = cls(folder, settings, search, ranges)
        make_directory(tuning.trials_folder)
        tuning._write()
        return tuning

    @property
    def trials_folder(self) -> Path:
        return self.folder / TRIALS

    @property
    def interval(self) -> int:
        """Steps of a turn: whole updates."""
        batch = self.settings.batch_size
        return -(-self.search.trial_steps // (TURNS * batch)) * batch

    def trial_settings(self) -> dict[str, Any]:
        own = {"total_timesteps": self.interval * TURNS, "eval_games": 0, "minutes": None, "run_suffix": None}
        own |= {"no_wandb": True, "project": None, "checkpoint_dir": None, "resume": None, "metrics_port": None}
        return self.settings.flat() | own

    @property
    def distances(self) -> list[str]:
        """What is searched as its distance from 1."""
        return [name for name, span in self.ranges.items() if span.scale == "complement"]

    def own_proposal(self) -> dict[str, Any]:
        """The settings as they were given: the first trial, so that a search never ends below them by chance."""
        proposed: dict[str, Any] = {}
        for name, span in self.ranges.items():
            value = min(span.high, max(span.low, self.settings[name]))
            if span.whole:
                if value in counts(name, span, self.settings, self.ranges):
                    proposed[name] = value
            else:
                proposed[name] = round(1.0 - value, 9) if name in self.distances else value
        return proposed

    def propose(self, proposed: Mapping[str, Any]) -> None:
        """Remembers a trial before it begins."""
        if dict(proposed) not in self.search.proposed:
            self.search.proposed.append(dict(proposed))
            self._write()

    def trials(self) -> list[Trial]:
        return [self.trial(number) for number in range(len(self.search.proposed))]

    def trial(self, number: int) -> Trial:
        proposed = self.search.proposed[number]
        name = named_by(proposed)
        turns = turns_of(self.trials_folder / name)
        last = turns[-1] if turns else None
        return Trial(
            number=number,
            values=values_of_proposal(proposed, self.distances),
            turns=len(turns),
            score=last.score if last else None,
            failure=last.failure if last else "",
            run=f"{TRIALS}/{name}",
        )

    def best(self) -> Trial | None:
        """The best score among the trials that got furthest."""
        scored = [trial for trial in self.trials() if trial.score is not None]
        return max(scored, key=lambda trial: (trial.turns, trial.score), default=None)

    def write_best(self) -> Path | None:
        """The settings of the best trial as a file for `jimbot train --config`."""
        best = self.best()
        if best is None:
            return None
        settings = self.settings.flat() | best.values
        learning = {name: value for name, value in settings.items() if name not in NOT_LEARNING and value is not None}
        text = yaml.safe_dump(learning, sort_keys=False, allow_unicode=True)
        head = f"# Trial {best.number} of {self.folder.name}: mean return {best.score:.4g} on validation games.\n"
        write_atomically(self.folder / BEST, (head + text).encode())
        return self.folder / BEST

    def _write(self) -> None:
        write_atomically(self.folder / SEARCH, self.search.model_dump_json(indent=1).encode())


def counts(name: str, span: Range, settings: TrainSettings, ranges: Mapping[str, Range]) -> list[int]:
    """The counts a search tries: powers of two, or every number of a short range; minibatches must divide any batch."""
    numbers = range(int(span.low), int(span.high) + 1)
    if span.scale == "log":
        numbers = [number for number in numbers if number & (number - 1) == 0]
    if name == "num_minibatches":
        steps = counts("num_steps", ranges["num_steps"], settings, ranges) if "num_steps" in ranges else []
        batches = [settings.num_envs * count for count in steps] or [settings.batch_size]
        numbers = [number for number in numbers if all(batch % number == 0 for batch in batches)]
    if not numbers:
        raise SettingsError(f"The range of {name} holds no number that can be tried: [{span.low:g}, {span.high:g}].")
    return list(numbers)


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
    run_trials, local_ray = (provided("jimbot.trials", part) for part in ("search", "machine"))  # Ray, or why not

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
