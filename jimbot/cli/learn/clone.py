"""`jimbot clone`: train a network to do what a recorded teacher does."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.flags import SET_HELP, with_settings_flags
from jimbot.cli.shared.options import RUNS, LogLevelOption, RunsDirOption
from jimbot.cli.shared.settings_help import SettingsCommand
from jimbot.foreign_text import marked
from jimbot.training.imitation.settings import CloneSettings
from jimbot.training.settings.record import parse_assignments

if TYPE_CHECKING:
    from jimbot.training.imitation.clone import CloneOutcome

FROM_DATA = ("game", "game_options", "data", "dataset", "learner", "algorithm")
# Of learning by playing.
UNUSED = (
    *("eval_games", "eval_interval", "stop_on_collapse", "normalize_obs", "resume", "rewind"),
    *("gradient_pieces", "share"),
)
EPILOG = """Examples:

jimbot clone hackmatrix-heuristic.npz

jimbot clone hackmatrix-heuristic.npz --run wide --hidden-dim 256 --epochs 30 --set lr=5e-4

The same command continues a clone that was stopped; --fresh starts over. Then: jimbot train GAME --init-from RUN"""

OWN_FLAGS: dict[str, tuple[Any, Any]] = {  # name: (annotation, default)
    "data": (Annotated[Path, typer.Argument(help="Dataset made by jimbot record.")], inspect.Parameter.empty),
    "assignments": (Annotated[list[str], typer.Option("--set", help=SET_HELP)], []),
    "run": (
        Annotated[str | None, typer.Option("--run", help="Name of the run; default: from game and dataset.")],
        None,
    ),
    "fresh": (Annotated[bool, typer.Option("--fresh", help="Start over; the old run is kept aside.")], False),
    "log_level": (LogLevelOption, None),
    "runs_dir": (RunsDirOption, RUNS),
    "as_json": (Annotated[bool, typer.Option("--json", help="Print the result as JSON.")], False),
}


def register(app: typer.Typer) -> None:
    command = with_settings_flags(clone, CloneSettings, OWN_FLAGS, (*FROM_DATA, *UNUSED, "run_name"))
    app.command(cls=SettingsCommand, epilog=EPILOG)(command)


def clone(
    data: Path, assignments: list[str], run: str | None, fresh: bool, runs_dir: Path, as_json: bool, **flags: Any
) -> None:
    """Train a network to choose what a recorded teacher chose.

    The result is an ordinary checkpoint: evaluate, watch, compare and export take it, and `jimbot train --init-from`
    goes on from it.
    """
    from jimbot.training.imitation.clone import clone as learn
    from jimbot.training.imitation.clone import clone_settings

    given = parse_assignments(assignments) | {name: value for name, value in flags.items() if value is not None}
    if run is not None:
        given["run_name"] = run
    settings = clone_settings(data, given)
    report(learn(settings, root=runs_dir, fresh=fresh, quiet=as_json), settings.game, runs_dir, as_json)


def report(outcome: CloneOutcome, game: str, runs_dir: Path, as_json: bool) -> None:
    """How well the clone agrees with its teacher, and what to type next."""
    if as_json:
        terminal.print_json({**outcome._asdict(), "checkpoint": str(outcome.checkpoint)})
        return
    console, metrics = terminal.console(), outcome.metrics
    if "clone/validation_loss" in metrics:
        agreement, explained = metrics["clone/validation_accuracy"], metrics["clone/validation_explained_variance"]
        loss, lowest = metrics["clone/validation_loss"], metrics["clone/best_validation_loss"]
        console.print(
            f"Epoch {outcome.epochs}: agrees with its teacher on {agreement:.1%} of held-out decisions; validation "
            f"loss {loss:.4f}, lowest {lowest:.4f}; the value explains {explained:.0%} of the returns."
        )
    where = terminal.quoted(outcome.run if runs_dir == Path("runs") else runs_dir / outcome.run)
    console.print(marked("\nRun [bold]{}[/] ended: {}. What to type next:", outcome.run, outcome.reason))
    learn_on = f"jimbot train {game} --init-from {where} --init-kl 0.1 --value-warmup-updates 10"
    terminal.print_next([
        (f"jimbot evaluate {where} --games 1000", "judge it by playing"),
        (f"jimbot watch {where}", "see it play"),
        (learn_on, "learn on from it"),
    ])  # fmt: skip
