"""`jimbot soak`: training that is killed and started again for hours, and one report about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.training.settings.record import parse_assignments

EPILOG = """Examples:

jimbot soak --hours 8

jimbot soak balatro --hours 1 --kill-minutes 5 --set learner=sb3 --set algorithm=DQN

jimbot soak vgc --hours 0.5 --kill-minutes 60 --kill-worker-seconds 20"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(soak)


def soak(
    game: Annotated[str, typer.Argument(help="Game to train.")] = "hackmatrix",
    hours: Annotated[float, typer.Option(help="How long.")] = 8.0,
    kill_minutes: Annotated[float, typer.Option(help="Training between two kills.")] = 20.0,
    kill_worker_seconds: Annotated[
        float | None, typer.Option(help="vgc: seconds between two kills of a simulator process; default: none.")
    ] = None,
    run: Annotated[str, typer.Option(help="Name of the run.")] = "soak",
    assignments: Annotated[list[str] | None, typer.Option("--set", help="name=value; any setting of train.")] = None,
    runs_dir: Annotated[Path, typer.Option(help="Where runs live.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Train for hours under kill -9 and report uptime, restarts, lost steps and the slope of memory."""
    from jimbot.runs.directory import RunDirectory
    from jimbot.training.soak import soak as run_soak
    from jimbot.training.soak import train_command, write_report

    terminal.require_positive(hours=hours, kill_minutes=kill_minutes)
    if kill_worker_seconds is not None:
        terminal.require_positive(kill_worker_seconds=kill_worker_seconds)
    settings = {"total_timesteps": 10**12, "save_interval_minutes": 1, **parse_assignments(assignments or [])}
    directory = RunDirectory(runs_dir, run)
    command = train_command(game, run, runs_dir, settings)
    report = run_soak(command, directory, hours, kill_minutes, terminal.note, kill_worker_seconds)
    path = write_report(directory, report)
    if as_json:
        terminal.print_json(report._asdict())
        return
    for name, value in report._asdict().items():
        terminal.console().print(
            f"{name.replace('_', ' '):<26} {value:,.3g}"
            if isinstance(value, float)
            else f"{name.replace('_', ' '):<26} {value:,}"
        )
    terminal.note(f"Stored as {path}.")
