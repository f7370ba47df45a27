"""Observations as positions of `layout`.

With the option `helpers` the observation also tells the clocks and whether STEP is pending. Without it the next
scheduled enemy may come at any time, and STEP is not used: somebody who cannot see that he has used it would go on
paying for it.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.expert.layout import (
    ATTACK,
    ATTACK_USES,
    BLOCKS,
    CALM,
    CELL,
    CLOCK,
    COUNT,
    CREDITS,
    CREDITS_SHIFT,
    ENERGY,
    ENERGY_SHIFT,
    EXIT,
    FOE,
    HP,
    HP_SHIFT,
    INTERVAL,
    MOST_FOES,
    OWNED,
    PENDING,
    PICKUPS,
    PLACE_OF,
    PLAYER,
    POINTS_SHIFT,
    PROGRAM_SHIFT,
    QUESTION_SHIFT,
    SIPHONED,
    SIPHONS,
    SIZE,
    SKIP,
    SPAWN_SHIFT,
    STAGE,
    STUN_SHIFT,
    TURNS_SHIFT,
    TYPE_SHIFT,
    UNKNOWN,
)  # fmt: skip
from jimbot.games.hackmatrix.sight import Sight

ANY_TIME = -1  # of CLOCK: not known
_BITS = np.int64(1) << PLACE_OF
_SEEN = spec.SPEC.observation.size
_LONGEST, _SHORTEST = 12, 4  # turns between scheduled enemies


def read(observation: np.ndarray) -> np.ndarray:
    """(N, SIZE) int64."""
    sight = Sight(observation[:, :_SEEN])
    count = len(observation)
    positions = np.zeros((count, SIZE), np.int64)
    numbers = {
        PLAYER: PLACE_OF[sight.player], HP: sight.hp, CREDITS: sight.credits, ENERGY: sight.energy,
        SIPHONS: sight.siphons, ATTACK: sight.attack, STAGE: sight.stage, EXIT: PLACE_OF[sight.exit], CALM: sight.calm,
        OWNED: (sight.owned.astype(np.int64) << np.arange(len(spec.PROGRAMS))).sum(1),
        BLOCKS: (sight.blocks * _BITS).sum(1), PICKUPS: (sight.pickups * _BITS).sum(1),
        SIPHONED: ((sight.siphoned | _emptied(sight)) * _BITS).sum(1),
    }  # fmt: skip
    for where, values in numbers.items():
        positions[:, where] = values
    positions[:, CELL + PLACE_OF] = _cell_words(sight)
    _put_foes(positions, sight)
    if observation.shape[1] > _SEEN:
        _read_clocks(positions, observation[:, _SEEN:])
    else:
        positions[:, CLOCK] = ANY_TIME
        positions[:, INTERVAL] = np.maximum(_SHORTEST, _LONGEST + 1 - sight.stage)
        positions[:, OWNED] &= ~(1 << (spec.STEP - spec.FIRST_PROGRAM))
    return positions


def _emptied(sight: Sight) -> np.ndarray:
    """(N, 36) bool: open cells without anything to take; only a siphon leaves such, and the exit is one."""
    return ~sight.blocks & (sight.cell_credits + sight.cell_energy == 0)


def _cell_words(sight: Sight) -> np.ndarray:
    program = np.where(sight.block_program.any(-1), sight.block_program.argmax(-1) + 1, 0)
    return (
        (sight.cell_credits << CREDITS_SHIFT)
        | (sight.cell_energy << ENERGY_SHIFT)
        | (sight.spawn << SPAWN_SHIFT)
        | (sight.points << POINTS_SHIFT)
        | (program << PROGRAM_SHIFT)
        | (sight.question.astype(np.int64) << QUESTION_SHIFT)
    )


def _put_foes(positions: np.ndarray, sight: Sight) -> None:
    """Enemies first, then transmissions, each in the order of cells."""
    enemy = PLACE_OF | (sight.enemy_kind << TYPE_SHIFT) | (sight.enemy_hp << HP_SHIFT) | (sight.stunned << STUN_SHIFT)
    coming = PLACE_OF | (UNKNOWN << TYPE_SHIFT) | (2 << HP_SHIFT) | (sight.turns << TURNS_SHIFT)
    there = np.concatenate([sight.enemies, sight.transmissions], axis=1)
    words = np.concatenate([enemy, coming], axis=1)
    first = np.argsort(~there, axis=1, kind="stable")[:, :MOST_FOES]
    positions[:, COUNT] = np.minimum(there.sum(1), MOST_FOES)
    positions[:, FOE : FOE + MOST_FOES] = np.where(
        np.take_along_axis(there, first, 1), np.take_along_axis(words, first, 1), 0
    )


def _read_clocks(positions: np.ndarray, helpers: np.ndarray) -> None:
    """The first helpers; see `jimbot.games.hackmatrix.helpers`."""
    scales = {CLOCK: _LONGEST, INTERVAL: _LONGEST, SKIP: 1, PENDING: 10}
    for column, (where, scale) in enumerate(scales.items()):
        positions[:, where] = np.rint(helpers[:, column] * scale)
    positions[:, ATTACK_USES] = np.rint(helpers[:, 5] * spec.ATK_USES_PER_STAGE)
