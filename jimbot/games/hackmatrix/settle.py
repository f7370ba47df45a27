"""One helper against wasted work in XLA's fusion on CPU."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp

Tree = TypeVar("Tree")


def settle(values: Tree) -> Tree:
    """The same values (the first leaf must be of integers), but computed once and stored.

    XLA merges a chain of integer operations into every consumer. A per-game value that is then compared with 36 cells
    or 40 slots is thereby computed 36 or 40 times over, and once more for each further use, which costs run time and
    compile time. It cannot merge across a branch, so here is one that is always taken, though XLA cannot know it: the
    product of two consecutive integers is even.
    """
    probe = jax.tree.leaves(values)[0].ravel()[0]
    always = ((probe * (probe + 1)) & 1) == 0
    return jax.lax.cond(always, lambda: values, lambda: jax.tree.map(jnp.zeros_like, values))
