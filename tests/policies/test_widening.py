"""A policy put into wider layers answers as before, and the new units can learn."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from jimbot.games.contract import game_entry
from jimbot.games.spec import Field, ObservationSpec
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import check_params, describe_network
from jimbot.policies.widening import can_narrow, can_widen, narrowed, widened

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


def test_a_network_that_is_shown_more_answers_the_same_whatever_that_is() -> None:
    seen = SPEC.observation.size
    more = replace(SPEC, observation=ObservationSpec((*SPEC.observation.fields, Field("more", (3,), "new"))))
    narrow, wide = (describe_network(spec, "mlp", hidden_dim=8, normalize=True) for spec in (SPEC, more))
    assert can_widen(narrow, wide)
    assert not can_widen(wide, narrow)
    params = {name: np.asarray(value) for name, value in make_network(narrow).init(3).items()}
    wider = widened(params, wide)
    check_params(wide, wider)
    observation = np.random.default_rng(0).random((5, seen + 3)).astype(np.float32)
    small, large = make_network(narrow), make_network(wide)
    before = small.apply(params, small.prepare(observation[:, :seen], params))
    after = large.apply(wider, large.prepare(observation, wider))
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-5, atol=1e-6)
    assert more.observation.opens_with(SPEC.observation.fingerprint)
    assert not SPEC.observation.opens_with(more.observation.fingerprint)


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [((8, 2), (24, 2), True), ((24, 2), (8, 2), False), ((8, 2), (8, 3), False), ((8, 2), (8, 2), True)],
)
def test_only_more_room_in_the_same_layers_is_taken(
    given: tuple[int, int], wanted: tuple[int, int], fits: bool
) -> None:
    narrow, wide = (describe_network(SPEC, "mlp", hidden_dim=width, num_layers=n) for width, n in (given, wanted))
    assert can_widen(narrow, wide) == fits


@pytest.mark.parametrize("game", ["probe", "hackmatrix"])
def test_a_network_that_sees_less_answers_as_if_the_rest_were_as_usual(game: str) -> None:
    spec, rng = game_entry(game).spec, np.random.default_rng(1)
    more = replace(spec, observation=ObservationSpec((*spec.observation.fields, Field("more", (3,), "new"))))
    wide, narrow = (describe_network(one, hidden_dim=8) for one in (more, spec))
    assert can_narrow(wide, narrow)
    assert not can_narrow(narrow, wide)
    params = {name: np.asarray(value) for name, value in make_network(wide).init(3).items()}
    usual = rng.random(3).astype(np.float32)
    less = narrowed(params, narrow, lambda: np.concatenate([np.zeros(spec.observation.size, np.float32), usual]))
    check_params(narrow, less)
    seen = np.zeros((5, spec.observation.size), np.float32)
    seen[:, : spec.observation.size // 4] = rng.random((5, spec.observation.size // 4)) > 0.5
    large, small = make_network(wide), make_network(narrow)
    before = large.apply(params, large.prepare(np.hstack([seen, np.tile(usual, (5, 1))]), params))
    after = small.apply(less, small.prepare(seen, less))
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-5)
