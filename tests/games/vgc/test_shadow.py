"""Battles played elsewhere: rows read from one side's requests and lines are the rows of the live battle."""

from __future__ import annotations

import pytest

from jimbot.games.vgc import teams
from tests.games.vgc.lab import plain_team, run_jobs, team

SOAKER = team(
    "Snorlax | Thick Fat | Soak, Protect, Rest, Body Slam",
    "Blissey | Natural Cure | Protect, Soft-Boiled, Rest, Soak",
    "Toxapex | Regenerator | Protect, Haze, Rest, Recover",
    "Dondozo | Unaware | Protect, Rest, Curse, Order Up",
)


@pytest.fixture(scope="module")
def answers() -> list:
    """All jobs in one process: starting it is what costs."""
    plays = [["team 1234", "team 1234"], ["move 1 1, move 1", "move 3, move 3"]]
    scene = {"job": "scene", "teams": [SOAKER, plain_team()]}
    jobs = ({"job": "shadow", "count": 4, "seed": 3}, {**scene, "plays": plays[:1]}, {**scene, "plays": plays})
    return run_jobs(*jobs, teams=teams.split_teams("train"))


def test_rows_on_a_server_are_the_rows_of_the_simulator(answers: list) -> None:
    found = answers[0]
    assert found["rows"] > 60
    assert found["wrong"] == []
    assert found["masks"] == 0, "the legal actions must be the same, too"


@pytest.mark.long
@pytest.mark.parametrize("sheets", [True, False])
def test_rows_on_a_server_are_the_rows_of_the_simulator_in_many_battles(sheets: bool) -> None:
    job = {"job": "shadow", "count": 250, "seed": 3}
    (found,) = run_jobs(job, teams=teams.split_teams("train"), open_team_sheets=sheets)
    assert found["rows"] > 5000
    assert (found["wrong"], found["masks"]) == ([], 0)


def test_a_type_that_was_changed_is_seen(answers: list) -> None:
    before, after = answers[1:]
    assert (before["rows"][0]["types"][6], after["rows"][0]["types"][6]) == ("Normal", "Water")
    assert (before["rows"][1]["types"][0], after["rows"][1]["types"][0]) == ("Normal", "Water")
