"""What the heuristic player has in its head: positions as they are, and rules that agree with the game's own."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.games.hackmatrix import State, make_state, spec
from jimbot.games.hackmatrix.heuristic import layout
from jimbot.games.hackmatrix.heuristic.reading import ANY_TIME, read
from jimbot.games.hackmatrix.heuristic.rules import act, can_run, can_step
from tests.games.hackmatrix.playing import LANES, look, play_all, programs, stack

BY_CHANCE = {"POLY", "WARP"}
NOT_USED = {"UNDO", "SHOW", "SCORE", "STEP"}  # STEP: not without helpers
COMPARED = {
    "player": layout.PLAYER, "HP": layout.HP, "credits": layout.CREDITS, "energy": layout.ENERGY,
    "siphons": layout.SIPHONS, "attack": layout.ATTACK, "owned": layout.OWNED, "blocks": layout.BLOCKS,
    "pickups": layout.PICKUPS, "calm": layout.CALM,
}  # fmt: skip


def luck() -> np.ndarray:
    return np.array([12345], np.uint64)


def situation(number: int, foes: int) -> State:
    """Any board with everything owned; nothing unseen, and nobody whose type is a secret."""
    draw = np.random.default_rng(number)
    cells = [(int(cell) // 6, int(cell) % 6) for cell in draw.permutation(35)]  # all but the exit
    # in the order of cells: nobody can see who came first
    player, enemies, blocks = cells[0], sorted(cells[1 : 1 + foes]), cells[8:15]
    kinds = draw.integers(0, 3, foes).tolist()  # no cryptogs
    names = draw.permutation(spec.PROGRAM_NAMES).tolist()
    return make_state(
        player=player,
        hp=2,
        credits=20,
        energy=20,
        data_siphons=1,
        attack_damage=1 + number % 2,
        owned_programs=[name for name in spec.PROGRAM_NAMES if name not in NOT_USED],
        enemies=[{"type": kind, "row": r, "col": c} for kind, (r, c) in zip(kinds, enemies, strict=True)],
        blocks=[
            {"row": r, "col": c, "type": "program", "program": names[place]}
            if place % 2
            else {"row": r, "col": c, "type": "data", "points": 1 + place}
            for place, (r, c) in enumerate(blocks)
        ],
        resources=[
            {"row": r, "col": c, "credits" if (r + c) % 2 else "energy": 1 + r % 3}
            for r, c in cells
            if (r, c) not in blocks
        ],
        pickups=[cells[20]],
    )


def foes_of(position: np.ndarray) -> list[int]:
    return sorted(position[layout.FOE : layout.FOE + position[layout.COUNT]].tolist())


def without_new(position: np.ndarray) -> list[int]:
    """Opponents but for those a siphon has just called, wherever chance has put them."""
    turns = layout.TURNS_BITS << layout.TURNS_SHIFT
    return [word for word in foes_of(position) if not word & turns]


@pytest.mark.parametrize("foes", [1, 4])
def test_its_rules_are_those_of_the_game(foes: int) -> None:
    states = [situation(number, foes) for number in range(LANES)]
    observations, masks = (np.asarray(part) for part in programs()[1](stack(states)))
    positions = read(observations)
    positions[:, layout.CLOCK] = 12  # nothing is scheduled soon
    plan, actions = [], []
    for lane, state in enumerate(states):
        known = [a for a in np.flatnonzero(masks[lane]) if spec.SPEC.actions.label(a) not in BY_CHANCE | NOT_USED]
        if foes > 1:  # who acts first is chance, so no turn may end
            known = [a for a in known if a >= spec.FIRST_PROGRAM and a != spec.WAIT]
        actions.append(int(known[lane % len(known)]))
        plan.append((state, spec.SPEC.actions.label(actions[-1])))
    after = stack([result.state for result in play_all(plan)])
    truth = read(np.asarray(programs()[1](after)[0]))
    for lane, action in enumerate(actions):
        position = positions[lane].copy()
        act(position, action, luck())
        if position[layout.OUT]:
            continue  # the next stage is nobody's guess
        if len({word & layout.PLACE_BITS for word in foes_of(position)}) < position[layout.COUNT]:
            continue  # pushed onto each other: only one of them is seen
        where = f"lane {lane}, {plan[lane][1]}"
        for name, index in COMPARED.items():
            assert position[index] == truth[lane, index], (where, name)
        assert without_new(position) == without_new(truth[lane]), where
        assert position[layout.COUNT] == truth[lane, layout.COUNT], where
        cells = slice(layout.CELL, layout.CELL + layout.PLACES)
        blocks = np.array([(position[layout.BLOCKS] >> place) & 1 for place in range(layout.PLACES)], bool)
        assert (position[cells] == truth[lane, cells])[blocks].all(), where


def test_it_knows_what_is_possible() -> None:
    states = [situation(number, 3) for number in range(LANES)]
    observations, masks = (np.asarray(part) for part in programs()[1](stack(states)))
    for position, mask in zip(read(observations), masks, strict=True):
        possible = [can_step(position, direction) for direction in range(4)]
        assert possible == mask[:4].tolist()
        for number, name in enumerate(spec.PROGRAM_NAMES):
            if name not in NOT_USED and name != "HACK":  # HACK: legal on any siphoned cell, but of no use there
                assert can_run(position, number) == mask[spec.FIRST_PROGRAM + number], name


def test_reads_the_observation_as_the_state_is() -> None:
    state = make_state(
        player=(2, 3),
        hp=2,
        credits=7,
        energy=9,
        data_siphons=3,
        attack_damage=2,
        stage=4,
        exit=(0, 5),
        enemies=[
            {"type": "daemon", "row": 2, "col": 5, "hp": 1, "stunned": True},
            {"type": "glitch", "row": 5, "col": 1},
        ],
        transmissions=[{"row": 1, "col": 3, "turns": 2}],
        blocks=[
            {"row": 3, "col": 3, "type": "program", "program": "ATK+"},
            {"row": 4, "col": 4, "type": "data", "points": 6, "siphoned": True},
            {"row": 0, "col": 4, "type": "question", "points": 3},
        ],
        resources=[{"row": 0, "col": 0, "credits": 2}, {"row": 0, "col": 1, "energy": 3}],
        pickups=[(5, 5)],
        owned_programs=["WAIT", "HACK", "STEP"],
    )
    position = read(look(state)[0][None])[0]

    def place(row: int, col: int) -> int:
        return layout.STRIDE * row + col

    def cells(*where: tuple[int, int]) -> int:
        return sum(1 << place(*one) for one in where)

    numbers = [layout.PLAYER, layout.HP, layout.CREDITS, layout.ENERGY, layout.SIPHONS, layout.ATTACK, layout.STAGE]
    assert position[numbers].tolist() == [place(2, 3), 2, 7, 9, 3, 2, 4]
    owned = sum(1 << (program - spec.FIRST_PROGRAM) for program in (spec.WAIT, spec.HACK))
    assert position[layout.OWNED] == owned  # not STEP: nothing would tell that it is pending
    assert position[layout.EXIT] == place(0, 5)
    assert position[layout.BLOCKS] == cells((3, 3), (4, 4), (0, 4))
    assert position[layout.PICKUPS] == cells((5, 5))
    assert position[layout.SIPHONED] & cells((4, 4), (3, 3), (0, 0), (0, 1)) == cells((4, 4))
    word = position[layout.CELL + place(3, 3)]
    assert (word >> layout.PROGRAM_SHIFT) & layout.SIX == 1 + spec.ATK_PLUS - spec.FIRST_PROGRAM
    assert (word >> layout.SPAWN_SHIFT) & layout.SIX == 8
    assert position[layout.CELL + place(0, 4)] >> layout.QUESTION_SHIFT == 1
    assert position[layout.CELL + place(0, 1)] == 3 << layout.ENERGY_SHIFT
    daemon = place(2, 5) | spec.DAEMON << layout.TYPE_SHIFT | 1 << layout.HP_SHIFT | 1 << layout.STUN_SHIFT
    glitch = place(5, 1) | spec.GLITCH << layout.TYPE_SHIFT | 2 << layout.HP_SHIFT
    coming = place(1, 3) | layout.UNKNOWN << layout.TYPE_SHIFT | 2 << layout.HP_SHIFT | 2 << layout.TURNS_SHIFT
    assert foes_of(position) == sorted([daemon, glitch, coming])
    assert position[layout.CLOCK] == ANY_TIME
