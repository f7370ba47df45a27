"""`jimbot train`: every setting of a run is a flag, made from the settings record itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.completion import complete_game
from jimbot.cli.shared.flags import GAME, SET_HELP, with_settings_flags
from jimbot.cli.shared.options import OPTION_HELP, RUNS, LogLevelOption, RunsDirOption
from jimbot.cli.shared.settings_help import ALL, TrainCommand, show_all
from jimbot.errors import UsageError
from jimbot.foreign_text import marked
from jimbot.training.settings.record import TrainSettings, parse_assignments

if TYPE_CHECKING:
    from jimbot.training.run import Outcome
    from jimbot.training.settings.layers import Resolved

NOT_FLAGS = ("game", "game_options", "run_name", "difficulty_schedule", "mutations", "league")
"""They have the argument, --option and --run, or are tables."""
EPILOG = """Examples:

jimbot train hackmatrix --minutes 10

jimbot train hackmatrix --num-envs 2048 --run big --total-timesteps 50000000

jimbot train hackmatrix --config mine.yaml --set ent_coef=0.05 --profile reference

jimbot train hackmatrix --init-from hackmatrix-jax-bc --init-kl 0.1 --value-warmup-updates 10   (after jimbot clone)

jimbot train balatro --population 4 --minutes 60   (four agents in turns, see docs/learners/population.md)

jimbot train vgc --num-workers 4 --buffer-size 2048 --bc-model vgc-jax-bc --lr 3e-4   (a league, see docs/games/vgc.md)

The same command continues a run that was stopped; --fresh starts over. Flags that are on or off have a twin for off:
--no-anneal-lr. Defaults of a game: jimbot train GAME --help-all."""


OWN_FLAGS: dict[str, tuple[Any, Any]] = {  # name: (annotation, default)
    "game": (
        Annotated[str, typer.Argument(help="Game to learn (see: jimbot doctor).", autocompletion=complete_game)],
        inspect.Parameter.empty,
    ),
    "run": (
        Annotated[str | None, typer.Option("--run", help="Name of the run; default: from game and learner.")],
        None,
    ),
    "fresh": (Annotated[bool, typer.Option("--fresh", help="Start over; the old run is kept aside.")], False),
    "runs_dir": (RunsDirOption, RUNS),
    "config": (Annotated[Path | None, typer.Option("--config", metavar="PATH", help="YAML file with settings.")], None),
    "assignments": (Annotated[list[str], typer.Option("--set", metavar="SETTING", help=SET_HELP)], []),
    "options": (
        Annotated[list[str], typer.Option("--option", metavar="OPTION", help=OPTION_HELP, rich_help_panel=GAME)],
        [],
    ),
    "num_workers": (
        Annotated[
            str | None,
            typer.Option(help="Processes that play: vgc's simulators, or ray's env runners.", rich_help_panel=GAME),
        ],
        None,
    ),
    "battle_format": (
        Annotated[str | None, typer.Option(help="vgc: the same as --option format=….", rich_help_panel=GAME)],
        None,
    ),
    "cluster": (
        Annotated[
            bool,
            typer.Option(
                "--cluster", help="The Ray cluster here: --learner ray --address auto.", rich_help_panel="Ray"
            ),
        ],
        False,
    ),
    "log_level": (LogLevelOption, None),
    "explain_config": (
        Annotated[bool, typer.Option("--explain-config", help="Show what each line of --config became, and stop.")],
        False,
    ),
    "help_all": (
        Annotated[bool, typer.Option(ALL, is_eager=True, callback=show_all, help="Show every flag and leave.")],
        False,
    ),
    "as_json": (Annotated[bool, typer.Option("--json", help="Print the result as JSON.")], False),
}


def register(app: typer.Typer) -> None:
    app.command(cls=TrainCommand, epilog=EPILOG)(with_settings_flags(train, TrainSettings, OWN_FLAGS, NOT_FLAGS))


def train(
    game: str,
    config: Path | None,
    assignments: list[str],
    options: list[str],
    num_workers: str | None,
    battle_format: str | None,
    cluster: bool,
    run: str | None,
    fresh: bool,
    runs_dir: Path,
    explain_config: bool,
    as_json: bool,
    help_all: bool = False,
    **flags: Any,
) -> None:
    """Train an agent for a game, then judge it on held-out seeds."""
    from jimbot.training.continuing import continued
    from jimbot.training.memory.restart import restart_command
    from jimbot.training.run import CLUSTER, run_training
    from jimbot.training.settings.layers import Resolved, resolve
    from jimbot.training.settings.record import merged, read_yaml

    given: dict[str, Any] = {"game": game}
    if options:
        given["game_options"] = terminal.pairs(options)
    given |= {name: value for name, value in flags.items() if value is not None} | (CLUSTER if cluster else {})
    if run is not None:
        given["run_name"] = run
    for flag, value in (("num_workers", num_workers), ("battle_format", battle_format)):
        if value is not None:
            _other_name(flag, value, given)
    file = read_yaml(config) if config else {}
    layers = file, parse_assignments(assignments), given
    if given.get("resume") and "run_name" not in given:
        settings, runs_dir = continued(given.pop("resume"), merged(*layers), runs_dir)
        resolved = Resolved(settings, {}, [])
    else:
        resolved = resolve(*layers, root=runs_dir)
    settings = resolved.settings
    if explain_config:
        show_mapping(file, resolved, as_json)
        return
    if not as_json:
        tell(resolved)
    outcome = run_training(settings, root=runs_dir, fresh=fresh, quiet=as_json, restart=restart_command)
    report(outcome, settings.game, runs_dir, as_json)


PROCESSES, FORMAT = "workers", "format"
"""Options of games that have processes of their own, and battle formats."""


def _other_name(flag: str, value: str, given: dict[str, Any]) -> None:
    """Puts a flag with a name of its own where it belongs."""
    from jimbot.games.contract import game_entry

    option = PROCESSES if flag == "num_workers" else FORMAT
    if flag == "num_workers" and given.get("learner") == "ray":
        given["num_env_runners"] = value
    elif option in game_entry(given["game"]).spec.options.__dataclass_fields__:
        given["game_options"] = {**given.get("game_options", {}), **terminal.pairs([f"{option}={value}"])}
    else:
        raise UsageError(
            f"--{flag.replace('_', '-')} is {value}, but game '{given['game']}' has no {option} to choose"
            f"{' (its games run inside the learner)' if flag == 'num_workers' else ''}. Leave it out."
        )


def show_mapping(file: Mapping[str, Any], resolved: Resolved, as_json: bool = False) -> None:
    """What each line of a settings file became."""
    from jimbot.training.settings.explain import explain, mapping_table

    lines = explain(file, resolved.settings)
    if as_json:
        terminal.print_json([line._asdict() for line in lines])
    else:
        terminal.console().print(mapping_table(lines) if lines else "There is no --config to explain.")
        tell(resolved)


def tell(resolved: Resolved) -> None:
    """Which settings differ from their general defaults because the game's preset says so, and what was derived."""
    used = [f"{name} {value}" for name, value in resolved.preset.items()]
    if used:
        terminal.note(f"Preset for {resolved.settings.game}: {', '.join(used)}.")
    for note in resolved.notes:
        terminal.note(note)


