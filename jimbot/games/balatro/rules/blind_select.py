"""Blind selection: showing an ante's choices, skipping a blind, rerolling the boss."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.antes import draw_boss
from jimbot.games.balatro.rules.chance.create import pick_visible_hand
from jimbot.games.balatro.rules.chance.streams import BANKS, stream_id
from jimbot.games.balatro.rules.content import VOUCHERS
from jimbot.games.balatro.rules.inventory import debt_floor
from jimbot.games.balatro.rules.shop.vouchers import DIRECTORS_CUT, RETCON
from jimbot.games.balatro.rules.state import BLIND_SELECT, SELECTABLE, SKIPPED
from jimbot.games.balatro.rules.tags.firing import fire_choice_tags, fire_immediate_tags
from jimbot.games.balatro.rules.tags.held import ORBITAL, gain_tag

_ORBITAL = stream_id("orbital")
_BOSS_REROLL_PRICE = VOUCHERS.row("v_directors_cut")["config"]["extra"]


@njit
def _orbital_bank(g):
    return (g.ante + BANKS * (1 << 20)) % BANKS


@njit
def show_choices(g):
    """The first time an ante's choices are shown it is fixed what Orbital Tags on them would raise.

    Antes come back through Hieroglyph and Petroglyph, so the hands of earlier ones are kept.
    """
    bank = _orbital_bank(g)
    if g.orbital_ante[bank] != g.ante:
        g.orbital_ante[bank] = g.ante
        for place in range(3):
            g.orbital_hand[bank, place] = pick_visible_hand(g, _ORBITAL, -1)


@njit
def enter_blind_select(g, s):
    """Shows the choices and lets waiting tags fire."""
    g.phase = BLIND_SELECT
    show_choices(g)
    fire_choice_tags(g, s)


@njit
def skip_blind(g, s):
    """Skips the Small or Big Blind for its tag."""
    g.skips += 1
    tag = g.skip_tag[g.on_deck]
    hand = g.orbital_hand[_orbital_bank(g), g.on_deck] if tag == ORBITAL else -1
    gain_tag(g, tag, hand)
    g.blind_state[g.on_deck] = SKIPPED
    g.on_deck += 1
    g.blind_state[g.on_deck] = SELECTABLE
    fire_immediate_tags(g)
    fire_choice_tags(g, s)


@njit
def can_reroll_boss(g):
    """Director's Cut allows one reroll per ante, Retcon any number; each costs money."""
    if g.money - debt_floor(g) < _BOSS_REROLL_PRICE:
        return False
    return g.voucher_owned[RETCON] != 0 or (g.voucher_owned[DIRECTORS_CUT] != 0 and not g.boss_rerolled)


@njit
def reroll_boss(g, s):
    """Pays for another boss."""
    g.money -= _BOSS_REROLL_PRICE
    g.boss_rerolled = True
    draw_boss(g)
