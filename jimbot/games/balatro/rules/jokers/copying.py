"""Blueprint and Brainstorm: whose rule each joker runs."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.content import JOKER_COPYABLE, JOKERS
from jimbot.games.balatro.rules.jokers.registry import define
from jimbot.games.balatro.rules.state import DEBUFFED

_BLUEPRINT, _BRAINSTORM = JOKERS.id("j_blueprint"), JOKERS.id("j_brainstorm")


@njit
def acts_as(g, i):
    """The place of the joker whose rule the joker in place `i` runs: itself, the one it copies, or -1 for none.

    Blueprint copies its right neighbour, Brainstorm the leftmost joker; chains are followed. A debuffed joker on the
    way or a joker that cannot be copied yields nothing, and so does a circle.
    """
    place = i
    for _ in range(g.joker_count + 2):
        if g.joker_flags[place] & DEBUFFED:
            return -1
        joker = g.joker_id[place]
        if joker == _BLUEPRINT:
            place += 1
            if place >= g.joker_count:
                return -1
        elif joker == _BRAINSTORM:
            if place == 0:
                return -1
            place = 0
        elif place != i and not JOKER_COPYABLE[joker]:
            return -1
        else:
            return place
    return -1


@njit
def resolve_copies(g, s):
    """Fills `s.acts_as` for all jokers held."""
    for i in range(g.joker_count):
        s.acts_as[i] = acts_as(g, i)


define("j_blueprint", passive="copy")
define("j_brainstorm", passive="copy")
