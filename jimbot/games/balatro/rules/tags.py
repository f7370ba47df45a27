"""Tags: the two of an ante, gaining and losing them.

Those that fire at blind selection are in `firing_tags.py`, shop tags in `shop/stock.py`, Juggle in `rounds.py`,
Investment in `payout.py`.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.chance import pools
from jimbot.games.balatro.rules.chance.streams import stream_id
from jimbot.games.balatro.rules.content import TAGS
from jimbot.games.balatro.rules.state import MAX_TAGS

_TAG = stream_id("Tag{ante}")

(
    UNCOMMON, RARE, NEGATIVE_TAG, FOIL_TAG, HOLO_TAG, POLYCHROME_TAG, INVESTMENT, VOUCHER, BOSS, STANDARD, CHARM,
    METEOR, BUFFOON, HANDY, GARBAGE, ETHEREAL, COUPON, DOUBLE, JUGGLE, D_SIX, TOP_UP, SPEED, ORBITAL, ECONOMY,
) = range(len(TAGS))  # fmt: skip


@njit
def draw_skip_tags(g):
    """The tags of the ante's Small and Big Blind."""
    g.skip_tag[0] = pools.choose_from_pool(g, pools.POOL_TAG, _TAG)
    g.skip_tag[1] = pools.choose_from_pool(g, pools.POOL_TAG, _TAG)


@njit
def _append(g, tag, hand):
    if g.tag_count < MAX_TAGS:
        g.tag_id[g.tag_count] = tag
        g.tag_hand[g.tag_count] = hand
        g.tag_count += 1


@njit
def remove_tag(g, index):
    """A tag that has fired is gone; later ones move up."""
    g.tag_count -= 1
    for place in range(index, g.tag_count):
        g.tag_id[place] = g.tag_id[place + 1]
        g.tag_hand[place] = g.tag_hand[place + 1]


@njit
def find_tag(g, tag):
    """The place of the first held tag of a kind, or -1."""
    for index in range(g.tag_count):
        if g.tag_id[index] == tag:
            return index
    return -1


@njit
def gain_tag(g, tag, hand):
    """Gains a tag (`hand` is an Orbital Tag's poker hand, else -1); every Double Tag held adds one copy and is gone."""
    copies = 0
    if tag != DOUBLE:
        double = find_tag(g, DOUBLE)
        while double >= 0:
            remove_tag(g, double)
            copies += 1
            double = find_tag(g, DOUBLE)
    for _ in range(1 + copies):
        _append(g, tag, hand)
