"""Jokers that carry a number of their own which grows, shrinks or breaks."""

from __future__ import annotations

from jimbot.games.balatro.cards import set_enhancement
from jimbot.games.balatro.content import GLASS, GOLD
from jimbot.games.balatro.hands import is_debuffed, is_face
from jimbot.games.balatro.inventory import doom
from jimbot.games.balatro.jokers.registry import CHIPS, MULT, VALUE, X_MULT, MainRow, amount, define

# --- before scoring ---

_GREEN_MULT = amount("j_green_joker", "extra.hand_add")


def _green(g, s, i, copied):
    if not copied:
        g.joker_value[i] += _GREEN_MULT


define("j_green_joker", before=_green, gives=MainRow(MULT, 1, VALUE))

_BUS_MULT = amount("j_ride_the_bus", "extra")


def _ride_the_bus(g, s, i, copied):
    """A scoring face card ends the ride."""
    if copied:
        return
    for index in range(s.scoring_count):
        if is_face(g, s, s.scoring[index]):
            g.joker_value[i] = 0
            return
    g.joker_value[i] += _BUS_MULT


define("j_ride_the_bus", before=_ride_the_bus, gives=MainRow(MULT, 1, VALUE))

_VAMPIRE_GAIN = amount("j_vampire", "extra")


def _vampire(g, s, i, copied):
    """Drinks the enhancements of scoring cards before they score; debuffed cards are spared."""
    if copied:
        return
    for index in range(s.scoring_count):
        slot = s.scoring[index]
        if g.card_enhancement[slot] != 0 and not is_debuffed(g, slot):
            set_enhancement(g, slot, 0)
            g.joker_value[i] += _VAMPIRE_GAIN


define("j_vampire", before=_vampire, gives=MainRow(X_MULT, 1, VALUE))


def _midas_mask(g, s, i, copied):
    """Scoring face cards turn to gold; not copied."""
    for index in range(s.scoring_count):
        if is_face(g, s, s.scoring[index]):
            set_enhancement(g, s.scoring[index], GOLD)


define("j_midas_mask", before=_midas_mask)

# --- after scoring ---

_ICE_CREAM_LOSS = amount("j_ice_cream", "extra.chip_mod")


def _ice_cream_melts(g, s, i, copied):
    if not copied:
        g.joker_value[i] -= _ICE_CREAM_LOSS
        if g.joker_value[i] <= 0:
            doom(g, i)


define("j_ice_cream", gives=MainRow(CHIPS, 1, VALUE), after=_ice_cream_melts)

# --- when cards are destroyed ---

_CANIO_GAIN = amount("j_caino", "extra")


def _canio(g, s, i, copied):
    """Counts destroyed face cards."""
    if copied:
        return
    for place in range(s.played_count):
        if s.destroyed >> place & 1 and is_face(g, s, s.played[place]):
            g.joker_value[i] += _CANIO_GAIN


define("j_caino", cards_removed=_canio, gives=MainRow(X_MULT, 1, VALUE))

_GLASS_GAIN = amount("j_glass", "extra")


def _glass_joker(g, s, i, copied):
    """Counts destroyed Glass Cards."""
    if copied:
        return
    for place in range(s.played_count):
        if s.destroyed >> place & 1 and g.card_enhancement[s.played[place]] == GLASS:
            g.joker_value[i] += _GLASS_GAIN


define("j_glass", cards_removed=_glass_joker, gives=MainRow(X_MULT, 1, VALUE))

# --- growth outside scoring (the state machine adds the phase; what they give is here) ---
define("j_gros_michel", gives=MainRow(MULT, "extra.mult"))
define("j_cavendish", gives=MainRow(X_MULT, "extra.Xmult"))
define("j_ceremonial", gives=MainRow(MULT, 1, VALUE))
define("j_red_card", gives=MainRow(MULT, 1, VALUE))
define("j_flash", gives=MainRow(MULT, 1, VALUE))
define("j_popcorn", gives=MainRow(MULT, 1, VALUE))
define("j_castle", gives=MainRow(CHIPS, 1, VALUE))
define("j_constellation", gives=MainRow(X_MULT, 1, VALUE))
define("j_hologram", gives=MainRow(X_MULT, 1, VALUE))
define("j_madness", gives=MainRow(X_MULT, 1, VALUE))
define("j_ramen", gives=MainRow(X_MULT, 1, VALUE))
define("j_campfire", gives=MainRow(X_MULT, 1, VALUE))
define("j_hit_the_road", gives=MainRow(X_MULT, 1, VALUE))
define("j_yorick", gives=MainRow(X_MULT, 1, VALUE))
