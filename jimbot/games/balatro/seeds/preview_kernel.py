"""What a seed holds, without playing it: the compiled part of `finding.py`.

The view is that of the known seed analysers: the shop as a queue of cards in which no shown card blocks another,
every pack as if opened with nothing else around, no voucher ever bought. Streams are independent of each other, so
each part of each ante (boss, voucher, tags, shop, packs, contents) is drawn by itself and only when a question needs
it: a search rarely looks further than its first condition.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.antes import draw_boss
from jimbot.games.balatro.rules.chance.pools import POOL_STREAM, SOUL, choose_from_pool
from jimbot.games.balatro.rules.chance.streams import set_seed_number, start_streams
from jimbot.games.balatro.rules.content import CONSUMABLES, PACK_CARDS
from jimbot.games.balatro.rules.shop.packs import close_pack, open_pack
from jimbot.games.balatro.rules.shop.stock import draw_booster, offer_shop_card, release_offer
from jimbot.games.balatro.rules.shop.vouchers import draw_ante_voucher
from jimbot.games.balatro.rules.state import FIRST_PACK_OFFER, OFFER_CONSUMABLE, OFFER_JOKER
from jimbot.games.balatro.rules.tags import draw_skip_tags

# Parts of an ante, columns of `have`
BOSS, VOUCHER, TAGS, SHOP, PACKS, CONTENTS = range(6)
PARTS = 6
PACK_WIDTH = 5  # cards of the largest pack
_THE_SOUL = CONSUMABLES.id("c_soul")

# Everything drawn about a seed so far; arrays are indexed by ante from 1. An item is one number, see `offer_code`.
# `legendary` is -1 before it was asked for.
PREVIEW_MAX_ANTE = 16
PREVIEW_MAX_CARDS = 40
PREVIEW_MAX_PACKS = 6
PREVIEW_DTYPE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("have", np.uint8, (PREVIEW_MAX_ANTE + 1, PARTS)),
                ("boss", np.int64, (PREVIEW_MAX_ANTE + 1,)),
                ("voucher", np.int64, (PREVIEW_MAX_ANTE + 1,)),
                ("tag", np.int64, (PREVIEW_MAX_ANTE + 1, 2)),
                ("shop", np.int64, (PREVIEW_MAX_ANTE + 1, PREVIEW_MAX_CARDS)),
                ("pack", np.int64, (PREVIEW_MAX_ANTE + 1, PREVIEW_MAX_PACKS)),
                ("content", np.int64, (PREVIEW_MAX_ANTE + 1, PREVIEW_MAX_PACKS, PACK_WIDTH)),
                ("legendary", np.int64),
                ("shop_cards", np.int64),  # shop cards looked at per ante
                ("first_packs", np.int64),  # packs looked at in ante 1
                ("later_packs", np.int64),  # packs looked at in every later ante
            ],
            align=True,
        ),
    )
)


@njit
def offer_code(g, place):
    """An offer as one number: kind, id, edition, flags, suit, enhancement, seal, a byte each from the lowest."""
    return (
        np.int64(g.offer_kind[place])
        | np.int64(g.offer_id[place]) << 8
        | np.int64(g.offer_edition[place]) << 16
        | np.int64(g.offer_flags[place]) << 24
        | np.int64(g.offer_suit[place]) << 32
        | np.int64(g.offer_enhancement[place]) << 40
        | np.int64(g.offer_seal[place]) << 48
    )


@njit
def forget(g, p):
    """Starts on the seed written in the game record; the record must have been through `clear_run` once."""
    start_streams(g)
    g.first_booster_given = False
    for ante in range(PREVIEW_MAX_ANTE + 1):
        for part in range(PARTS):
            p.have[ante, part] = 0
    p.legendary = -1


@njit
def look_at_boss(g, p, ante):
    """Bosses come one after the other, so all earlier ones are drawn too."""
    if p.have[ante, BOSS]:
        return
    if not p.have[1, BOSS]:
        for blind in range(g.boss_uses.shape[0]):
            g.boss_uses[blind] = 0
    for earlier in range(1, ante + 1):
        if not p.have[earlier, BOSS]:
            g.ante = earlier
            draw_boss(g)
            p.boss[earlier] = g.boss
            p.have[earlier, BOSS] = 1


@njit
def look_at_voucher(g, p, ante):
    """The ante's voucher."""
    if not p.have[ante, VOUCHER]:
        g.ante = ante
        draw_ante_voucher(g)
        p.voucher[ante] = g.ante_voucher
        p.have[ante, VOUCHER] = 1


@njit
def look_at_tags(g, p, ante):
    """The tags of the ante's Small and Big Blind."""
    if not p.have[ante, TAGS]:
        g.ante = ante
        draw_skip_tags(g)
        p.tag[ante, 0] = g.skip_tag[0]
        p.tag[ante, 1] = g.skip_tag[1]
        p.have[ante, TAGS] = 1


@njit
def look_at_shop(g, p, ante):
    """The first shop cards of the ante."""
    if not p.have[ante, SHOP]:
        g.ante = ante
        for number in range(p.shop_cards):
            offer_shop_card(g, 0)
            p.shop[ante, number] = offer_code(g, 0)
            release_offer(g, 0)
        p.have[ante, SHOP] = 1


@njit
def pack_count(p, ante):
    """Packs looked at in an ante."""
    return p.first_packs if ante == 1 else p.later_packs


