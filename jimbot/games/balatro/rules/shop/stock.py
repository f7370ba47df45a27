"""The shop's goods: card slots, boosters, vouchers, and the tags that change them.

Buying, selling and rerolling as decisions belong to the state machine; this module fills and empties the shelves.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content, state, tags
from jimbot.games.balatro.rules.challenges import BANNED_PACK, NO_SHOP_JOKERS
from jimbot.games.balatro.rules.chance import create
from jimbot.games.balatro.rules.chance.pools import POOL_SIZE, RARE_TAG, SHOP, UNCOMMON_TAG
from jimbot.games.balatro.rules.chance.streams import roll, stream_id
from jimbot.games.balatro.rules.inventory import release_key
from jimbot.games.balatro.rules.shop.vouchers import ILLUSION, add_tag_voucher

_CARD_TYPE = stream_id("cdt{ante}")
_BOOSTER = stream_id("shop_pack{ante}")
_ILLUSION = stream_id("illusion")
_ENHANCED_ABOVE, _EDITION_ABOVE = (
    content.VOUCHERS.row("v_illusion")["config"][name] for name in ("enhanced_above", "edition_above")
)
_FIRST_BOOSTER = content.PACKS.id("p_buffoon_normal_1")
_PACK_COUNT = len(content.PACKS)


@njit
def _roll_card_type(g):
    """Which kind of card fills a slot: a walk over the weights of Joker, Tarot, Planet, playing card, Spectral."""
    joker_weight = 0.0 if NO_SHOP_JOKERS[g.challenge] else g.shop_weight[state.WEIGHT_JOKER]
    total = joker_weight
    for kind in range(1, 5):
        total += g.shop_weight[kind]
    point = roll(g, _CARD_TYPE) * total
    before = 0.0
    for kind in range(5):
        weight = joker_weight if kind == state.WEIGHT_JOKER else g.shop_weight[kind]
        if point > before and point <= before + weight:
            return kind
        before += weight
    return state.WEIGHT_JOKER


@njit
def _offer_shop_playing_card(g, place, enhanced):
    """A playing card in the shop (Magic Trick); with Illusion it may carry an edition."""
    create.offer_playing_card(g, place, SHOP, enhanced)
    if g.voucher_owned[ILLUSION] and roll(g, _ILLUSION) > _EDITION_ABOVE:
        g.offer_edition[place] = create.guaranteed_edition(g, _ILLUSION)


@njit
def offer_shop_card(g, place):
    """Fills a card slot by chance, tags left aside."""
    enhanced = False
    if g.voucher_owned[ILLUSION]:  # drawn before the type is known, for every slot
        enhanced = roll(g, _ILLUSION) > _ENHANCED_ABOVE
    kind = _roll_card_type(g)
    if kind == state.WEIGHT_JOKER:
        create.offer_joker(g, place, SHOP, 0)
    elif kind == state.WEIGHT_TAROT:
        create.offer_consumable(g, place, create.draw_tarot(g, SHOP))
    elif kind == state.WEIGHT_PLANET:
        create.offer_consumable(g, place, create.draw_planet(g, SHOP))
    elif kind == state.WEIGHT_PLAYING_CARD:
        _offer_shop_playing_card(g, place, enhanced)
    elif kind == state.WEIGHT_SPECTRAL:
        create.offer_consumable(g, place, create.draw_spectral(g, SHOP))


@njit
def _rare_jokers_held(g):
    """Different Rare jokers held."""
    count = 0
    for index in range(g.joker_count):
        known = content.JOKER_RARITY[g.joker_id[index]] != 3
        for other in range(index):
            if g.joker_id[other] == g.joker_id[index]:
                known = True
        if not known:
            count += 1
    return count


@njit
def _offer_by_tag(g, place):
    """Fills a slot with the free joker of the first Uncommon or Rare Tag held; False if there is none."""
    index = 0
    while index < g.tag_count:
        tag = g.tag_id[index]
        if tag == tags.UNCOMMON:
            tags.remove_tag(g, index)
            create.offer_joker(g, place, UNCOMMON_TAG, 2)
            g.offer_flags[place] |= state.FREE
            return True
        if tag == tags.RARE:
            tags.remove_tag(g, index)
            if _rare_jokers_held(g) < POOL_SIZE[3]:  # otherwise the tag is spent for nothing
                create.offer_joker(g, place, RARE_TAG, 3)
                g.offer_flags[place] |= state.FREE
                return True
        else:
            index += 1
    return False


@njit
def _apply_edition_tag(g, place):
    """The first edition tag held turns a joker without edition free and gives it its edition."""
    if g.offer_kind[place] != state.OFFER_JOKER or g.offer_edition[place] != 0:
        return
    for index in range(g.tag_count):
        tag = g.tag_id[index]
        if content.TAG_EDITION[tag] > 0:
            g.offer_edition[place] = content.TAG_EDITION[tag]
            g.offer_flags[place] |= state.FREE
            tags.remove_tag(g, index)
            return


@njit
def fill_card_slots(g):
    """Fills every empty card slot, one after the other, each seeing the earlier ones as existing."""
    while g.shop_count < g.shop_slots:
        place = g.shop_count
        if not _offer_by_tag(g, place):
            offer_shop_card(g, place)
        _apply_edition_tag(g, place)
        g.shop_count += 1


@njit
def release_offer(g, place):
    """An offer goes unsold; its key may be drawn again unless a copy is held."""
    if g.offer_kind[place] == state.OFFER_JOKER:
        release_key(g, g.offer_id[place])
    elif g.offer_kind[place] == state.OFFER_CONSUMABLE:
        release_key(g, state.FIRST_CONSUMABLE_KEY + g.offer_id[place])
    g.offer_kind[place] = state.OFFER_NONE


@njit
def take_offer(g, place, first, count):
    """Closes the gap of an offer that was bought or picked; `first` and `count` delimit its list."""
    for index in range(place, first + count - 1):
        g.offer_kind[index] = g.offer_kind[index + 1]
        g.offer_id[index] = g.offer_id[index + 1]
        g.offer_suit[index] = g.offer_suit[index + 1]
        g.offer_enhancement[index] = g.offer_enhancement[index + 1]
        g.offer_seal[index] = g.offer_seal[index + 1]
        g.offer_edition[index] = g.offer_edition[index + 1]
        g.offer_flags[index] = g.offer_flags[index + 1]
        g.offer_counter[index] = g.offer_counter[index + 1]
        g.offer_serial[index] = g.offer_serial[index + 1]


@njit
def clear_card_slots(g):
    """Takes all unsold cards off the shelves (reroll, leaving)."""
    for place in range(g.shop_count):
        release_offer(g, place)
    g.shop_count = 0


@njit
def reroll_cards(g):
    """New cards in all slots."""
    clear_card_slots(g)
    fill_card_slots(g)


@njit
def draw_booster(g):
    """A booster pack by weight; the first of a run is a normal Buffoon pack without a draw.

    Weights are inexact and added in list order as the game does: the last bit can decide a pack.
    """
    if not g.first_booster_given and not BANNED_PACK[g.challenge, _FIRST_BOOSTER]:
        g.first_booster_given = True
        return _FIRST_BOOSTER
    total = 0.0
    for pack in range(_PACK_COUNT):
        if not BANNED_PACK[g.challenge, pack]:
            total += content.PACK_WEIGHT[pack]
    point = roll(g, _BOOSTER) * total
    reached = 0.0
    last = 0
    for pack in range(_PACK_COUNT):
        if not BANNED_PACK[g.challenge, pack]:
            reached += content.PACK_WEIGHT[pack]
            last = pack
            if reached >= point:
                return pack
    return last


@njit
def stock_shop(g):
    """Fills the whole shop on entering it, in the game's order."""
    place = tags.find_tag(g, tags.D_SIX)
    g.d6_shop = place >= 0
    if place >= 0:
        tags.remove_tag(g, place)
    g.shop_count = 0
    fill_card_slots(g)
    g.voucher_count = 0
    if g.ante_voucher >= 0:
        g.shop_voucher[0] = g.ante_voucher
        g.voucher_count = 1
    for index in range(state.MAX_BOOSTERS):
        g.booster_id[index] = draw_booster(g)
        g.booster_free[index] = 0
    g.booster_count = state.MAX_BOOSTERS
    place = tags.find_tag(g, tags.VOUCHER)
    while place >= 0:
        tags.remove_tag(g, place)
        add_tag_voucher(g)
        place = tags.find_tag(g, tags.VOUCHER)
    place = tags.find_tag(g, tags.COUPON)
    if place >= 0:
        tags.remove_tag(g, place)
        for index in range(g.shop_count):
            g.offer_flags[index] |= state.FREE
        for index in range(state.MAX_BOOSTERS):
            g.booster_free[index] = 1


@njit
def clear_shop(g):
    """Takes everything off the shelves on leaving."""
    clear_card_slots(g)
    g.voucher_count = 0
    g.booster_count = 0
    g.d6_shop = False
    g.reroll_rebate = 0
