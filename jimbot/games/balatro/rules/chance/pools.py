"""Drawing from pools: which entries are blank now, and the redraws until a real one comes.

Pools keep their full length whatever is unavailable; a draw that hits a blank is repeated on its own stream
(`…_resample2`, `…_resample3`, …). So availability is asked only of the entry that was hit, and no list is ever built.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.challenges import BANNED_CONSUMABLE, BANNED_JOKER, BANNED_TAG, BANNED_VOUCHER
from jimbot.games.balatro.rules.chance.streams import TEMPLATES, pick, pick_again, stream_id
from jimbot.games.balatro.rules.state import DEBUFFED, FIRST_CONSUMABLE_KEY

# Joker pools are numbered by rarity 1..4.
POOL_TAROT, POOL_PLANET, POOL_SPECTRAL, POOL_VOUCHER, POOL_TAG, POOL_ENHANCED = 5, 6, 7, 8, 9, 10

_CONTENTS: dict[int, list[int]] = {
    **{
        rarity: [content.JOKERS.id(row["key"]) for row in content.JOKERS if row["rarity"] == rarity]
        for rarity in (1, 2, 3, 4)
    },
    POOL_TAROT: list(range(content.FIRST_PLANET)),
    POOL_PLANET: list(range(content.FIRST_PLANET, content.FIRST_SPECTRAL)),
    POOL_SPECTRAL: list(range(content.FIRST_SPECTRAL, len(content.CONSUMABLES))),
    POOL_VOUCHER: list(range(len(content.VOUCHERS))),
    POOL_TAG: list(range(len(content.TAGS))),
    POOL_ENHANCED: list(range(1, content.ENHANCEMENTS.size)),
}
POOL_SIZE = np.array([len(_CONTENTS.get(pool, [])) for pool in range(11)], np.int64)
POOL_ITEM = np.zeros((11, int(POOL_SIZE.max())), np.int64)
for _pool, _items in _CONTENTS.items():
    POOL_ITEM[_pool, : len(_items)] = _items
# What comes out when every entry is blank.
POOL_FALLBACK = np.array(
    [0, *[content.JOKERS.id("j_joker")] * 4, content.CONSUMABLES.id("c_strength"), content.CONSUMABLES.id("c_pluto"),
     content.CONSUMABLES.id("c_incantation"), content.VOUCHERS.id("v_blank"), content.TAGS.id("tag_handy"), 1],
    np.int64,
)  # fmt: skip

# Sources of created cards: the short text in their stream keys.
_SOURCES = (
    "sho", "buf", "ar1", "ar2", "pl1", "spe", "sta", "jud", "wra", "sou", "rif", "top", "uta", "rta", "emp", "pri",
    "car", "8ba", "vag", "sup", "sea", "sixth", "hal",
)  # fmt: skip
(
    SHOP, BUFFOON, ARCANA, ARCANA_SPECTRAL, CELESTIAL, SPECTRAL_PACK, STANDARD, JUDGEMENT, WRAITH, SOUL, RIFF_RAFF,
    TOP_UP, UNCOMMON_TAG, RARE_TAG, EMPEROR, HIGH_PRIESTESS, CARTOMANCER, EIGHT_BALL, VAGABOND, SUPERPOSITION, SEANCE,
    SIXTH_SENSE, HALLUCINATION,
) = range(len(_SOURCES))  # fmt: skip


def _by_source(template: str) -> np.ndarray:
    """(source,) the stream of a template with `{source}` filled in, -1 where the game has none."""
    names = [template.replace("{source}", source) for source in _SOURCES]
    return np.array([stream_id(name) if name in TEMPLATES else -1 for name in names], np.int64)


RARITY_STREAM = _by_source("rarity{ante}{source}")
EDITION_STREAM = _by_source("edi{source}{ante}")
FRONT_STREAM = _by_source("front{source}{ante}")
# (pool, source); Legendary jokers share one stream whatever made them
POOL_STREAM = np.full((11, len(_SOURCES)), -1, np.int64)
for _pool, _text in (
    (1, "Joker1"), (2, "Joker2"), (3, "Joker3"), (POOL_TAROT, "Tarot"), (POOL_PLANET, "Planet"),
    (POOL_SPECTRAL, "Spectral"), (POOL_ENHANCED, "Enhanced"),
):  # fmt: skip
    POOL_STREAM[_pool] = _by_source(_text + "{source}{ante}")
POOL_STREAM[4] = stream_id("Joker4")

SHOWMAN = content.JOKERS.id("j_ring_master")


@njit
def count_active(g, joker):
    """How many copies of a joker are held and not debuffed."""
    count = 0
    for index in range(g.joker_count):
        if g.joker_id[index] == joker and not g.joker_flags[index] & DEBUFFED:
            count += 1
    return count


@njit
def exists(g, key):
    """Whether a joker or consumable key is taken; Showman lifts this for everything."""
    return g.used[key] != 0 and count_active(g, SHOWMAN) == 0


@njit
def _joker_blank(g, joker):
    if BANNED_JOKER[g.challenge, joker] or exists(g, joker):
        return True
    gate = content.JOKER_NEEDS_ENHANCEMENT[joker]
    if gate > 0 and g.enhancement_count[gate] == 0:
        return True
    if g.michel_extinct:
        return content.JOKER_BLOCKED_BY_EXTINCT_MICHEL[joker]
    return content.JOKER_NEEDS_EXTINCT_MICHEL[joker]


@njit
def _consumable_blank(g, consumable):
    if content.SOUL_ONLY[consumable] or BANNED_CONSUMABLE[g.challenge, consumable]:
        return True
    if content.NEEDS_HAND_PLAYED[consumable] and g.hand_played[content.PLANET_HAND[consumable]] == 0:
        return True
    return exists(g, FIRST_CONSUMABLE_KEY + consumable)


@njit
def _voucher_blank(g, voucher):
    if g.voucher_owned[voucher] != 0 or BANNED_VOUCHER[g.challenge, voucher]:
        return True
    required = content.VOUCHER_REQUIRES[voucher]
    if required >= 0 and g.voucher_owned[required] == 0:
        return True
    for index in range(g.voucher_count):
        if g.shop_voucher[index] == voucher:
            return True
    return False


@njit
def is_blank(g, pool, item):
    """Whether an entry of a pool cannot come out now."""
    if pool <= 4:
        return _joker_blank(g, item)
    if pool <= POOL_SPECTRAL:
        return _consumable_blank(g, item)
    if pool == POOL_VOUCHER:
        return _voucher_blank(g, item)
    if pool == POOL_TAG:
        return content.TAG_MIN_ANTE[item] > g.ante or BANNED_TAG[g.challenge, item]
    return False


@njit
def _all_blank(g, pool):
    for index in range(POOL_SIZE[pool]):
        if not is_blank(g, pool, POOL_ITEM[pool, index]):
            return False
    return True


@njit
def choose_from_pool(g, pool, stream):
    """Draws an item id; redraws while the entry is blank. An all-blank pool gives its fallback after one draw."""
    size = POOL_SIZE[pool]
    item = POOL_ITEM[pool, pick(g, stream, size)]
    if not is_blank(g, pool, item):
        return item
    if _all_blank(g, pool):
        return POOL_FALLBACK[pool]
    redraw = 2
    while True:
        item = POOL_ITEM[pool, pick_again(g, stream, redraw, size)]
        if not is_blank(g, pool, item):
            return item
        redraw += 1
