"""Stage generation and progress: the written rules, as statistics over many stages."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.games.hackmatrix import HackMatrix, make_state, to_dict
from jimbot.games.hackmatrix.board import FULL, Bits, constant, from_mask
from jimbot.games.hackmatrix.spec import CELLS, PROGRAM_NAMES, PROGRAMS
from jimbot.games.hackmatrix.stages import ATTEMPTS, acceptable, find_layout, place_blocks
from tests.games.hackmatrix.playing import data, enemy, places, play, play_all, row, transmission
from tests.games.hackmatrix.reference import EVERY_CELL, layout_is_acceptable

GAMES = 2048
CORNERS = [(0, 0), (0, 5), (5, 0), (5, 5)]
OPEN = FULL.minus(constant([0, 5, 30, 35]))


@cache
def openings() -> list[dict[str, Any]]:
    """The first situations of many games."""
    seeds = np.random.default_rng(5).integers(0, 2**32, (GAMES, 2), dtype=np.uint32)
    states = jax.tree.map(np.asarray, jax.jit(HackMatrix().init_batch)(seeds))
    return [to_dict(row(states, game)) for game in range(GAMES)]


def about(count: int, total: int, share: float) -> bool:
    """Whether a count fits a probability within 4.5 standard deviations."""
    return abs(count - total * share) <= 4.5 * np.sqrt(total * share * (1 - share))


def test_the_start_of_a_game() -> None:
    games = openings()
    starts = Counter((game["player"]["row"], game["player"]["col"]) for game in games)
    assert sorted(starts) == CORNERS
    assert all(about(count, GAMES, 1 / 4) for count in starts.values())
    purses = Counter((g["player"]["credits"], g["player"]["energy"], g["player"]["data_siphons"]) for g in games)
    assert set(purses) == {(10, 0, 0), (0, 11, 0), (0, 0, 1)}
    assert all(about(count, GAMES, 1 / 3) for count in purses.values())
    for game in games:
        player = game["player"]
        assert (player["hp"], player["attack_damage"], player["score"]) == (3, 1, 0)
        assert (game["stage"], game["turn"], game["interval"], game["next_turn"]) == (1, 0, 12, 12)
        assert game["owned_programs"] == game["enemies"] == game["siphoned"] == []
        assert [item["turns"] for item in game["transmissions"]] == [1]
        assert not game["transmissions"][0]["scheduled"]


def test_exit_and_pickups_take_the_three_other_corners() -> None:
    exits: Counter[int] = Counter()
    for game in openings():
        here = (game["player"]["row"], game["player"]["col"])
        assert game["exit"] == game["exit_tile"]
        assert sorted([here, game["exit"], *game["pickups"]]) == CORNERS
        exits[[corner for corner in CORNERS if corner != here].index(game["exit"])] += 1
    assert all(about(exits[index], GAMES, 1 / 3) for index in range(3))


def test_block_counts_are_uniform_and_layouts_acceptable() -> None:
    counts = Counter(len(game["blocks"]) for game in openings())
    assert set(counts) <= {*range(5, 12), 0}
    assert all(about(counts[count], GAMES, 1 / 7) for count in range(5, 12))
    for game in openings():
        blocks = set(places(game["blocks"]))
        assert layout_is_acceptable(blocks, game["exit"])
        assert not blocks & set(CORNERS)


def test_block_contents() -> None:
    blocks = [block for game in openings() for block in game["blocks"]]
    of_data = [block for block in blocks if "points" in block]
    of_programs = [block for block in blocks if "program" in block]
    assert about(len(of_data), len(blocks), 1 / 2)
    assert about(sum(block["type"] == "question" for block in of_data), len(of_data), 0.1)
    assert about(sum(block["type"] == "question" for block in of_programs), len(of_programs), 0.1)
    points = Counter(block["points"] for block in of_data)
    assert set(points) == set(range(1, 10))
    assert all(about(count, len(of_data), 1 / 9) for count in points.values())
    assert all(block["spawn_count"] == block["points"] for block in of_data)
    names = Counter(block["program"] for block in of_programs)
    assert all(about(names[name], len(of_programs), 1 / 23) for name in PROGRAM_NAMES)
    costs = dict(zip(PROGRAM_NAMES, [program.spawn for program in PROGRAMS], strict=True))
    assert all(block["spawn_count"] == costs[block["program"]] for block in of_programs)
    assert not any(block["siphoned"] for block in blocks)


def test_no_program_appears_twice_in_a_stage() -> None:
    for game in openings():
        names = [block["program"] for block in game["blocks"] if "program" in block]
        assert len(names) == len(set(names))


def test_every_open_cell_but_the_exit_has_a_resource() -> None:
    amounts: Counter[int] = Counter()
    of_credits = 0
    for game in openings():
        cells = places(game["resources"])
        assert set(cells) == set(EVERY_CELL) - set(places(game["blocks"])) - {game["exit"]}
        assert len(cells) == 35 - len(game["blocks"])
        for item in game["resources"]:
            assert not (item["credits"] and item["energy"])
            amounts[item["credits"] + item["energy"]] += 1
            of_credits += item["credits"] > 0
    total = sum(amounts.values())
    assert set(amounts) == {1, 2, 3}
    assert all(about(amounts[amount], total, share) for amount, share in ((1, 0.45), (2, 0.45), (3, 0.1)))
    assert about(of_credits, total, 0.5)


def test_first_transmissions_lie_out_of_the_line_of_fire() -> None:
    for game in openings():
        (coming,) = game["transmissions"]
        here = (game["player"]["row"], game["player"]["col"])
        blocks = set(places(game["blocks"]))
        assert (coming["row"], coming["col"]) not in blocks | {here}
        for axis, other in (("row", "col"), ("col", "row")):
            if coming[axis] == game["player"][axis]:
                low, high = sorted((coming[other], game["player"][other]))
                line = [(coming["row"], c) if axis == "row" else (c, coming["col"]) for c in range(low + 1, high)]
                assert blocks & set(line)


@cache
def acceptance() -> Any:
    def share(key: Any, count: Any) -> Any:
        attempts = jnp.arange(4000)
        blocks = place_blocks(key, attempts, OPEN, count)
        return blocks, acceptable(blocks, constant([35])), blocks.size()

    return jax.jit(share)


@pytest.mark.parametrize(
    ("blocks", "share"), [(5, 0.855), (6, 0.760), (7, 0.626), (8, 0.474), (9, 0.324), (10, 0.189), (11, 0.092)]
)
def test_acceptance_probability_of_one_attempt(blocks: int, share: float) -> None:
    _, accepted, sizes = acceptance()(jnp.array([blocks, 77], jnp.uint32), blocks)
    assert (np.asarray(sizes) == blocks).all()
    assert about(int(np.asarray(accepted).sum()), 4000, share)


def test_acceptance_equals_the_plain_python_rule_on_any_layout() -> None:
    rng = np.random.default_rng(3)
    planes = rng.random((36, 4000)) < rng.uniform(0.05, 0.45, 4000)
    planes[[0, 5, 30, 35]] = False
    check = jax.jit(lambda plane, exit_plane: acceptable(from_mask(plane), from_mask(exit_plane)))
    exits = rng.choice([0, 5, 30, 35], 4000)
    ours = np.asarray(check(planes, np.arange(36)[:, None] == exits))
    theirs = []
    for column, exit_cell in zip(planes.T, exits.tolist(), strict=True):
        blocks = {EVERY_CELL[index] for index in np.flatnonzero(column)}
        theirs.append(layout_is_acceptable(blocks, EVERY_CELL[exit_cell]))
    assert ours.tolist() == theirs
    assert 500 < sum(theirs) < 3500


def test_a_stage_whose_attempts_all_fail_has_no_blocks() -> None:
    # Two free cells in a corner pocket: together they always wall something in.
    free = constant([1, 6])
    scalar = Bits(jnp.int32(free.lo), jnp.int32(free.hi))
    blocks = jax.jit(find_layout)(jnp.array([1, 2], jnp.uint32), scalar, jnp.int32(2), constant([35]))
    assert int(blocks.lo) == int(blocks.hi) == 0
    assert ATTEMPTS == 100


def test_the_block_count_is_clamped_to_the_free_cells() -> None:
    # Entities on all but three inner cells; the three left lie apart, so a stage of three blocks is acceptable.
    free = {(1, 1), (2, 4), (4, 2)}
    cells = [cell for cell in EVERY_CELL if cell not in CORNERS and cell not in free and cell != (5, 4)]
    crowd = [enemy("daemon", *cell) for cell in cells]
    state = make_state(player=(5, 4), enemies=crowd)
    after = play(state, "right")
    assert after.facts["stage"] == 2
    assert set(places(after.facts["blocks"])) <= free | {(5, 4)}


def test_completing_a_stage_heals_and_lays_out_the_next() -> None:
    plan = [(make_state(player=(5, 4), hp=1, seed=seed), "right") for seed in range(64)]
    for after in play_all(plan):
        assert after.facts["stage"] == 2
        assert (after.player["row"], after.player["col"], after.player["hp"]) == (5, 5, 2)
        assert len(after.facts["transmissions"]) == 2
        assert len(after.facts["pickups"]) == 2
        assert 5 <= len(after.facts["blocks"]) <= 11
        assert not after.terminated
        assert after.facts["exit"] in [(0, 0), (0, 5), (5, 0)]
        assert after.stats["stage"] == 2


@pytest.mark.parametrize("stage", range(1, 8))
def test_the_next_stage_has_its_interval_and_transmissions(stage: int) -> None:
    after = play(make_state(player=(5, 4), stage=stage, interval=4, turn=9), "right")
    assert (after.facts["interval"], after.facts["next_turn"], after.facts["turn"]) == (12 - stage, 12 - stage, 0)
    assert len(after.facts["transmissions"]) == stage + 1
    assert all(item["turns"] == 1 for item in after.facts["transmissions"])


def test_what_persists_across_stages() -> None:
    state = make_state(
        player=(5, 4),
        enemies=[enemy("daemon", 2, 2, hp=1, stunned=True, from_siphon=True)],
        transmissions=[transmission(3, 0, turns=4, type="glitch", scheduled=True)],
        blocks=[data(1, 1, 3, siphoned=True)],
        owned_programs=["ROW"],
        credits=4,
        energy=5,
        data_siphons=2,
        attack_damage=3,
        score=12,
        show=True,
        calm=True,
        step_active=True,
        attack_uses=2,
        pending_spawns=3,
        siphon_centres=[(3, 3)],
    )
    after = play(state, "right")
    before = to_dict(state)
    assert after.player == {**before["player"], "row": 5, "col": 5}
    assert after.facts["enemies"] == before["enemies"]
    assert after.facts["transmissions"][0] == before["transmissions"][0]
    assert after.facts["owned_programs"] == ["ROW"]
    assert after.facts["pending_spawns"] == 3
    flags = ("show", "calm", "step_active", "attack_uses", "siphoned", "siphon_centres")
    assert not any(after.facts[name] for name in flags)
    taken = {(2, 2), (3, 0)}
    assert not taken & set(places(after.facts["blocks"]))


def test_the_exit_is_no_obstacle_and_no_enemy_turn_follows() -> None:
    state = make_state(player=(5, 4), hp=1, enemies=[enemy("daemon", 4, 4), enemy("daemon", 4, 5)])
    after = play(state, "right")
    assert after.player["hp"] == 2
    assert places(after.facts["enemies"]) == [(4, 4), (4, 5)]


def test_cells_of_the_board_helpers_agree() -> None:
    plane = np.random.default_rng(0).random(CELLS) < 0.5
    bits = from_mask(jnp.asarray(plane))
    assert np.array_equal(np.asarray(bits.mask()), plane)
    members = np.flatnonzero(plane)
    assert int(bits.size()) == len(members)
    assert [int(bits.nth(jnp.int32(rank))) for rank in range(len(members))] == members.tolist()
