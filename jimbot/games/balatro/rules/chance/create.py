"""Creating jokers, consumables and playing cards at random: rarity, pool, stickers, edition.

Each draw has its own stream, so only the order of draws within one stream matters. Created things are put on display
as an offer (shop slot or pack card) or handed to the player directly by the effect that made them.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content, state
from jimbot.games.balatro.rules.challenges import ALL_ETERNAL, BANNED_CONSUMABLE
from jimbot.games.balatro.rules.chance import pools
from jimbot.games.balatro.rules.chance.streams import pick, roll, stream_id
from jimbot.games.balatro.rules.inventory import START_COUNTER, add_joker
from jimbot.games.balatro.rules.playing_cards.cards import new_serial
from jimbot.games.balatro.rules.playing_cards.hands import hand_visible

_STICKER_SHOP, _STICKER_PACK = stream_id("etperpoll{ante}"), stream_id("packetper{ante}")
_RENTAL_SHOP, _RENTAL_PACK = stream_id("ssjr{ante}"), stream_id("packssjr{ante}")
_SOUL_TAROT, _SOUL_PLANET = stream_id("soul_Tarot{ante}"), stream_id("soul_Planet{ante}")
_SOUL_SPECTRAL = stream_id("soul_Spectral{ante}")
_TO_DO = stream_id("to_do")
_TODO_LIST, _LOYALTY_CARD = content.JOKERS.id("j_todo_list"), content.JOKERS.id("j_loyalty_card")
_THE_SOUL, _BLACK_HOLE = content.CONSUMABLES.id("c_soul"), content.CONSUMABLES.id("c_black_hole")
_HAND_COUNT = len(content.HANDS)
_SOUL_ABOVE = content.RATES["soul_above"]
_UNCOMMON_ABOVE, _RARE_ABOVE = content.RATES["rarity_above"]["uncommon"], content.RATES["rarity_above"]["rare"]
_ETERNAL_ABOVE, _PERISHABLE_ABOVE, _RENTAL_ABOVE = (
    content.RATES["stickers"][f"{name}_above"] for name in ("eternal", "perishable", "rental")
)
_FOIL_CHANCE, _HOLOGRAPHIC_CHANCE, _POLYCHROME_CHANCE, _NEGATIVE_CHANCE = (
    content.EDITIONS.row(key)["chance"] for key in ("e_foil", "e_holo", "e_polychrome", "e_negative")
)
_HOLOGRAPHIC_IF_CERTAIN, _POLYCHROME_IF_CERTAIN = (
    content.EDITIONS.row(key)["chance_if_certain"] for key in ("e_holo", "e_polychrome")
)
_RED_ABOVE, _BLUE_ABOVE, _GOLD_ABOVE = (content.SEALS.row(key)["above"] for key in ("Red", "Blue", "Gold"))


# --- jokers ---


@njit
def roll_edition(g, stream, modifier, negative_allowed):
    """An edition from one roll; voucher rates multiply all chances but Negative's."""
    value = roll(g, stream)
    if negative_allowed and value > 1 - _NEGATIVE_CHANCE * modifier:
        return content.NEGATIVE
    if value > 1 - _POLYCHROME_CHANCE * g.edition_rate * modifier:
        return content.POLYCHROME
    if value > 1 - _HOLOGRAPHIC_CHANCE * g.edition_rate * modifier:
        return content.HOLOGRAPHIC
    if value > 1 - _FOIL_CHANCE * g.edition_rate * modifier:
        return content.FOIL
    return 0


@njit
def guaranteed_edition(g, stream):
    """An edition for certain, never Negative (Wheel of Fortune, Aura, Illusion)."""
    value = roll(g, stream)
    if value > 1 - _POLYCHROME_IF_CERTAIN:
        return content.POLYCHROME
    if value > 1 - _HOLOGRAPHIC_IF_CERTAIN:
        return content.HOLOGRAPHIC
    return content.FOIL


@njit
def roll_rarity(g, source):
    """1 Common, 2 Uncommon or 3 Rare."""
    value = roll(g, pools.RARITY_STREAM[source])
    if value > _RARE_ABOVE:
        return 3
    if value > _UNCOMMON_ABOVE:
        return 2
    return 1


@njit
def draw_joker(g, source, rarity):
    """A joker id; rarity 0 rolls for it."""
    if rarity == 0:
        rarity = roll_rarity(g, source)
    return pools.choose_from_pool(g, rarity, pools.POOL_STREAM[rarity, source])


@njit
def base_stickers(g, joker):
    """Stickers of a joker made anywhere: only the Non-Perishable challenge gives one."""
    if ALL_ETERNAL[g.challenge] and content.JOKER_CAN_BE_ETERNAL[joker]:
        return state.ETERNAL
    return 0


@njit
def display_stickers(g, joker, in_pack):
    """Stickers of a joker in the shop or in a Buffoon pack. The first roll is made at every stake."""
    flags = base_stickers(g, joker)
    value = roll(g, _STICKER_PACK if in_pack else _STICKER_SHOP)
    if content.STAKE_ETERNALS[g.stake] and value > _ETERNAL_ABOVE:
        if content.JOKER_CAN_BE_ETERNAL[joker]:
            flags |= state.ETERNAL
    elif content.STAKE_PERISHABLES[g.stake] and value > _PERISHABLE_ABOVE and value <= _ETERNAL_ABOVE:
        if content.JOKER_CAN_PERISH[joker] and not flags & state.ETERNAL:
            flags |= state.PERISHABLE
    if content.STAKE_RENTALS[g.stake] and roll(g, _RENTAL_PACK if in_pack else _RENTAL_SHOP) > _RENTAL_ABOVE:
        flags |= state.RENTAL
    return flags


