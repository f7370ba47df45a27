"""How various play is, counted from observations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jimbot.games.contract import game_entry
from jimbot.games.hooks.learners import Variety
from jimbot.games.variety import FEWEST, VarietyCount


def held(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, places = np.nonzero(observation)
    return rows, observation[rows, places].astype(np.int64)


COLOURS = Variety("colours", "colours held", 5, held, lambda key: f"colour {key}")


def test_entropy_and_the_most_common_thing() -> None:
    count = VarietyCount([COLOURS])
    assert count.metrics() == {}  # of few games nothing is said
    count.look(np.array([[1, 1], [2, 0], [3, 0], [4, 0]] * FEWEST, np.float32))  # held twice is held
    assert count.spread()["colours"].entropy == pytest.approx(math.log(4))
    assert count.metrics() == {"variety/colours": pytest.approx(math.log(4)), "variety/colours_top": 0.25}
    count.clear()
    count.look(np.full((FEWEST, 2), 3, np.float32))
    spread = count.spread()["colours"]
    assert (spread.entropy, spread.top, spread.top_name, spread.games) == (0.0, 1.0, "colour 3", FEWEST)


def test_late_jokers_and_hands_of_a_large_game_are_named() -> None:
    entry = game_entry("balatro")
    assert entry.varieties is not None
    fields, count = entry.spec.observation, VarietyCount(entry.varieties())
    observation = np.zeros((2 * FEWEST, fields.size), np.float32)
    observation[:, fields.offsets["joker_id"]] = 54  # the first joker of the game's table
    observation[:, fields.offsets["last_hand"]] = 1
    ante = fields.offsets["run"]
    observation[::2, ante], observation[1::2, ante] = 4 / 8, 3 / 8  # half of them are too early to count
    count.look(observation)
    found = count.spread()
    assert (found["jokers"].games, found["jokers"].top_name) == (FEWEST, "Joker")
    assert (found["hands"].games, found["hands"].top_name) == (2 * FEWEST, "Flush Five")
