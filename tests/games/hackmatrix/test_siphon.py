"""The siphon: what it takes, what it costs, how its quality is judged."""

from __future__ import annotations

import pytest

from jimbot.games.hackmatrix import make_state
from jimbot.games.hackmatrix.spec import PROGRAMS
from tests.games.hackmatrix.playing import data, legal, places, play, play_all, program

AWAY = {"exit": (5, 5), "data_siphons": 1}


def credits(row: int, col: int, amount: int) -> dict[str, int]:
    return {"row": row, "col": col, "credits": amount}


def energy(row: int, col: int, amount: int) -> dict[str, int]:
    return {"row": row, "col": col, "energy": amount}


def test_siphoning_needs_a_data_siphon_and_nothing_else() -> None:
    assert "siphon" in legal(make_state(player=(2, 2), **AWAY))
    assert "siphon" not in legal(make_state(player=(2, 2), data_siphons=0))


def test_a_data_block_gives_its_points_and_as_many_transmissions() -> None:
    after = play(make_state(player=(3, 3), blocks=[data(4, 3, 5)], **AWAY), "siphon")
    assert after.player["score"] == 5
    (block,) = after.facts["blocks"]
    assert (block["siphoned"], block["spawn_count"], block["points"]) == (True, 0, 5)
    assert [item["turns"] for item in after.facts["transmissions"]] == [1] * 5
    assert all(item["from_siphon"] and not item["scheduled"] for item in after.facts["transmissions"])
    assert (after.facts["interval"], after.facts["next_turn"]) == (11, 17)
    assert after.player["data_siphons"] == 0
    assert after.facts["pending_spawns"] == 0


def test_all_five_cells_are_taken_by_one_siphon() -> None:
    state = make_state(player=(3, 3), blocks=[data(4, 3, 4), data(3, 4, 7)], step_active=True, **AWAY)
    after = play(state, "siphon")
    assert after.player["score"] == 11
    assert after.facts["pending_spawns"] == 11
    assert sorted(after.facts["siphoned"]) == [(2, 3), (3, 2), (3, 3), (3, 4), (4, 3)]
    assert after.facts["siphon_centres"] == [(3, 3)]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_block_gives_its_program_and_its_spawns(number: int) -> None:
    row = PROGRAMS[number]
    state = make_state(player=(3, 3), blocks=[program(4, 3, row.name)], step_active=True, **AWAY)
    after = play(state, "siphon")
    assert after.facts["owned_programs"] == [row.name]
    assert after.facts["pending_spawns"] == row.spawn


def test_a_question_block_becomes_a_plain_one() -> None:
    blocks = [
        {"row": 4, "col": 3, "type": "question", "points": 6},
        {"row": 2, "col": 3, "type": "question", "program": "WAIT"},
    ]
    after = play(make_state(player=(3, 3), blocks=blocks, step_active=True, **AWAY), "siphon")
    assert [block["type"] for block in after.facts["blocks"]] == ["program", "data"]
    assert (after.player["score"], after.facts["owned_programs"]) == (6, ["WAIT"])
    assert after.facts["pending_spawns"] == 7


def test_resources_are_collected_also_from_pickups_but_not_from_under_blocks() -> None:
    state = make_state(
        player=(3, 3), blocks=[data(4, 3, 1)], pickups=[(3, 4)],
        resources=[credits(3, 3, 2), energy(3, 4, 3), credits(4, 3, 3), credits(5, 3, 1)], **AWAY,
    )  # fmt: skip
    after = play(state, "siphon")
    assert (after.player["credits"], after.player["energy"]) == (2, 3)
    assert after.facts["pickups"] == [(3, 4)]
    assert places(after.facts["resources"]) == [(4, 3), (5, 3)]


def test_cells_already_siphoned_are_skipped() -> None:
    state = make_state(
        player=(3, 3), blocks=[data(4, 3, 5, siphoned=True)], resources=[credits(3, 4, 2)], siphoned=[(3, 4)], **AWAY
    )
    after = play(state, "siphon")
    assert after.player["score"] == 0
    assert after.player["credits"] == 0
    assert places(after.facts["resources"]) == [(3, 4)]


def test_a_crashed_block_leaves_a_siphoned_cell_that_gives_nothing() -> None:
    state = make_state(
        player=(3, 3), blocks=[data(4, 3, 5, siphoned=True)], resources=[credits(4, 3, 2)],
        owned_programs=["CRASH"], credits=3, energy=2, **AWAY,
    )  # fmt: skip
    after = play(state, "CRASH", "siphon")
    assert after.facts["blocks"] == []
    assert after.player["credits"] == 0


