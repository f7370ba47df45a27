"""Jokers of the main pass that give a fixed amount, or count something about the run, the deck or the purse."""

from __future__ import annotations

from jimbot.games.balatro.rules.chance.create import draw_tarot
from jimbot.games.balatro.rules.chance.pools import VAGABOND
from jimbot.games.balatro.rules.chance.rng import first_double, to_index
from jimbot.games.balatro.rules.chance.streams import draw, stream_id
from jimbot.games.balatro.rules.content import JOKER_RARITY
from jimbot.games.balatro.rules.inventory import give_consumable, has_consumable_room
from jimbot.games.balatro.rules.jokers.registry import (
    ALL_FOUR_SUITS,
    CARDS_LOST,
    CHIPS,
    CLUB_AND_OTHER,
    DISCARDS_LEFT,
    EMPTY_SLOTS,
    ENHANCED_AT_LEAST,
    EVERY_SIXTH_HAND,
    HELD_ALL_BLACK,
    JOKERS_HELD,
    LAST_HAND,
    MONEY,
    MONEY_FIVES,
    MULT,
    NO_DISCARDS_LEFT,
    OTHER_SELL_VALUES,
    PILE,
    SKIPS,
    STEEL_CARDS,
    STONE_CARDS,
    TAROTS_USED,
    X_MULT,
    MainRow,
    amount,
    define,
)

define("j_joker", gives=MainRow(MULT, "mult"))
define("j_stuntman", gives=MainRow(CHIPS, "extra.chip_mod"), passive="inventory")
define("j_stencil", gives=MainRow(X_MULT, 1, EMPTY_SLOTS))
define("j_banner", gives=MainRow(CHIPS, "extra", DISCARDS_LEFT))
define("j_mystic_summit", gives=MainRow(MULT, "extra.mult", condition=NO_DISCARDS_LEFT))
define("j_abstract", gives=MainRow(MULT, "extra", JOKERS_HELD))
define("j_acrobat", gives=MainRow(X_MULT, "extra", condition=LAST_HAND))
define("j_blackboard", gives=MainRow(X_MULT, "extra", condition=HELD_ALL_BLACK))
define("j_blue_joker", gives=MainRow(CHIPS, "extra", PILE))
define("j_stone", gives=MainRow(CHIPS, "extra", STONE_CARDS))
define("j_steel_joker", gives=MainRow(X_MULT, "extra", STEEL_CARDS, offset=1.0))
define("j_erosion", gives=MainRow(MULT, "extra", CARDS_LOST))
define("j_fortune_teller", gives=MainRow(MULT, "extra", TAROTS_USED))
define("j_throwback", gives=MainRow(X_MULT, "extra", SKIPS, offset=1.0))
define("j_bull", gives=MainRow(CHIPS, "extra", MONEY))
define("j_bootstraps", gives=MainRow(MULT, "extra.mult", MONEY_FIVES))
define("j_swashbuckler", gives=MainRow(MULT, "mult", OTHER_SELL_VALUES))
define("j_flower_pot", gives=MainRow(X_MULT, "extra", condition=ALL_FOUR_SUITS))
define("j_seeing_double", gives=MainRow(X_MULT, "extra", condition=CLUB_AND_OTHER))
_LICENSE_CARDS = int(amount("j_drivers_license", "enhanced_cards"))
define("j_drivers_license", gives=MainRow(X_MULT, "extra", condition=ENHANCED_AT_LEAST, argument=_LICENSE_CARDS))
define(
    "j_loyalty_card",
    gives=MainRow(
        X_MULT, "extra.Xmult", condition=EVERY_SIXTH_HAND, argument=int(amount("j_loyalty_card", "extra.every"))
    ),
)

_MISPRINT = stream_id("misprint")
_MISPRINT_LEAST, _MISPRINT_MOST = (int(amount("j_misprint", f"extra.{name}")) for name in ("min", "max"))


def _misprint(g, s, i, copied):
    """A whole number of Mult, drawn for every hand and every copy; where only the certain counts, the least."""
    s.mult += _MISPRINT_LEAST
    if not s.certain:
        number = first_double(draw(g, _MISPRINT))
        s.mult += to_index(number, _MISPRINT_MOST - _MISPRINT_LEAST + 1)


define("j_misprint", main=_misprint)

_VAGABOND_MONEY = int(amount("j_vagabond", "extra"))


def _vagabond(g, s, i, copied):
    """Looks at the balance from before this hand's earnings."""
    if s.money_before <= _VAGABOND_MONEY and has_consumable_room(g):
        give_consumable(g, draw_tarot(g, VAGABOND))


define("j_vagabond", main=_vagabond)

_MATADOR_DOLLARS = int(amount("j_matador", "extra"))


def _matador(g, s, i, copied):
    """Pays when the boss's effect was triggered by this hand, also when the hand scores nothing."""
    if g.blind_triggered:
        s.dollars += _MATADOR_DOLLARS


define("j_matador", main=_matador, debuffed_hand=_matador)

_BASEBALL_X = amount("j_baseball", "extra")


def _baseball(g, s, i, copied, other):
    """Every Uncommon joker, debuffed or not, multiplies as it is processed."""
    if other != i and JOKER_RARITY[g.joker_id[other]] == 2:
        s.mult *= _BASEBALL_X


define("j_baseball", other_joker=_baseball)
