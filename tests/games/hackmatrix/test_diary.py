"""What reports count about HackMatrix: programs, siphons and steps by stage, and what games die of."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from jimbot.games.hackmatrix import make_state
from jimbot.games.hackmatrix.diary import TOPICS, HackMatrixDiary
from tests.games.hackmatrix.playing import ACTION, enemy, look

LIVE = np.array([True])


def seen(**situation: Any) -> np.ndarray:
    return look(make_state(**situation))[0][None]


def counted(*events: list[Any]) -> Counter[tuple[str, str]]:
    return Counter((event.topic, event.name) for part in events for event in part)


def test_programs_siphons_and_deaths_are_counted_from_what_is_seen() -> None:
    begun, richer = seen(player=(0, 0), data_siphons=1), seen(player=(0, 0), owned_programs=["RESET"], hp=1, energy=4)
    game: Any = SimpleNamespace(observation=begun, final_observation=begun)
    diary = HackMatrixDiary(game)
    siphoned = diary.before(np.array([ACTION["siphon"]]), LIVE)
    game.observation = richer
    used = diary.before(np.array([ACTION["RESET"]]), LIVE)
    game.final_observation = seen(player=(0, 0), hp=0, enemies=[enemy("virus", 1, 0), enemy("daemon", 4, 4)])
    over = diary.ended(np.array([0]))
    assert counted(siphoned, used, over) == {
        ("steps", "stage 1"): 2,
        ("owned", "stage 1: 0"): 1,
        ("siphons", "stage 1"): 1,
        ("taken", "RESET"): 1,
        ("used", "RESET"): 1,
        ("deaths", "1 HP lost in one turn"): 1,
        ("killers", "virus"): 1,
    }
    assert {event.topic for event in [*siphoned, *used, *over]} == set(TOPICS)


def test_a_game_that_was_won_died_of_nothing_and_rows_not_played_do_not_count() -> None:
    game: Any = SimpleNamespace(observation=seen(player=(0, 0)), final_observation=seen(player=(5, 5)))
    diary = HackMatrixDiary(game)
    assert diary.before(np.array([ACTION["up"]]), ~LIVE) == []
    assert diary.ended(np.array([0])) == []
