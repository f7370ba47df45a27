"""`jimbot tune`: search for good hyper-parameters and write them as a settings file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from jimbot.cli.learn.train import note_settings
from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.common import RUNS, JsonOption, RunsDirOption
from jimbot.cli.shared.flags import SET_HELP

if TYPE_CHECKING:
    from jimbot.training.search import TuneOutcome

EXAMPLES = """jimbot tune hackmatrix --trials 20 --minutes 60
jimbot tune balatro --parameter lr=1e-5:1e-3 --parameter ent_coef --trial-steps 3000000
jimbot train hackmatrix --config runs/hackmatrix-jax-ppo-tune/best.yaml   (afterwards)
The same command continues a search that was stopped; --fresh starts over."""


def tune(
    game: Annotated[str, "Game to learn (see: jimbot doctor)."],
    trials: Annotated[int, "Settings to try in all."] = 20,
    trial_steps: Annotated[int, "Steps of a trial that is not given up."] = 1_000_000,
    minutes: Annotated[float | None, "Stop this call after so many minutes."] = None,
    parameter: Annotated[list[str], "name or name=low:high; a hyper-parameter to try. Default: a table."] = [],  # noqa: B006 - Typer reads it, nobody changes it
    games: Annotated[int, "Validation games that evaluate each turn of a trial."] = 100,
    learner: Annotated[str | None, "auto, or a learner by name."] = None,
    algorithm: Annotated[str | None, "Algorithm."] = None,
    config: Annotated[Path | None, "YAML file with the settings that are not searched."] = None,
    assignments: Annotated[list[str], "--set", SET_HELP] = [],  # noqa: B006
    options: Annotated[list[str], "--option", "name=value; an option of the game."] = [],  # noqa: B006
    run_name: Annotated[str | None, "--run", "Name of the search."] = None,
    fresh: Annotated[bool, "Start over; the old search is kept aside."] = False,
    runs_dir: RunsDirOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Search for good hyper-parameters: Optuna proposes, hopeless trials are given up early."""
    from jimbot.training import search
    from jimbot.training.settings.layers import resolve
    from jimbot.training.settings.record import parse_assignments, read_yaml

    terminal.require_positive(trials=trials, trial_steps=trial_steps, minutes=minutes, games=games)
    given: dict[str, Any] = {"game": game}
    if options:
        given["game_options"] = terminal.pairs(options)
    chosen = {"learner": learner, "algorithm": algorithm, "minutes": minutes, "run_name": run_name}
    given |= {name: value for name, value in chosen.items() if value is not None}
    resolved = resolve(read_yaml(config) if config else {}, parse_assignments(assignments), given, root=runs_dir)
    if not as_json:
        note_settings(resolved)
    parameters = search.parse_parameters(parameter)
    report(
        search.tune(resolved.settings, trials, trial_steps, parameters, games, runs_dir, fresh, as_json), game, as_json
    )


register = adds(tune, EXAMPLES)


def report(outcome: TuneOutcome, game: str, as_json: bool) -> None:
    """The trials, best first, and what to type next."""
    from dataclasses import asdict

    if as_json:
        listed = [asdict(trial) for trial in outcome.trials]
        terminal.print_json({**outcome._asdict(), "trials": listed, "best": asdict(outcome.best)})
        return
    names = list(outcome.best.values)
    table = Table("trial", "turns", "score", *names, title=f"Search {outcome.run}", title_justify="left")
    for trial in sorted(outcome.trials, key=lambda trial: (trial.turns, trial.score or 0.0), reverse=True):
        score = "–" if trial.score is None else f"{trial.score:.2f}"
        style = "bold green" if trial.number == outcome.best.number else ""
        values = [f"{trial.values[name]:.4g}" for name in names]
        table.add_row(str(trial.number), str(trial.turns), score, *values, style=style)
    console = terminal.console()
    console.print(table)
    console.print("\nWhat to type next:")
    config = terminal.quoted(outcome.config)
    terminal.print_next([(f"jimbot train {game} --config {config}", "train with the best settings")])


EXPERIMENT_EXAMPLES = """jimbot experiment compare.yaml
jimbot experiment compare.yaml --picture curves.png --json
The file names a game and the experiments, each with fields of TrainerConfig:
game: probe
common: {total_timesteps: 100000, n_envs: 16}
experiments: {PPO: {}, A2C: {}, careful: {algorithm: PPO, hyperparams: {learning_rate: 1e-4}}}
What was finished is not trained again; what was stopped goes on."""


def experiment(
    file: Annotated[Path, "YAML file with the experiments."],
    picture: Annotated[Path | None, "The picture; default: summary.png beside the runs."] = None,
    as_json: Annotated[bool, "--json", "Print the results as JSON."] = False,
) -> None:
    """Train several settings on one game and compare them on held-out seeds."""
    from jimbot.training.experiment import load_experiments

    benchmark = load_experiments(file)
    results = benchmark.run_all()
    drawn = benchmark.plot(picture or benchmark.root / "summary.png")
    if as_json:
        best = benchmark.get_best_result().name
        listed = [asdict(result) for result in results.values()]
        terminal.print_json({"results": listed, "best": best, "picture": str(drawn)})
        return
    benchmark.print_summary()
    terminal.note(f"Picture: {drawn}")


register_experiment = adds(experiment, EXPERIMENT_EXAMPLES)
