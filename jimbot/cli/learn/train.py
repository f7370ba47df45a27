"""`jimbot train`: every setting of a run is a flag, made from the settings record itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.flags import ALL, GAME, SET_HELP, SettingsCommand, TrainCommand, show_all, with_settings_flags
from jimbot.errors import UsageError
from jimbot.foreign_text import marked
from jimbot.training.settings.record import TrainSettings, parse_assignments

if TYPE_CHECKING:
    from jimbot.training.run import Outcome
    from jimbot.training.settings.layers import Resolved

NOT_FLAGS = ("game", "game_options", "run_name", "difficulty_schedule", "mutations", "league")
"""They have the argument, --option and --run, or are tables."""
EXAMPLES = """jimbot train hackmatrix --minutes 10
jimbot train hackmatrix --num-envs 2048 --run big --total-timesteps 50000000
jimbot train hackmatrix --config mine.yaml --set ent_coef=0.05 --profile reference
jimbot train hackmatrix --init-from hackmatrix-jax-bc --init-kl 0.1 --value-warmup-updates 10   (after jimbot clone)
jimbot train balatro --population 4 --minutes 60   (four agents in turns, see docs/learners/population.md)
jimbot train vgc --num-workers 4 --buffer-size 2048 --bc-model vgc-jax-bc --lr 3e-4   (a league, see docs/games/vgc.md)
The same command continues a run that was stopped; --fresh starts over. Flags that are on or off have a --no-… form: \
--no-anneal-lr. Defaults of a game: jimbot train GAME --help-all."""


def train(
    game: Annotated[str, "Game to learn (see: jimbot doctor)."],
    run: Annotated[str | None, "Name of the run; default: from game and learner."] = None,
    fresh: Annotated[bool, "Start over; the old run is kept aside."] = False,
    runs_dir: common.RunsDirOption = common.RUNS,
    config: Annotated[Path | None, "YAML file with settings.", "PATH"] = None,
    assignments: Annotated[list[str] | None, "--set", SET_HELP, "SETTING"] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="OPTION", help=common.OPTION_HELP, rich_help_panel=GAME),
    ] = None,
    num_workers: Annotated[
        str | None,
        typer.Option(help="Processes that play: vgc's simulators, or ray's env runners.", rich_help_panel=GAME),
    ] = None,
    battle_format: Annotated[
        str | None, typer.Option(help="vgc: the same as --option format=….", rich_help_panel=GAME)
    ] = None,
    cluster: Annotated[
        bool,
        typer.Option("--cluster", help="The Ray cluster here: --learner ray --address auto.", rich_help_panel="Ray"),
    ] = False,
    log_level: common.LogLevelOption = None,
    explain_config: Annotated[bool, "Show what each line of --config became, and stop."] = False,
    help_all: Annotated[
        bool, typer.Option(ALL, is_eager=True, callback=show_all, help="Show every flag and leave.")
    ] = False,
    as_json: common.JsonOption = False,
    **flags: Any,
) -> None:
    """Train an agent for a game, then evaluate it on held-out seeds."""
    from jimbot.training.memory import restart_command
    from jimbot.training.run import CLUSTER, continued, run_training
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
    layers = file, parse_assignments(assignments or []), given
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
        note_settings(resolved)
    outcome = run_training(settings, root=runs_dir, fresh=fresh, quiet=as_json, restart=restart_command)
    report(outcome, settings.game, runs_dir, as_json)


register = adds(with_settings_flags(train, TrainSettings, NOT_FLAGS), EXAMPLES, cls=TrainCommand)


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
    from jimbot.training.run import explain, mapping_table

    lines = explain(file, resolved.settings)
    if as_json:
        terminal.print_json([line._asdict() for line in lines])
    else:
        terminal.console().print(mapping_table(lines) if lines else "There is no --config to explain.")
        note_settings(resolved)


def note_settings(resolved: Resolved) -> None:
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
    from jimbot.runs.checkpoint import shipped_games

    console = terminal.console()
    if outcome.checkpoint is None:
        mean = outcome.metrics.get("eval/mean_return")
        evaluated = "" if mean is None else f", mean return {mean:.2f} by its own evaluation"
        text = "Run [bold]{}[/] is at step {}. Its learner gives no policy that could be saved (portable_network or "
        console.print(
            marked(text + "policy_onnx), so there is nothing to watch.", outcome.run, f"{outcome.step:,}{evaluated}")
        )
        return
    if outcome.evaluation:
        console.print(outcome.evaluation.headline())
    where = terminal.quoted(outcome.run if runs_dir == common.RUNS else runs_dir / outcome.run)
    elsewhere = "" if runs_dir == common.RUNS else f" --runs-dir {terminal.quoted(runs_dir)}"
    console.print(marked("\nRun [bold]{}[/] is at step {}. What to type next:", outcome.run, f"{outcome.step:,}"))
    commands = [
        (f"jimbot watch {where}", "see it play"),
        (f"jimbot analyze {where}", "a page about it: curves, what it buys and plays, where it dies"),
        (f"jimbot resume {terminal.quoted(outcome.run)}{elsewhere} --minutes 30", "train it further"),
        (f"jimbot evaluate {where} --games 1000", "evaluate it more sharply"),
        (f"jimbot export {where} --output policy.onnx", "take the policy elsewhere"),
    ]
    if game in shipped_games():
        commands.insert(3, (f"jimbot compare {game} {where}", "against the policy that comes with JimBot"))
    terminal.print_next(commands)


RESUME_EXAMPLES = """jimbot resume hackmatrix-jax-ppo --minutes 30
jimbot resume hackmatrix-jax-ppo --checkpoint runs/hackmatrix-jax-ppo/checkpoints/000003276800"""


def resume(
    run: Annotated[str, "Name of the run."],
    minutes: Annotated[float | None, "Stop after so many minutes."] = None,
    total_timesteps: Annotated[int | None, "New end of the run."] = None,
    checkpoint: Annotated[str | None, "Continue from this one instead of the newest."] = None,
    rewind: Annotated[bool, "Also rewind W&B's history to the checkpoint."] = False,
    callbacks: Annotated[str | None, "module:Class to call; those the run began with are named anew."] = None,
    log_level: common.LogLevelOption = None,
    runs_dir: common.RunsDirOption = common.RUNS,
    as_json: common.JsonOption = False,
) -> None:
    """Continue a run exactly where its newest checkpoint left it."""
    from jimbot.training.memory import restart_command
    from jimbot.training.run import run_training, stored_settings

    terminal.require_positive(minutes=minutes, total_timesteps=total_timesteps)
    given = {"minutes": minutes, "rewind": rewind, "resume": checkpoint, "callbacks": callbacks}
    if total_timesteps is not None:
        given["total_timesteps"] = total_timesteps
    settings = stored_settings(run, given, runs_dir)
    outcome = run_training(settings, root=runs_dir, quiet=as_json, restart=restart_command)
    report(outcome, settings.game, runs_dir, as_json)


register_resume = adds(resume, RESUME_EXAMPLES)


IMPROVE_EXAMPLES = """jimbot improve balatro --minutes 60   (from the policy that comes with JimBot)
jimbot improve hackmatrix --init-from my-run --plan 16 --run sharper
jimbot improve balatro --plan 32 --plan-with heuristic   (the heuristic plays the simulations out)
jimbot improve hackmatrix --init-from none   (from nothing)
The same command continues a run that was stopped; --fresh starts over. Beside PPO, by steps or hours: jimbot ui"""
NOTHING = "none"
FIXED = ("learner", "algorithm")


def improve(game: str, init_from: str | None = None, **flags: Any) -> None:
    """Let a policy plan ahead, learn what its plans found, and plan again.

    It starts from the policy shipped with the game, or from --init-from RUN; none: from nothing.
    """
    from jimbot.runs.checkpoint import shipped_games

    if init_from is None and game in shipped_games() and not flags.get("resume"):
        init_from = game
    start = None if init_from == NOTHING else init_from
    train(game, init_from=start, learner="improve", algorithm="ExIt", **flags)


register_improve = adds(
    with_settings_flags(improve, TrainSettings, (*NOT_FLAGS, *FIXED), like=train), IMPROVE_EXAMPLES, cls=SettingsCommand
)


SETTINGS_EXAMPLES = """jimbot settings   (all of them)
jimbot settings entropy
jimbot settings learning_rate   (what Stable-Baselines3 calls it)
jimbot settings checkpoint --json"""


class Setting(NamedTuple):
    """One setting as people look for it."""

    name: str
    group: str
    default: Any
    help: str
    other_names: tuple[str, ...]

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def mentions(self, word: str) -> bool:
        texts = (self.name, self.flag, self.group, self.help, *self.other_names)
        return any(word in text.lower().replace("-", "_") for text in texts)


def show_settings(
    word: Annotated[str | None, typer.Argument(help="A part of a name, a group or a description.")] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Find settings of training: every flag of jimbot train, and what other libraries call it."""
    wanted = (word or "").strip().lower().replace("-", "_").removeprefix("__")
    found = [one for one in all_settings() if one.mentions(wanted)]
    if not found:
        raise UsageError(f"No setting has '{word}' in its name or description; jimbot settings lists all of them.")
    if as_json:
        terminal.print_json([one._asdict() for one in found])
    else:
        _print(found)


