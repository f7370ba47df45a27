"""The sum tree against plain cumulative sums."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.training.replay.store import SumTree


@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 64, 1000])
def test_it_finds_what_a_running_sum_finds(capacity: int) -> None:
    rng = np.random.default_rng(capacity)
    tree, values = SumTree(capacity), np.zeros(capacity)
    for _ in range(20):
        index = rng.integers(capacity, size=min(capacity, 100))
        values[index] = new = rng.integers(0, 5, size=len(index)).astype(float)
        tree.set(index, new)
        np.testing.assert_array_equal(tree.leaves, values)
        assert tree.total == values.sum()
        if tree.total:
            mass = rng.random(50) * tree.total
            np.testing.assert_array_equal(tree.find(mass), np.searchsorted(np.cumsum(values), mass, side="right"))


def test_a_leaf_of_no_mass_is_never_found() -> None:
    tree = SumTree(10)
    tree.set(np.array([4]), np.array([0.1 + 0.2]))
    assert tree.find(np.array([0.0, 0.3, 0.3 + 1e-12, 5.0])).tolist() == [4] * 4


def test_setting_all_equals_setting_one_by_one() -> None:
    values = np.random.default_rng(0).random(37)
    one, other = SumTree(37), SumTree(37)
    one.set_all(values)
    for index, value in enumerate(values):
        other.set(np.array([index]), value)
    np.testing.assert_array_equal(one._nodes, other._nodes)
