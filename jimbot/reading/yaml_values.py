"""YAML as plain values.

PyYAML's safe loader runs no code, but it raises whatever a bad date or number raises inside it, and it follows aliases
and merges: eight lines can stand for a billion values, and a list may hold itself. So the tree of nodes is measured as
it would unfold before any value is made.
"""

from __future__ import annotations

from typing import Any

import yaml

from jimbot.errors import UnreadableError
from jimbot.reading.plain import check_value

MOST_VALUES = 100_000
"""Values in one text, aliases unfolded; the longest settings file has some hundred."""
DEEPEST = 50

# What PyYAML's constructors let through when a value is not what its tag or its look says (2023-13-45, !!int foo).
_BAD_VALUE = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError)


class _Loader(yaml.SafeLoader):
    """PyYAML's scanner takes time by the square of the depth, so too deep a text is given up on the way."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnreadableError("it is nested too deeply")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def yaml_value(text: str) -> Any:
    """The value in a YAML text."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _measured(node, {})
        value = loader.construct_document(node)
    except yaml.YAMLError as problem:
        raise UnreadableError(_reason(problem)) from problem
    except _BAD_VALUE as problem:
        raise UnreadableError(f"a value is not what it looks like ({problem}); quote it if it is text") from problem
    finally:
        if loader is not None:
            loader.dispose()
    check_value(value)
    return value


def _measured(node: yaml.Node, sizes: dict[int, int]) -> int:
    """How many values a node stands for with all aliases unfolded; refuses too many, and a circle."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    known = sizes.get(id(node))
    if known == 0:
        raise UnreadableError("a value holds itself")
    if known is not None:
        return known
    sizes[id(node)] = 0  # being measured
    below = [part for pair in node.value for part in (pair if isinstance(pair, tuple) else (pair,))]
    size = 1
    for part in below:
        size += _measured(part, sizes)
        if size > MOST_VALUES:
            raise UnreadableError(f"it stands for more than {MOST_VALUES:,} values")
    sizes[id(node)] = size
    return size


def _reason(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    said = getattr(problem, "problem", None) or getattr(problem, "reason", None) or " ".join(str(problem).split())
    return f"line {mark.line + 1}, column {mark.column + 1}: {said}" if mark is not None else str(said)
