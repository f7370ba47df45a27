"""Several algorithms or settings side by side on one game: trained one after another, summarised, drawn.

Each experiment is an ordinary run under `root`, so a benchmark that was stopped goes on where it was, and every
single run can be watched, evaluated and exported.
"""

from __future__ import annotations

import itertools
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import SettingsError, UnknownNameError, UnreadableError, UsageError
from jimbot.games.contract import available_games, game_entry
from jimbot.reading.plain import file_text, json_value
from jimbot.runs.files import make_directory, write_atomically
from jimbot.runs.sinks.jsonl import read_rows
from jimbot.training.framework import RLTrainer, create_trainer
from jimbot.training.metrics import print_comparison_table
from jimbot.training.settings.record import read_yaml
from jimbot.training.settings.trainer_config import HyperparameterConfig, TrainerConfig, get_default_config

RESULT = "result.json"
CURVE = "train/mean_episode_return"
WON, WINS = "won", "wins"
_log = logging.getLogger("jimbot.training")


@dataclass(init=False)
class ExperimentConfig:
    """One way to train: fields of TrainerConfig over the usual ones of the algorithm, or a whole TrainerConfig.

    >>> config = ExperimentConfig(algorithm="A2C", total_timesteps=100_000)
    >>> config.trainer.total_timesteps, config.trainer.hyperparams.learning_rate
    (100000, 0.0007)
    """

    name: str
    """Without one the algorithm is it."""
    trainer: TrainerConfig
    n_eval_episodes: int
    description: str

    def __init__(
        self,
        name: str = "",
        trainer: TrainerConfig | None = None,
        n_eval_episodes: int = 100,
        description: str = "",
        **fields: Any,
    ) -> None:
        if trainer is not None and fields:
            raise UsageError(f"Both a TrainerConfig and {', '.join(fields)} are given; put all of it into one of them.")
        self.name = name
        self.trainer = trainer or trainer_config(fields, name or "PPO")
        self.n_eval_episodes = n_eval_episodes
        self.description = description

    @property
    def algorithm(self) -> str:
        return self.trainer.algorithm

    @property
    def total_timesteps(self) -> int:
        return self.trainer.total_timesteps


@dataclass(frozen=True)
class ExperimentResult:
    """What came of it."""

    name: str
    algorithm: str
    mean_return: float
    std_return: float
    episodes: int  # judged on held-out seeds
    steps: int
    seconds: float  # of training in this call; 0 if it was finished before
    curve: list[tuple[int, float]] = field(default_factory=list)  # (step, mean return while training)
    checkpoint: str = ""
    stats: dict[str, float] = field(default_factory=dict)
    """Means over the judged games: how far they came (`ante`, a stage) and the share won, where a game has that."""

    @property
    def error(self) -> float:
        """The standard error of the mean return."""
        return self.std_return / max(1, self.episodes) ** 0.5

    def beats(self, other: ExperimentResult) -> bool:
        """Whether its mean return is higher beyond noise: 95 % of the differences by chance are smaller."""
        return self.mean_return - other.mean_return > 1.96 * float(np.hypot(self.error, other.error))

    def metrics(self) -> dict[str, Any]:
        """A line of the summary."""
        return {
            "algorithm": self.algorithm,
            "return": f"{self.mean_return:.2f} ± {1.96 * self.error:.2f}",
            **{name: f"{value:.1%}" if name == WINS else f"{value:.2f}" for name, value in self.stats.items()},
            "steps": f"{self.steps:,}",
            "minutes": f"{self.seconds / 60:.1f}",
        }


