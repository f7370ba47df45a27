"""Moving, shooting, enemies, transmissions and the order of a turn: the written cases and examples."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.games.hackmatrix import make_state
from tests.games.hackmatrix.playing import FLAT, data, enemy, legal, places, play, play_all, transmission

WAITING = {"owned_programs": ["WAIT"], "energy": 9}
STEPPING = {"owned_programs": ["WAIT", "STEP"], "energy": 9}
FAR = (0, 5)  # an exit out of the way


def test_the_player_walks_onto_an_empty_cell() -> None:
    assert play(make_state(player=(3, 3)), "up").player["row"] == 4


@pytest.mark.parametrize(("player", "label"), [((5, 3), "up"), ((0, 3), "down"), ((3, 0), "left"), ((3, 5), "right")])
def test_no_direction_leads_off_the_board(player: tuple[int, int], label: str) -> None:
    assert label not in legal(make_state(player=player, exit=(5, 0)))


@pytest.mark.parametrize("siphoned", [False, True])
def test_blocks_are_obstacles_siphoned_or_not(siphoned: bool) -> None:
    state = make_state(player=(3, 3), blocks=[data(4, 3, 5, siphoned=siphoned)])
    assert legal(state) == {"down", "left", "right"}


def test_an_enemy_on_a_block_makes_the_direction_legal_and_is_hit() -> None:
    state = make_state(player=(3, 3), blocks=[data(4, 3, 5)], enemies=[enemy("glitch", 4, 3)])
    assert "up" in legal(state)
    after = play(state, "up")
    assert after.facts["enemies"][0]["hp"] == 1
    assert after.player["row"] == 3


def test_a_distant_target_does_not_make_a_blocked_direction_legal() -> None:
    state = make_state(player=(0, 3), blocks=[data(1, 3, 5)], enemies=[enemy("virus", 4, 3)])
    assert "up" not in legal(state)


def test_a_shot_hits_at_any_range_and_the_player_stays() -> None:
    after = play(make_state(player=(0, 3), enemies=[enemy("daemon", 5, 3)]), "up")
    assert (after.player["row"], after.player["col"]) == (0, 3)
    assert after.facts["enemies"][0]["hp"] == 2


def test_a_block_stops_the_line_of_fire() -> None:
    state = make_state(player=(0, 3), blocks=[data(2, 3, 5)], enemies=[enemy("daemon", 4, 3)])
    after = play(state, "up")
    assert after.player["row"] == 1
    assert after.facts["enemies"][0]["hp"] == 3


def test_a_glitch_on_the_block_that_stops_the_line_is_hit() -> None:
    state = make_state(player=(0, 3), blocks=[data(2, 3, 5)], enemies=[enemy("glitch", 2, 3)])
    after = play(state, "up")
    assert after.player["row"] == 0
    assert after.facts["enemies"][0]["hp"] == 1


def test_a_transmission_is_destroyed_before_the_enemy_behind_it() -> None:
    state = make_state(player=(0, 3), transmissions=[transmission(1, 3)], enemies=[enemy("daemon", 2, 3)])
    after = play(state, "up")
    assert after.facts["transmissions"] == []
    assert after.facts["enemies"][0]["hp"] == 3
    assert after.rewards["kills"] == pytest.approx(0.3)


def test_a_transmission_has_priority_over_an_enemy_on_its_cell() -> None:
    state = make_state(player=(0, 3), transmissions=[transmission(2, 3, turns=9)], enemies=[enemy("daemon", 2, 3)])
    after = play(state, "up")
    assert after.facts["transmissions"] == []
    assert after.facts["enemies"][0]["hp"] == 3


def test_of_overlapping_enemies_the_first_in_the_list_is_hit() -> None:
    pair = [enemy("daemon", 4, 3), enemy("glitch", 4, 3)]
    after = play(make_state(player=(0, 3), enemies=pair), "up")
    assert [item["hp"] for item in after.facts["enemies"]] == [2, 2]


def test_a_shot_at_an_enemy_on_the_own_cell_is_impossible() -> None:
    after = play(make_state(player=(2, 2), enemies=[enemy("daemon", 2, 2)], exit=FAR), "up")
    assert after.player["row"] == 3
    assert after.facts["enemies"][0]["hp"] == 3


def test_a_hit_enemy_is_stunned_for_exactly_one_enemy_turn() -> None:
    state = make_state(player=(3, 3), enemies=[enemy("virus", 4, 3)], **WAITING)
    after = play(state, "up")
    assert after.player["hp"] == 3
    assert (after.facts["enemies"][0]["hp"], after.facts["enemies"][0]["stunned"]) == (1, False)
    assert play(after.state, "WAIT").player["hp"] == 2


def test_a_kill_removes_the_enemy_and_keeps_list_order() -> None:
    crowd = [enemy("virus", 5, 5), enemy("glitch", 3, 3, hp=1), enemy("cryptog", 5, 0)]
    after = play(make_state(player=(0, 3), enemies=crowd, exit=FAR), "up")
    assert [item["type"] for item in after.facts["enemies"]] == ["virus", "cryptog"]


def test_attack_damage_counts() -> None:
    after = play(make_state(player=(0, 3), enemies=[enemy("daemon", 5, 3)], attack_damage=3), "up")
    assert after.facts["enemies"] == []


def test_walking_collects_pickups_but_no_resources() -> None:
    things = {"pickups": [(3, 4)], "resources": [{"row": 3, "col": 4, "credits": 2}]}
    after = play(make_state(player=(3, 3), **things), "right")
    assert after.player["data_siphons"] == 1
    assert after.player["credits"] == 0
    assert after.facts["pickups"] == []
    assert after.facts["resources"] == [{"row": 3, "col": 4, "credits": 2, "energy": 0}]


@pytest.mark.parametrize(
    ("player", "enemies", "blocks", "hp", "where"),
    [
        ((3, 3), enemy("virus", 4, 3), [], 2, (4, 3)),  # one attack only
        ((0, 0), enemy("virus", 4, 0), [], 3, (2, 0)),  # two steps
        ((0, 0), enemy("virus", 2, 0), [], 2, (1, 0)),  # a step, then an attack
        ((0, 0), enemy("virus", 3, 0), [], 3, (1, 0)),  # distance 3: two moves, no attack
        ((0, 0), enemy("daemon", 2, 0), [], 3, (1, 0)),  # attacks only next turn
        ((0, 0), enemy("daemon", 1, 0), [], 2, (1, 0)),
        ((0, 0), enemy("glitch", 3, 0), [data(2, 0, 1)], 3, (2, 0)),  # through blocks
        ((0, 0), enemy("daemon", 3, 0), [data(2, 0, 1)], 3, (3, 1)),  # the detour starts Right
        ((0, 0), enemy("daemon", 4, 3), [], 3, (3, 3)),  # Down wins over Left
        ((2, 2), enemy("daemon", 2, 2), [], 3, (3, 2)),  # on the player's own cell: steps out, Up first
    ],
)
def test_one_enemy_turn(player: tuple, enemies: dict, blocks: list, hp: int, where: tuple) -> None:
    after = play(make_state(player=player, enemies=[enemies], blocks=blocks, **WAITING), "WAIT")
    assert after.player["hp"] == hp
    assert places(after.facts["enemies"]) == [where]
    assert after.facts["turn"] == 1


def test_stunned_enemies_neither_move_nor_attack() -> None:
    pair = [enemy("virus", 1, 0, stunned=True), enemy("daemon", 3, 3, stunned=True)]
    after = play(make_state(player=(0, 0), enemies=pair, **WAITING), "WAIT")
    assert after.player["hp"] == 3
    assert places(after.facts["enemies"]) == [(1, 0), (3, 3)]
    assert not any(item["stunned"] for item in after.facts["enemies"])


def test_a_blocked_best_neighbour_is_not_replaced_by_the_second_best() -> None:
    # The daemon at (0,2) is cut off: a pinned enemy stands in the only gap of the wall. The best way leads Left onto
    # that enemy, so rule 3 applies: Up and Right are equally far, Up comes first.
    wall = [data(row, 1, 1) for row in (1, 2, 3, 4, 5)]
    crowd = [enemy("daemon", 0, 2), enemy("daemon", 0, 1, stunned=True)]
    after = play(make_state(player=(3, 0), enemies=crowd, blocks=wall, **WAITING), "WAIT")
    assert places(after.facts["enemies"]) == [(1, 2), (0, 1)]


def test_an_enemy_walled_in_by_others_stays() -> None:
    crowd = [enemy("daemon", 5, 5), enemy("glitch", 5, 4, stunned=True), enemy("glitch", 4, 5, stunned=True)]
    after = play(make_state(player=(0, 0), enemies=crowd, exit=FAR, **WAITING), "WAIT")
    assert places(after.facts["enemies"])[0] == (5, 5)


def test_enemies_act_in_the_drawn_order() -> None:
    # The cryptog behind follows if the daemon has gone ahead, else it walks around it.
    state = make_state(player=(0, 0), enemies=[enemy("daemon", 2, 0), enemy("cryptog", 3, 0)], **WAITING)
    first = np.zeros(40, np.uint32)
    first[1] = 1 << 16
    in_order = play(state, "WAIT", draws=FLAT._replace(order=first))
    assert places(in_order.facts["enemies"]) == [(1, 0), (2, 0)]
    first[0], first[1] = 1 << 16, 0
    reversed_order = play(state, "WAIT", draws=FLAT._replace(order=first))
    assert places(reversed_order.facts["enemies"]) == [(1, 0), (3, 1)]


def test_the_order_of_enemies_is_uniformly_random() -> None:
    pair = [enemy("daemon", 2, 0), enemy("cryptog", 3, 0)]
    plan = [(make_state(player=(0, 0), enemies=pair, seed=seed, **WAITING), "WAIT") for seed in range(512)]
    results = [result for start in range(0, 512, 64) for result in play_all(plan[start : start + 64])]
    followed = sum(places(result.facts["enemies"])[1] == (2, 0) for result in results)
    assert 206 <= followed <= 306  # 256 expected, 4.4 standard deviations


def test_a_transmission_becomes_an_enemy_that_does_not_act_yet() -> None:
    coming = [transmission(5, 5, type="virus", from_siphon=True)]
    after = play(make_state(player=(0, 0), transmissions=coming, exit=FAR, **WAITING), "WAIT")
    assert after.facts["transmissions"] == []
    assert after.facts["enemies"] == [enemy("virus", 5, 5, hp=2, stunned=False, scheduled=False, from_siphon=True)]
    assert places(play(after.state, "WAIT").facts["enemies"]) != [(5, 5)]


def test_transmissions_with_more_turns_count_down() -> None:
    after = play(make_state(player=(0, 0), transmissions=[transmission(5, 5, turns=3)], exit=FAR, **WAITING), "WAIT")
    assert after.facts["transmissions"][0]["turns"] == 2
    assert after.facts["enemies"] == []


def test_a_just_spawned_virus_lets_nobody_move_twice() -> None:
    state = make_state(
        player=(0, 0), transmissions=[transmission(5, 5)], enemies=[enemy("daemon", 5, 0)], exit=FAR, **WAITING
    )
    assert places(play(state, "WAIT").facts["enemies"]) == [(4, 0), (5, 5)]


def test_a_delayed_transmission_joins_the_list_behind_enemies_that_spawned_before_it() -> None:
    coming = [transmission(5, 5, turns=2, type="daemon"), transmission(5, 0, turns=1, type="glitch")]
    after = play(make_state(player=(0, 0), transmissions=coming, exit=FAR, **WAITING), "WAIT", "WAIT")
    assert [item["type"] for item in after.facts["enemies"]] == ["glitch", "daemon"]


def test_step_skips_the_whole_enemy_turn() -> None:
    state = make_state(
        player=(3, 3),
        enemies=[enemy("daemon", 3, 2), enemy("virus", 0, 0, stunned=True)],
        transmissions=[transmission(5, 5)],
        pending_spawns=2,
        exit=FAR,
        **STEPPING,
    )
    after = play(state, "STEP", "up")
    assert after.player["hp"] == 3
    assert after.facts["turn"] == 0
    assert not after.facts["step_active"]
    assert places(after.facts["transmissions"]) == [(5, 5)]
    assert after.facts["pending_spawns"] == 2
    assert after.facts["enemies"][1]["stunned"]
    assert after.facts["history_size"] == 0


@pytest.mark.parametrize(("calm", "spawned"), [(False, 1), (True, 0)])
def test_the_scheduled_task_fires_when_its_turn_has_come(calm: bool, spawned: int) -> None:
    state = make_state(player=(0, 0), turn=16, next_turn=17, interval=11, calm=calm, exit=FAR, **WAITING)
    after = play(state, "WAIT")
    assert len(after.facts["transmissions"]) == spawned
    assert after.facts["next_turn"] == (28 if spawned else 17)
    assert all(item["scheduled"] and not item["from_siphon"] for item in after.facts["transmissions"])


def test_the_scheduled_task_waits_for_its_turn() -> None:
    after = play(make_state(player=(0, 0), turn=15, next_turn=17, exit=FAR, **WAITING), "WAIT")
    assert after.facts["transmissions"] == []


def test_spawns_prefer_cells_out_of_the_line_of_fire() -> None:
    plan = [(make_state(player=(2, 2), pending_spawns=9, seed=seed, exit=FAR, **WAITING), "WAIT") for seed in range(64)]
    for result in play_all(plan):
        cells = places(result.facts["transmissions"])
        assert len(set(cells)) == 9
        assert all(row != 2 and col != 2 for row, col in cells)


def test_spawns_fall_back_to_the_line_of_fire_and_are_lost_on_a_full_board() -> None:
    after = play(make_state(player=(2, 2), pending_spawns=45, exit=FAR, **WAITING), "WAIT")
    cells = places(after.facts["transmissions"])
    assert len(set(cells)) == 35
    assert all(row != 2 and col != 2 for row, col in cells[:25])
    assert after.facts["pending_spawns"] == 0


def test_a_block_or_enemy_interrupts_the_line_of_fire_for_spawns() -> None:
    # Everything but three cells of the player's row is full; (0,4) and (0,5) lie behind the block at (0,3).
    wall = [data(row, col, 1) for row in range(1, 6) for col in range(6) if (row, col) != (5, 5)] + [data(0, 3, 1)]
    state = make_state(player=(0, 0), blocks=wall, pending_spawns=3, **WAITING)
    cells = places(play(state, "WAIT").facts["transmissions"])
    assert set(cells) == {(0, 4), (0, 5), (5, 5)}


def test_spawn_types_and_cells_are_uniform() -> None:
    plan = [
        (make_state(player=(0, 0), pending_spawns=1, seed=seed, exit=FAR, **WAITING), "WAIT") for seed in range(1280)
    ]
    results = [result for start in range(0, 1280, 64) for result in play_all(plan[start : start + 64])]
    spawned = [result.facts["transmissions"][0] for result in results]
    kinds = [sum(item["type"] == kind for item in spawned) for kind in ("virus", "daemon", "glitch", "cryptog")]
    assert all(250 <= count <= 390 for count in kinds)  # 320 expected
    cells = places(spawned)
    counts = [cells.count((row, col)) for row in range(1, 6) for col in range(1, 6)]
    assert sum(counts) == 1280
    assert all(25 <= count <= 80 for count in counts)  # 51 expected


def test_the_turn_is_completed_although_the_player_dies() -> None:
    state = make_state(player=(0, 0), hp=1, enemies=[enemy("daemon", 1, 0)], pending_spawns=2, exit=FAR, **WAITING)
    after = play(state, "WAIT")
    assert after.terminated
    assert after.player["hp"] == 0
    assert len(after.facts["transmissions"]) == 2
    assert after.facts["turn"] == 1


def test_hp_never_falls_below_zero() -> None:
    crowd = [enemy("daemon", 1, 0), enemy("virus", 0, 1)]
    assert play(make_state(player=(0, 0), hp=1, enemies=crowd, **WAITING), "WAIT").player["hp"] == 0
