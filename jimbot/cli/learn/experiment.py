"""`jimbot experiment`: several algorithms or settings side by side, with a summary and a picture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal

EPILOG = """Examples:

jimbot experiment compare.yaml

jimbot experiment compare.yaml --picture curves.png --json

The file names a game and the experiments, each with fields of TrainerConfig:

game: probe

common: {total_timesteps: 100000, n_envs: 16}

experiments: {PPO: {}, A2C: {}, careful: {algorithm: PPO, hyperparams: {learning_rate: 1e-4}}}

What was finished is not trained again; what was stopped goes on."""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(experiment)


def experiment(
    file: Annotated[Path, typer.Argument(help="YAML file with the experiments.")],
    picture: Annotated[Path | None, typer.Option(help="The picture; default: summary.png beside the runs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
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
