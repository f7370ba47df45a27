"""Running a phase over all jokers: every rule is loaded here, then one dispatcher and one loop per phase are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.jokers import (  # noqa: F401 - importing a module writes its jokers into the registry
    card_jokers,
    counting_jokers,
    discard_jokers,
    growing_jokers,
    hand_jokers,
    money_jokers,
    round_jokers,
    shop_jokers,
)
from jimbot.games.balatro.rules.jokers.evaluate import acts_as
from jimbot.games.balatro.rules.jokers.registry import dispatcher
from jimbot.games.balatro.rules.state import DOOMED


def _loop(phase: str) -> Callable[..., Any]:
    """A kernel `(g, s)` that runs a phase left to right; a joker doomed earlier in it neither acts nor is copied."""
    run = dispatcher(phase)

    def loop(g, s):
        for i in range(g.joker_count):
            source = acts_as(g, i)
            if source >= 0 and not (g.joker_flags[i] | g.joker_flags[source]) & DOOMED:
                run(g.joker_id[source], g, s, source, source != i)

    return njit(loop)


def _loop_with(phase: str, extra: str) -> Callable[..., Any]:
    """The same with one more argument: the card, the consumable or the number the phase is about."""
    run = dispatcher(phase, extra)

    def loop(g, s, subject):
        for i in range(g.joker_count):
            source = acts_as(g, i)
            if source >= 0 and not (g.joker_flags[i] | g.joker_flags[source]) & DOOMED:
                run(g.joker_id[source], g, s, source, source != i, subject)

    return njit(loop)


# Inside scoring the loops over cards are written out there, with copies resolved once per hand.
run_score_card = dispatcher("score_card", "slot")
run_held_card = dispatcher("held_card", "slot")
run_main = dispatcher("main")
run_other_joker = dispatcher("other_joker", "other")
# These two run for one joker at a time.
run_end_of_round = dispatcher("end_of_round")
run_selling_self = dispatcher("selling_self")

# Playing cards that jokers make here are counted in `s.cards_added`; Hologram sees them after the phase.
before = _loop("before")
setting_blind = _loop("setting_blind")
first_hand_drawn = _loop("first_hand_drawn")
# Dollars go to `s.dollars`.
discard = _loop_with("discard", "place")
round_payout = _loop("round_payout")

cards_removed = _loop("cards_removed")
debuffed_hand = _loop("debuffed_hand")
after = _loop("after")
destroy_check = _loop_with("destroy_check", "slot")
pre_discard = _loop("pre_discard")
selling_card = _loop("selling_card")
using_consumable = _loop_with("using_consumable", "consumable")
card_added = _loop_with("card_added", "count")
skip_booster = _loop("skip_booster")
open_booster = _loop("open_booster")
reroll_shop = _loop("reroll_shop")
end_shop = _loop("end_shop")
