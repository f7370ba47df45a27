"""Jokers that act in the shop, with packs and consumables, when cards join the deck, and when something is sold."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import inventory
from jimbot.games.balatro.rules.bosses.blind import disable_blind, is_boss_round
from jimbot.games.balatro.rules.chance.create import draw_tarot
from jimbot.games.balatro.rules.chance.pools import HALLUCINATION
from jimbot.games.balatro.rules.chance.streams import pick, stream_id
from jimbot.games.balatro.rules.content import FIRST_PLANET, FIRST_SPECTRAL, NEGATIVE
from jimbot.games.balatro.rules.jokers.evaluate import chance
from jimbot.games.balatro.rules.jokers.registry import MULT, VALUE, X_MULT, MainRow, amount, define
from jimbot.games.balatro.rules.playing_cards.cards import new_serial
from jimbot.games.balatro.rules.state import SELECTING_HAND
from jimbot.games.balatro.rules.tags import DOUBLE, gain_tag

# --- growing ---

_CONSTELLATION_GAIN = amount("j_constellation", "extra")


def _constellation(g, s, i, copied, consumable):
    if not copied and consumable >= FIRST_PLANET and consumable < FIRST_SPECTRAL:
        g.joker_value[i] += _CONSTELLATION_GAIN


define("j_constellation", using_consumable=_constellation, gives=MainRow(X_MULT, 1, VALUE))

_HOLOGRAM_GAIN = amount("j_hologram", "extra")


def _hologram(g, s, i, copied, count):
    if not copied:
        g.joker_value[i] += _HOLOGRAM_GAIN * count


define("j_hologram", card_added=_hologram, gives=MainRow(X_MULT, 1, VALUE))

_RED_CARD_MULT = amount("j_red_card", "extra")


def _red_card(g, s, i, copied):
    if not copied:
        g.joker_value[i] += _RED_CARD_MULT


define("j_red_card", skip_booster=_red_card, gives=MainRow(MULT, 1, VALUE))

_FLASH_MULT = amount("j_flash", "extra")


def _flash_card(g, s, i, copied):
    if not copied:
        g.joker_value[i] += _FLASH_MULT


define("j_flash", reroll_shop=_flash_card, gives=MainRow(MULT, 1, VALUE))

_CAMPFIRE_GAIN = amount("j_campfire", "extra")


def _campfire(g, s, i, copied):
    if not copied:
        g.joker_value[i] += _CAMPFIRE_GAIN


def _campfire_dies(g, s, i, copied):
    """Burns down when a boss is beaten."""
    if not copied and is_boss_round(g):
        g.joker_value[i] = 1.0


define("j_campfire", selling_card=_campfire, end_of_round=_campfire_dies, gives=MainRow(X_MULT, 1, VALUE))

# --- packs and leaving ---

_HALLUCINATION_STREAM = stream_id("halu{ante}")
_HALLUCINATION_ODDS = amount("j_hallucination", "extra")


def _hallucination(g, s, i, copied):
    """Without room not even the chance is rolled."""
    if inventory.has_consumable_room(g) and chance(g, s, _HALLUCINATION_STREAM, _HALLUCINATION_ODDS):
        inventory.give_consumable(g, draw_tarot(g, HALLUCINATION))


define("j_hallucination", open_booster=_hallucination)

_PERKEO_STREAM = stream_id("perkeo")


@njit
def nth_consumable(g, number):
    """The place of the consumable with this number in creation order."""
    serial = -1
    best = -1
    for _ in range(number + 1):
        best = -1
        for index in range(g.consumable_count):
            if g.consumable_serial[index] > serial:
                if best < 0 or g.consumable_serial[index] < g.consumable_serial[best]:
                    best = index
        serial = g.consumable_serial[best]
    return best


def _perkeo(g, s, i, copied):
    """A Negative copy of a random consumable; it brings its own slot and keeps what Gift Card has added."""
    if g.consumable_count > 0:
        source = nth_consumable(g, pick(g, _PERKEO_STREAM, g.consumable_count))
        copy = inventory.add_consumable(g, g.consumable_id[source], NEGATIVE, new_serial(g))
        if copy >= 0:
            g.consumable_extra_value[copy] = g.consumable_extra_value[source]


define("j_perkeo", end_shop=_perkeo)

# --- being sold ---


def _luchador(g, s, i, copied):
    """Sold during a boss blind it disables the boss."""
    if g.phase == SELECTING_HAND and is_boss_round(g):
        disable_blind(g)


define("j_luchador", selling_self=_luchador)


def _diet_cola(g, s, i, copied):
    gain_tag(g, DOUBLE, -1)


define("j_diet_cola", selling_self=_diet_cola)

_INVISIBLE_ROUNDS = int(amount("j_invisible", "extra"))
_INVISIBLE_STREAM = stream_id("invisible")


def _invisible_waits(g, s, i, copied):
    if not copied:
        g.joker_counter[i] += 1


def _invisible_sold(g, s, i, copied):
    """After two rounds another joker is doubled, without a Negative edition."""
    if copied or g.joker_counter[i] < _INVISIBLE_ROUNDS or g.joker_count > g.joker_slots:
        return
    others = ((1 << g.joker_count) - 1) & ~(1 << i)
    if g.joker_count > 1:
        source = inventory.nth_joker(g, pick(g, _INVISIBLE_STREAM, g.joker_count - 1), others)
        edition = g.joker_edition[source]
        inventory.copy_joker(g, source, 0 if edition == NEGATIVE else edition)


define("j_invisible", end_of_round=_invisible_waits, selling_self=_invisible_sold)
