"""What tags do at blind selection: those that act at once when gained, and those that wait for the choice of blinds.

Shop tags are in `shop_stock.py`, Juggle in `rounds.py`, Investment in `payout.py`, Double in `tags.py`.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import tags as t
from jimbot.games.balatro.rules.antes import draw_boss
from jimbot.games.balatro.rules.content import PACKS, TAGS
from jimbot.games.balatro.rules.create import make_joker
from jimbot.games.balatro.rules.inventory import has_joker_room
from jimbot.games.balatro.rules.pack_opening import start_pack
from jimbot.games.balatro.rules.pools import TOP_UP

_HANDY_DOLLARS = TAGS.row("tag_handy")["config"]["dollars_per_hand"]
_GARBAGE_DOLLARS = TAGS.row("tag_garbage")["config"]["dollars_per_discard"]
_SPEED_DOLLARS = TAGS.row("tag_skip")["config"]["skip_bonus"]
_ORBITAL_LEVELS = TAGS.row("tag_orbital")["config"]["levels"]
_ECONOMY_MOST = TAGS.row("tag_economy")["config"]["max"]
_TOP_UP_JOKERS = TAGS.row("tag_top_up")["config"]["spawn_jokers"]
_STANDARD_PACK, _CHARM_PACK, _METEOR_PACK, _BUFFOON_PACK, _ETHEREAL_PACK = (
    PACKS.id(f"p_{name}_1")
    for name in ("standard_mega", "arcana_mega", "celestial_mega", "buffoon_mega", "spectral_normal")
)


@njit
def _fire_at_once(g, tag, hand):
    """Runs a tag that acts as soon as it is held; False if it is of another kind."""
    if tag == t.HANDY:
        g.money += _HANDY_DOLLARS * g.hands_played
    elif tag == t.GARBAGE:
        g.money += _GARBAGE_DOLLARS * g.unused_discards
    elif tag == t.SPEED:
        g.money += _SPEED_DOLLARS * g.skips
    elif tag == t.ECONOMY:
        g.money += min(_ECONOMY_MOST, max(0, g.money))
    elif tag == t.ORBITAL:
        g.hand_level[hand] += _ORBITAL_LEVELS
    elif tag == t.TOP_UP:
        for _ in range(_TOP_UP_JOKERS):
            if has_joker_room(g):
                make_joker(g, TOP_UP, 1)
    else:
        return False
    return True


@njit
def fire_immediate_tags(g):
    """All held tags that act at once, in the order of gain."""
    index = 0
    while index < g.tag_count:
        if _fire_at_once(g, g.tag_id[index], g.tag_hand[index]):
            t.remove_tag(g, index)
        else:
            index += 1


@njit
def _pack_of_tag(tag):
    if tag == t.STANDARD:
        return _STANDARD_PACK
    if tag == t.CHARM:
        return _CHARM_PACK
    if tag == t.METEOR:
        return _METEOR_PACK
    if tag == t.BUFFOON:
        return _BUFFOON_PACK
    if tag == t.ETHEREAL:
        return _ETHEREAL_PACK
    return -1


@njit
def fire_choice_tags(g, s):
    """Held tags that wait for the choice of blinds, in the order of gain; the first pack opened holds up the rest."""
    index = 0
    while index < g.tag_count:
        tag = g.tag_id[index]
        pack = _pack_of_tag(tag)
        if tag == t.BOSS:
            t.remove_tag(g, index)
            g.boss_rerolled = True
            draw_boss(g)
        elif pack >= 0:
            t.remove_tag(g, index)
            start_pack(g, s, pack)
            return
        else:
            index += 1
