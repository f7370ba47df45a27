"""Asking the boss being played: every rule is loaded here, then one kernel per phase and one question per fact."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.bosses import definitions  # noqa: F401 - importing it writes all bosses down
from jimbot.games.balatro.rules.bosses.registry import FACT, dispatcher

set_up = dispatcher("set_up")
takes_cards = dispatcher("takes_cards")
on_play = dispatcher("on_play")
vetoes = dispatcher("vetoes")
before_scoring = dispatcher("before_scoring")
on_base = dispatcher("on_base")
debuffs = dispatcher("debuffs")
draws = dispatcher("draws")
turns_down = dispatcher("turns_down")
lets_go = dispatcher("lets_go")
seizes = dispatcher("seizes")
on_disable = dispatcher("on_disable")

_COUNTS_CARDS, _TURNS_FACES_DOWN, _GIVES_UP = (
    FACT[name] for name in ("counts_cards", "turns_faces_down", "gives_up_at_sale")
)


@njit
def counts_cards(g):
    """Whether the number of cards played matters to the boss."""
    return _COUNTS_CARDS[g.blind] and not g.blind_disabled


@njit
def turns_faces_down(g):
    """Whether a card lies face down because it is a face card."""
    return _TURNS_FACES_DOWN[g.blind] and not g.blind_disabled


@njit
def gives_up_at_sale(g):
    """Whether a sold joker disables the boss."""
    return _GIVES_UP[g.blind] and not g.blind_disabled
