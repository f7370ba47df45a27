"""Jokers of the main pass that give a fixed amount, or count something about the run, the deck or the purse."""

from __future__ import annotations

from jimbot.games.balatro.rules.chance.create import draw_tarot
from jimbot.games.balatro.rules.chance.pools import VAGABOND
from jimbot.games.balatro.rules.chance.rng import first_double, to_index
from jimbot.games.balatro.rules.chance.streams import draw, stream_id
from jimbot.games.balatro.rules.content import JOKER_RARITY
from jimbot.games.balatro.rules.inventory import give_consumable, has_consumable_room
from jimbot.games.balatro.rules.jokers import registry

registry.define("j_joker", gives=registry.MainRow(registry.MULT, "mult"))
registry.define("j_stuntman", gives=registry.MainRow(registry.CHIPS, "extra.chip_mod"), passive="inventory")
registry.define("j_stencil", gives=registry.MainRow(registry.X_MULT, 1, registry.EMPTY_SLOTS))
registry.define("j_banner", gives=registry.MainRow(registry.CHIPS, "extra", registry.DISCARDS_LEFT))
registry.define(
    "j_mystic_summit", gives=registry.MainRow(registry.MULT, "extra.mult", condition=registry.NO_DISCARDS_LEFT)
)
registry.define("j_abstract", gives=registry.MainRow(registry.MULT, "extra", registry.JOKERS_HELD))
registry.define("j_acrobat", gives=registry.MainRow(registry.X_MULT, "extra", condition=registry.LAST_HAND))
registry.define("j_blackboard", gives=registry.MainRow(registry.X_MULT, "extra", condition=registry.HELD_ALL_BLACK))
registry.define("j_blue_joker", gives=registry.MainRow(registry.CHIPS, "extra", registry.PILE))
registry.define("j_stone", gives=registry.MainRow(registry.CHIPS, "extra", registry.STONE_CARDS))
registry.define("j_steel_joker", gives=registry.MainRow(registry.X_MULT, "extra", registry.STEEL_CARDS, offset=1.0))
registry.define("j_erosion", gives=registry.MainRow(registry.MULT, "extra", registry.CARDS_LOST))
registry.define("j_fortune_teller", gives=registry.MainRow(registry.MULT, "extra", registry.TAROTS_USED))
registry.define("j_throwback", gives=registry.MainRow(registry.X_MULT, "extra", registry.SKIPS, offset=1.0))
registry.define("j_bull", gives=registry.MainRow(registry.CHIPS, "extra", registry.MONEY))
registry.define("j_bootstraps", gives=registry.MainRow(registry.MULT, "extra.mult", registry.MONEY_FIVES))
registry.define("j_swashbuckler", gives=registry.MainRow(registry.MULT, "mult", registry.OTHER_SELL_VALUES))
registry.define("j_flower_pot", gives=registry.MainRow(registry.X_MULT, "extra", condition=registry.ALL_FOUR_SUITS))
registry.define("j_seeing_double", gives=registry.MainRow(registry.X_MULT, "extra", condition=registry.CLUB_AND_OTHER))
_LICENSE_CARDS = int(registry.amount("j_drivers_license", "enhanced_cards"))
registry.define(
    "j_drivers_license",
    gives=registry.MainRow(registry.X_MULT, "extra", condition=registry.ENHANCED_AT_LEAST, argument=_LICENSE_CARDS),
)
registry.define(
    "j_loyalty_card",
    gives=registry.MainRow(
        registry.X_MULT,
        "extra.Xmult",
        condition=registry.EVERY_SIXTH_HAND,
        argument=int(registry.amount("j_loyalty_card", "extra.every")),
    ),
)

_MISPRINT = stream_id("misprint")
_MISPRINT_LEAST, _MISPRINT_MOST = (int(registry.amount("j_misprint", f"extra.{name}")) for name in ("min", "max"))


def _misprint(g, s, i, copied):
    """A whole number of Mult, drawn for every hand and every copy; where only the certain counts, the least."""
    s.mult += _MISPRINT_LEAST
    if not s.certain:
        number = first_double(draw(g, _MISPRINT))
        s.mult += to_index(number, _MISPRINT_MOST - _MISPRINT_LEAST + 1)


registry.define("j_misprint", main=_misprint)

_VAGABOND_MONEY = int(registry.amount("j_vagabond", "extra"))


def _vagabond(g, s, i, copied):
    """Looks at the balance from before this hand's earnings."""
    if s.money_before <= _VAGABOND_MONEY and has_consumable_room(g):
        give_consumable(g, draw_tarot(g, VAGABOND))


registry.define("j_vagabond", main=_vagabond)

_MATADOR_DOLLARS = int(registry.amount("j_matador", "extra"))


def _matador(g, s, i, copied):
    """Pays when the boss's effect was triggered by this hand, also when the hand scores nothing."""
    if g.blind_triggered:
        s.dollars += _MATADOR_DOLLARS


registry.define("j_matador", main=_matador, debuffed_hand=_matador)

_BASEBALL_X = registry.amount("j_baseball", "extra")


def _baseball(g, s, i, copied, other):
    """Every Uncommon joker, debuffed or not, multiplies as it is processed."""
    if other != i and JOKER_RARITY[g.joker_id[other]] == 2:
        s.mult *= _BASEBALL_X


registry.define("j_baseball", other_joker=_baseball)
