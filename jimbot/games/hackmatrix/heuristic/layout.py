"""A position as a row of whole numbers, small enough to be copied thousands of times for one decision.

Places are numbered 8·row + col: a set of cells is one 64-bit word in which no step wraps into another row. Opponents
(enemies and transmissions) and cells are packed into a word each.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec

STRIDE = 8
PLACES = STRIDE * spec.SIDE
BOARD = sum(1 << (STRIDE * row + col) for row in range(spec.SIDE) for col in range(spec.SIDE))
STEPS = np.array([STRIDE, -STRIDE, -1, 1])  # up, down, left, right
PLACE_OF = np.array([STRIDE * (cell // spec.SIDE) + cell % spec.SIDE for cell in range(spec.CELLS)])

MOST_FOES = 40

# Numbers of a position
(PLAYER, HP, CREDITS, ENERGY, SIPHONS, ATTACK, OWNED, STAGE, CLOCK, INTERVAL, EXIT, PENDING, CALM, SKIP, ATTACK_USES,
 OUT, COUNT, BLOCKS, PICKUPS, SIPHONED, TURNS, SCORE) = range(22)  # fmt: skip
CELL = 22  # from here on a word per place
FOE = CELL + PLACES  # from here on a word per opponent
SIZE = FOE + MOST_FOES

# A cell word: credits, energy, enemies called by a siphon, points, program number + 1, question
CREDITS_SHIFT, ENERGY_SHIFT, SPAWN_SHIFT, POINTS_SHIFT, PROGRAM_SHIFT, QUESTION_SHIFT = 0, 6, 12, 18, 24, 30
SIX = 63

# An opponent's word: place (6 bits), type (3), HP (3), stunned (1), turns of a transmission (10), fresh (1)
TYPE_SHIFT, HP_SHIFT, STUN_SHIFT, TURNS_SHIFT = 6, 9, 12, 13
PLACE_BITS, TYPE_BITS, HP_BITS, TURNS_BITS = 63, 7, 7, 1023
UNKNOWN = 4  # the type of a transmission: hidden
