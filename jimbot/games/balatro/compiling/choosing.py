"""Kernels that choose among many small rules by an id: how the registries of jokers and bosses reach a rule.

The choice is written out as a binary chain of comparisons, the form that compiles to the fastest jumps; a linear chain
of all jokers was seven times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit


def chooser(
    name: str,
    arguments: str,
    key: str,
    rules: Mapping[int, Callable[..., Any]],
    *,
    passed: str,
    otherwise: str = "",
    unless: str = "False",
) -> Callable[..., Any]:
    """A kernel `name(arguments)` that answers with the rule of the id `key`, called with `passed`.

    Where there is no rule, or `unless` holds, the answer is `otherwise`. All of them are source text.
    """
    lines = [f"def {name}({arguments}):", f"    if not ({unless}):"]

    def write(part: list[int], depth: int) -> None:
        pad = "    " * depth
        if len(part) == 1:
            lines.append(f"{pad}if {key} == {part[0]}:")
            lines.append(f"{pad}    return rule_{part[0]}({passed})")
        else:
            middle = len(part) // 2
            lines.append(f"{pad}if {key} < {part[middle]}:")
            write(part[:middle], depth + 1)
            lines.append(f"{pad}else:")
            write(part[middle:], depth + 1)

    write(sorted(rules), 2)
    lines.append(f"    return {otherwise}")
    names: dict[str, Any] = {"np": np, **{f"rule_{identifier}": rule for identifier, rule in rules.items()}}
    exec(compile("\n".join(lines), f"<rules of {name}>", "exec"), names)
    names[name].__module__ = __name__
    return njit(names[name])
