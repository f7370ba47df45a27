"""Command-line flags made from a settings record, so that no setting is described twice."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin

import typer

from jimbot.training.settings.names import group_of, paths
from jimbot.training.settings.record import RunSettings

SET_HELP = "name=value; any setting (lr=1e-3, or ppo.lr=1e-3)."
COMMON = "Training"
DEFAULT = " Default"
APART = (
    ("What is learned from", ("gamma", "reward_transform", "normalize_obs")),
    ("How it is computed", ("stepping", "autoscale", "auto_tune")),
)
"""Panels of settings that are in no group."""
GROUPS = ("ppo", "network", "saving", "judging", "start", "tracking", "memory", "curriculum", "league", "population")
"""Groups people need often come first; the others follow as the record has them."""
OTHER_NAMES = {"total_timesteps": "--timesteps", "save_interval": "--save-freq"}
"""Spellings that scripts of other trainers have."""
METAVARS = {int: "INT", float: "FLOAT", bool: "BOOL", Path: "PATH"}


def with_settings_flags(
    function: types.FunctionType,
    record: type[RunSettings],
    own: Mapping[str, tuple[Any, Any]],
    skip: Collection[str] = (),
) -> Callable[..., None]:
    """The function as Typer sees it: its `own` parameters (annotation, default) and one option per field of `record`,
    help, default and panel taken from there."""
    flags = dict(own) | {name: (flag, None) for name, flag in settings_flags(record).items() if name not in skip}
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in flags.items()
    ]

    def command(**values: Any) -> None:
        function(**values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # ty: ignore[missing-attribute]
    command.__annotations__ = {name: kind for name, (kind, _) in flags.items()}
    return command


def settings_flags(record: type[RunSettings]) -> dict[str, Any]:
    """One flag per setting, by flat name; those of the record itself first, then group by group."""
    places = paths(record)
    return {name: _option(record, name) for name in sorted(places, key=lambda name: _rank(name, places[name]))}


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
        *(spelling, OTHER_NAMES[name]) if name in OTHER_NAMES else (spelling,),
        help=f"{field.description}{default_text(field.get_default(call_default_factory=True))}",
        show_default=False,
        metavar=METAVARS.get(kind, "TEXT"),
        rich_help_panel=first_line(group) if group else next((title for title, few in APART if name in few), COMMON),
    )
    return Annotated[read_as, option]


def _rank(name: str, path: tuple[str, ...]) -> int:
    """Where a flag stands in the help."""
    if len(path) == 2:
        return len(APART) + (GROUPS.index(path[0]) if path[0] in GROUPS else len(GROUPS)) + 1
    return next((number + 1 for number, (_, few) in enumerate(APART) if name in few), 0)


def first_line(record: type) -> str:
    return (record.__doc__ or "").splitlines()[0]


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
