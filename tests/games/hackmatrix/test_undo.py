"""UNDO: what comes back and what does not, and how far the history reaches."""

from __future__ import annotations

import pytest

from jimbot.games.hackmatrix import make_state
from tests.games.hackmatrix.playing import data, enemy, legal, places, play, same_key, transmission

UNDOING = {"owned_programs": "all", "credits": 6, "energy": 20, "exit": (0, 5)}


def test_undo_needs_a_completed_enemy_turn() -> None:
    state = make_state(player=(2, 2), **UNDOING)
    assert "UNDO" not in legal(state)
    assert "UNDO" not in legal(play(state, "ATK+").state)  # a free action is no turn
    assert "UNDO" in legal(play(state, "up").state)


def test_the_newest_snapshot_is_where_the_turn_began_and_two_undos_go_back_a_turn() -> None:
    first = play(make_state(player=(2, 2), **UNDOING), "up")
    second = play(first.state, "up")
    once = play(second.state, "UNDO")
    assert once.player == second.player  # credits too: the cost is always refunded
    assert once.facts["history_size"] == 1
    twice = play(once.state, "UNDO")
    assert twice.player == first.player
    assert twice.facts["turn"] == 1
    assert "UNDO" not in legal(twice.state)


def test_undo_takes_back_free_actions_since_the_turn_began() -> None:
    start = play(make_state(player=(2, 2), blocks=[data(3, 3, 4)], **UNDOING), "up")
    changed = play(start.state, "CRASH", "SHOW", "STEP")
    back = play(changed.state, "UNDO")
    assert back.player == start.player
    assert back.facts["blocks"] == start.facts["blocks"]
    assert not back.facts["show"]
    assert back.facts["step_active"]  # the flag stays although the energy returned


def test_what_undo_restores_and_what_it_does_not() -> None:
    state = make_state(
        player=(2, 2),
        enemies=[enemy("daemon", 5, 2, scheduled=True, from_siphon=True)],
        transmissions=[transmission(0, 4, turns=9, scheduled=True)],
        blocks=[data(3, 3, 6)],
        data_siphons=2,
        **UNDOING,
    )
    base = play(state, "down")
    later = play(base.state, "STEP", "siphon")
    assert later.facts["pending_spawns"] == 0  # (2,2)'s cross holds no block from (1,2)
    back = play(later.state, "UNDO")
    assert back.player == base.player
    assert back.facts["siphoned"] == []
    assert back.facts["turn"] == base.facts["turn"]
    assert (back.facts["interval"], back.facts["next_turn"]) == (11, 17)
    assert places(back.facts["enemies"]) == places(base.facts["enemies"])
    assert not any(item["scheduled"] or item["from_siphon"] for item in back.facts["enemies"])
    assert not any(item["scheduled"] for item in back.facts["transmissions"])


def test_pending_spawns_survive_undo_after_a_skipped_turn() -> None:
    base = play(make_state(player=(2, 2), blocks=[data(4, 2, 6)], data_siphons=1, **UNDOING), "up")
    siphoned = play(base.state, "STEP", "siphon")
    assert (siphoned.player["score"], siphoned.facts["pending_spawns"]) == (6, 6)
    back = play(siphoned.state, "UNDO")
    assert (back.player["score"], back.facts["pending_spawns"], back.player["data_siphons"]) == (0, 6, 1)
    assert back.rewards["score_gain"] == pytest.approx(-3.0)


def test_a_skipped_turn_leaves_no_snapshot_so_undo_takes_the_move_back() -> None:
    base = play(make_state(player=(2, 2), **UNDOING), "up")
    moved = play(base.state, "STEP", "up")
    assert moved.player["row"] == 4
    assert play(moved.state, "UNDO").player["row"] == 3


@pytest.mark.parametrize(("profile", "length"), [("training", 4), ("reference", 8)])
def test_the_history_keeps_the_last_snapshots_of_its_profile(profile: str, length: int) -> None:
    state = make_state(player=(2, 2), profile=profile, **UNDOING)
    after = play(state, *["up", "down"] * 5, profile=profile)
    assert after.facts["history_size"] == length
    back = play(after.state, *["UNDO"] * length, profile=profile)
    assert back.facts["turn"] == 10 - length + 1
    assert "UNDO" not in legal(back.state, profile)


@pytest.mark.parametrize(("profile", "kept"), [("training", 0), ("reference", 1)])
def test_a_stage_change_clears_the_history_only_in_training(profile: str, kept: int) -> None:
    state = make_state(player=(5, 3), profile=profile, **{**UNDOING, "exit": (5, 5)})
    after = play(state, "right", "right", profile=profile)
    assert after.facts["stage"] == 2
    assert after.facts["history_size"] == kept
    if kept:
        back = play(after.state, "UNDO", profile=profile)
        assert back.facts["stage"] == 2
        assert back.facts["exit_tile"] == (5, 5)
        assert (back.player["row"], back.player["col"]) == (5, 4)
        again = play(back.state, "right", profile=profile)  # the exploit of the original game
        assert again.facts["stage"] == 3
        assert again.rewards["stage_completion"] == 2.0


def test_undo_never_restores_the_generator() -> None:
    first = play(make_state(player=(2, 2), **UNDOING), "up")
    back = play(first.state, "UNDO")
    assert not same_key(first.state, back.state)
