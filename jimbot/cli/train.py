"""`jimbot train`: every setting of a run is a flag, made from the settings record itself."""

from __future__ import annotations

import inspect
import types
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, Union, get_args, get_origin

import typer

from jimbot.cli import terminal
from jimbot.training.settings import TrainSettings, parse_assignments

if TYPE_CHECKING:
    from jimbot.training.run import Outcome

NOT_FLAGS = ("game", "game_options")  # the argument, and --option
EPILOG = """Examples:

jimbot train hackmatrix --minutes 10

jimbot train hackmatrix --num-envs 2048 --run-name big --total-timesteps 50000000

jimbot train hackmatrix --config mine.yaml --set ent_coef=0.05 --option profile=reference

The same command continues a run that was stopped; --fresh starts over."""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(_with_settings_flags(train))


def train(
    game: str,
    config: Path | None,
    assignments: list[str],
    options: list[str],
    run: str | None,
    fresh: bool,
    runs_dir: Path,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train an agent for a game, then judge it on held-out seeds."""
    from jimbot.training.run import resolve_settings, run_training

    given: dict[str, Any] = {"game": game}
    if options:
        given["game_options"] = terminal.pairs(options)
    given |= parse_assignments(assignments)
    given |= {name: value for name, value in flags.items() if value is not None}
    if run is not None:
        given["run_name"] = run
    settings = resolve_settings(config, given)
    if not as_json:
        _tell_preset(settings)
    report(run_training(settings, root=runs_dir, fresh=fresh, quiet=as_json), runs_dir, as_json)


def _tell_preset(settings: TrainSettings) -> None:
    """Says which settings differ from their general defaults because the game's preset says so."""
    from jimbot.training.framework import learner_name
    from jimbot.training.presets import preset

    values = preset(settings.game, learner_name(settings))
    used = [f"{name} {value}" for name, value in values.items() if getattr(settings, name) == value]
    if used:
        terminal.note(f"Preset for {settings.game}: {', '.join(used)}.")


def report(outcome: Outcome, runs_dir: Path, as_json: bool) -> None:
    """The result of a run, and what to type next."""
    if as_json:
        evaluation = outcome.evaluation.to_dict() if outcome.evaluation else None
        terminal.print_json({**outcome._asdict(), "checkpoint": str(outcome.checkpoint), "evaluation": evaluation})
        return
    console = terminal.console()
    if outcome.evaluation:
        console.print(outcome.evaluation)
    where = outcome.run if runs_dir == Path("runs") else runs_dir / outcome.run
    console.print(f"\nRun [bold]{outcome.run}[/] is at step {outcome.step:,}. What to type next:")
    for command, meaning in (
        (f"jimbot watch {where}", "see it play"),
        (f"jimbot evaluate {where} --games 1000", "judge it more sharply"),
        (f"jimbot resume {outcome.run} --minutes 30", "train it further"),
        (f"jimbot export {where} --output policy.onnx", "take the policy elsewhere"),
    ):
        console.print(f"  [cyan]{command}[/]  [dim]{meaning}[/]")


def _with_settings_flags(function: Any) -> Any:
    """The function as Typer sees it: one option per field of TrainSettings, help and default taken from there."""
    own: dict[str, Any] = {
        "game": Annotated[str, typer.Argument(help="Game to learn (see: jimbot doctor).")],
        "config": Annotated[Path | None, typer.Option("--config", help="YAML file with settings.")],
        "assignments": Annotated[list[str], typer.Option("--set", help="name=value; any setting, nested with dots.")],
        "options": Annotated[list[str], typer.Option("--option", help="name=value; an option of the game.")],
        "run": Annotated[str | None, typer.Option("--run", help="The same as --run-name.")],
        "fresh": Annotated[bool, typer.Option("--fresh", help="Start over; the old run is kept aside.")],
        "runs_dir": Annotated[Path, typer.Option("--runs-dir", help="Where runs live.")],
        "as_json": Annotated[bool, typer.Option("--json", help="Print the result as JSON.")],
    }
    defaults: dict[str, Any] = {"config": None, "assignments": [], "options": [], "run": None, "fresh": False}
    defaults |= {"runs_dir": Path("runs"), "as_json": False, "game": inspect.Parameter.empty}
    for name, field in TrainSettings.model_fields.items():
        if name in NOT_FLAGS:
            continue
        kind: Any = _plain_type(field.annotation)
        shown = "" if field.default is None else f" Default: {field.default}."
        flag = "--" + name.replace("_", "-")
        positive_only = kind is bool and name.startswith("no_")
        spelling = flag if kind is not bool or positive_only else f"{flag}/--no-{flag[2:]}"
        help_text = f"{field.description}{shown}"
        # Values arrive as text and are checked by the settings record, whose sentences name value and expectation.
        read_as: Any = Optional[bool] if kind is bool else Optional[str]  # noqa: UP045 - Typer reads it at run time
        option = typer.Option(spelling, help=help_text, show_default=False, metavar=kind.__name__.upper())
        own[name] = Annotated[read_as, option]
        defaults[name] = None
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=defaults[name])
        for name, kind in own.items()
    ]

    def command(**values: Any) -> None:
        function(**values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # ty: ignore[missing-attribute]
    command.__annotations__ = dict(own)
    return command


def _plain_type(annotation: Any) -> Any:
    """What the command line reads: the type without its `| None`, choices as text."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return str if get_origin(annotation) is Literal else annotation
