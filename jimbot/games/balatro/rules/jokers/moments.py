"""How the run flow reaches the jokers: one function per moment at which they may react."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.inventory import remove_doomed
from jimbot.games.balatro.rules.jokers import dispatch
from jimbot.games.balatro.rules.jokers.evaluate import acts_as, resolve_copies
from jimbot.games.balatro.rules.jokers.round_jokers import clear_promises, keep_promises
from jimbot.games.balatro.rules.playing_cards.hands import read_jokers


@njit
def prepare(g, s):
    """Looks up what rules may ask: jokers that change how cards are read, and who copies whom."""
    read_jokers(g, s)
    resolve_copies(g, s)


def _moment(phase: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel `(g, s)` for a moment at which the jokers' phase is all there is."""

    def moment(g, s):
        prepare(g, s)
        phase(g, s)

    return njit(moment)


pre_discard = _moment(dispatch.pre_discard)
"""Before the cards in `s.played` are discarded by the player."""
cards_removed = _moment(dispatch.cards_removed)
"""The cards of `s.played` marked in `s.destroyed` are about to be destroyed."""
selling_card = _moment(dispatch.selling_card)
"""A joker or consumable was sold."""
open_booster = _moment(dispatch.open_booster)
"""A pack was opened and its cards dealt."""
skip_booster = _moment(dispatch.skip_booster)
"""A pack was skipped."""
reroll_shop = _moment(dispatch.reroll_shop)
"""The shop was rerolled."""
end_shop = _moment(dispatch.end_shop)
"""The player leaves the shop."""


@njit
def card_added(g, s, count):
    """Playing cards joined the full deck."""
    prepare(g, s)
    dispatch.card_added(g, s, count)


@njit
def setting_blind(g, s):
    """A blind was selected and set up; the deck is not shuffled yet."""
    prepare(g, s)
    s.cards_added = 0
    clear_promises(s)
    dispatch.setting_blind(g, s)
    keep_promises(g, s)
    remove_doomed(g)
    if s.cards_added > 0:
        card_added(g, s, s.cards_added)


@njit
def first_hand_drawn(g, s):
    """The first hand of a round is on the table."""
    prepare(g, s)
    s.cards_added = 0
    dispatch.first_hand_drawn(g, s)
    if s.cards_added > 0:
        card_added(g, s, s.cards_added)


@njit
def discard(g, s, place):
    """A card is discarded, also by The Hook; money goes to `s.dollars`, a destroyed card into `s.destroyed`."""
    dispatch.discard(g, s, place)


@njit
def end_of_round(g, s, i):
    """One joker's upkeep at the end of a round."""
    source = acts_as(g, i)
    if source >= 0:
        dispatch.run_end_of_round(g.joker_id[source], g, s, source, source != i)


@njit
def round_payout(g, s):
    """Dollars the jokers add to the payout."""
    prepare(g, s)
    s.dollars = 0
    dispatch.round_payout(g, s)
    return s.dollars


@njit
def selling_self(g, s, i):
    """A joker is about to be sold; a copier sold does what it copies."""
    prepare(g, s)
    source = acts_as(g, i)
    if source >= 0:
        dispatch.run_selling_self(g.joker_id[source], g, s, source, source != i)


@njit
def using_consumable(g, s, consumable):
    """A consumable was used."""
    prepare(g, s)
    dispatch.using_consumable(g, s, consumable)
