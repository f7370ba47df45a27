"""A policy put into wider layers answers as before, and the new units can learn."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jimbot.games.contract import game_entry
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import check_params, describe_network
from jimbot.policies.widening import can_widen, widened

SPEC = game_entry("probe").spec


def test_the_wider_network_answers_the_same_and_its_new_units_learn() -> None:
    narrow, wide = (describe_network(SPEC, "mlp", hidden_dim=width) for width in (8, 24))
    params = {name: np.asarray(value) for name, value in make_network(narrow).init(3).items()}
    wider = widened(params, wide)
    check_params(wide, wider)
    observation = np.random.default_rng(0).random((5, SPEC.observation.size)).astype(np.float32)
    before, after = make_network(narrow).apply(params, observation), make_network(wide).apply(wider, observation)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-5, atol=1e-6)
    slope = jax.grad(lambda given: make_network(wide).apply(given, observation)[1].sum())(wider)
    assert np.abs(slope["value.weight"][8:]).max() > 0


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [((8, 2), (24, 2), True), ((24, 2), (8, 2), False), ((8, 2), (8, 3), False), ((8, 2), (8, 2), True)],
)
def test_only_more_room_in_the_same_layers_is_taken(
    given: tuple[int, int], wanted: tuple[int, int], fits: bool
) -> None:
    narrow, wide = (describe_network(SPEC, "mlp", hidden_dim=width, num_layers=n) for width, n in (given, wanted))
    assert can_widen(narrow, wide) == fits
