"""Running a phase over all jokers: every rule is loaded here, then one dispatcher per phase is made."""

from __future__ import annotations

from jimbot.games.balatro.compile import njit
from jimbot.games.balatro.jokers import (  # noqa: F401 - importing a module writes its jokers into the registry
    card_jokers,
    copying,
    counting_jokers,
    growing_jokers,
    hand_jokers,
    passive_jokers,
)
from jimbot.games.balatro.jokers.registry import dispatcher

run_score_card = dispatcher("score_card", "slot")
run_held_card = dispatcher("held_card", "slot")
run_main = dispatcher("main")
run_other_joker = dispatcher("other_joker", "other")
_run_before = dispatcher("before")
_run_cards_removed = dispatcher("cards_removed")
_run_debuffed_hand = dispatcher("debuffed_hand")
_run_after = dispatcher("after")


@njit
def before(g, s):
    """Before a hand scores."""
    for i in range(g.joker_count):
        source = s.acts_as[i]
        if source >= 0:
            _run_before(g.joker_id[source], g, s, source, source != i)


@njit
def cards_removed(g, s):
    """After cards of the played hand were destroyed."""
    for i in range(g.joker_count):
        source = s.acts_as[i]
        if source >= 0:
            _run_cards_removed(g.joker_id[source], g, s, source, source != i)


@njit
def debuffed_hand(g, s):
    """When the boss lets a hand score nothing."""
    for i in range(g.joker_count):
        source = s.acts_as[i]
        if source >= 0:
            _run_debuffed_hand(g.joker_id[source], g, s, source, source != i)


@njit
def after(g, s):
    """After a hand has scored; used-up jokers are doomed here and removed by the caller."""
    for i in range(g.joker_count):
        source = s.acts_as[i]
        if source >= 0:
            _run_after(g.joker_id[source], g, s, source, source != i)
