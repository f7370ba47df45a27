"""All reward terms with their numbers, in both profiles."""

from __future__ import annotations

import pytest

from jimbot.games.hackmatrix import make_state
from jimbot.games.hackmatrix.spec import REWARD_TERMS
from tests.games.hackmatrix.playing import Result, data, enemy, play, play_all, transmission


def reference(label: str, **situation: object) -> Result:
    return play(make_state(**situation, profile="reference"), label, profile="reference")


@pytest.mark.parametrize(
    ("label", "situation", "total"),
    [
        ("right", {"player": (5, 4), "hp": 2, "credits": 3, "energy": 5}, 2.13),
        ("RESET", {"player": (0, 0), "hp": 1, "energy": 4, "owned_programs": ["RESET"]}, 1.80),
        ("RESET", {"player": (0, 0), "hp": 2, "energy": 4, "owned_programs": ["RESET"]}, 0.50),
        ("up", {"player": (0, 3), "enemies": [enemy("virus", 5, 3, hp=1)]}, 0.30),
        ("WAIT", {"player": (0, 0), "energy": 1, "owned_programs": ["WAIT"], "enemies": [enemy("virus", 1, 0)]}, -1.05),
        (
            "WAIT",
            {
                "player": (0, 0), "hp": 1, "stage": 4, "energy": 1, "owned_programs": ["WAIT"],
                "enemies": [enemy("daemon", 1, 0, from_siphon=True)],
            },
            -14.55,
        ),
        ("SIPH+", {"player": (0, 0), "credits": 5, "owned_programs": ["SIPH+"]}, -0.25),
        ("right", {"player": (5, 4), "stage": 8, "score": 10}, 1564.05),
        (
            "siphon",
            {
                "player": (3, 3), "data_siphons": 1, "blocks": [data(4, 3, 6)],
                "resources": [{"row": 3, "col": 3, "credits": 2}],
            },
            3.10,
        ),
    ],
)  # fmt: skip
def test_the_written_totals(label: str, situation: dict, total: float) -> None:
    assert reference(label, **situation).reward == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize(
    ("stage", "training", "original"),
    [*((stage, 2.0 ** (stage - 1), 2.0 ** (stage - 1)) for stage in range(1, 8)), (8, 100.0, 64.0)],
)
def test_completing_a_stage_pays_by_stage(stage: int, training: float, original: float) -> None:
    situation = {"player": (5, 4), "stage": stage}
    assert play(make_state(**situation), "right").rewards["stage_completion"] == training
    assert reference("right", **situation).rewards["stage_completion"] == original


@pytest.mark.parametrize(
    ("stage", "penalty"), [(1, 0), (2, -0.5), (3, -1.5), (4, -3.5), (5, -7.5), (6, -15.5), (7, -31.5), (8, -63.5)]
)
def test_dying_costs_by_stage(stage: int, penalty: float) -> None:
    state = make_state(
        player=(0, 0), hp=1, stage=stage, energy=1, owned_programs=["WAIT"], enemies=[enemy("daemon", 1, 0)]
    )
    after = play(state, "WAIT")
    assert after.terminated
    assert after.rewards["death_penalty"] == penalty
    assert after.rewards["siphon_death_penalty"] == 0
    assert after.rewards["distance_shaping"] == 0
    assert after.stats == {"stage": stage, "score": 0, "won": 0, "highest_stage": stage}


def test_every_step_costs_a_hundredth_in_training_only() -> None:
    assert play(make_state(player=(2, 2)), "up").rewards["step_penalty"] == pytest.approx(-0.01)
    assert reference("up", player=(2, 2)).rewards["step_penalty"] == 0


def test_scheduled_kills_do_not_count() -> None:
    plan = [
        (make_state(player=(0, 3), enemies=[enemy("virus", 4, 3, hp=1, scheduled=True)]), "up"),
        (make_state(player=(0, 3), transmissions=[transmission(4, 3, scheduled=True)]), "up"),
        (make_state(player=(0, 3), transmissions=[transmission(4, 3)]), "up"),
    ]
    assert [round(result.rewards["kills"], 4) for result in play_all(plan)] == [0, 0, 0.3]


def test_a_pickup_pays_one_but_siphon_plus_does_not() -> None:
    assert play(make_state(player=(2, 2), pickups=[(2, 3)]), "right").rewards["data_siphon"] == 1
    bought = play(make_state(player=(2, 2), credits=5, owned_programs=["SIPH+"]), "SIPH+")
    assert bought.rewards["data_siphon"] == 0


