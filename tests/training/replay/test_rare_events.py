"""Rare events of Balatro, read from observations and boosted while they are rare."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.balatro.encoding.fields import COLUMNS, OBSERVATION, start
from jimbot.games.balatro.rules.content import BLIND_SHOWDOWN
from jimbot.games.contract import game_entry
from jimbot.training.replay.rare_events import RareEventWatch, events_of

SPEC = game_entry("balatro").spec
FACTOR = {event.name: event.boost for event in events_of("balatro")}
SHOWDOWN = 1 + int(np.flatnonzero(BLIND_SHOWDOWN)[0])
ORDINARY = 1 + int(np.flatnonzero(~BLIND_SHOWDOWN)[0])


def rows(count: int) -> np.ndarray:
    return np.zeros((count, OBSERVATION.size), np.float32)


def won() -> int:
    return start("run") + COLUMNS["run"].index("won")


def test_each_event_is_seen_in_its_row_and_the_largest_factor_counts() -> None:
    before, after = rows(6), rows(6)
    after[1, won()] = 1
    after[2, start("joker_id") + 3] = 77
    before[3, start("joker_id")] = after[3, start("joker_id") + 1] = 88  # only moved
    before[4, start("phase") + 1], before[4, start("blind_id")] = 1, SHOWDOWN
    after[4, won()] = 1
    before[5, start("phase") + 1], before[5, start("blind_id")] = 1, ORDINARY
    watch = RareEventWatch(SPEC)
    found = watch.boost(before, after)
    assert found.tolist() == [1, FACTOR["first_win"], FACTOR["new_joker"], 1, FACTOR["first_win"], 1]
    assert watch.counts() == {"first_win": 2, "new_joker": 1, "showdown_boss": 1}


def test_a_joker_is_new_only_so_often_and_each_joker_by_itself() -> None:
    watch = RareEventWatch(SPEC)
    event = next(event for event in watch.events if event.name == "new_joker")
    assert event.first is not None
    before, after = rows(1), rows(1)
    after[0, start("joker_id")] = 60
    factors = [float(watch.boost(before, after)[0]) for _ in range(event.first + 2)]
    assert factors == [event.boost] * event.first + [1.0, 1.0]
    other = RareEventWatch(SPEC)
    other.load_arrays(watch.arrays())
    assert other.boost(before, after)[0] == 1
    after[0, start("joker_id")] = 61
    assert other.boost(before, after)[0] == event.boost


def test_factors_are_changed_by_name_and_unknown_names_are_refused() -> None:
    assert {event.name: event.boost for event in events_of("balatro", {"first_win": 50.0})}["first_win"] == 50
    with pytest.raises(UnknownNameError, match="Did you mean 'first_win'"):
        events_of("balatro", {"first_wins": 2.0})
    with pytest.raises(SettingsError, match="expected a factor above 0"):
        events_of("balatro", {"first_win": 0.0})
    assert events_of("probe") == ()
