"""States from plain values: every mistake is one sentence, and what goes in comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.games import make
from jimbot.games.hackmatrix import Options, make_state, to_dict
from tests.games.hackmatrix.playing import data, enemy, program, transmission


def test_defaults_of_a_state() -> None:
    facts = to_dict(make_state())
    assert facts["player"] == {
        "row": 0, "col": 0, "hp": 3, "credits": 0, "energy": 0, "data_siphons": 0, "attack_damage": 1, "score": 0,
    }  # fmt: skip
    assert (facts["exit"], facts["interval"], facts["next_turn"], facts["stage"]) == ((5, 5), 12, 12, 1)
    assert (facts["history_size"], facts["attack_uses"], facts["pending_spawns"]) == (0, 0, 0)


def test_a_read_out_builds_the_same_state_again() -> None:
    state = make_state(
        player={"row": 1, "col": 2, "hp": 2, "credits": 7},
        energy=3,
        enemies=[enemy("daemon", 4, 4, hp=2, stunned=True, scheduled=True), enemy(3, 0, 0, from_siphon=True)],
        transmissions=[transmission(2, 2, turns=5, type="glitch", scheduled=True)],
        blocks=[
            data(3, 3, 4),
            program(3, 4, "push", siphoned=True),
            {"row": 3, "col": 5, "type": "question", "points": 1},
        ],
        resources=[{"row": 0, "col": 1, "credits": 3}, {"row": 0, "col": 2, "energy": 9}],
        pickups=[(0, 5)],
        owned_programs=["WAIT", 27],
        siphoned=[(1, 1)],
        siphon_centres=[(1, 1)],
        stage=4,
        turn=6,
        show=True,
    )
    facts = to_dict(state)
    size = facts.pop("history_size")
    again = make_state(**facts)
    assert size == 0
    for name, old, new in zip(state._fields, state, again, strict=True):
        assert np.array_equal(old, new), name


def test_a_row_of_a_batch_can_be_read_out() -> None:
    game: Any = make("hackmatrix", 8)
    game.reset()
    assert to_dict(game.row_state(3))["stage"] == 1
    with pytest.raises(UsageError, match="one game"):
        to_dict(game.rows.state)


@pytest.mark.parametrize(
    ("situation", "says"),
    [
        ({"player": (6, 0)}, "both 0..5"),
        ({"player": {"row": 1}}, "row and col"),
        ({"player": {"row": 1, "col": 1, "mana": 3}}, "unknown mana"),
        ({"player": {"row": 1, "col": 1, "hp": 3}, "hp": 2}, "give it once"),
        ({"hp": 4}, "0 to 3"),
        ({"credits": -1}, "0 or more"),
        ({"stage": 9}, "1 to 8"),
        ({"energy": 1.5}, "whole number"),
        ({"enemies": [{"type": "virus", "row": 1}]}, "lacks col"),
        ({"enemies": [enemy("wolf", 1, 1)]}, "Unknown enemy type"),
        ({"enemies": [enemy("virus", 1, 1, hp=3)]}, "1 to 2"),
        ({"enemies": ["virus"]}, "expected a dict"),
        ({"enemies": [enemy("virus", 1, 1)] * 41}, "at most 40"),
        ({"transmissions": [transmission(1, 1), transmission(1, 1)]}, "at most one per cell"),
        ({"transmissions": [transmission(1, 1, turns=0)]}, "expected a whole number"),
        ({"blocks": [data(5, 5, 3)]}, "lies on the exit"),
        ({"blocks": [data(1, 1, 10)]}, "0 to 9"),
        ({"blocks": [{"row": 1, "col": 1, "type": "data"}]}, "points or a program"),
        ({"blocks": [{"row": 1, "col": 1, "type": "data", "program": "WAIT"}]}, "give data blocks points"),
        ({"blocks": [{"row": 1, "col": 1, "type": "wall", "points": 1}]}, "needs type"),
        ({"blocks": [program(1, 1, "JUMP")]}, "Unknown program 'JUMP'"),
        ({"resources": [{"row": 1, "col": 1, "credits": 1, "energy": 1}]}, "one kind only"),
        ({"pickups": [(5, 5)]}, "pickup"),
        ({"owned_programs": "WAIT"}, "expected a list"),
        ({"owned_programs": [4]}, "action number 5..27"),
        ({"seed": -1}, "seed"),
    ],
)
def test_mistakes_are_named(situation: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_state(**situation)


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(ValueError, match="'training', 'reference'"):
        Options(profile="easy")
    with pytest.raises(UsageError, match="profile"):
        make("hackmatrix", 1, options={"profile": "easy"})
