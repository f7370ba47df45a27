"""One helper against wasted work in XLA's fusion on CPU."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp

Tree = TypeVar("Tree")


def settle(values: Tree) -> Tree:
    """The same values, but computed once and stored.

    XLA merges a chain of integer operations into every consumer. A per-game value that is then compared with 36 cells
    or 40 slots is thereby computed 36 or 40 times over, and once more for each further use. It cannot merge across a
    branch, so this is one whose outcome it does not know: no value of this game is the smallest int32.
    """
    leaves = [leaf for leaf in jax.tree.leaves(values) if leaf.dtype == jnp.int32]
    usual = leaves[0].ravel()[0] != jnp.iinfo(jnp.int32).min
    return jax.lax.cond(usual, lambda: values, lambda: jax.tree.map(jnp.zeros_like, values))
