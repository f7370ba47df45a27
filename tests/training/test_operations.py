"""What a compiled program spends its time on."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from benchmarks.operations import KINDS, operation_shares


def test_a_large_product_takes_most_of_the_time() -> None:
    program = jax.jit(lambda a: jnp.tanh(a[:8] @ a).sum() + (a @ a @ a).sum())
    a = jnp.ones((512, 512))
    jax.block_until_ready(program(a))
    shares = operation_shares(lambda: jax.block_until_ready(program(a)))
    assert set(shares) == {kind for kind, _ in KINDS}
    assert abs(sum(shares.values()) - 1) < 1e-9
    assert shares["products_fraction"] > 0.5
