"""One helper against wasted work in XLA's fusion on CPU."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

Tree = TypeVar("Tree")


def settle(values: Tree, by: Any) -> Tree:
    """The same values, but computed once and stored. `by` is any stored integer array.

    XLA merges a chain of integer operations into every consumer. A per-game value that is then compared with 36 cells
    or 40 slots is thereby computed 36 or 40 times over, and once more for each further use, which costs run time and
    compile time. It cannot merge across a branch, so here is one that is always taken, though XLA cannot know it: the
    product of two consecutive integers is even.
    """
    probe = jnp.ravel(by)[0]
    always = ((probe * (probe + 1)) & 1) == 0
    return jax.lax.cond(always, lambda: values, lambda: jax.tree.map(jnp.zeros_like, values))
