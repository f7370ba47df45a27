"""Commands whose parameters are made elsewhere: Typer reads a signature, and this is the one place that writes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def as_command(
    call: Callable[..., None], like: Callable[..., None], parameters: Mapping[str, tuple[Any, Any]]
) -> Callable[..., None]:
    """`call(**values)` under the name and help of `like`, with these parameters: name → (annotation, default)."""

    def command(**values: Any) -> None:
        call(**values)

    command.__name__, command.__doc__ = like.__name__, like.__doc__  # ty: ignore[missing-attribute]
    command.__annotations__ = {name: kind for name, (kind, _) in parameters.items()}
    command.__signature__ = inspect.Signature(  # ty: ignore[missing-attribute]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, (kind, default) in parameters.items()
        ]
    )
    return command
