"""The JAX game against the plain-Python rules, state by state, over random situations of every kind."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from jimbot.games.hackmatrix import Draws, State, make_state, to_dict
from jimbot.games.hackmatrix.spec import ENEMY_HP, ENEMY_NAMES, PROGRAM_NAMES, SPEC
from tests.games.hackmatrix.playing import LANES, programs, row, slots_of, stack
from tests.games.hackmatrix.reference import EVERY_CELL, Luck, Reference, observation

STEPS = {"training": 60, "reference": 40}
MANY_STEPS = {"training": 600, "reference": 300}
FRESH_AFTER = 12
"""Steps after which a lane gets a new situation, so that crowded and odd boards stay frequent."""


def random_situation(rng: np.random.Generator) -> dict[str, Any]:
    """Arguments for `make_state`: boards far more crowded and varied than random play ever reaches."""
    cells = [EVERY_CELL[index] for index in rng.permutation(36)]
    player, exit_cell, *others = cells
    block_count = int(rng.integers(0, 15))
    block_cells, others = others[:block_count], others[block_count:]
    if rng.random() < 0.1:
        player = block_cells[0] if block_cells else player  # as after WARP
    pickups, free = others[:2], others[2:]
    blocks = []
    for cell in block_cells:
        content = (
            {"points": int(rng.integers(1, 10))} if rng.random() < 0.5 else {"program": str(rng.choice(PROGRAM_NAMES))}
        )
        kind = "question" if rng.random() < 0.2 else "data" if "points" in content else "program"
        siphoned = kind != "question" and rng.random() < 0.2
        blocks.append({"row": cell[0], "col": cell[1], "type": kind, **content, "siphoned": siphoned})
    transmission_count = int(rng.integers(0, 7))
    spots, free = free[:transmission_count], free[transmission_count:]
    transmissions = [
        {
            "row": cell[0],
            "col": cell[1],
            "turns": int(rng.choice([1, 1, 1, 2, 4])),
            "type": str(rng.choice(ENEMY_NAMES)),
            "scheduled": bool(rng.random() < 0.3),
            "from_siphon": bool(rng.random() < 0.3),
        }
        for cell in spots
    ]
    enemies = []
    overlaps = rng.random() < 0.3
    for _ in range(int(rng.integers(0, 13))):
        anywhere = EVERY_CELL[int(rng.integers(36))]
        kind = int(rng.integers(4))
        on_block = bool(block_cells) and (kind == 2 or overlaps) and rng.random() < 0.4
        cell = anywhere if overlaps else block_cells[0] if on_block else free.pop() if free else anywhere
        enemies.append(
            {
                "type": ENEMY_NAMES[kind],
                "row": cell[0],
                "col": cell[1],
                "hp": int(rng.integers(1, ENEMY_HP[kind] + 1)),
                "stunned": bool(rng.random() < 0.2),
                "scheduled": bool(rng.random() < 0.2),
                "from_siphon": bool(rng.random() < 0.3),
            }
        )
    resources = [
        {"row": cell[0], "col": cell[1], str(rng.choice(["credits", "energy"])): int(rng.integers(1, 4))}
        for cell in EVERY_CELL
        if cell != exit_cell and rng.random() < 0.7
    ]
    owned = "all" if rng.random() < 0.5 else [str(name) for name in PROGRAM_NAMES if rng.random() < 0.4]
    turn = int(rng.integers(0, 14))
    return {
        "player": player,
        "enemies": enemies,
        "transmissions": transmissions,
        "blocks": blocks,
        "resources": resources,
        "pickups": pickups,
        "exit": exit_cell,
        "owned_programs": owned,
        "stage": int(rng.integers(1, 9)),
        "turn": turn,
        "show": bool(rng.random() < 0.2),
        "calm": bool(rng.random() < 0.2),
        "hp": int(rng.integers(1, 4)),
        "credits": int(rng.integers(0, 25)),
        "energy": int(rng.integers(0, 25)),
        "data_siphons": int(rng.integers(0, 4)),
        "attack_damage": int(rng.choice([1, 1, 2, 3])),
        "score": int(rng.integers(0, 30)),
        "interval": int(rng.integers(4, 13)),
        "next_turn": turn + int(rng.integers(-1, 6)) if turn else 3,
        "siphoned": [cell for cell in EVERY_CELL if rng.random() < 0.1],
        "pending_spawns": int(rng.choice([0, 0, 0, 3])),
        "step_active": bool(rng.random() < 0.1),
        "attack_uses": int(rng.integers(0, 3)),
        "seed": int(rng.integers(2**63)),
    }


def as_state(rng: np.random.Generator, profile: str) -> State:
    situation = random_situation(rng)
    for block in situation["blocks"]:  # a flagged cell with a block is a siphoned block
        block["siphoned"] = block["siphoned"] or (block["row"], block["col"]) in situation["siphoned"]
        if block["siphoned"] and block["type"] == "question":
            block["type"] = "data" if "points" in block else "program"
    return make_state(**situation, profile=profile)


def pick(rng: np.random.Generator, mask: np.ndarray, seen: Counter) -> int:
    """A legal action, rare ones preferred, so that everything is compared often."""
    legal = np.flatnonzero(mask).tolist()
    if rng.random() < 0.3:
        return legal[int(rng.integers(len(legal)))]
    return min(legal, key=lambda action: seen[action])


def compare_stage_change(ours: dict, theirs: dict) -> None:
    """After a completed stage: what must persist does, what must be new is."""
    assert ours["stage"] == theirs["stage"] + 1
    assert ours["player"] == theirs["player"]
    assert ours["enemies"] == theirs["enemies"]
    kept = len(theirs["transmissions"])
    assert ours["transmissions"][:kept] == theirs["transmissions"]
    assert len(ours["transmissions"]) <= kept + ours["stage"]
    assert ours["owned_programs"] == theirs["owned_programs"]
    assert ours["interval"] == ours["next_turn"] == 13 - ours["stage"]
    assert (ours["turn"], ours["show"], ours["calm"], ours["step_active"], ours["attack_uses"]) == (0, 0, 0, 0, 0)
    assert ours["pending_spawns"] == theirs["pending_spawns"]
    assert ours["siphoned"] == ours["siphon_centres"] == []


@pytest.mark.parametrize("profile", ["training", "reference"])
def test_every_transition_equals_the_plain_python_rules(profile: str) -> None:
    compare_transitions(profile, STEPS[profile])


@pytest.mark.long
@pytest.mark.parametrize("profile", ["training", "reference"])
def test_many_transitions_equal_the_plain_python_rules(profile: str) -> None:
    compare_transitions(profile, MANY_STEPS[profile])


def compare_transitions(profile: str, steps: int) -> None:
    training = profile == "training"
    rng = np.random.default_rng(20 if training else 21)
    step, look, _ = programs(profile)
    lanes = [as_state(rng, profile) for _ in range(LANES)]
    facts = [to_dict(state) for state in lanes]
    histories: list[list] = [[] for _ in range(LANES)]
    ages = rng.integers(0, FRESH_AFTER, LANES)
    seen: Counter[int] = Counter()
    states = stack(lanes)
    for _ in range(steps):
        observations, masks = (np.asarray(part) for part in look(states))
        draws = (
            rng.integers(0, 2**32, (40, LANES), dtype=np.uint32),
            rng.integers(0, 2**32, (36, LANES), dtype=np.uint32),
            rng.integers(0, 2**32, LANES, dtype=np.uint32),
            rng.integers(0, 2**32, (2, LANES), dtype=np.uint32),
        )
        actions = np.zeros(LANES, np.int32)
        references: list[Reference | None] = []
        for lane in range(LANES):
            reference = Reference(facts[lane], *slots_of(states.entities[lane]), training, histories[lane])
            expected = [reference.legal(action) for action in range(28)]
            assert masks[lane].tolist() == expected, facts[lane]
            if ages[lane] % 4 == 0:
                assert np.allclose(observations[lane], observation(facts[lane]), rtol=1e-6), facts[lane]
            references.append(reference if any(expected) else None)
            if any(expected):
                actions[lane] = pick(rng, masks[lane], seen)
        after, transition = jax_to_numpy(step(states, actions, Draws(*draws)))
        for lane in range(LANES):
            ages[lane] += 1
            reference = references[lane]
            now = to_dict(row(after, lane))
            if reference is not None:
                seen[int(actions[lane])] += 1
                lane_luck = Luck(draws[0][:, lane].tolist(), draws[1][:, lane].tolist(), int(draws[2][lane]))
                rewards = reference.step(int(actions[lane]), lane_luck)
                where = (SPEC.actions.label(int(actions[lane])), facts[lane])
                expected_facts = reference.read()
                if reference.completed and facts[lane]["stage"] < 8:
                    if training:
                        histories[lane].clear()
                    compare_stage_change(now, expected_facts)
                else:
                    assert now == expected_facts, where
                assert now["history_size"] == len(histories[lane])
                ours = transition.reward_terms[lane]
                theirs = [rewards[name] for name in SPEC.reward_terms]
                assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-5), f"{ours} {theirs} {where}"
                ended = reference.player["hp"] == 0 or (reference.completed and facts[lane]["stage"] == 8)
                assert bool(transition.terminated[lane]) == ended, where
            facts[lane] = now
            if reference is None or transition.terminated[lane] or ages[lane] >= FRESH_AFTER:
                fresh = as_state(rng, profile)
                for old, new in zip(after, fresh, strict=True):
                    old[lane] = new
                facts[lane], histories[lane], ages[lane] = to_dict(fresh), [], 0
        states = after
    assert sum(seen.values()) > LANES * steps * 0.95
    assert all(seen[action] > 50 for action in range(28)), f"Not all actions were compared often: {seen}"


def jax_to_numpy(parts: tuple[Any, Any]) -> tuple[Any, Any]:
    """Copies that can be written to."""
    import jax

    return tuple(jax.tree.map(np.array, part) for part in parts)
