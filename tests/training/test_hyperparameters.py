"""Ranges, mutations and first members: inside their ranges, on their scales, the same for the same place in a run."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.training.settings.names import paths
from jimbot.training.settings.record import TrainSettings, load_settings
from jimbot.training.trials import KNOWN, chosen_ranges, drawn, generator, mutated, spread, values_of


def test_every_known_hyperparameter_is_a_setting() -> None:
    assert set(KNOWN) <= set(paths(TrainSettings))


def test_mutations_stay_in_their_ranges_and_change_something() -> None:
    ranges = chosen_ranges("PPO")
    values = values_of(load_settings(), ranges)
    rng = np.random.default_rng(0)
    for _ in range(300):
        changed = mutated(values, ranges, rng)
        assert changed.keys() == values.keys()
        assert changed != values
        assert all(ranges[name].low <= value <= ranges[name].high for name, value in changed.items())
        values = changed


def test_mutations_reach_both_ends_of_every_range() -> None:
    for name, span in chosen_ranges("PPO").items():
        values = [drawn(span, np.random.default_rng(seed)) for seed in range(200)]
        near = [1 - v if span.scale == "complement" else v for v in (*values, span.low, span.high)]
        *found, low, high = np.log(near)
        assert min(found) < min(low, high) + 0.1 * abs(high - low), name
        assert max(found) > max(low, high) - 0.1 * abs(high - low), name


def test_a_discount_moves_in_its_distance_from_one() -> None:
    ranges = {"gamma": KNOWN["gamma"]}
    steps = {mutated({"gamma": 0.99}, ranges, generator(seed))["gamma"] for seed in range(40)}
    assert 0.992 in steps, "1.25 times nearer to 1"
    assert 0.9875 in steps, "1.25 times further from 1"


def test_the_same_place_in_a_run_has_the_same_luck() -> None:
    ranges = chosen_ranges("PPO")
    values = values_of(load_settings(), ranges)
    assert mutated(values, ranges, generator(7, 3, 1)) == mutated(values, ranges, generator(7, 3, 1))
    assert mutated(values, ranges, generator(7, 3, 1)) != mutated(values, ranges, generator(7, 3, 2))


def test_first_members_lie_near_the_settings_they_start_from() -> None:
    values = {"lr": 3e-4}
    found = [spread(values, {"lr": KNOWN["lr"]}, generator(seed))["lr"] for seed in range(100)]
    assert 0.99e-4 <= min(found) < 1.5e-4
    assert 6e-4 < max(found) <= 9.01e-4


def test_ranges_can_be_named_and_bounded() -> None:
    ranges = chosen_ranges("PPO", {"lr": ["1e-4", "1e-3"], "vf_coef": []})
    assert list(ranges) == ["lr", "vf_coef"]
    assert (ranges["lr"].low, ranges["lr"].high) == (1e-4, 1e-3)
    assert ranges["vf_coef"] == KNOWN["vf_coef"]


def test_only_what_an_algorithm_has_is_mutated() -> None:
    assert "clip_eps" in chosen_ranges("PPO")
    assert "clip_eps" not in chosen_ranges("DQN")


def test_an_unknown_hyperparameter_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'ent_coef'"):
        chosen_ranges("PPO", {"ent_coeff": [0.1, 0.2]})
    with pytest.raises(UnknownNameError, match="hyper-parameter to mutate with PPO 'num_steps'"):
        chosen_ranges("PPO", {"num_steps": [16, 32]})


@pytest.mark.parametrize("bounds", [[1e-3, 1e-4], [0, 1e-3], [1e-3], "wide", [1, "x"]])
def test_a_range_that_makes_no_sense_is_one_sentence(bounds: object) -> None:
    with pytest.raises(SettingsError, match=r"The range of lr is .*for instance \[1e-05, 0.01\]"):
        chosen_ranges("PPO", {"lr": bounds})
