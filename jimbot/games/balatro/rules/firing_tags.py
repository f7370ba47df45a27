"""What tags do at blind selection: those that act at once when gained, and those that wait for the choice of blinds."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import tags
from jimbot.games.balatro.rules.antes import draw_boss
from jimbot.games.balatro.rules.chance import pools
from jimbot.games.balatro.rules.chance.create import make_joker
from jimbot.games.balatro.rules.content import TAG_PACK, TAGS
from jimbot.games.balatro.rules.inventory import has_joker_room
from jimbot.games.balatro.rules.shop.packs import start_pack

_HANDY_DOLLARS = TAGS.row("tag_handy")["config"]["dollars_per_hand"]
_GARBAGE_DOLLARS = TAGS.row("tag_garbage")["config"]["dollars_per_discard"]
_SPEED_DOLLARS = TAGS.row("tag_skip")["config"]["skip_bonus"]
_ORBITAL_LEVELS = TAGS.row("tag_orbital")["config"]["levels"]
_ECONOMY_MOST = TAGS.row("tag_economy")["config"]["max"]
_TOP_UP_JOKERS = TAGS.row("tag_top_up")["config"]["spawn_jokers"]


@njit
def _fire_at_once(g, tag, hand):
    """Runs a tag that acts as soon as it is held; False if it is of another kind."""
    if tag == tags.HANDY:
        g.money += _HANDY_DOLLARS * g.hands_played
    elif tag == tags.GARBAGE:
        g.money += _GARBAGE_DOLLARS * g.unused_discards
    elif tag == tags.SPEED:
        g.money += _SPEED_DOLLARS * g.skips
    elif tag == tags.ECONOMY:
        g.money += min(_ECONOMY_MOST, max(0, g.money))
    elif tag == tags.ORBITAL:
        g.hand_level[hand] += _ORBITAL_LEVELS
    elif tag == tags.TOP_UP:
        for _ in range(_TOP_UP_JOKERS):
            if has_joker_room(g):
                make_joker(g, pools.TOP_UP, 1)
    else:
        return False
    return True


@njit
def fire_immediate_tags(g):
    """All held tags that act at once, in the order of gain."""
    index = 0
    while index < g.tag_count:
        if _fire_at_once(g, g.tag_id[index], g.tag_hand[index]):
            tags.remove_tag(g, index)
        else:
            index += 1


@njit
def fire_choice_tags(g, s):
    """Held tags that wait for the choice of blinds, in the order of gain; the first pack opened holds up the rest."""
    index = 0
    while index < g.tag_count:
        tag = g.tag_id[index]
        pack = TAG_PACK[tag]
        if tag == tags.BOSS:
            tags.remove_tag(g, index)
            g.boss_rerolled = True
            draw_boss(g)
        elif pack >= 0:
            tags.remove_tag(g, index)
            start_pack(g, s, pack)
            return
        else:
            index += 1
