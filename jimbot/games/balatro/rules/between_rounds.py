"""What a player does between rounds: cash out, buy, sell, reroll, redeem, open and use packs, leave, choose a blind.

Every function trusts its caller to have asked `decisions.is_legal`.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import firing_tags, inventory, state, tags
from jimbot.games.balatro.rules.antes import draw_boss
from jimbot.games.balatro.rules.bosses.blind import disable_blind, is_boss_round
from jimbot.games.balatro.rules.bosses.dispatch import gives_up_at_sale
from jimbot.games.balatro.rules.challenges import INFLATION
from jimbot.games.balatro.rules.chance.create import pick_visible_hand
from jimbot.games.balatro.rules.chance.streams import BANKS, stream_id
from jimbot.games.balatro.rules.consumables.using import use_effect
from jimbot.games.balatro.rules.content import NEGATIVE, VOUCHERS
from jimbot.games.balatro.rules.inventory import debt_floor
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.playing_cards.cards import add_card, shuffle_pile
from jimbot.games.balatro.rules.playing_cards.dealing import draw_for_hand_size
from jimbot.games.balatro.rules.playing_cards.piles import put_under_pile
from jimbot.games.balatro.rules.shop import prices
from jimbot.games.balatro.rules.shop.packs import end_pack, start_pack
from jimbot.games.balatro.rules.shop.stock import clear_shop, fill_card_slots, reroll_cards, stock_shop, take_offer
from jimbot.games.balatro.rules.shop.vouchers import DIRECTORS_CUT, RETCON, own_voucher
from jimbot.games.balatro.rules.state import BLIND_SELECT, SELECTABLE, SKIPPED

_CASH_OUT = stream_id("cashout{ante}")


# --- entering and leaving ---


@njit
def cash_out(g, s):
    """Takes the payout, makes the next blind selectable (after a boss a new ante's three) and opens the shop."""
    g.money += g.payout
    shuffle_pile(g, _CASH_OUT)
    if is_boss_round(g):
        tags.draw_skip_tags(g)
        draw_boss(g)
        g.boss_rerolled = False
        g.on_deck = 0
        g.blind_state[1] = state.UPCOMING
        g.blind_state[2] = state.UPCOMING
    else:
        g.on_deck += 1
    g.blind_state[g.on_deck] = state.SELECTABLE
    stock_shop(g)
    g.phase = state.SHOP


@njit
def leave_shop(g, s):
    """Jokers act on leaving while the goods are still there; then the next blind is chosen."""
    moments.end_shop(g, s)
    clear_shop(g)
    enter_blind_select(g, s)


# --- paying ---


@njit
def can_afford(g, price):
    """Whether a price may be paid; free things always."""
    return price == 0 or g.money - inventory.debt_floor(g) >= price


@njit
def _pay(g, price):
    """Pays for a card or a voucher; packs raise prices when they are opened, since a tag's pack does so too."""
    g.money -= price
    g.inflation += INFLATION[g.challenge]


# --- taking offers ---


@njit
def has_room_for_offer(g, place):
    """Whether an offered card may be taken; a playing card needs no room.

    A Negative joker brings its own slot. In the shop that has to suffice: with more jokers than slots (Typecast) it
    cannot be bought, while a pack gives it all the same.
    """
    if g.offer_kind[place] == state.OFFER_CONSUMABLE:
        return inventory.has_consumable_room(g)
    if g.offer_kind[place] != state.OFFER_JOKER:
        return True
    if g.offer_edition[place] != NEGATIVE:
        return inventory.has_joker_room(g)
    return g.joker_count < state.MAX_JOKERS and (place >= state.FIRST_PACK_OFFER or g.joker_count <= g.joker_slots)


@njit
def _take(g, s, place):
    """Hands an offered card to the player; the caller closes the gap."""
    identifier, edition, serial = g.offer_id[place], g.offer_edition[place], g.offer_serial[place]
    if g.offer_kind[place] == state.OFFER_JOKER:
        flags = g.offer_flags[place] & (0xFF ^ state.FREE)
        inventory.add_joker(g, identifier, edition, flags, g.offer_counter[place], serial)
    elif g.offer_kind[place] == state.OFFER_CONSUMABLE:
        inventory.add_consumable(g, identifier, edition, serial)
    else:
        enhancement, seal = g.offer_enhancement[place], g.offer_seal[place]
        slot = add_card(g, identifier, g.offer_suit[place], enhancement, edition, seal, serial, state.IN_DECK)
        if slot >= 0:
            put_under_pile(g, slot)
            moments.card_added(g, s, 1)


@njit
def buy(g, s, index):
    """Buys a shop card."""
    _pay(g, prices.offer_price(g, index))
    _take(g, s, index)
    take_offer(g, index, 0, g.shop_count)
    g.shop_count -= 1


@njit
def buy_and_use(g, s, index, targets):
    """Buys a consumable and uses it at once, so that it needs no slot."""
    consumable = np.int64(g.offer_id[index])
    _pay(g, prices.offer_price(g, index))
    take_offer(g, index, 0, g.shop_count)
    g.shop_count -= 1
    use_effect(g, s, consumable, targets)
    inventory.release_key(g, state.FIRST_CONSUMABLE_KEY + consumable)


@njit
def redeem(g, s, index):
    """Buys a voucher. Overstock fills its new slot and all empty ones at once."""
    voucher = g.shop_voucher[index]
    _pay(g, prices.voucher_price(g, voucher))
    for place in range(index, g.voucher_count - 1):
        g.shop_voucher[place] = g.shop_voucher[place + 1]
    g.voucher_count -= 1
    if g.ante_voucher == voucher:
        g.ante_voucher = -1
    slots = g.shop_slots
    own_voucher(g, voucher)
    if g.shop_slots > slots:
        fill_card_slots(g)


@njit
def reroll(g, s):
    """New cards for money; a free reroll does not raise the price."""
    price = prices.reroll_price(g)
    if g.free_rerolls > 0:
        g.free_rerolls -= 1
    else:
        g.money -= price
        g.reroll_increase += 1
    g.reroll_rebate = 0
    reroll_cards(g)
    moments.reroll_shop(g, s)


# --- packs ---


@njit
def open_booster(g, s, index):
    """Buys a booster pack and opens it."""
    pack = g.booster_id[index]
    g.money -= prices.booster_price(g, index)
    for place in range(index, g.booster_count - 1):
        g.booster_id[place] = g.booster_id[place + 1]
        g.booster_free[place] = g.booster_free[place + 1]
    g.booster_count -= 1
    start_pack(g, s, pack)


@njit
def _leave_pack(g, s):
    end_pack(g)
    if g.phase == state.BLIND_SELECT:
        firing_tags.fire_choice_tags(g, s)


@njit
def pick_from_pack(g, s, index, targets):
    """Takes a card out of the open pack; a consumable is used on the spot."""
    place = state.FIRST_PACK_OFFER + index
    consumable = -1
    if g.offer_kind[place] == state.OFFER_CONSUMABLE:
        consumable = np.int64(g.offer_id[place])
    else:
        _take(g, s, place)
    take_offer(g, place, state.FIRST_PACK_OFFER, g.pack_count)
    g.pack_count -= 1
    if consumable >= 0:
        use_effect(g, s, consumable, targets)
        inventory.release_key(g, state.FIRST_CONSUMABLE_KEY + consumable)
    g.pack_picks -= 1
    if g.pack_picks <= 0:
        _leave_pack(g, s)


@njit
def skip_pack(g, s):
    """Leaves the rest of a pack."""
    moments.skip_booster(g, s)
    _leave_pack(g, s)


# --- cards held ---


@njit
def use_held(g, s, index, targets):
    """Uses a held consumable. Its slot, if Negative, and its key are given back after the effect."""
    consumable = np.int64(g.consumable_id[index])
    size = g.hand_size
    negative = g.consumable_edition[index] == NEGATIVE
    g.consumable_edition[index] = 0
    inventory.remove_consumable(g, index)
    g.used[state.FIRST_CONSUMABLE_KEY + consumable] = 1
    use_effect(g, s, consumable, targets)
    draw_for_hand_size(g, size)
    if negative:
        g.consumable_slots -= 1
    inventory.release_key(g, state.FIRST_CONSUMABLE_KEY + consumable)


@njit
def sell_consumable(g, s, index):
    """Sells a consumable."""
    g.money += prices.consumable_sell_value(g, index)
    inventory.remove_consumable(g, index)
    moments.selling_card(g, s)


@njit
def sell_joker(g, s, index):
    """Sells a joker; its own last effect comes before the money. Verdant Leaf gives up at a sold joker."""
    value = prices.joker_sell_value(g, index)
    size = g.hand_size
    moments.selling_self(g, s, index)
    g.money += value
    inventory.remove_joker(g, index)
    moments.selling_card(g, s)
    if g.phase == state.SELECTING_HAND and gives_up_at_sale(g):
        disable_blind(g)
    draw_for_hand_size(g, size)


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
    firing_tags.fire_choice_tags(g, s)


@njit
def skip_blind(g, s):
    """Skips the Small or Big Blind for its tag."""
    g.skips += 1
    tag = g.skip_tag[g.on_deck]
    hand = g.orbital_hand[_orbital_bank(g), g.on_deck] if tag == tags.ORBITAL else -1
    tags.gain_tag(g, tag, hand)
    g.blind_state[g.on_deck] = SKIPPED
    g.on_deck += 1
    g.blind_state[g.on_deck] = SELECTABLE
    firing_tags.fire_immediate_tags(g)
    firing_tags.fire_choice_tags(g, s)


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
