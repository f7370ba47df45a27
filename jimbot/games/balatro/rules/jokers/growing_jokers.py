"""Jokers that carry a number of their own which grows, shrinks or breaks."""

from __future__ import annotations

from jimbot.games.balatro.rules.chance.streams import stream_id
from jimbot.games.balatro.rules.content import GLASS, GOLD
from jimbot.games.balatro.rules.inventory import doom
from jimbot.games.balatro.rules.jokers.evaluate import chance
from jimbot.games.balatro.rules.jokers.registry import CHIPS, MULT, VALUE, X_MULT, MainRow, amount, define
from jimbot.games.balatro.rules.playing_cards.cards import set_enhancement
from jimbot.games.balatro.rules.playing_cards.hands import is_debuffed, is_face
from jimbot.games.balatro.rules.state import DEBUFFED

# --- before scoring ---

_GREEN_MULT = amount("j_green_joker", "extra.hand_add")


_GREEN_LOSS = amount("j_green_joker", "extra.discard_sub")


def _green(g, s, i, copied):
    if not copied:
        g.joker_value[i] += _GREEN_MULT


def _green_fades(g, s, i, copied, place):
    """Once per discard, on its last card."""
    if not copied and place == s.played_count - 1:
        g.joker_value[i] = max(0.0, g.joker_value[i] - _GREEN_LOSS)


define("j_green_joker", before=_green, discard=_green_fades, gives=MainRow(MULT, 1, VALUE))

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
    drunk = 0
    for index in range(s.scoring_count):
        slot = s.scoring[index]
        if g.card_enhancement[slot] != 0 and not is_debuffed(g, slot):
            set_enhancement(g, slot, 0)
            drunk += 1
    g.joker_value[i] += _VAMPIRE_GAIN * drunk


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
    """Counts destroyed Glass Cards, unless a Spectral card took them."""
    if copied or not s.glass_counts:
        return
    for place in range(s.played_count):
        if s.destroyed >> place & 1 and g.card_enhancement[s.played[place]] == GLASS:
            g.joker_value[i] += _GLASS_GAIN


# The Hanged Man counts too: consumables that destroy cards run the same phase.
define("j_glass", cards_removed=_glass_joker, gives=MainRow(X_MULT, 1, VALUE))

# --- outside scoring ---

_POPCORN_LOSS = amount("j_popcorn", "extra")


def _popcorn(g, s, i, copied):
    if not copied:
        g.joker_value[i] -= _POPCORN_LOSS
        if g.joker_value[i] <= 0:
            doom(g, i)


define("j_popcorn", gives=MainRow(MULT, 1, VALUE), end_of_round=_popcorn)

_MICHEL_STREAM, _CAVENDISH_STREAM = stream_id("gros_michel"), stream_id("cavendish")
_MICHEL_ODDS, _CAVENDISH_ODDS = amount("j_gros_michel", "extra.odds"), amount("j_cavendish", "extra.odds")


def _gros_michel(g, s, i, copied):
    """May go extinct, which lets Cavendish into the pools."""
    if not copied and chance(g, s, _MICHEL_STREAM, _MICHEL_ODDS):
        g.michel_extinct = True
        doom(g, i)


define("j_gros_michel", gives=MainRow(MULT, "extra.mult"), end_of_round=_gros_michel)


def _cavendish(g, s, i, copied):
    if not copied and chance(g, s, _CAVENDISH_STREAM, _CAVENDISH_ODDS):
        doom(g, i)


define("j_cavendish", gives=MainRow(X_MULT, "extra.Xmult"), end_of_round=_cavendish)


def _turtle_bean(g, s, i, copied):
    """One hand size less per round; gone when none would be left."""
    if not copied:
        if g.joker_value[i] <= 1:
            doom(g, i)
        else:
            g.joker_value[i] -= 1
            if not g.joker_flags[i] & DEBUFFED:
                g.hand_size -= 1


define("j_turtle_bean", passive="inventory", end_of_round=_turtle_bean)
