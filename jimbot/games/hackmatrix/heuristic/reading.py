"""Observations as positions of `layout`.

With the option `helpers` the observation also tells the clocks and whether STEP is pending. Without it the next
scheduled enemy may come at any time, and STEP is not used: a player who cannot see that it is pending would go
on paying for it.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.heuristic import layout as at
from jimbot.games.hackmatrix.sight import BoardSight

ANY_TIME = -1  # of CLOCK: not known
_BITS = np.int64(1) << at.PLACE_OF
_SEEN = spec.SPEC.observation.size
_LONGEST, _SHORTEST = 12, 4  # turns between scheduled enemies


def read(observation: np.ndarray) -> np.ndarray:
    """(N, SIZE) int64."""
    sight = BoardSight(observation[:, :_SEEN])
    count = len(observation)
    positions = np.zeros((count, at.SIZE), np.int64)
    numbers = {
        at.PLAYER: at.PLACE_OF[sight.player], at.HP: sight.hp, at.CREDITS: sight.credits, at.ENERGY: sight.energy,
        at.SIPHONS: sight.siphons, at.ATTACK: sight.attack, at.STAGE: sight.stage, at.EXIT: at.PLACE_OF[sight.exit],
        at.CALM: sight.calm, at.OWNED: (sight.owned.astype(np.int64) << np.arange(len(spec.PROGRAMS))).sum(1),
        at.BLOCKS: (sight.blocks * _BITS).sum(1), at.PICKUPS: (sight.pickups * _BITS).sum(1),
        at.SIPHONED: ((sight.siphoned | _emptied(sight)) * _BITS).sum(1),
    }  # fmt: skip
    for where, values in numbers.items():
        positions[:, where] = values
    positions[:, at.CELL + at.PLACE_OF] = _cell_words(sight)
    _put_foes(positions, sight)
    if observation.shape[1] > _SEEN:
        _read_clocks(positions, observation[:, _SEEN:])
    else:
        positions[:, at.CLOCK] = ANY_TIME
        positions[:, at.INTERVAL] = np.maximum(_SHORTEST, _LONGEST + 1 - sight.stage)
        positions[:, at.OWNED] &= ~(1 << (spec.STEP - spec.FIRST_PROGRAM))
    return positions


def _emptied(sight: BoardSight) -> np.ndarray:
    """(N, 36) bool: open cells without anything to take; only a siphon leaves such, and the exit is one."""
    return ~sight.blocks & (sight.cell_credits + sight.cell_energy == 0)


def _cell_words(sight: BoardSight) -> np.ndarray:
    program = np.where(sight.block_program.any(-1), sight.block_program.argmax(-1) + 1, 0)
    return (
        (sight.cell_credits << at.CREDITS_SHIFT)
        | (sight.cell_energy << at.ENERGY_SHIFT)
        | (sight.spawn << at.SPAWN_SHIFT)
        | (sight.points << at.POINTS_SHIFT)
        | (program << at.PROGRAM_SHIFT)
        | (sight.question.astype(np.int64) << at.QUESTION_SHIFT)
    )


def _put_foes(positions: np.ndarray, sight: BoardSight) -> None:
    """Enemies first, then transmissions, each in the order of cells."""
    enemy = (
        at.PLACE_OF
        | (sight.enemy_kind << at.TYPE_SHIFT)
        | (sight.enemy_hp << at.HP_SHIFT)
        | (sight.stunned << at.STUN_SHIFT)
    )
    coming = at.PLACE_OF | (at.UNKNOWN << at.TYPE_SHIFT) | (2 << at.HP_SHIFT) | (sight.turns << at.TURNS_SHIFT)
    there = np.concatenate([sight.enemies, sight.transmissions], axis=1)
    words = np.concatenate([enemy, coming], axis=1)
    first = np.argsort(~there, axis=1, kind="stable")[:, : at.MOST_FOES]
    positions[:, at.COUNT] = np.minimum(there.sum(1), at.MOST_FOES)
    positions[:, at.FOE : at.FOE + at.MOST_FOES] = np.where(
        np.take_along_axis(there, first, 1), np.take_along_axis(words, first, 1), 0
    )


def _read_clocks(positions: np.ndarray, helpers: np.ndarray) -> None:
    """The first helpers; see `jimbot.games.hackmatrix.helpers`."""
    scales = {at.CLOCK: _LONGEST, at.INTERVAL: _LONGEST, at.SKIP: 1, at.PENDING: 10}
    for column, (where, scale) in enumerate(scales.items()):
        positions[:, where] = np.rint(helpers[:, column] * scale)
    positions[:, at.ATTACK_USES] = np.rint(helpers[:, 5] * spec.ATK_USES_PER_STAGE)
