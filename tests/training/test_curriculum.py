from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import SettingsError, SnapshotError
from jimbot.training.curriculum import AnteCurriculum


def test_the_ante_rises_when_enough_of_a_full_window_succeeded() -> None:
    curriculum = AnteCurriculum(window=10)
    assert not any(curriculum.record(True) for _ in range(9))
    assert curriculum.record(False)
    assert curriculum.max_ante == 3
    assert curriculum.success_rate == 0.0  # the next level is judged by its own episodes


def test_below_the_threshold_nothing_rises_and_old_failures_are_forgotten() -> None:
    curriculum = AnteCurriculum(window=10)
    for success in [False] * 3 + [True] * 7:
        assert not curriculum.record(success)
    assert curriculum.record(True)


def test_it_stops_at_the_ante_that_wins() -> None:
    curriculum = AnteCurriculum(initial_max_ante=6, ante_increment=3, window=1)
    assert curriculum.record(True)
    assert curriculum.max_ante == 8
    assert not curriculum.record(True)
    assert curriculum.max_ante == 8


def test_an_ante_is_beaten_when_the_next_one_begins() -> None:
    curriculum = AnteCurriculum()
    assert [curriculum.beaten(ante) for ante in (1, 2, 3)] == [False, False, True]


def test_a_restored_curriculum_continues_identically() -> None:
    rng = np.random.default_rng(4)
    curriculum, other = AnteCurriculum(window=5), AnteCurriculum(window=5)
    for _ in range(12):
        curriculum.record(rng.random() < 0.8)
    other.restore(curriculum.snapshot())
    for _ in range(30):
        success = bool(rng.random() < 0.8)
        assert curriculum.record(success) == other.record(success)
        assert (curriculum.max_ante, curriculum.success_rate) == (other.max_ante, other.success_rate)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"initial_max_ante": 0}, "initial_max_ante is 0; expected a whole number"),
        ({"ante_increment": 1.5}, "ante_increment is 1.5"),
        ({"success_threshold": 1.2}, "success_threshold is 1.2; expected a share"),
        ({"window": True}, "window is True"),
        ({"initial_max_ante": 9}, "beyond final_max_ante 8"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        AnteCurriculum(**settings)


def test_a_snapshot_of_something_else_is_refused() -> None:
    with pytest.raises(SnapshotError, match="lacks 'max_ante'"):
        AnteCurriculum().restore({})
