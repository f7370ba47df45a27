"""The observation: layout, numbers, and that it tells nothing the player cannot know."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from jimbot.games.hackmatrix import HackMatrix, State, make_state, to_dict
from jimbot.games.hackmatrix.spec import PROGRAM_NAMES, SPEC
from tests.games.hackmatrix.playing import LANES, data, enemy, look, play, program, programs, row, stack, transmission

FULL_BOARD: dict[str, Any] = {
    "player": {
        "row": 2, "col": 3, "hp": 2, "credits": 25, "energy": 80, "data_siphons": 12, "attack_damage": 4, "score": 9,
    },
    "stage": 5,
    "show": False,
    "calm": True,
    "owned_programs": ["PUSH", "HACK"],
    "enemies": [enemy("virus", 0, 0, hp=1), enemy("daemon", 2, 5, stunned=True, from_siphon=True)],
    "transmissions": [transmission(1, 1, turns=3, type="glitch"), transmission(1, 2, turns=9)],
    "blocks": [
        data(4, 0, 7),
        data(4, 1, 8, siphoned=True),
        program(4, 2, "CRASH"),
        {"row": 4, "col": 4, "type": "question", "points": 5},
    ],
    "resources": [
        {"row": 3, "col": 3, "credits": 2},
        {"row": 3, "col": 4, "energy": 3},
        {"row": 4, "col": 0, "credits": 1},
        {"row": 4, "col": 1, "credits": 1},
    ],
    "pickups": [(0, 5)],
    "exit": (5, 0),
    "siphon_centres": [(3, 1)],
}  # fmt: skip


def cell(state: State, row_number: int, col: int) -> dict[int, Any]:
    """The features of a cell that are not zero."""
    grid = SPEC.observation.view(look(state)[0], "grid")[row_number, col]
    return {index: pytest.approx(float(value)) for index, value in enumerate(grid) if value}


def test_the_layout_is_1545_numbers_in_the_written_order() -> None:
    assert SPEC.observation.size == 1545
    assert [(field.name, field.shape) for field in SPEC.observation.fields] == [
        ("player", (10,)),
        ("programs", (23,)),
        ("grid", (6, 6, 42)),
    ]
    assert (SPEC.observation["grid"].board.row, SPEC.observation["grid"].board.col) == (("player", 0), ("player", 1))
    assert SPEC.actions.size == 28
    assert SPEC.actions.labels[:5] == ("up", "down", "left", "right", "siphon")


def test_player_and_program_numbers() -> None:
    observation, _ = look(make_state(**FULL_BOARD))
    expected = [0.4, 0.6, 2 / 3, 0.5, 1.0, 4 / 7, 1.2, 1.5, 0, 1]
    assert SPEC.observation.view(observation, "player") == pytest.approx(expected)
    owned = SPEC.observation.view(observation, "programs")
    assert [name for name, has in zip(PROGRAM_NAMES, owned, strict=True) if has] == ["PUSH", "HACK"]


@pytest.mark.parametrize(
    ("where", "features"),
    [
        ((0, 0), {0: 1, 4: 1 / 3}),
        ((2, 5), {1: 1, 4: 1, 5: 1, 6: 1}),
        ((4, 0), {7: 1, 10: 7 / 9, 35: 7 / 9}),  # a resource under an unsiphoned block is not shown
        ((4, 1), {7: 1, 10: 8 / 9, 11: 1, 37: 1 / 3}),
        ((4, 2), {8: 1, 14: 1, 35: 6 / 9}),
        ((4, 4), {9: 1}),
        ((1, 1), {36: 3 / 4}),
        ((1, 2), {36: 1}),
        ((3, 3), {37: 2 / 3}),
        ((3, 4), {38: 1}),
        ((0, 5), {39: 1}),
        ((5, 0), {40: 1}),
        ((3, 1), {41: 1}),
        ((5, 5), {}),
    ],
)
def test_cell_features(where: tuple[int, int], features: dict[int, float]) -> None:
    assert cell(make_state(**FULL_BOARD), *where) == features


@pytest.mark.parametrize(
    ("player", "show", "visible"),
    [((0, 0), False, False), ((3, 0), False, True), ((0, 4), False, True), ((0, 0), True, True)],
)
def test_cryptogs_show_only_when_aligned_or_revealed(player: tuple[int, int], show: bool, visible: bool) -> None:
    state = make_state(player=player, enemies=[enemy("cryptog", 3, 4, stunned=True, from_siphon=True)], show=show)
    assert bool(cell(state, 3, 4)) == visible


def test_a_hidden_cryptog_first_in_the_list_hides_the_other_enemy_too() -> None:
    pair = [enemy("cryptog", 3, 4), enemy("virus", 3, 4)]
    assert cell(make_state(player=(0, 0), enemies=pair), 3, 4) == {}
    assert cell(make_state(player=(0, 0), enemies=pair[::-1]), 3, 4) == {0: 1, 4: 2 / 3}


def test_what_is_not_observable_does_not_change_the_observation() -> None:
    plain = look(make_state(**FULL_BOARD))[0]
    hidden = {
        "turn": 7, "interval": 5, "next_turn": 9, "step_active": True, "pending_spawns": 3, "attack_uses": 1,
        "siphoned": [(0, 2)], "steps": 55, "seed": 12,
    }  # fmt: skip
    changed = {**FULL_BOARD, **hidden}
    changed["player"] = {**FULL_BOARD["player"], "score": 3}
    changed["enemies"] = [{**FULL_BOARD["enemies"][0], "scheduled": True}, FULL_BOARD["enemies"][1]]
    changed["transmissions"] = [
        transmission(1, 1, turns=3, type="cryptog", scheduled=True, from_siphon=True),
        transmission(1, 2, turns=9, type="daemon"),
    ]
    changed["blocks"] = [*FULL_BOARD["blocks"][:3], {"row": 4, "col": 4, "type": "question", "program": "ATK+"}]
    assert np.array_equal(look(make_state(**changed))[0], plain)


def test_transmission_types_are_hidden_even_with_show() -> None:
    virus = make_state(player=(0, 0), transmissions=[transmission(0, 3, type="virus")], show=True)
    daemon = make_state(player=(0, 0), transmissions=[transmission(0, 3, type="daemon")], show=True)
    assert np.array_equal(look(virus)[0], look(daemon)[0])


def test_a_siphoned_question_block_is_shown_as_what_it_was() -> None:
    state = make_state(
        player=(4, 3), blocks=[{"row": 4, "col": 4, "type": "question", "program": "ATK+"}], data_siphons=1
    )
    assert cell(play(state, "siphon").state, 4, 4) == {8: 1, 11: 1, 12 + PROGRAM_NAMES.index("ATK+"): 1}


def test_redealing_hidden_things_changes_them_but_not_the_observation() -> None:
    state = make_state(
        player=(0, 0),
        enemies=[enemy("cryptog", 3, 4), enemy("cryptog", 0, 3), enemy("virus", 5, 1)],
        transmissions=[transmission(2, 2), transmission(4, 4)],
        blocks=[{"row": 1, "col": 4, "type": "question", "points": 4}, program(1, 2, "WAIT"), data(2, 4, 3)],
    )
    redraw = jax.jit(jax.vmap(HackMatrix().redraw_hidden, in_axes=(None, 0)))
    seeds = np.random.default_rng(0).integers(0, 2**32, (LANES, 2), dtype=np.uint32)
    dealt = jax.tree.map(np.asarray, redraw(state, seeds))
    observations = np.asarray(programs()[1](dealt)[0])
    assert (observations == look(state)[0]).all()
    facts = [to_dict(row(dealt, lane)) for lane in range(LANES)]
    unseen = {(item["enemies"][0]["row"], item["enemies"][0]["col"]) for item in facts}
    assert len(unseen) > 10
    assert not any(place[0] == 0 or place[1] == 0 for place in unseen)
    assert all((item["enemies"][1]["row"], item["enemies"][1]["col"]) == (0, 3) for item in facts)
    assert {item["transmissions"][0]["type"] for item in facts} == {"virus", "daemon", "glitch", "cryptog"}
    questions = [next(block for block in item["blocks"] if block["type"] == "question") for item in facts]
    assert len({block.get("points") for block in questions}) > 5
    assert "WAIT" not in {block.get("program") for block in questions}
    assert len({tuple(row(dealt, lane).key.tolist()) for lane in range(LANES)}) == LANES


def test_the_single_and_the_batch_observation_agree() -> None:
    game = HackMatrix()
    state = make_state(**FULL_BOARD)
    assert np.array_equal(np.asarray(jax.jit(game.observe)(state)), look(state)[0])
    assert np.array_equal(np.asarray(jax.jit(game.legal_mask)(state)), look(state)[1])
    assert stack([state]).cells.shape == (LANES, 36)
