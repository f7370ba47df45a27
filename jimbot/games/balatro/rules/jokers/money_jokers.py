"""Jokers that pay in the round payout, or raise sell values. Payouts go to `s.dollars`, left to right."""

from __future__ import annotations

from jimbot.games.balatro.rules.bosses.blind import is_boss_round
from jimbot.games.balatro.rules.content import PLANET_COUNT, STONE
from jimbot.games.balatro.rules.jokers.registry import amount, define

_DELAYED_DOLLARS = int(amount("j_delayed_grat", "extra"))


def _delayed_gratification(g, s, i, copied):
    if g.discards_used == 0 and g.discards_left > 0:
        s.dollars += _DELAYED_DOLLARS * g.discards_left


define("j_delayed_grat", round_payout=_delayed_gratification)

_GOLDEN_DOLLARS = int(amount("j_golden", "extra"))


def _golden(g, s, i, copied):
    s.dollars += _GOLDEN_DOLLARS


define("j_golden", round_payout=_golden)

_CLOUD_DOLLARS = int(amount("j_cloud_9", "extra"))


def _cloud_9(g, s, i, copied):
    """Every 9 of the full deck."""
    for index in range(g.card_count):
        slot = g.cards[index]
        if g.card_rank[slot] == 9 and g.card_enhancement[slot] != STONE:
            s.dollars += _CLOUD_DOLLARS


define("j_cloud_9", round_payout=_cloud_9)

_ROCKET_INCREASE = amount("j_rocket", "extra.increase")


def _rocket_rises(g, s, i, copied):
    """After a boss, already for that boss's own payout."""
    if not copied and is_boss_round(g):
        g.joker_value[i] += _ROCKET_INCREASE


def _rocket_pays(g, s, i, copied):
    s.dollars += int(g.joker_value[i])


define("j_rocket", end_of_round=_rocket_rises, round_payout=_rocket_pays)

_SATELLITE_DOLLARS = int(amount("j_satellite", "extra"))


def _satellite(g, s, i, copied):
    """Every different Planet used in the run."""
    for planet in range(PLANET_COUNT):
        if g.planets_used >> planet & 1:
            s.dollars += _SATELLITE_DOLLARS


define("j_satellite", round_payout=_satellite)

_EGG_VALUE = int(amount("j_egg", "extra"))


def _egg(g, s, i, copied):
    if not copied:
        g.joker_extra_value[i] += _EGG_VALUE


define("j_egg", end_of_round=_egg)

_GIFT_VALUE = int(amount("j_gift", "extra"))


def _gift_card(g, s, i, copied):
    """All held jokers and consumables sell for more."""
    if not copied:
        for other in range(g.joker_count):
            g.joker_extra_value[other] += _GIFT_VALUE
        for index in range(g.consumable_count):
            g.consumable_extra_value[index] += _GIFT_VALUE


define("j_gift", end_of_round=_gift_card)