def report(outcome: Outcome, game: str, runs_dir: Path, as_json: bool) -> None:
    """The result of a run, and what to type next."""
    if as_json:
        evaluation = outcome.evaluation.to_dict() if outcome.evaluation else None
        terminal.print_json({**outcome._asdict(), "checkpoint": str(outcome.checkpoint), "evaluation": evaluation})
        return
    from jimbot.runs.shipped import shipped_games

    console = terminal.console()
    if outcome.checkpoint is None:
        mean = outcome.metrics.get("eval/mean_return")
        judged = "" if mean is None else f", mean return {mean:.2f} by its own evaluation"
        text = "Run [bold]{}[/] is at step {}. Its learner gives no policy that could be saved (portable_network or "
        console.print(
            marked(text + "policy_onnx), so there is nothing to watch.", outcome.run, f"{outcome.step:,}{judged}")
        )
        return
    if outcome.evaluation:
        console.print(outcome.evaluation.headline())
    where = terminal.quoted(outcome.run if runs_dir == RUNS else runs_dir / outcome.run)
    elsewhere = "" if runs_dir == RUNS else f" --runs-dir {terminal.quoted(runs_dir)}"
    console.print(marked("\nRun [bold]{}[/] is at step {}. What to type next:", outcome.run, f"{outcome.step:,}"))
    commands = [
        (f"jimbot watch {where}", "see it play"),
        (f"jimbot analyze {where}", "a page about it: curves, what it buys and plays, where it dies"),
        (f"jimbot resume {terminal.quoted(outcome.run)}{elsewhere} --minutes 30", "train it further"),
        (f"jimbot evaluate {where} --games 1000", "judge it more sharply"),
        (f"jimbot export {where} --output policy.onnx", "take the policy elsewhere"),
    ]
    if game in shipped_games():
        commands.insert(3, (f"jimbot compare {game} {where}", "against the policy that comes with JimBot"))
    terminal.print_next(commands)
