"""Battles played elsewhere: rows read from one side's requests and lines are the rows of the live battle."""

from __future__ import annotations

import pytest

from jimbot.games.vgc import teams
from tests.games.vgc.lab import plain_team, run_jobs, team


def compared(count: int, seed: int, **changes: object) -> dict:
    found = run_jobs({"job": "shadow", "count": count, "seed": seed}, teams=teams.split_teams("train"), **changes)[0]
    assert found["masks"] == 0, "the legal actions must be the same, too"
    return found


def test_rows_on_a_server_are_the_rows_of_the_simulator() -> None:
    found = compared(4, 3)
    assert found["rows"] > 60
    assert found["wrong"] == []


@pytest.mark.long
@pytest.mark.parametrize("sheets", [True, False])
def test_rows_on_a_server_are_the_rows_of_the_simulator_in_many_battles(sheets: bool) -> None:
    found = compared(250, 3, open_team_sheets=sheets)
    assert found["rows"] > 5000
    assert found["wrong"] == []


def test_a_type_that_was_changed_is_seen() -> None:
    soaker = team(
        "Snorlax | Thick Fat | Soak, Protect, Rest, Body Slam",
        "Blissey | Natural Cure | Protect, Soft-Boiled, Rest, Soak",
        "Toxapex | Regenerator | Protect, Haze, Rest, Recover",
        "Dondozo | Unaware | Protect, Rest, Curse, Order Up",
    )  # fmt: skip
    plays = [["team 1234", "team 1234"], ["move 1 1, move 1", "move 3, move 3"]]
    scene = {"job": "scene", "teams": [soaker, plain_team()]}
    before, after = run_jobs({**scene, "plays": plays[:1]}, {**scene, "plays": plays})
    assert (before["rows"][0]["types"][6], after["rows"][0]["types"][6]) == ("Normal", "Water")
    assert (before["rows"][1]["types"][0], after["rows"][1]["types"][0]) == ("Normal", "Water")
