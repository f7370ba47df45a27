"""How these tests drive the game: one compiled program per profile and one batch size, shared by all of them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix import Draws, HackMatrix, Options, State, draw_step, to_dict
from jimbot.games.hackmatrix.spec import SPEC
from jimbot.games.hackmatrix.state import ENEMY, SLOTS, TRANSMISSION, Entity

LANES = 64
ACTION = {label: number for number, label in enumerate(SPEC.actions.labels)}
FLAT = Draws(np.zeros(SLOTS, np.uint32), np.zeros(36, np.uint32), np.uint32(0), np.zeros(2, np.uint32))


class Result(NamedTuple):
    """One played action."""

    state: State
    facts: dict[str, Any]  # to_dict of the state
    rewards: dict[str, float]
    terminated: bool
    truncated: bool
    stats: dict[str, float]

    @property
    def player(self) -> dict[str, int]:
        return self.facts["player"]

    @property
    def reward(self) -> float:
        return sum(self.rewards.values())


@cache
def programs(profile: str = "training") -> Any:
    """(step, look, draw): whole-batch programs of LANES games."""
    game = HackMatrix(Options(profile))
    step = jax.jit(lambda state, actions, draws: game.step_batch(state, actions, draws))
    look = jax.jit(lambda state: (game.observe_batch(state), game.legal_mask_batch(state)))
    draw = jax.jit(lambda key: draw_step(key.T))
    return step, look, draw


def stack(states: list[State]) -> State:
    """LANES rows; the last state is repeated to fill up."""
    rows = states + [states[-1]] * (LANES - len(states))
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *rows)


def row(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree)


def play_all(plan: list[tuple[State, str]], profile: str = "training", draws: Draws | None = None) -> list[Result]:
    """Plays one action in each of up to LANES states."""
    step, _, draw = programs(profile)
    states = stack([state for state, _ in plan])
    actions = np.full(LANES, ACTION[plan[-1][1]], np.int32)
    actions[: len(plan)] = [ACTION[label] for _, label in plan]
    if draws is None:
        luck = draw(states.key)
    else:
        luck = jax.tree.map(lambda words: np.repeat(np.asarray(words)[..., None], LANES, axis=-1), draws)
    after, transition = jax.tree.map(np.asarray, step(states, actions, luck))
    results = []
    for lane in range(len(plan)):
        state, moved = row(after, lane), row(transition, lane)
        rewards = dict(zip(SPEC.reward_terms, moved.reward_terms.tolist(), strict=True))
        stats = dict(zip(SPEC.episode_stats, moved.stats.tolist(), strict=True))
        results.append(Result(state, to_dict(state), rewards, bool(moved.terminated), bool(moved.truncated), stats))
    return results


def play(state: State, *labels: str, profile: str = "training", draws: Draws | None = None) -> Result:
    """Plays actions one after another from a state."""
    result: Result | None = None
    for label in labels:
        assert label in legal(state, profile), f"{label} is not legal here"
        result = play_all([(state, label)], profile, draws)[0]
        state = result.state
    assert result is not None
    return result


def look(state: State, profile: str = "training") -> tuple[np.ndarray, np.ndarray]:
    """Observation and mask of one state."""
    observation, mask = programs(profile)[1](stack([state]))
    return np.asarray(observation)[0], np.asarray(mask)[0]


def legal(state: State, profile: str = "training") -> set[str]:
    return {SPEC.actions.label(int(action)) for action in np.flatnonzero(look(state, profile)[1])}


def slots_of(entities: np.ndarray) -> tuple[list[int], list[int]]:
    """Slot numbers of the enemies and of the transmissions, in list order."""
    kinds = Entity.kind.of(entities)
    return np.flatnonzero(kinds == ENEMY).tolist(), np.flatnonzero(kinds == TRANSMISSION).tolist()


def enemy(kind: str, row: int, col: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "row": row, "col": col, **more}


def transmission(row: int, col: int, **more: Any) -> dict[str, Any]:
    return {"row": row, "col": col, **more}


def data(row: int, col: int, points: int, **more: Any) -> dict[str, Any]:
    return {"row": row, "col": col, "type": "data", "points": points, **more}


def program(row: int, col: int, name: str, **more: Any) -> dict[str, Any]:
    return {"row": row, "col": col, "type": "program", "program": name, **more}


def places(things: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(thing["row"], thing["col"]) for thing in things]


def same_key(*states: State) -> bool:
    return all(jnp.array_equal(states[0].key, state.key) for state in states)
