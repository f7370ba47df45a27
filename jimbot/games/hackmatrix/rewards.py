"""The reward terms of one step, in the order of `spec.REWARD_TERMS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.board import bit
from jimbot.games.hackmatrix.heuristic.settings import MOST_ATTACK, MOST_RESETS, MOST_SIPHONS, MOST_UNITS, Weights
from jimbot.games.hackmatrix.siphon import Missed
from jimbot.games.hackmatrix.state import ENEMY, Entity, State

STAGE_REWARD = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # completing stages 1..7; stage 8 is a profile setting
SCORE_WEIGHT = 0.5
KILL = 0.3
PICKUP = 1.0
DISTANCE_WEIGHT = 0.05
VICTORY, VICTORY_PER_POINT = 500.0, 100.0
DEATH_WEIGHT = -0.5
RESOURCE_WEIGHT = 0.05
HOLDING_WEIGHT = 0.01
QUALITY_WEIGHT = 0.5 * RESOURCE_WEIGHT
WASTED_RESET = -0.3
SIPHON_DEATH = -10.0

# of the preset `stages`
WIN = 4.0
STEP_TO_EXIT = 0.02
HIT_POINT = 0.1
HELD_UNIT, HELD_SIPHON, HELD_PROGRAM, HELD_ATTACK = 0.01, 0.08, 0.1, 0.3

# of the preset `wins`
POINTS_PER_LOGIT = 0.4

_DEATH = np.array([DEATH_WEIGHT * sum(STAGE_REWARD[: stage - 1]) for stage in range(1, 9)], np.float32)


class Events(NamedTuple):
    """What happened in a step beyond what the two states show."""

    legal: Any  # (…) bool
    action: Any  # (…) int32
    kills: Any  # (…) int32
    picked_up: Any  # (…) bool
    completed: Any  # (…) bool, the exit was reached
    won: Any  # (…) bool
    died: Any  # (…) bool
    old_distance: Any  # (…) int32, steps to the exit
    new_distance: Any  # (…) int32
    missed: Missed


def reward_terms(before: State, after: State, events: Events, settings: spec.Settings) -> Any:
    """(15, …) float32; all zero where the action was not legal."""
    completed, won, died = events.completed, events.won, events.died

    def number(value: Any) -> Any:
        return jnp.asarray(value).astype(jnp.float32)

    stage_reward = jnp.asarray((*STAGE_REWARD, settings.last_stage_reward), jnp.float32)[before.stage - 1]
    closer = events.old_distance - jnp.where(completed, 0, events.new_distance)
    closer = closer if settings.distance_is_signed else jnp.maximum(0, closer)
    cell = Entity.cell.of(after.entities)
    from_siphon = (Entity.kind.of(after.entities) == ENEMY) & Entity.siphon.is_set(after.entities)
    killer_beside = (from_siphon & bit(after.player).beside().has(cell)).any(0)
    purse = number(after.credits + after.energy)
    old_purse = number(before.credits + before.energy)
    terms = {
        "step_penalty": jnp.full(jnp.shape(purse), settings.step_penalty, jnp.float32),
        "stage_completion": jnp.where(completed, stage_reward, 0.0),
        "score_gain": SCORE_WEIGHT * number(after.score - before.score),
        "kills": KILL * number(events.kills),
        "data_siphon": PICKUP * number(events.picked_up),
        "distance_shaping": DISTANCE_WEIGHT * number(jnp.where(died, 0, closer)),
        "victory": jnp.where(won, VICTORY + VICTORY_PER_POINT * number(after.score), 0.0),
        "death_penalty": jnp.where(died, jnp.asarray(_DEATH)[after.stage - 1], 0.0),
        "resource_gain": RESOURCE_WEIGHT * (purse - old_purse),
        "resource_holding": jnp.where(completed, HOLDING_WEIGHT * purse, 0.0),
        "damage_penalty": -number(jnp.maximum(0, before.hp - after.hp)),
        "hp_recovery": number(jnp.maximum(0, after.hp - before.hp)),
        "siphon_quality": settings.siphon_quality_sign
        * QUALITY_WEIGHT
        * number(events.missed.credits + events.missed.energy),
        "siphon_death_penalty": jnp.where(died & killer_beside, SIPHON_DEATH, 0.0),
        "program_waste": jnp.where((events.action == spec.RESET) & (before.hp == spec.MAX_HP - 1), WASTED_RESET, 0.0),
    }
    return jnp.where(events.legal, jnp.stack([terms[name] for name in spec.REWARD_TERMS]), 0.0)


def stage_terms(before: State, after: State, events: Events, settings: spec.Settings) -> Any:
    """The preset `stages`: a point for every stage, more for the win, and small differences of a potential (steps to
    the exit, HP, what is held), whose sum hardly depends on how a game was played. Score is worth nothing here."""
    return _progress_terms(before, after, events, held, HIT_POINT)


def win_terms(before: State, after: State, events: Events, settings: spec.Settings) -> Any:
    """The preset `wins`: as `stages`, but what is held counts as much as it did for winning."""
    return _progress_terms(before, after, events, held_by_winners, POINTS_PER_LOGIT * _HIT_POINT_LOGIT)


def _progress_terms(before: State, after: State, events: Events, held: Callable[[State], Any], hit_point: float) -> Any:
    completed, won, died = events.completed, events.won, events.died

    def number(value: Any) -> Any:
        return jnp.asarray(value).astype(jnp.float32)

    closer = events.old_distance - jnp.where(completed, 0, events.new_distance)
    hp = number(after.hp - before.hp)
    terms = {
        "stage_completion": number(completed),
        "victory": WIN * number(won),
        "distance_shaping": STEP_TO_EXIT * number(jnp.where(died, 0, closer)),
        "resource_gain": held(after) - held(before),
        "damage_penalty": hit_point * jnp.minimum(hp, 0),
        "hp_recovery": hit_point * jnp.maximum(hp, 0),
    }
    zero = jnp.zeros(jnp.shape(hp), jnp.float32)
    return jnp.where(events.legal, jnp.stack([terms.get(name, zero) for name in spec.REWARD_TERMS]), 0.0)


def held(state: State) -> Any:
    """What the player has, in points of the preset `stages`."""
    owned = jax.lax.population_count(state.owned)
    purse = HELD_UNIT * (state.credits + state.energy)
    return purse + HELD_SIPHON * state.siphons + HELD_PROGRAM * owned + HELD_ATTACK * state.attack


_WEIGHTS = Weights()
_HIT_POINT_LOGIT = float(_WEIGHTS.hp[-1] - _WEIGHTS.hp[-2])
_RESET = spec.RESET - spec.FIRST_PROGRAM
_RESET_ENERGY = spec.PROGRAMS[_RESET].energy


def held_by_winners(state: State) -> Any:
    """What the player has, in points of the preset `wins`: the weights that the heuristic player's fit to games won and
    lost gave each thing (`heuristic/search.py`), without HP and opponents."""
    logit = _WEIGHTS.unit * (_at_most(state.credits, MOST_UNITS) + _at_most(state.energy, MOST_UNITS))
    logit = logit + _WEIGHTS.attack * _at_most(state.attack - 1, MOST_ATTACK)
    logit = logit + _WEIGHTS.siphon * _at_most(state.siphons, MOST_SIPHONS)
    for program, weight in enumerate(_WEIGHTS.program):
        logit = logit + float(weight) * ((state.owned >> program) & 1)
    resets = _at_most(state.energy // _RESET_ENERGY, MOST_RESETS)
    return POINTS_PER_LOGIT * (logit + _WEIGHTS.healing * resets * ((state.owned >> _RESET) & 1))


def _at_most(value: Any, most: int) -> Any:
    return jnp.minimum(value, most)


PRESETS = {"metrics": reward_terms, "stages": stage_terms, "wins": win_terms}
assert tuple(PRESETS) == spec.REWARDS
