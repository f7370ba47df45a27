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
ORDER = ("ppo", "network", "saving", "judging", "start", "tracking", "memory", "curriculum", "league", "population")
"""Groups people need often come first; the others follow as the record has them."""
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
    return {name: _option(record, name) for name in sorted(places, key=lambda name: _rank(places[name]))}


def _option(record: type[RunSettings], name: str) -> Any:
    path = paths(record)[name]
    group = group_of(record, path[0])
    field = (group or record).model_fields[path[-1]]
    kind: Any = _plain_type(field.annotation)
    default = field.get_default(call_default_factory=True)
    shown = "" if default in (None, [], {}) else f" Default: {_text(default)}."
    flag = "--" + name.replace("_", "-")
    positive_only = kind is bool and name.startswith("no_")
    spelling = flag if kind is not bool or positive_only else f"{flag}/--no-{flag[2:]}"
    # Values arrive as text and are checked by the settings record, whose sentences name value and expectation.
    read_as: Any = Optional[bool] if kind is bool else Optional[str]  # noqa: UP045 - Typer reads it at run time
    option = typer.Option(
        spelling,
        help=f"{field.description}{shown}",
        show_default=False,
        metavar=METAVARS.get(kind, "TEXT"),
        rich_help_panel=first_line(group) if group else COMMON,
    )
    return Annotated[read_as, option]


def _rank(path: tuple[str, ...]) -> int:
    return ORDER.index(path[0]) if path[0] in ORDER else -1 if len(path) == 1 else len(ORDER)


def first_line(record: type) -> str:
    return (record.__doc__ or "").splitlines()[0]


def _text(default: Any) -> str:
    return ",".join(map(str, default)) if isinstance(default, list) else str(default)


def _plain_type(annotation: Any) -> Any:
    """What the command line reads: the type without its `| None`, choices as text."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return str if get_origin(annotation) is Literal else annotation
