"""Jokers that look at the poker hand played: what it contains, how often it was played, how many cards it has."""

from __future__ import annotations

from jimbot.games.balatro.rules.chance.create import draw_spectral, draw_tarot, pick_visible_hand
from jimbot.games.balatro.rules.chance.pools import SEANCE, SUPERPOSITION
from jimbot.games.balatro.rules.chance.streams import stream_id
from jimbot.games.balatro.rules.content import HANDS
from jimbot.games.balatro.rules.inventory import give_consumable, has_consumable_room
from jimbot.games.balatro.rules.jokers.evaluate import chance
from jimbot.games.balatro.rules.jokers.registry import (
    CHIPS,
    CONTAINS,
    MULT,
    PLAYED_AT_MOST,
    PLAYED_THIS_ROUND,
    TIMES_PLAYED,
    VALUE,
    X_MULT,
    MainRow,
    amount,
    define,
)
from jimbot.games.balatro.rules.playing_cards import hands as h

_HAND_COUNT = len(HANDS)

for _hand, _mult, _chips, _x_mult in (
    (h.PAIR, "j_jolly", "j_sly", "j_duo"),
    (h.THREE_OF_A_KIND, "j_zany", "j_wily", "j_trio"),
    (h.TWO_PAIR, "j_mad", "j_clever", ""),
    (h.FOUR_OF_A_KIND, "", "", "j_family"),
    (h.STRAIGHT, "j_crazy", "j_devious", "j_order"),
    (h.FLUSH, "j_droll", "j_crafty", "j_tribe"),
):
    if _mult:
        define(_mult, gives=MainRow(MULT, "t_mult", condition=CONTAINS, argument=_hand))
    if _chips:
        define(_chips, gives=MainRow(CHIPS, "t_chips", condition=CONTAINS, argument=_hand))
    if _x_mult:
        define(_x_mult, gives=MainRow(X_MULT, "Xmult", condition=CONTAINS, argument=_hand))

define(
    "j_half",
    gives=MainRow(MULT, "extra.mult", condition=PLAYED_AT_MOST, argument=int(amount("j_half", "extra.size"))),
)
define("j_supernova", gives=MainRow(MULT, "extra", TIMES_PLAYED))
define("j_card_sharp", gives=MainRow(X_MULT, "extra.Xmult", condition=PLAYED_THIS_ROUND))

# --- growing with the hands played ---

_RUNNER_CHIPS = amount("j_runner", "extra.chip_mod")


def _runner(g, s, i, copied):
    if not copied and s.contains >> h.STRAIGHT & 1:
        g.joker_value[i] += _RUNNER_CHIPS


define("j_runner", before=_runner, gives=MainRow(CHIPS, 1, VALUE))

_SQUARE_CHIPS = amount("j_square", "extra.chip_mod")
_SQUARE_CARDS = int(amount("j_square", "cards"))


def _square(g, s, i, copied):
    if not copied and s.played_count == _SQUARE_CARDS:
        g.joker_value[i] += _SQUARE_CHIPS


define("j_square", before=_square, gives=MainRow(CHIPS, 1, VALUE))

_TROUSERS_MULT = amount("j_trousers", "extra")


def _trousers(g, s, i, copied):
    """A Full House contains a Two Pair."""
    if not copied and s.contains >> h.TWO_PAIR & 1:
        g.joker_value[i] += _TROUSERS_MULT


define("j_trousers", before=_trousers, gives=MainRow(MULT, 1, VALUE))

_OBELISK_GAIN = amount("j_obelisk", "extra")


def _obelisk(g, s, i, copied):
    """Grows while some other visible hand was played at least as often as this one; else starts over."""
    if copied:
        return
    for hand in range(_HAND_COUNT):
        if hand != s.hand and h.hand_visible(g, hand) and g.hand_played[hand] >= g.hand_played[s.hand]:
            g.joker_value[i] += _OBELISK_GAIN
            return
    g.joker_value[i] = 1.0


define("j_obelisk", before=_obelisk, gives=MainRow(X_MULT, 1, VALUE))

# --- levels, money and cards for hands ---

_SPACE_STREAM = stream_id("space")
_SPACE_ODDS = amount("j_space", "extra")


def _space(g, s, i, copied):
    """The raised level counts for this very hand; a copy rolls too."""
    if chance(g, s, _SPACE_STREAM, _SPACE_ODDS):
        g.hand_level[s.hand] += 1


define("j_space", before=_space)

_TODO_DOLLARS = int(amount("j_todo_list", "extra.dollars"))


def _todo_list(g, s, i, copied):
    if s.hand == g.joker_counter[i]:
        s.dollars += _TODO_DOLLARS


_TODO_STREAM = stream_id("to_do")


def _todo_changes(g, s, i, copied):
    """Every round another hand."""
    if not copied:
        g.joker_counter[i] = pick_visible_hand(g, _TODO_STREAM, g.joker_counter[i])


define("j_todo_list", before=_todo_list, end_of_round=_todo_changes)


def _superposition(g, s, i, copied):
    """An Ace among the scoring cards of a Straight creates a Tarot."""
    if s.contains >> h.STRAIGHT & 1 and has_consumable_room(g):
        for index in range(s.scoring_count):
            if h.rank_of(g, s.scoring[index]) == 14:
                give_consumable(g, draw_tarot(g, SUPERPOSITION))
                return


define("j_superposition", main=_superposition)


def _seance(g, s, i, copied):
    """A Straight Flush creates a Spectral."""
    if s.contains >> h.STRAIGHT_FLUSH & 1 and has_consumable_room(g):
        give_consumable(g, draw_spectral(g, SEANCE))


define("j_seance", main=_seance)
