"""Command-line flags made from a settings record, so that no setting is described twice."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin

import typer
from typer.models import OptionInfo

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import Command, as_command, given, parameters_of
from jimbot.training.settings.names import group_of, paths
from jimbot.training.settings.record import DEFAULTS, RunSettings

SET_HELP = "name=value; any setting (lr=1e-3, or ppo.lr=1e-3)."
DEFAULT = " Default"
LEARNING, RUN, GAME = "How much is learned, by what", "The run", "The game"
PANELS: dict[str, tuple[str, ...]] = {
    LEARNING: ("minutes", "total_timesteps", "num_envs", "num_steps", "algorithm", "learner", "seed"),
    RUN: ("run_suffix", "resume", "log_interval"),
    GAME: (),
    "What is learned from": ("gamma", "reward_transform", "normalize_obs"),
    "ppo": (),
    "network": (),
    "saving": (),
    "judging": (),
    "start": (),
    "How it is computed": ("stepping", "batch", "callbacks"),
    "tracking": (),
    "operators": (),
    "memory": (),
    "curriculum": (),
    "league": (),
    "PPO, seldom needed": ("ent_blocks", "forced_every", "extensions"),
    "teacher": (),
    "advice": (),
    "exploration": (),
    "planning": (),
    "population": (),
    "dqn": (),
    "replay": (),
    "offline": (),
    "ray": (),
}
"""The panels of the help, what most people need first: a title with names of settings, or a group with what is left of
it. None is longer than a screen (tests/cli/test_train_help.py)."""
METAVARS = {int: "INT", float: "FLOAT", bool: "BOOL", Path: "PATH"}


def with_settings_flags(
    function: types.FunctionType,
    record: type[RunSettings],
    skip: Collection[str] = (),
    like: types.FunctionType | None = None,
) -> Callable[..., None]:
    """The function as Typer sees it: its own parameters (or those of the one it is `like`), and in place of `**flags`
    one option per field of `record`, help, default and panel taken from there. Own flags are of the run unless they say
    another panel."""
    titles = [_title(record, panel) for panel in PANELS]
    own = parameters_of(like or function)
    flags = {name: (_in_panel(kind, RUN), default) for name, (kind, default) in own.items()}
    flags |= {name: (flag, None) for name, flag in settings_flags(record).items() if name not in skip}
    flags = dict(sorted(flags.items(), key=lambda flag: _place(titles, flag[1][0])))
    return as_command(function, function, flags)


def settings_flags(record: type[RunSettings]) -> dict[str, Any]:
    """One flag per setting, by flat name; in a panel that lists names they stand as listed."""
    listed = [name for names in PANELS.values() for name in names]
    places = sorted(paths(record), key=lambda name: listed.index(name) if name in listed else len(listed))
    return {name: _option(record, name) for name in places}


def _option(record: type[RunSettings], name: str) -> Any:
    path = paths(record)[name]
    group = group_of(record, path[0])
    field = (group or record).model_fields[path[-1]]
    kind: Any = _plain_type(field.annotation)
    flag = "--" + name.replace("_", "-")
    positive_only = kind is bool and name.startswith("no_")
    spelling = flag if kind is not bool or positive_only else f"{flag}/--no-{flag[2:]}"
    # Values arrive as text and are checked by the settings record, whose sentences name value and expectation.
    read_as: Any = Optional[bool] if kind is bool else Optional[str]  # noqa: UP045 - Typer reads it at run time
    option = typer.Option(
        spelling,
        help=f"{field.description}{default_text(field.get_default(call_default_factory=True))}",
        show_default=False,
        metavar=METAVARS.get(kind, "TEXT"),
        rich_help_panel=_title(record, _panel_of(name, path)),
    )
    return Annotated[read_as, option]


def _panel_of(name: str, path: tuple[str, ...]) -> str:
    listed = next((panel for panel, names in PANELS.items() if name in names), None)
    return listed or (path[0] if len(path) == 2 else LEARNING)


def _title(record: type[RunSettings], panel: str) -> str:
    """What the help writes over a panel: for a group, the first line of its record."""
    group = group_of(record, panel)
    return panel if group is None else (group.__doc__ or "").splitlines()[0]


def _in_panel(annotation: Any, panel: str) -> Any:
    kind: Any = get_args(annotation)[0]
    option = get_args(annotation)[-1]
    if not isinstance(option, OptionInfo) or option.rich_help_panel is not None:
        return annotation
    option = copy(option)
    option.rich_help_panel = panel
    return Annotated[kind, option]


def _place(titles: Sequence[str], annotation: Any) -> int:
    """Which panel a flag is in, counted from the top; arguments have one of their own."""
    panel = get_args(annotation)[-1].rich_help_panel
    return titles.index(panel) if panel in titles else -1


def default_text(default: Any, of: str = "") -> str:
    """What a help text says about a default, if there is one."""
    if default is None or default in ([], {}):
        return ""
    shown = ",".join(map(str, default)) if isinstance(default, list) else str(default)
    return f"{DEFAULT}{of}: {'on' if default is True else 'off' if default is False else shown}."


def _plain_type(annotation: Any) -> Any:
    """What the command line reads: the type without its `| None`, choices as text."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return str if get_origin(annotation) is Literal else annotation


