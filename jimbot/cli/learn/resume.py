"""`jimbot resume`: continue a run with the settings it was started with."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli.learn.train import report
from jimbot.cli.shared import terminal
from jimbot.cli.shared.completion import complete_run
from jimbot.cli.shared.options import RUNS, LogLevelOption, RunsDirOption

EPILOG = """Examples:

jimbot resume hackmatrix-jax-ppo --minutes 30

jimbot resume hackmatrix-jax-ppo --checkpoint runs/hackmatrix-jax-ppo/checkpoints/000003276800"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(resume)


def resume(
    run: Annotated[str, typer.Argument(help="Name of the run.", autocompletion=complete_run)],
    minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes.")] = None,
    total_timesteps: Annotated[int | None, typer.Option(help="New end of the run.")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="Continue from this one instead of the newest.")] = None,
    rewind: Annotated[bool, typer.Option("--rewind", help="Also rewind W&B's history to the checkpoint.")] = False,
    log_level: LogLevelOption = None,
    runs_dir: RunsDirOption = RUNS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Continue a run exactly where its newest checkpoint left it."""
    from jimbot.training.memory.restart import restart_command
    from jimbot.training.run import run_training, stored_settings

    terminal.require_positive(minutes=minutes, total_timesteps=total_timesteps)
    given = {"minutes": minutes, "rewind": rewind, "resume": checkpoint}
    if total_timesteps is not None:
        given["total_timesteps"] = total_timesteps
    settings = stored_settings(run, given, runs_dir)
    outcome = run_training(settings, root=runs_dir, quiet=as_json, restart=restart_command)
    report(outcome, settings.game, runs_dir, as_json)