@pytest.mark.parametrize(("interval", "after"), [(12, 11), (5, 4), (4, 4)])
def test_the_interval_shrinks_but_not_below_four(interval: int, after: int) -> None:
    state = make_state(player=(3, 3), interval=interval, next_turn=9, **AWAY)
    result = play(state, "siphon")
    assert (result.facts["interval"], result.facts["next_turn"]) == (after, 14)


def test_a_siphon_on_turn_three_schedules_as_written() -> None:
    after = play(make_state(player=(3, 3), turn=2, **AWAY), "siphon")
    assert (after.facts["turn"], after.facts["interval"], after.facts["next_turn"]) == (3, 11, 17)


def missed(**situation: object) -> float:
    """Missed credits plus energy, read from the reward."""
    result = play(make_state(**{**AWAY, **situation}), "siphon")
    return -result.rewards["siphon_quality"] / (0.5 * 0.05)


def test_quality_counts_the_best_credits_and_energy_of_the_better_places() -> None:
    # Own cross 2c+1e. A = 5c+1e around (3,4); B = 2c+4e around (0,4); C = 9c around (4,0): not better, less energy.
    resources = [
        credits(1, 1, 2), energy(1, 0, 1),
        credits(3, 4, 3), credits(3, 5, 2), energy(2, 4, 1),
        credits(0, 4, 2), energy(0, 5, 3), energy(0, 3, 1),
        credits(4, 0, 3), credits(5, 0, 3), credits(4, 1, 3),
    ]  # fmt: skip
    assert missed(player=(1, 1), resources=resources) == pytest.approx(3 + 3)


def test_the_best_place_misses_nothing() -> None:
    assert missed(player=(1, 1), resources=[credits(1, 1, 2)]) == 0
    assert missed(player=(4, 4)) == 0


def test_a_place_must_give_the_same_blocks_to_be_better() -> None:
    # From (3,2) the same block and 3 credits more; the 3 energy at (0,5) come without the block and do not count.
    situation = {
        "player": (3, 4),
        "blocks": [data(3, 3, 5)],
        "resources": [credits(3, 2, 3), energy(0, 5, 3)],
    }
    assert missed(**situation) == pytest.approx(3)


def test_owned_program_blocks_are_still_required() -> None:
    # The data block alone would allow (3,2); the owned WAIT block at (4,4) belongs to the cross of (3,4) as well.
    situation = {
        "player": (3, 4),
        "blocks": [data(3, 3, 5), program(4, 4, "WAIT")],
        "owned_programs": ["WAIT"],
        "resources": [credits(3, 2, 3)],
    }
    assert missed(**situation) == 0


def test_hidden_contents_count_with_their_true_values() -> None:
    # (5,1) has a data block of equal points in its cross, but not the same cell: only shared cells are candidates
    # while the own cross holds something new. Without anything new every open cell is a candidate.
    question = {"row": 3, "col": 3, "type": "question", "points": 5}
    assert missed(player=(3, 4), blocks=[question], resources=[credits(3, 2, 2)]) == pytest.approx(2)
    assert missed(player=(3, 4), blocks=[data(3, 3, 5, siphoned=True)], resources=[credits(0, 0, 2)]) == pytest.approx(
        2
    )


def test_on_a_block_cell_the_own_yield_is_empty() -> None:
    # Only possible after WARP: the siphon takes the block, the quality check sees nothing.
    state = {"player": (3, 3), "blocks": [data(3, 3, 5)], "resources": [credits(0, 0, 2), credits(3, 3, 3)]}
    result = play(make_state(**AWAY, **state), "siphon")
    assert result.player["score"] == 5
    assert -result.rewards["siphon_quality"] / 0.025 == pytest.approx(2)  # (0,0) is better than nothing


def test_the_sign_of_the_quality_term_is_a_profile_setting() -> None:
    def state(profile: str) -> object:
        return make_state(player=(1, 1), resources=[credits(4, 4, 2)], profile=profile, **AWAY)

    plans = {profile: play_all([(state(profile), "siphon")], profile)[0] for profile in ("training", "reference")}
    assert plans["training"].rewards["siphon_quality"] == pytest.approx(-0.05)
    assert plans["reference"].rewards["siphon_quality"] == pytest.approx(0.05)