class MultiAlgorithmBenchmark:
    """Trains what was added and compares. `env_creator` makes what `create_trainer` takes (or is a game id)."""

    def __init__(self, env_creator: Callable[[], Any] | str, root: str | Path = "runs/experiment") -> None:
        self.env_creator = env_creator
        self.root = Path(root)
        self.experiments: dict[str, ExperimentConfig] = {}
        self.results: dict[str, ExperimentResult] = {}

    def add_experiment(self, experiment: ExperimentConfig | str, config: TrainerConfig | None = None) -> None:
        """An ExperimentConfig, or a name and its TrainerConfig."""
        if isinstance(experiment, str):
            experiment = ExperimentConfig(experiment, config or get_default_config(experiment))
        experiment.name = experiment.name or self._free_name(experiment.algorithm)
        if experiment.name in self.experiments:
            raise UsageError(f"There are two experiments called '{experiment.name}'; each needs a name of its own.")
        self.experiments[experiment.name] = experiment

    def _free_name(self, algorithm: str) -> str:
        """PPO, PPO-2, PPO-3, …"""
        names = (algorithm if number == 1 else f"{algorithm}-{number}" for number in itertools.count(1))
        return next(name for name in names if name not in self.experiments)

    def run_all(self) -> dict[str, ExperimentResult]:
        """Trains and evaluates every experiment; what an earlier call finished is taken from its result file."""
        if not self.experiments:
            raise UsageError("There is no experiment to run. Call add_experiment first.")
        for name, experiment in self.experiments.items():
            self.results[name] = self._stored(experiment) or self._run(experiment)
        return self.results

    def get_best_result(self) -> ExperimentResult:
        """The one with the highest mean return."""
        if not self.results:
            raise UsageError("There are no results yet. Call run_all first.")
        return max(self.results.values(), key=lambda result: result.mean_return)

    def print_summary(self) -> None:
        """All results with 95 % intervals of their returns, and whether the best is better beyond chance."""
        print_comparison_table({name: result.metrics() for name, result in self.results.items()})
        best = self.get_best_result()
        print(f"Best: {best.name}")
        equal = [result.name for result in self.results.values() if result is not best and not best.beats(result)]
        if equal:
            print(f"No difference beyond noise between {best.name} and {', '.join(equal)}.")

    def plot(self, save_path: str | Path) -> Path:
        """Learning curves and final returns in one picture."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        curves, bars = figure.subplots(1, 2, width_ratios=(2, 1))
        for result in self.results.values():
            if result.curve:
                curves.plot(*np.array(result.curve).T, label=result.name)
        curves.set(xlabel="steps", ylabel="mean return while training")
        curves.grid(alpha=0.3)
        if any(result.curve for result in self.results.values()):
            curves.legend(loc="best")
        names = list(self.results)
        means = [self.results[name].mean_return for name in names]
        errors = [1.96 * r.std_return / max(1, r.episodes) ** 0.5 for r in self.results.values()]
        bars.bar(names, means, yerr=errors, capsize=4, color=[f"C{i}" for i in range(len(names))])
        bars.set(ylabel="return on held-out seeds (95 %)")
        make_directory(Path(save_path).parent)
        figure.savefig(save_path, dpi=120)
        return Path(save_path)

    def _run(self, experiment: ExperimentConfig) -> ExperimentResult:
        _log.info("Experiment %s begins.", experiment.name)
        env = self.env_creator if isinstance(self.env_creator, str) else self.env_creator()
        folder = self.root / experiment.name
        config = replace(experiment.trainer, save_dir=str(folder / "models"))
        trainer = create_trainer(env, config, root=folder, resume=True)
        began = time.monotonic()
        try:
            if trainer.step < trainer.settings.total_timesteps:
                trainer.train()
            mean, spread, stats = _judged(trainer, experiment.n_eval_episodes)
            result = ExperimentResult(
                experiment.name,
                trainer.settings.algorithm,
                mean,
                spread,
                experiment.n_eval_episodes,
                trainer.step,
                time.monotonic() - began,
                _curve(trainer.session.run.metrics_path),
                str(trainer.session.store.latest() or ""),
                stats,
            )
        finally:
            trainer.close()
        stored = {"experiment": _plain(experiment), "result": asdict(result)}
        write_atomically(folder / RESULT, json.dumps(stored, indent=1).encode())
        return result

    def _stored(self, experiment: ExperimentConfig) -> ExperimentResult | None:
        path = self.root / experiment.name / RESULT
        if not path.is_file():
            return None
        try:
            stored = json_value(file_text(path), constants=True)
            if stored["experiment"] != _plain(experiment):
                raise SettingsError(
                    f"Experiment '{experiment.name}' under {self.root} was finished with other settings. "
                    "Give it another name, or remove its folder."
                )
            values = stored["result"] | {"seconds": 0.0}
            values["curve"] = [(int(step), float(value)) for step, value in values["curve"]]
            return ExperimentResult(**values)
        except (UnreadableError, KeyError, TypeError, ValueError) as problem:
            raise SettingsError(f"{path} is damaged: {problem}. Remove it to run the experiment again.") from problem


def _judged(trainer: RLTrainer, episodes: int) -> tuple[float, float, dict[str, float]]:
    """Mean and spread of the return, and what else the games of a policy tell; a learner may have its own way."""
    if type(trainer).evaluate is not RLTrainer.evaluate:
        return *trainer.evaluate(episodes), {}
    games, spec = trainer.judged_games(episodes), trainer.spec
    milestones = game_entry(spec.id).milestones if spec.id in available_games() else None
    far = spec.ladder if milestones is None or milestones.name not in spec.episode_stats else milestones.name
    named = {far: far, WON: WINS}
    columns = {
        shown: list(spec.episode_stats).index(name) for name, shown in named.items() if name in spec.episode_stats
    }
    stats = {shown: float(np.nan_to_num(games.stats[:, column]).mean()) for shown, column in columns.items()}
    return float(games.returns.mean()), float(games.returns.std()), stats


def load_experiments(path: Path) -> MultiAlgorithmBenchmark:
    """A benchmark from a file: `game`, and `experiments` by name, each with fields of TrainerConfig."""
    values = read_yaml(path)
    known = ("game", "experiments", "n_eval_episodes", "root", "common")
    for name in values:
        if name not in known:
            raise UnknownNameError("entry of an experiment file", name, known)
    experiments = values.get("experiments")
    if not isinstance(experiments, Mapping) or not experiments:
        raise SettingsError(f"'{path}' has no experiments; expected `experiments:` with one entry per name.")
    root = values.get("root", f"runs/{path.stem}")
    benchmark = MultiAlgorithmBenchmark(str(values.get("game", "balatro")), root)
    for name, changes in experiments.items():
        config = trainer_config({**(values.get("common") or {}), **(changes or {})}, str(name))
        benchmark.add_experiment(ExperimentConfig(str(name), config, int(values.get("n_eval_episodes", 100))))
    return benchmark


def trainer_config(values: Mapping[str, Any], name: str) -> TrainerConfig:
    """A TrainerConfig from plain values; the algorithm (default: the name) gives the defaults."""
    config = get_default_config(str(values.get("algorithm", name)))
    for key, value in values.items():
        if key == "hyperparams" and isinstance(value, HyperparameterConfig):
            config.hyperparams = value
        elif key == "hyperparams":
            for inner, number in (value or {}).items():
                if inner == "algorithm_specific":
                    config.hyperparams.algorithm_specific |= number
                else:
                    setattr(config.hyperparams, inner, number)
        elif key != "algorithm":
            setattr(config, key, value)
    return config


def _plain(experiment: ExperimentConfig) -> Any:
    return json.loads(json.dumps(asdict(experiment)))


def _curve(path: Path) -> list[tuple[int, float]]:
    return [(row["step"], row[CURVE]) for row in read_rows(path) if CURVE in row]


__all__ = [
    "ExperimentConfig", "ExperimentResult", "HyperparameterConfig", "MultiAlgorithmBenchmark", "TrainerConfig",
    "load_experiments",
]  # fmt: skip
