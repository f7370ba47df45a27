"""Booster packs: what lies in them, card by card, each excluding the same key for the next; opening and closing one."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.challenges import INFLATION
from jimbot.games.balatro.rules.chance import create, pools
from jimbot.games.balatro.rules.chance.streams import roll, stream_id
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.playing_cards.dealing import deal_pack_hand
from jimbot.games.balatro.rules.playing_cards.hands import most_played_hand
from jimbot.games.balatro.rules.playing_cards.piles import return_hand
from jimbot.games.balatro.rules.shop.stock import release_offer
from jimbot.games.balatro.rules.shop.vouchers import OMEN_GLOBE, TELESCOPE
from jimbot.games.balatro.rules.state import FIRST_PACK_OFFER, PACK

_OMEN_GLOBE = stream_id("omen_globe")
_STANDARD_SET, _STANDARD_EDITION = stream_id("stdset{ante}"), stream_id("standard_edition{ante}")
_STANDARD_SEAL, _STANDARD_SEAL_TYPE = stream_id("stdseal{ante}"), stream_id("stdsealtype{ante}")
_SPECTRAL_ABOVE = content.VOUCHERS.row("v_omen_globe")["config"]["spectral_above"]
_ENHANCED_ABOVE, _SEAL_ABOVE, _EDITION_FACTOR = (
    content.RATES["standard_pack"][name] for name in ("enhanced_above", "seal_above", "edition_factor")
)
KIND_ARCANA, KIND_CELESTIAL, KIND_STANDARD, KIND_BUFFOON, KIND_SPECTRAL = range(len(content.PACK_KINDS))


@njit
def _offer_arcana(g, place):
    if g.voucher_owned[OMEN_GLOBE] and roll(g, _OMEN_GLOBE) > _SPECTRAL_ABOVE:
        create.offer_consumable(g, place, create.draw_pack_consumable(g, pools.POOL_SPECTRAL, pools.ARCANA_SPECTRAL))
    else:
        create.offer_consumable(g, place, create.draw_pack_consumable(g, pools.POOL_TAROT, pools.ARCANA))


@njit
def _offer_celestial(g, place, first):
    hand = most_played_hand(g) if first and g.voucher_owned[TELESCOPE] else -1
    if hand >= 0:
        create.offer_consumable(g, place, content.HAND_PLANET[hand])
    else:
        create.offer_consumable(g, place, create.draw_pack_consumable(g, pools.POOL_PLANET, pools.CELESTIAL))


@njit
def _offer_standard(g, place):
    create.offer_playing_card(g, place, pools.STANDARD, roll(g, _STANDARD_SET) > _ENHANCED_ABOVE)
    g.offer_edition[place] = create.roll_edition(g, _STANDARD_EDITION, _EDITION_FACTOR, False)
    if roll(g, _STANDARD_SEAL) > _SEAL_ABOVE:
        g.offer_seal[place] = create.roll_seal(g, _STANDARD_SEAL_TYPE)


@njit
def open_pack(g, pack):
    """Deals a pack's cards as offers; the caller has paid for it and deals a hand if the pack wants one."""
    g.pack_id = pack
    g.pack_picks = content.PACK_PICKS[pack]
    g.pack_count = 0
    kind = content.PACK_KIND[pack]
    for number in range(content.PACK_CARDS[pack]):
        place = FIRST_PACK_OFFER + number
        if kind == KIND_ARCANA:
            _offer_arcana(g, place)
        elif kind == KIND_CELESTIAL:
            _offer_celestial(g, place, number == 0)
        elif kind == KIND_STANDARD:
            _offer_standard(g, place)
        elif kind == KIND_BUFFOON:
            create.offer_joker(g, place, pools.BUFFOON, 0)
        else:
            create.offer_consumable(g, place, create.draw_pack_consumable(g, pools.POOL_SPECTRAL, pools.SPECTRAL_PACK))
        g.pack_count += 1


@njit
def close_pack(g):
    """Puts what is left of a pack away."""
    for number in range(g.pack_count):
        release_offer(g, FIRST_PACK_OFFER + number)
    g.pack_count = 0
    g.pack_picks = 0
    g.pack_id = -1


@njit
def start_pack(g, s, pack):
    """Opens a pack on top of the current phase; Arcana and Spectral packs deal a hand to use their cards on."""
    g.pack_phase = g.phase
    g.inflation += INFLATION[g.challenge]
    open_pack(g, pack)
    moments.open_booster(g, s)
    if content.PACK_DEALS_HAND[pack]:
        deal_pack_hand(g)
    g.phase = PACK


@njit
def end_pack(g):
    """Puts the rest of the pack and the dealt hand away."""
    return_hand(g)
    close_pack(g)
    g.phase = g.pack_phase