register_settings = adds(show_settings, SETTINGS_EXAMPLES, name="settings")


def all_settings() -> list[Setting]:
    """Every setting, in the order of the groups."""
    from jimbot.training.settings.names import RENAMED, RLLIB_NAMES, group_of, paths
    from jimbot.training.settings.record import TrainSettings

    elsewhere = [*RENAMED.items(), *((name, meaning.ours) for name, meaning in RLLIB_NAMES.items())]
    found = []
    for name, path in paths(TrainSettings).items():
        group = group_of(TrainSettings, path[0])
        field = (group or TrainSettings).model_fields[path[-1]]
        others = tuple(dict.fromkeys(other for other, ours in elsewhere if ours == name != other))
        default = field.get_default(call_default_factory=True)
        found.append(Setting(name, path[0] if group else "", default, field.description or "", others))
    return sorted(found, key=lambda one: one.group)


def _print(found: list[Setting]) -> None:
    console = terminal.console()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(overflow="fold")
    group = ""
    for one in found:
        if one.group != group:
            group = one.group
            table.add_row("", "")
            table.add_row(Text(group, style="bold"), "")
        default = "" if one.default is None or one.default in ([], {}) else f" Default: {one.default}."
        also = f" Elsewhere: {', '.join(one.other_names)}." if one.other_names else ""
        table.add_row(one.flag, Text.assemble(one.help, (default, "dim"), (also, "dim italic")))
    console.print(table)