ALL = "--help-all"
COMMON = {
    "minutes": "stop this call after so many minutes",
    "total_timesteps": "steps at which the run is complete",
    "run": "name of the run; otherwise from game and learner",
    "num_envs": "games played at once",
    "num_steps": "steps of each game between two updates",
    "lr": "learning rate",
    "gamma": "discount per step",
    "ent_coef": "weight of the entropy bonus",
    "clip_eps": "PPO's clip range",
    "update_epochs": "passes over each batch",
    "num_minibatches": "minibatches per pass",
    "network": "kind of network",
    "hidden_dim": "width of its layers; 0: what suits the kind",
    "algorithm": "PPO, A2C, DQN, APPO, IMPALA, BC, MARWIL",
    "learner": "jax, sb3, ray, or auto",
    "teacher": "a player to learn from, too; none: nobody",
    "init_from": "start from a checkpoint or run",
    "seed": "fixes every random choice",
    "eval_games": "held-out games at the end",
    "config": "YAML file with settings; --set name=value: any of them",
}
"""The twenty that people change, in words that fit beside them."""


class SettingsCommand(Command):
    """`jimbot train hackmatrix --help` shows the defaults of HackMatrix's preset."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        game, values = _preset_of(given(ctx))
        shown = copy(self)
        shown.params = [_shown(parameter, game, values) for parameter in self.params]
        Command.format_help(shown, ctx, formatter)

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = RUN
        return option


class TrainCommand(SettingsCommand):
    """`jimbot train --help` is one screen of what people change; `--help-all` has every flag."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        words = given(ctx)
        if ALL in words:
            super().format_help(ctx, formatter)
        else:
            formatter.write(_one_screen(*_preset_of(words)))


def show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        terminal.say(ctx.get_help().rstrip("\n"))
        raise typer.Exit


def _one_screen(game: str, values: Mapping[str, Any]) -> str:
    """The settings people change, one line each, with the defaults of the game if one is named."""
    lines = [f"Usage: jimbot train {game or 'GAME'} [FLAGS]   Train an agent, then evaluate it."]
    for name, words in COMMON.items():
        default = values.get(name, DEFAULTS.get(name))
        shown = "" if default in (None, [], {}) else f" ({default})"
        lines.append(f"  --{name.replace('_', '-'):<17}{words}{shown}")
    lines += [f"In brackets: defaults{f' of {game}' if game else ''}. Ctrl+C saves; the same command continues."]
    lines += [f"Examples: jimbot train {game or 'GAME'} --minutes 10 --run mine"]
    lines += [f"All flags: {ALL}    Search them: jimbot settings WORD", ""]
    return "\n".join(lines)


def _preset_of(given: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """The game that the command line names and what its preset says, for the learner and algorithm beside it."""
    from jimbot.training.learners import learner_of
    from jimbot.training.presets import guided, preset
    from jimbot.training.settings.layers import TEACHES

    named = dict(pairwise(given))
    algorithm = named.get("--algorithm", "PPO")
    learner = named.get("--learner", learner_of(algorithm) or "jax")
    taught = (learner, algorithm) == (TEACHES, "PPO") and named.get("--teacher") != "none"
    games = (
        (word, preset(word, learner, algorithm) | (guided(word) if taught else {}))
        for word in given
        if not word.startswith("-")
    )
    return next(((game, values) for game, values in games if values), ("", {}))


def _shown(parameter: Any, game: str, values: Mapping[str, Any]) -> Any:
    """A flag as the help has it: its --no-… form takes room and says nothing new."""
    shown = copy(parameter)
    shown.secondary_opts = []
    value = values.get(parameter.name)
    if value is not None and not parameter.help.endswith(default_text(value)):
        shown.help = parameter.help.partition(DEFAULT)[0] + default_text(value, f" for {game}")
    return shown