@njit
def pick_visible_hand(g, stream, without):
    """One of the visible poker hands, strongest first, leaving out `without` (-1: none)."""
    count = 0
    for hand in range(_HAND_COUNT):
        if hand_visible(g, hand) and hand != without:
            count += 1
    chosen = pick(g, stream, count)
    for hand in range(_HAND_COUNT):
        if hand_visible(g, hand) and hand != without:
            if chosen == 0:
                return hand
            chosen -= 1
    return -1


@njit
def start_counter(g, joker):
    """The counter a joker is created with; a To Do List draws its hand now, even on display."""
    if joker == _TODO_LIST:
        return pick_visible_hand(g, _TO_DO, -1)
    if joker == _LOYALTY_CARD:
        return g.hands_played
    return START_COUNTER[joker]


@njit
def make_joker(g, source, rarity):
    """Creates a joker straight into the player's hands; the caller has checked for room. Returns its place."""
    if source == pools.SOUL:
        roll_rarity(g, source)  # drawn by the game although the rarity is fixed
    joker = draw_joker(g, source, rarity)
    edition = roll_edition(g, pools.EDITION_STREAM[source], 1, True)
    return add_joker(g, joker, edition, base_stickers(g, joker), start_counter(g, joker), new_serial(g))


# --- consumables ---


@njit
def draw_tarot(g, source):
    """A Tarot id; no soul roll."""
    return pools.choose_from_pool(g, pools.POOL_TAROT, pools.POOL_STREAM[pools.POOL_TAROT, source])


@njit
def draw_planet(g, source):
    """A Planet id; no soul roll."""
    return pools.choose_from_pool(g, pools.POOL_PLANET, pools.POOL_STREAM[pools.POOL_PLANET, source])


@njit
def draw_spectral(g, source):
    """A Spectral id; no soul roll."""
    return pools.choose_from_pool(g, pools.POOL_SPECTRAL, pools.POOL_STREAM[pools.POOL_SPECTRAL, source])


@njit
def _soul_roll(g, stream, special):
    """Whether a special card comes out; no roll is made while it exists."""
    return not pools.exists(g, state.FIRST_CONSUMABLE_KEY + special) and roll(g, stream) > _SOUL_ABOVE


@njit
def draw_pack_consumable(g, pool, source):
    """A consumable of a pack, which may be The Soul or Black Hole instead."""
    if not BANNED_CONSUMABLE[g.challenge, _THE_SOUL]:
        if pool == pools.POOL_TAROT:
            if _soul_roll(g, _SOUL_TAROT, _THE_SOUL):
                return _THE_SOUL
        elif pool == pools.POOL_PLANET:
            if _soul_roll(g, _SOUL_PLANET, _BLACK_HOLE):
                return _BLACK_HOLE
        else:
            soul = _soul_roll(g, _SOUL_SPECTRAL, _THE_SOUL)
            if _soul_roll(g, _SOUL_SPECTRAL, _BLACK_HOLE):
                return _BLACK_HOLE
            if soul:
                return _THE_SOUL
    return pools.choose_from_pool(g, pool, pools.POOL_STREAM[pool, source])


# --- playing cards ---


@njit
def draw_front(g, stream):
    """(rank, suit) of a random front."""
    front = pick(g, stream, 52)
    return content.FRONT_RANK[front], content.FRONT_SUIT[front]


@njit
def draw_enhancement(g, source):
    """One of the eight enhancements."""
    return pools.choose_from_pool(g, pools.POOL_ENHANCED, pools.POOL_STREAM[pools.POOL_ENHANCED, source])


@njit
def roll_seal(g, stream):
    """One of the four seals (Standard pack, Certificate)."""
    value = roll(g, stream)
    if value > _RED_ABOVE:
        return content.RED_SEAL
    if value > _BLUE_ABOVE:
        return content.BLUE_SEAL
    if value > _GOLD_ABOVE:
        return content.GOLD_SEAL
    return content.PURPLE_SEAL


# --- offers ---


@njit
def _blank_offer(g, place, kind, identifier):
    g.offer_kind[place] = kind
    g.offer_id[place] = identifier
    g.offer_suit[place] = 0
    g.offer_enhancement[place] = 0
    g.offer_seal[place] = 0
    g.offer_edition[place] = 0
    g.offer_flags[place] = 0
    g.offer_counter[place] = 0
    g.offer_serial[place] = new_serial(g)


@njit
def offer_joker(g, place, source, rarity):
    """Displays a random joker: in the shop with stickers of the shop, else with those of a pack."""
    joker = draw_joker(g, source, rarity)
    _blank_offer(g, place, state.OFFER_JOKER, joker)
    g.used[joker] = 1
    g.offer_flags[place] = display_stickers(g, joker, place >= state.FIRST_PACK_OFFER)
    g.offer_edition[place] = roll_edition(g, pools.EDITION_STREAM[source], 1, True)
    g.offer_counter[place] = start_counter(g, joker)


@njit
def offer_consumable(g, place, consumable):
    """Displays a consumable."""
    _blank_offer(g, place, state.OFFER_CONSUMABLE, consumable)
    g.used[state.FIRST_CONSUMABLE_KEY + consumable] = 1


@njit
def offer_playing_card(g, place, source, enhanced):
    """Displays a playing card with a random front and, if `enhanced`, a random enhancement."""
    rank, suit = draw_front(g, pools.FRONT_STREAM[source])
    _blank_offer(g, place, state.OFFER_CARD, rank)
    g.offer_suit[place] = suit
    if enhanced:
        g.offer_enhancement[place] = draw_enhancement(g, source)
