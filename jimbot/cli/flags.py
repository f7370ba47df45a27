"""Command-line flags made from a settings record, so that no setting is described twice."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin

import typer

from jimbot.training.settings.record import RunSettings

SET_HELP = "name=value; any setting, nested with dots."


def with_settings_flags(
    function: types.FunctionType,
    record: type[RunSettings],
    own: Mapping[str, tuple[Any, Any]],
    skip: Collection[str] = (),
) -> Callable[..., None]:
    """The function as Typer sees it: its `own` parameters (annotation, default) and one option per field of `record`,
    help and default taken from there. Fields every run has come last."""
    flags = dict(own)
    fields = record.model_fields
    for name in sorted(fields, key=lambda name: name in RunSettings.model_fields):
        field = fields[name]
        if name in skip:
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
        flags[name] = (Annotated[read_as, option], None)
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


def _plain_type(annotation: Any) -> Any:
    """What the command line reads: the type without its `| None`, choices as text."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return str if get_origin(annotation) is Literal else annotation