@njit
def look_at_packs(g, p, ante):
    """Which packs the ante's shops show."""
    if not p.have[ante, PACKS]:
        g.ante = ante
        g.first_booster_given = ante > 1
        for number in range(pack_count(p, ante)):
            p.pack[ante, number] = draw_booster(g)
        p.have[ante, PACKS] = 1


@njit
def look_at_contents(g, p, ante):
    """What lies in the ante's packs."""
    look_at_packs(g, p, ante)
    if not p.have[ante, CONTENTS]:
        g.ante = ante
        for number in range(pack_count(p, ante)):
            pack = p.pack[ante, number]
            open_pack(g, pack)
            for card in range(PACK_WIDTH):
                p.content[ante, number, card] = offer_code(g, FIRST_PACK_OFFER + card) if card < PACK_CARDS[pack] else 0
            close_pack(g)
        p.have[ante, CONTENTS] = 1


@njit
def look_at_legendary(g, p):
    """The Legendary joker the first Soul of the run would bring."""
    if p.legendary < 0:
        p.legendary = choose_from_pool(g, 4, POOL_STREAM[4, SOUL])


@njit
def look_at_everything(g, p, antes, contents):
    """All parts of antes 1..antes."""
    forget(g, p)
    for ante in range(1, antes + 1):
        look_at_boss(g, p, ante)
        look_at_voucher(g, p, ante)
        look_at_tags(g, p, ante)
        look_at_shop(g, p, ante)
        look_at_packs(g, p, ante)
        if contents:
            look_at_contents(g, p, ante)
    look_at_legendary(g, p)


@njit
def look_at_many(g, p, first, count, antes, contents):
    """Previews `count` seeds by number; for measuring. Returns a checksum so that nothing is left out."""
    checksum = 0
    for number in range(first, first + count):
        set_seed_number(g, number)
        look_at_everything(g, p, antes, contents)
        checksum += p.boss[antes] + p.voucher[antes] + p.tag[antes, 1] + p.shop[antes, 0] + p.pack[antes, 0]
    return checksum


# --- search -----------------------------------------------------------------------------------------------------------
# A question is a list of conditions with jumps. `ACCEPT` and `REJECT` are jumps that end it.
ASK_BOSS, ASK_VOUCHER, ASK_TAG, ASK_JOKER, ASK_CONSUMABLE, ASK_PACK, ASK_LEGENDARY = range(7)
ACCEPT, REJECT = -1, -2
ANY = -1
CONDITION_DTYPE = np.dtype(
    (
        np.record,
        np.dtype(
            [(name, np.int64) for name in ("kind", "item", "edition", "first_ante", "last_ante", "if_true", "if_false")]
        ),
    )
)


@njit
def _matches(code, kind, item, edition):
    return (
        (code & 0xFF) == kind
        and (item == ANY or ((code >> 8) & 0xFF) == item)
        and (edition == ANY or ((code >> 16) & 0xFF) == edition)
    )


@njit
def _on_display(g, p, ante, kind, item, edition):
    """Whether an item is among the ante's shop cards or in its packs."""
    look_at_shop(g, p, ante)
    for number in range(p.shop_cards):
        if _matches(p.shop[ante, number], kind, item, edition):
            return True
    look_at_contents(g, p, ante)
    for number in range(pack_count(p, ante)):
        for card in range(PACK_WIDTH):
            if _matches(p.content[ante, number, card], kind, item, edition):
                return True
    return False


@njit
def _holds_in(g, p, c, ante):
    """Whether a condition holds in one ante."""
    if c.kind == ASK_BOSS:
        look_at_boss(g, p, ante)
        return p.boss[ante] == c.item
    if c.kind == ASK_VOUCHER:
        look_at_voucher(g, p, ante)
        return p.voucher[ante] == c.item
    if c.kind == ASK_TAG:
        look_at_tags(g, p, ante)
        return p.tag[ante, 0] == c.item or p.tag[ante, 1] == c.item
    if c.kind == ASK_JOKER:
        return _on_display(g, p, ante, OFFER_JOKER, c.item, c.edition)
    if c.kind == ASK_CONSUMABLE:
        return _on_display(g, p, ante, OFFER_CONSUMABLE, c.item, c.edition)
    if c.kind == ASK_PACK:
        look_at_packs(g, p, ante)
        for number in range(pack_count(p, ante)):
            if p.pack[ante, number] == c.item:
                return True
        return False
    look_at_legendary(g, p)
    return p.legendary == c.item and _on_display(g, p, ante, OFFER_CONSUMABLE, _THE_SOUL, ANY)


@njit
def _holds(g, p, c):
    for ante in range(c.first_ante, c.last_ante + 1):
        if _holds_in(g, p, c, ante):
            return True
    return False


@njit
def answers(g, p, question):
    """Whether the seed in the record answers a question; `forget` must have been called for it."""
    step = 0
    while step >= 0:
        c = question[step]
        step = c.if_true if _holds(g, p, c) else c.if_false
    return step == ACCEPT


@njit
def scan(g, p, question, first, count, found):
    """Looks at `count` seeds from number `first`; writes matching numbers to `found` and returns how many.

    Stops early when `found` is full.
    """
    hits = 0
    for number in range(first, first + count):
        set_seed_number(g, number)
        forget(g, p)
        if answers(g, p, question):
            found[hits] = number
            hits += 1
            if hits == found.shape[0]:
                break
    return hits
