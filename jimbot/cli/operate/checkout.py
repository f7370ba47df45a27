"""`jimbot bench` and `jimbot soak`: speed, and hours under kills; what they run comes with a checkout, not a wheel."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

import jimbot
from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.common import RUNS, RunsDirOption, ports_of
from jimbot.errors import UnknownNameError, UsageError
from jimbot.training.settings.record import parse_assignments

if TYPE_CHECKING:
    from jimbot.runs.directory import RunDirectory

CHECKOUT = Path(jimbot.__file__).resolve().parents[1]
PARTS = ("learner", "ray", "replay", "serve", "bus", "graph")
ALL = "all"
BENCH_EXAMPLES = """jimbot bench balatro
jimbot bench hackmatrix
jimbot bench vgc   (battles against poke-env's network players)
jimbot bench learner --game balatro --json
jimbot bench ray --game balatro
jimbot bench replay
jimbot bench serve --game hackmatrix   (decisions for other programs)
jimbot bench bus   (questions and events between programs)
jimbot bench graph   (what a question to the knowledge graph costs)
jimbot bench all --seconds 20
jimbot bench all --compare   (beside MaskablePPO, poke-env, a bare gRPC server: one table of ratios)"""
SOAK_EXAMPLES = """jimbot soak --hours 8
jimbot soak balatro --hours 1 --kill-minutes 5 --set learner=sb3 --set algorithm=DQN
jimbot soak vgc --hours 0.5 --kill-minutes 60 --kill-worker-seconds 20
jimbot soak --stack --hours 1 --kill-minutes 5   (everything of jimbot up, a run, a bot; each killed in turn)"""


def _of_checkout(name: str) -> Any:
    """A module of `benchmarks/` or `tools/`, which lie beside the package; here and in processes started from here."""
    if not (CHECKOUT / name.split(".")[0] / "__init__.py").is_file():
        raise UsageError("What this command runs comes with a checkout of JimBot: git clone it, then pip install -e .")
    if str(CHECKOUT) not in sys.path:
        sys.path.insert(0, str(CHECKOUT))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")]))
    return importlib.import_module(name)


def bench(
    what: Annotated[
        str, typer.Argument(help="A game (random play), learner, ray, replay, serve, bus, graph or all.")
    ] = "all",
    game: Annotated[str | None, "Measure the learner on this game only."] = None,
    seconds: Annotated[float, "How long each measurement runs."] = 10.0,
    num_envs: Annotated[int | None, "Games at once; default 1,024 to play, 256 to learn."] = None,
    cold: Annotated[bool, "Ignore the compile cache: times a first start."] = False,
    compare: Annotated[bool, "all: beside what else there is, three times in turns, as one table of ratios."] = False,
    as_json: Annotated[bool, "--json", "Print metrics as JSON."] = False,
) -> None:
    """Measure speed: steps per second, per CPU-second, against the roofline, and compile times."""
    from jimbot.games.contract import available_games
    from jimbot.training.session.compile_cache import use_compile_cache

    benchmarks = _of_checkout("benchmarks")
    known = (*benchmarks.games(), *PARTS, ALL)
    if what not in known:
        raise UnknownNameError("benchmark", what, known)
    if game is not None and game not in available_games():
        raise UnknownNameError("game of the learner benchmark", game, available_games())
    terminal.require_positive(seconds=seconds, num_envs=num_envs)
    if not cold:
        use_compile_cache()
    if compare:
        if what != ALL:
            raise UsageError(f"--compare compares everything; give jimbot bench {ALL} --compare.")
        _print_ratios(benchmarks.compare(seconds, terminal.note), as_json)
        return
    results = dict(benchmarks.measure(what, game, seconds, num_envs, cold, terminal.note))
    if as_json:
        terminal.print_json(results)
        return
    for name, metrics in results.items():
        _print(name, metrics)


register_bench = adds(bench, BENCH_EXAMPLES)


def _print_ratios(rows: list[dict[str, Any]], as_json: bool) -> None:
    """Medians, with the lowest and the highest of the rounds."""
    if as_json:
        terminal.print_json(rows)
        return
    table = Table(title="Beside what else there is", title_justify="left", title_style="bold")
    for title in ("what", "JimBot", "ratio", "of the rounds", "to"):
        table.add_column(title, justify="left" if title in ("what", "to") else "right", overflow="fold")
    for row in rows:
        rate, ratios = median(row["rates"]), sorted(row["ratios"])
        spread = f"{ratios[0]:.3g} to {ratios[-1]:.3g}"
        table.add_row(row["what"], f"{rate:,.0f}", f"{median(ratios):.3g} ×", spread, row["instead"])
    terminal.console().print(table)


def _print(name: str, metrics: dict[str, Any]) -> None:
    table = Table(title=name, show_header=False, title_justify="left", title_style="bold")
    for key, value in metrics.items():
        if key.endswith("fraction"):
            text = f"{value:.0%}"
        elif isinstance(value, float):
            text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"
        else:
            text = str(value)
        table.add_row(key.replace("_", " "), text)
    terminal.console().print(table)


def soak(
    game: Annotated[str, typer.Argument(help="Game to train; with --stack the one that can be hosted.")] = "hackmatrix",
    stack: Annotated[bool, "Everything at once: a run, its policy served, a bot, every door asked."] = False,
    alone_minutes: Annotated[float, "--stack: training alone first, to compare with."] = 5.0,
    hours: Annotated[float, "How long."] = 8.0,
    kill_minutes: Annotated[float, "Training between two kills."] = 20.0,
    kill_worker_seconds: Annotated[
        float | None, "vgc: seconds between two kills of a simulator process; default: none."
    ] = None,
    run: Annotated[str | None, "Name of the run; default: soak, or soak-stack."] = None,
    port: Annotated[list[str] | None, "--stack: another port, as of jimbot up.", "NAME=PORT"] = None,
    assignments: Annotated[list[str] | None, "--set", "name=value; any setting of train."] = None,
    runs_dir: RunsDirOption = RUNS,
    as_json: Annotated[bool, "--json", "Print the report as JSON."] = False,
) -> None:
    """Train for hours under kill -9 and report uptime, restarts, lost steps and the slope of memory.

    With --stack everything at once, and the report says how quick decisions, bus, graph and page were under this load.
    """
    from jimbot.runs.directory import RunDirectory

    tool = _of_checkout("tools.soak")
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
    command = tool.train_command(game, directory.name, runs_dir, settings)
    report = tool.soak(command, directory, hours, kill_minutes, terminal.note, kill_worker_seconds)
    path = tool.write_report(directory, report)
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


register_soak = adds(soak, SOAK_EXAMPLES)


def _soak_stack(
    directory: RunDirectory,
    hours: float,
    kill_minutes: float,
    alone_minutes: float,
    settings: dict[str, Any],
    ports: dict[str, int],
    as_json: bool,
) -> None:
    stack_soak = _of_checkout("tools.stack_soak")
    soak = stack_soak.StackSoak(hours, kill_minutes, alone_minutes, directory.name, directory.root, settings, ports)
    report = stack_soak.soak_stack(soak, terminal.note).to_dict()
    if as_json:
        terminal.print_json(report)
        return
    for name, value in report.items():
        shown = f"{value:,.4g}" if isinstance(value, float) else value or "none"
        terminal.console().print(f"{name.replace('_', ' '):<26} {shown}", soft_wrap=True)
    terminal.note(f"Stored as {directory.path / 'soak.json'}.")
