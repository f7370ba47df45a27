"""`jimbot soak`: training, or everything at once, that is killed and started again for hours; one report about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.operate.up import ports_of
from jimbot.cli.shared import terminal
from jimbot.training.settings.record import parse_assignments

if TYPE_CHECKING:
    from jimbot.runs.directory import RunDirectory

EPILOG = """Examples:

jimbot soak --hours 8

jimbot soak balatro --hours 1 --kill-minutes 5 --set learner=sb3 --set algorithm=DQN

jimbot soak vgc --hours 0.5 --kill-minutes 60 --kill-worker-seconds 20

jimbot soak --stack --hours 1 --kill-minutes 5   (everything of jimbot up, a run, a bot; each killed in turn)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(soak)


def soak(
    game: Annotated[str, typer.Argument(help="Game to train; with --stack the one that can be hosted.")] = "hackmatrix",
    stack: Annotated[
        bool, typer.Option("--stack", help="Everything at once: a run, its policy served, a bot, every door asked.")
    ] = False,
    alone_minutes: Annotated[float, typer.Option(help="--stack: training alone first, to compare with.")] = 5.0,
    hours: Annotated[float, typer.Option(help="How long.")] = 8.0,
    kill_minutes: Annotated[float, typer.Option(help="Training between two kills.")] = 20.0,
    kill_worker_seconds: Annotated[
        float | None, typer.Option(help="vgc: seconds between two kills of a simulator process; default: none.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Name of the run; default: soak, or soak-stack.")] = None,
    port: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PORT", help="--stack: another port, as of jimbot up.")
    ] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", help="name=value; any setting of train.")] = None,
    runs_dir: Annotated[Path, typer.Option(help="Where runs live.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Train for hours under kill -9 and report uptime, restarts, lost steps and the slope of memory.

    With --stack everything at once, and the report says how quick decisions, bus, graph and page were under this load.
    """
    from jimbot.runs.directory import RunDirectory
    from jimbot.training.soak import soak as run_soak
    from jimbot.training.soak import train_command, write_report

    terminal.require_positive(hours=hours, kill_minutes=kill_minutes, alone_minutes=alone_minutes)
    if kill_worker_seconds is not None:
        terminal.require_positive(kill_worker_seconds=kill_worker_seconds)
    settings = {"total_timesteps": 10**12, "save_interval_minutes": 1, **parse_assignments(assignments or [])}
    if stack:
        settings = {"log_interval": 1, **settings}  # its speed is read from the rows
    directory = RunDirectory(runs_dir, run or ("soak-stack" if stack else "soak"))
    if stack:
        _soak_stack(directory, hours, kill_minutes, alone_minutes, settings, ports_of(port), as_json)
        return
    command = train_command(game, directory.name, runs_dir, settings)
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


def _soak_stack(
    directory: RunDirectory,
    hours: float,
    kill_minutes: float,
    alone_minutes: float,
    settings: dict[str, Any],
    ports: dict[str, int],
    as_json: bool,
) -> None:
    from jimbot.services.stack.soak import StackSoak, soak_stack

    soak = StackSoak(hours, kill_minutes, alone_minutes, directory.name, directory.root, settings, ports)
    report = soak_stack(soak, terminal.note).to_dict()
    if as_json:
        terminal.print_json(report)
        return
    for name, value in report.items():
        shown = f"{value:,.4g}" if isinstance(value, float) else value or "none"
        terminal.console().print(f"{name.replace('_', ' '):<26} {shown}", soft_wrap=True)
    terminal.note(f"Stored as {directory.path / 'soak.json'}.")