def test_distance_is_measured_around_blocks_and_crash_can_shorten_it() -> None:
    nearer, farther = play_all([(make_state(player=(2, 2)), "up"), (make_state(player=(2, 2)), "down")])
    assert nearer.rewards["distance_shaping"] == pytest.approx(0.05)
    assert farther.rewards["distance_shaping"] == 0, "only coming closer pays in training"
    assert reference("down", player=(2, 2)).rewards["distance_shaping"] == pytest.approx(-0.05)
    wall = [data(row, 1, 1) for row in range(5)]
    opened = play(
        make_state(player=(0, 0), exit=(0, 5), blocks=wall, owned_programs=["CRASH"], credits=3, energy=2), "CRASH"
    )
    assert opened.rewards["distance_shaping"] == pytest.approx(0.05 * (15 - 5))


def test_a_detour_in_the_reference_profile_pays_nothing() -> None:
    """Signed: whatever way was taken, a stage pays its first distance."""
    state, total = make_state(player=(5, 3), profile="reference"), 0.0
    for label in ("left", "down", "up", "right", "right", "right"):
        after = play(state, label, profile="reference")
        state, total = after.state, total + after.rewards["distance_shaping"]
    assert total == pytest.approx(0.05 * 2)
    assert after.rewards["stage_completion"] > 0


def test_an_unreachable_exit_counts_as_distance_zero() -> None:
    wall = [data(row, 3, 1) for row in range(6)]
    assert play(make_state(player=(2, 1), blocks=wall), "up").rewards["distance_shaping"] == 0
    opened = {"player": (2, 2), "blocks": wall, "owned_programs": ["CRASH"], "credits": 3, "energy": 2}
    assert play(make_state(**opened), "CRASH").rewards["distance_shaping"] == 0
    assert reference("CRASH", **opened).rewards["distance_shaping"] == pytest.approx(0.05 * (0 - 6))


def test_holding_resources_pays_on_completion_and_victory() -> None:
    plan = [(make_state(player=(5, 4), credits=7, energy=8, stage=stage), "right") for stage in (1, 8)]
    assert [result.rewards["resource_holding"] for result in play_all(plan)] == pytest.approx([0.15, 0.15])


def test_victory_pays_by_score_and_ends_the_game_in_stage_eight() -> None:
    after = play(make_state(player=(5, 4), stage=8, score=7, hp=1), "right")
    assert after.rewards["victory"] == 1200
    assert after.terminated
    assert after.facts["stage"] == 8
    assert after.player["hp"] == 2
    assert after.stats == {"stage": 8, "score": 7, "won": 1, "highest_stage": 8}


def test_death_beside_an_idle_siphon_enemy_costs_ten() -> None:
    crowd = [enemy("daemon", 1, 0), enemy("virus", 0, 1, from_siphon=True, stunned=True)]
    state = make_state(player=(0, 0), hp=1, energy=1, owned_programs=["WAIT"], enemies=crowd)
    assert play(state, "WAIT").rewards["siphon_death_penalty"] == -10


def test_the_step_limit_cuts_off_in_training_only() -> None:
    assert not play(make_state(player=(2, 2), steps=1998), "up").truncated
    last = play(make_state(player=(2, 2), steps=1999), "up")
    assert last.truncated
    assert not last.terminated
    assert not reference("up", player=(2, 2), steps=1999).truncated
    died = make_state(
        player=(0, 0), steps=1999, hp=1, energy=1, owned_programs=["WAIT"], enemies=[enemy("daemon", 1, 0)]
    )
    assert (play(died, "WAIT").truncated, play(died, "WAIT").terminated) == (False, True)


@pytest.mark.parametrize(("profile", "ends"), [("training", False), ("reference", True)])
def test_an_illegal_action_changes_nothing_and_ends_only_the_reference_game(profile: str, ends: bool) -> None:
    state = make_state(player=(0, 0), enemies=[enemy("virus", 3, 3)], profile=profile)
    for label in ("down", "siphon", "WAIT", "UNDO"):
        (after,) = play_all([(state, label)], profile)
        assert after.reward == 0
        assert (after.terminated, after.truncated) == (ends, False)
        for old, new in zip(state, after.state, strict=True):
            assert (old == new).all()


def test_terms_come_in_the_agreed_order() -> None:
    assert REWARD_TERMS[0] == "step_penalty"
    assert REWARD_TERMS[-3:] == ("siphon_quality", "siphon_death_penalty", "program_waste")
    assert len(REWARD_TERMS) == len(set(REWARD_TERMS)) == 15
