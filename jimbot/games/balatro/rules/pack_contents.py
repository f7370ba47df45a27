"""Booster packs: what lies in them when opened, card by card, each excluding the same key for the next."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.content import HAND_PLANET, HANDS, PACK_CARDS, PACK_KIND, PACK_KINDS, PACK_PICKS
from jimbot.games.balatro.rules.create import (
    draw_pack_consumable,
    hand_visible,
    offer_consumable,
    offer_joker,
    offer_playing_card,
    roll_edition,
    roll_seal,
)
from jimbot.games.balatro.rules.pools import (
    ARCANA,
    ARCANA_SPECTRAL,
    BUFFOON,
    CELESTIAL,
    POOL_PLANET,
    POOL_SPECTRAL,
    POOL_TAROT,
    SPECTRAL_PACK,
    STANDARD,
)
from jimbot.games.balatro.rules.shop_stock import release_offer
from jimbot.games.balatro.rules.state import FIRST_PACK_OFFER
from jimbot.games.balatro.rules.streams import roll, stream_id
from jimbot.games.balatro.rules.vouchers import OMEN_GLOBE, TELESCOPE

_OMEN_GLOBE = stream_id("omen_globe")
_STANDARD_SET, _STANDARD_EDITION = stream_id("stdset{ante}"), stream_id("standard_edition{ante}")
_STANDARD_SEAL, _STANDARD_SEAL_TYPE = stream_id("stdseal{ante}"), stream_id("stdsealtype{ante}")
KIND_ARCANA, KIND_CELESTIAL, KIND_STANDARD, KIND_BUFFOON, KIND_SPECTRAL = range(len(PACK_KINDS))
_HAND_COUNT = len(HANDS)


@njit
def most_played_hand(g):
    """The visible poker hand played most often in the run, the stronger one on ties; -1 if none was played."""
    best = -1
    most = 0
    for hand in range(_HAND_COUNT):
        if hand_visible(g, hand) and g.hand_played[hand] > most:
            best = hand
            most = g.hand_played[hand]
    return best


@njit
def _offer_arcana(g, place):
    if g.voucher_owned[OMEN_GLOBE] and roll(g, _OMEN_GLOBE) > 0.8:
        offer_consumable(g, place, draw_pack_consumable(g, POOL_SPECTRAL, ARCANA_SPECTRAL))
    else:
        offer_consumable(g, place, draw_pack_consumable(g, POOL_TAROT, ARCANA))


@njit
def _offer_celestial(g, place, first):
    hand = most_played_hand(g) if first and g.voucher_owned[TELESCOPE] else -1
    if hand >= 0:
        offer_consumable(g, place, HAND_PLANET[hand])
    else:
        offer_consumable(g, place, draw_pack_consumable(g, POOL_PLANET, CELESTIAL))


@njit
def _offer_standard(g, place):
    offer_playing_card(g, place, STANDARD, roll(g, _STANDARD_SET) > 0.6)
    g.offer_edition[place] = roll_edition(g, _STANDARD_EDITION, 2, False)
    if roll(g, _STANDARD_SEAL) > 0.8:
        g.offer_seal[place] = roll_seal(g, _STANDARD_SEAL_TYPE)


@njit
def open_pack(g, pack):
    """Deals a pack's cards as offers; the caller has paid for it and deals a hand if the pack wants one."""
    g.pack_id = pack
    g.pack_picks = PACK_PICKS[pack]
    g.pack_count = 0
    kind = PACK_KIND[pack]
    for number in range(PACK_CARDS[pack]):
        place = FIRST_PACK_OFFER + number
        if kind == KIND_ARCANA:
            _offer_arcana(g, place)
        elif kind == KIND_CELESTIAL:
            _offer_celestial(g, place, number == 0)
        elif kind == KIND_STANDARD:
            _offer_standard(g, place)
        elif kind == KIND_BUFFOON:
            offer_joker(g, place, BUFFOON, 0)
        else:
            offer_consumable(g, place, draw_pack_consumable(g, POOL_SPECTRAL, SPECTRAL_PACK))
        g.pack_count += 1


@njit
def close_pack(g):
    """Puts what is left of a pack away."""
    for number in range(g.pack_count):
        release_offer(g, FIRST_PACK_OFFER + number)
    g.pack_count = 0
    g.pack_picks = 0
    g.pack_id = -1
