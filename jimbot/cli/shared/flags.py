"""Command-line flags made from a settings record, so that no setting is described twice."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin

import typer
from typer.models import OptionInfo

from jimbot.cli.shared.signature import as_command
from jimbot.training.settings.names import group_of, paths
from jimbot.training.settings.record import RunSettings

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
    "How it is computed": ("stepping", "autoscale", "auto_tune"),
    "tracking": (),
    "operators": (),
    "memory": (),
    "curriculum": (),
    "league": (),
    "PPO, seldom needed": ("ent_blocks", "clip_value", "forced_every", "grow_batch", "extensions"),
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
    own: Mapping[str, tuple[Any, Any]],
    skip: Collection[str] = (),
) -> Callable[..., None]:
    """The function as Typer sees it: its `own` parameters (annotation, default) and one option per field of `record`,
    help, default and panel taken from there. Own flags are of the run unless they say another panel."""
    titles = [_title(record, panel) for panel in PANELS]
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
