"""Each of the 23 programs: cost, need, effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jimbot.games.hackmatrix import make_state
from jimbot.games.hackmatrix.spec import PROGRAM_NAMES, PROGRAMS, Program
from tests.games.hackmatrix.playing import FLAT, data, enemy, legal, places, play, play_all, transmission

RICH = {"owned_programs": "all", "credits": 20, "energy": 20, "exit": (0, 5)}
# A situation in which every need is met, and a change for each program with a need that takes it away.
EVERYTHING = {
    "player": (2, 2),
    "hp": 2,
    "blocks": [data(3, 3, 5), data(5, 5, 4, siphoned=True)],
    "enemies": [
        enemy("virus", 2, 5),
        enemy("daemon", 5, 2),
        enemy("glitch", 3, 3),
    ],
    "transmissions": [transmission(0, 0)],
}
WITHOUT: dict[str, dict[str, Any]] = {
    "PUSH": {"enemies": []},
    "PULL": {"enemies": []},
    "CRASH": {"blocks": [data(5, 5, 4)], "enemies": [enemy("virus", 0, 2)]},
    "WARP": {"enemies": [], "transmissions": []},
    "POLY": {"enemies": []},
    "DEBUG": {"enemies": [enemy("virus", 2, 5), enemy("daemon", 5, 2)]},
    "ROW": {"enemies": [enemy("daemon", 5, 2)]},
    "COL": {"enemies": [enemy("virus", 2, 5)]},
    "UNDO": {},
    "SHOW": {"show": True},
    "RESET": {"hp": 3},
    "CALM": {"calm": True},
    "D_BOM": {"enemies": [enemy("virus", 2, 5)]},
    "DELAY": {"transmissions": []},
    "ANTI-V": {"enemies": [enemy("daemon", 5, 2)]},
    "SCORE": {"stage": 8},
    "REDUC": {"blocks": [data(3, 3, 5, spawn_count=0), data(5, 5, 4, siphoned=True)]},
    "ATK+": {"attack_uses": 2},
    "HACK": {"blocks": [data(3, 3, 5)]},
}


def test_programs_need_ownership_their_cost_and_their_situation() -> None:
    ready = legal(make_state(**{**EVERYTHING, **RICH}))
    assert set(PROGRAM_NAMES) - ready == {"UNDO"}  # no history yet
    nothing_owned = make_state(**{**EVERYTHING, **RICH, "owned_programs": []})
    assert not legal(nothing_owned) & set(PROGRAM_NAMES)
    for name, change in WITHOUT.items():
        assert name not in legal(make_state(**{**EVERYTHING, **RICH, **change})), name


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program.name != "UNDO"])  # see test_undo
def test_a_program_is_affordable_exactly_at_its_cost_and_pays_it(program: Program) -> None:
    exact: dict[str, Any] = {"owned_programs": [program.name], "credits": program.credits, "energy": program.energy}
    state = make_state(**{**EVERYTHING, **exact, "exit": (0, 5)})
    assert program.name in legal(state)
    for purse in ("credits", "energy"):
        if exact[purse]:
            poorer = make_state(**{**EVERYTHING, **exact, "exit": (0, 5), purse: exact[purse] - 1})
            assert program.name not in legal(poorer)
    after = play(state, program.name)
    assert after.player["credits"] == 0
    assert after.player["energy"] == (4 if program.name == "EXCH" else 0)
    assert after.facts["turn"] == (1 if program.name == "WAIT" else 0)


def test_push_moves_enemies_away_from_the_player() -> None:
    alone = {(4, 3): (5, 3), (4, 4): (5, 5), (5, 4): (5, 5), (5, 5): (5, 5), (3, 1): (3, 0), (0, 3): (0, 3)}
    plan = [(make_state(player=(3, 3), enemies=[enemy("daemon", *cell)], **RICH), "PUSH") for cell in alone]
    assert [places(result.facts["enemies"])[0] for result in play_all(plan)] == list(alone.values())


def test_push_lets_enemies_overlap_those_pinned_at_the_edge() -> None:
    pair = [enemy("daemon", 4, 4), enemy("virus", 5, 5)]
    assert places(play(make_state(player=(3, 3), enemies=pair, **RICH), "PUSH").facts["enemies"]) == [(5, 5), (5, 5)]


def test_push_gives_a_cell_to_the_first_in_the_list() -> None:
    pair = [enemy("daemon", 5, 4), enemy("virus", 4, 5)]
    assert places(play(make_state(player=(3, 3), enemies=pair, **RICH), "PUSH").facts["enemies"]) == [(5, 5), (4, 5)]


def test_push_ignores_blocks_and_transmissions() -> None:
    state = make_state(
        player=(0, 0), enemies=[enemy("daemon", 2, 0), enemy("virus", 0, 2)], blocks=[data(3, 0, 1)],
        transmissions=[transmission(0, 3)], **RICH,
    )  # fmt: skip
    assert places(play(state, "PUSH").facts["enemies"]) == [(3, 0), (0, 3)]


def test_pull_moves_enemies_towards_the_player_but_never_onto_it() -> None:
    alone = {(5, 5): (4, 4), (4, 4): (3, 4), (5, 3): (4, 3), (4, 3): (4, 3), (2, 2): (3, 2), (3, 0): (3, 1)}
    plan = [(make_state(player=(3, 3), enemies=[enemy("daemon", *cell)], **RICH), "PULL") for cell in alone]
    assert [places(result.facts["enemies"])[0] for result in play_all(plan)] == list(alone.values())


def test_crash_clears_the_eight_surrounding_cells() -> None:
    state = make_state(
        player=(2, 2),
        blocks=[data(3, 3, 5), data(1, 2, 4, siphoned=True), data(5, 5, 1)],
        enemies=[enemy("daemon", 3, 2), enemy("virus", 2, 4)],
        transmissions=[transmission(1, 1), transmission(5, 0)],
        pickups=[(2, 1)],
        **RICH,
    )
    after = play(state, "CRASH")
    assert places(after.facts["blocks"]) == [(5, 5)]
    assert places(after.facts["enemies"]) == [(2, 4)]
    assert places(after.facts["transmissions"]) == [(5, 0)]
    assert after.facts["pickups"] == [(2, 1)]
    assert after.facts["siphoned"] == [(1, 2)]  # the flag belongs to the cell
    assert after.rewards["kills"] == pytest.approx(0.6)


@pytest.mark.parametrize(("first_scheduled", "kills"), [(False, 1), (True, 0)])
def test_overlapping_enemies_count_once_by_the_first(first_scheduled: bool, kills: int) -> None:
    pair = [enemy("daemon", 3, 2, scheduled=first_scheduled), enemy("virus", 3, 2, scheduled=not first_scheduled)]
    plan = [(make_state(player=(2, 2), enemies=pair, **RICH), name) for name in ("CRASH", "WARP")]
    for result in play_all(plan):
        assert result.facts["enemies"] == []
        assert result.rewards["kills"] == pytest.approx(0.3 * kills)


def test_a_transmission_under_a_crashed_enemy_counts_separately() -> None:
    state = make_state(player=(2, 2), enemies=[enemy("virus", 3, 2)], transmissions=[transmission(3, 2)], **RICH)
    assert play(state, "CRASH").rewards["kills"] == pytest.approx(0.6)


def test_warp_goes_to_the_drawn_enemy_or_transmission() -> None:
    state = make_state(
        player=(2, 2), enemies=[enemy("daemon", 4, 4)], transmissions=[transmission(0, 1)], pickups=[(4, 4)], **RICH
    )
    to_enemy = play(state, "WARP", draws=FLAT)
    assert (to_enemy.player["row"], to_enemy.player["col"]) == (4, 4)
    assert to_enemy.facts["enemies"] == []
    assert to_enemy.player["data_siphons"] == 0  # no pickup is collected
    assert to_enemy.facts["pickups"] == [(4, 4)]
    to_transmission = play(state, "WARP", draws=FLAT._replace(pick=np.uint32(2**32 - 1)))
    assert (to_transmission.player["row"], to_transmission.player["col"]) == (0, 1)
    assert to_transmission.facts["transmissions"] == []
    assert len(to_transmission.facts["enemies"]) == 1


def test_warp_to_an_enemy_leaves_a_transmission_there_and_the_other_way_round() -> None:
    state = make_state(player=(2, 2), enemies=[enemy("daemon", 4, 4)], transmissions=[transmission(4, 4)], **RICH)
    onto_enemy = play(state, "WARP", draws=FLAT)
    assert (len(onto_enemy.facts["enemies"]), len(onto_enemy.facts["transmissions"])) == (0, 1)
    onto_transmission = play(state, "WARP", draws=FLAT._replace(pick=np.uint32(2**32 - 1)))
    assert (len(onto_transmission.facts["enemies"]), len(onto_transmission.facts["transmissions"])) == (1, 0)


def test_warp_onto_the_exit_completes_the_stage() -> None:
    state = make_state(**{**RICH, "exit": (5, 5)}, player=(2, 2), enemies=[enemy("daemon", 5, 5)], hp=1)
    after = play(state, "WARP")
    assert after.facts["stage"] == 2
    assert after.player["hp"] == 2
    assert after.facts["enemies"] == []
    assert after.rewards["stage_completion"] == 1.0
    assert after.rewards["distance_shaping"] == pytest.approx(0.05 * 6)


def test_poly_changes_type_and_carries_damage_over() -> None:
    def poly(kind: str, hp: int, word: int) -> list[dict]:
        luck = FLAT._replace(order=np.full(40, word, np.uint32))
        state = make_state(player=(0, 0), enemies=[enemy(kind, 4, 4, hp=hp, stunned=True)], **RICH)
        return play(state, "POLY", draws=luck).facts["enemies"]

    assert poly("daemon", 1, 0) == []  # daemon with 2 damage to a type of 2 HP
    (tough,) = poly("virus", 1, 0)
    assert (tough["type"], tough["hp"], tough["stunned"]) == ("daemon", 2, True)
    kinds = [poly("virus", 2, word)[0]["type"] for word in (0, 2**31, 2**32 - 1)]
    assert kinds == ["daemon", "glitch", "cryptog"]
    assert [poly(kind, hp, 2**31)[0]["hp"] for kind, hp in (("daemon", 3), ("glitch", 2))] == [2, 2]


def test_poly_deaths_are_kills() -> None:
    state = make_state(player=(0, 0), enemies=[enemy("daemon", 4, 4, hp=1)], **RICH)
    assert play(state, "POLY").rewards["kills"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("name", "hit"),
    [("ROW", [0, 3]), ("COL", [1]), ("DEBUG", [2, 4]), ("HACK", [4]), ("ANTI-V", [0, 3])],
)
def test_damage_programs_hit_their_cells_and_stun_survivors(name: str, hit: list[int]) -> None:
    crowd = [
        enemy("virus", 2, 5),
        enemy("daemon", 5, 2),
        enemy("glitch", 4, 4),
        enemy("virus", 2, 2),  # on the player's own cell: ROW and COL reach it
        enemy("daemon", 0, 0),
    ]
    blocks = [data(4, 4, 5), data(0, 0, 3, siphoned=True), data(2, 3, 1)]
    state = make_state(player=(2, 2), enemies=crowd, blocks=blocks, **RICH)
    after = play(state, name).facts["enemies"]
    full = [2, 3, 2, 2, 3]
    expected = [hp - (index in hit or (name == "COL" and index == 3)) for index, hp in enumerate(full)]
    assert [item["hp"] for item in after] == expected
    assert [item["stunned"] for item in after] == [new < old for new, old in zip(expected, full, strict=True)]


def test_row_col_debug_hack_use_attack_damage_but_antivirus_and_bomb_do_not() -> None:
    place = {"player": (2, 2), "blocks": [data(2, 4, 5, siphoned=True)], "attack_damage": 2}
    for name in ("ROW", "DEBUG", "HACK"):
        assert play(make_state(**place, enemies=[enemy("daemon", 2, 4)], **RICH), name).facts["enemies"][0]["hp"] == 1
    assert play(make_state(**place, enemies=[enemy("daemon", 4, 2)], **RICH), "COL").facts["enemies"][0]["hp"] == 1
    assert play(make_state(**place, enemies=[enemy("virus", 2, 4)], **RICH), "ANTI-V").facts["enemies"][0]["hp"] == 1
    pair = [enemy("daemon", 5, 5), enemy("virus", 4, 4)]
    assert play(make_state(**place, enemies=pair, **RICH), "D_BOM").facts["enemies"][0]["hp"] == 1


def test_hack_leaves_blocks_alone() -> None:
    state = make_state(player=(0, 0), blocks=[data(4, 4, 5, siphoned=True)], enemies=[enemy("glitch", 4, 4)], **RICH)
    after = play(state, "HACK")
    assert places(after.facts["blocks"]) == [(4, 4)]
    assert after.facts["enemies"][0]["hp"] == 1


def test_hack_works_with_any_siphoned_cell() -> None:
    state = make_state(player=(0, 0), siphoned=[(4, 4)], enemies=[enemy("virus", 4, 4)], **RICH)
    assert play(state, "HACK").facts["enemies"][0]["hp"] == 1


def test_daemon_bomb_destroys_the_nearest_daemon_and_hits_around_it() -> None:
    state = make_state(
        player=(2, 2),
        enemies=[enemy("daemon", 5, 5), enemy("virus", 4, 4), enemy("glitch", 5, 5), enemy("daemon", 0, 5)],
        **{**RICH, "exit": (5, 0)},
    )
    after = play(state, "D_BOM")  # (0,5) is nearer than (5,5)
    assert [item["type"] for item in after.facts["enemies"]] == ["daemon", "virus", "glitch"]
    after = play(make_state(player=(3, 3), enemies=[enemy("daemon", 5, 5), enemy("virus", 4, 4)], **RICH), "D_BOM")
    (virus,) = after.facts["enemies"]
    assert (virus["type"], virus["hp"], virus["stunned"]) == ("virus", 1, True)
    assert after.rewards["kills"] == pytest.approx(0.3)


def test_daemon_bomb_spares_its_own_cell_and_breaks_ties_by_list_order() -> None:
    crowd = [enemy("daemon", 4, 2, scheduled=True), enemy("daemon", 2, 4), enemy("virus", 4, 2)]
    after = play(make_state(player=(2, 2), enemies=crowd, **RICH), "D_BOM")
    assert [(item["type"], item["hp"]) for item in after.facts["enemies"]] == [("daemon", 3), ("virus", 2)]
    assert after.rewards["kills"] == 0


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [("SIPH+", "data_siphons", 1), ("RESET", "hp", 3), ("SCORE", "score", 7), ("ATK+", "attack_damage", 2)],
)
def test_programs_that_change_a_player_value(name: str, field: str, value: int) -> None:
    assert play(make_state(player=(2, 2), hp=1, **RICH), name).player[field] == value


@pytest.mark.parametrize("stage", range(1, 8))
def test_score_gives_eight_minus_the_stage(stage: int) -> None:
    assert play(make_state(player=(2, 2), stage=stage, **RICH), "SCORE").player["score"] == 8 - stage


def test_attack_plus_is_limited_to_two_uses_a_stage() -> None:
    after = play(make_state(player=(2, 2), **RICH), "ATK+", "ATK+")
    assert after.player["attack_damage"] == 3
    assert "ATK+" not in legal(after.state)


def test_show_and_calm_set_their_flags_and_step_does_not_stack() -> None:
    after = play(make_state(player=(2, 2), **RICH), "SHOW", "CALM", "STEP", "STEP")
    assert (after.facts["show"], after.facts["calm"], after.facts["step_active"]) == (True, True, True)
    after = play(after.state, "up", "up")
    assert after.facts["turn"] == 1


def test_delay_adds_three_turns_to_every_transmission() -> None:
    state = make_state(player=(2, 2), transmissions=[transmission(0, 0), transmission(5, 5, turns=2)], **RICH)
    assert [item["turns"] for item in play(state, "DELAY").facts["transmissions"]] == [4, 5]


def test_reduc_lowers_the_spawn_count_of_unsiphoned_blocks() -> None:
    blocks = [data(0, 1, 3), data(0, 2, 9, spawn_count=0), data(0, 3, 5, siphoned=True, spawn_count=2)]
    after = play(make_state(player=(2, 2), blocks=blocks, **RICH), "REDUC")
    assert [block["spawn_count"] for block in after.facts["blocks"]] == [2, 0, 2]
    assert [block["points"] for block in after.facts["blocks"]] == [3, 9, 5]


def test_programs_do_not_kill_transmissions() -> None:
    state = make_state(
        player=(2, 2), blocks=[data(2, 4, 5, siphoned=True)], enemies=[enemy("virus", 2, 4)],
        transmissions=[transmission(2, 4, turns=9)], **RICH,
    )  # fmt: skip
    plan = [(state, name) for name in ("ROW", "DEBUG", "HACK", "ANTI-V")]
    assert all(len(result.facts["transmissions"]) == 1 for result in play_all(plan))
