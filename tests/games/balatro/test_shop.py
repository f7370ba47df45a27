"""What the shop and its tags offer, what is blank in pools, what things cost."""

import numpy as np
import pytest

from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules import inventory, run_start, state, tags
from jimbot.games.balatro.rules.chance import pools, streams
from jimbot.games.balatro.rules.content import CONSUMABLES, DECKS, JOKERS, PACKS, TAGS, VOUCHERS
from jimbot.games.balatro.rules.shop import packs, prices, stock, vouchers


def start(deck: str = "b_red", stake: int = 1, seed: str = "TESTSEED", challenge: int = 0):
    g = state.new_games(1)[0]
    g.seed, g.seed_length = streams.seed_bytes(seed)
    g.deck, g.stake, g.challenge = DECKS.id(deck), stake, challenge
    run_start.start_run(g)
    return g


def give(g, key: str, edition: int = 0, flags: int = 0) -> int:
    return inventory.add_joker(g, JOKERS.id(key), edition, flags, 0, int(g.next_serial))


def own(g, *keys: str) -> None:
    for key in keys:
        vouchers.own_voucher(g, VOUCHERS.id(key))


# --- blanks ---


def blank(g, pool: int, key: str) -> bool:
    table = JOKERS if pool <= 4 else CONSUMABLES
    return bool(pools.is_blank(g, pool, table.id(key)))


def test_a_joker_that_exists_is_blank_until_its_last_copy_is_gone():
    g = start()
    give(g, "j_joker")
    give(g, "j_joker")
    assert blank(g, 1, "j_joker")
    inventory.remove_joker(g, 0)
    assert blank(g, 1, "j_joker")
    inventory.remove_joker(g, 0)
    assert not blank(g, 1, "j_joker")


def test_an_active_showman_lifts_blanks_of_existing_cards_but_no_gates():
    g = start()
    give(g, "j_joker")
    showman = give(g, "j_ring_master")
    assert not blank(g, 1, "j_joker")
    assert blank(g, 2, "j_glass")
    inventory.set_joker_debuff(g, showman, True)
    assert blank(g, 1, "j_joker")


@pytest.mark.parametrize(
    ("joker", "enhancement"),
    [("j_stone", c.STONE), ("j_steel_joker", c.STEEL), ("j_glass", c.GLASS), ("j_lucky_cat", c.LUCKY)],
)
def test_enhancement_jokers_come_only_with_such_a_card_in_the_deck(joker, enhancement):
    g = start()
    assert blank(g, 2, joker)
    g.enhancement_count[enhancement] = 1
    assert not blank(g, 2, joker)


def test_cavendish_replaces_gros_michel_once_it_is_extinct():
    g = start()
    assert (blank(g, 1, "j_gros_michel"), blank(g, 1, "j_cavendish")) == (False, True)
    g.michel_extinct = True
    assert (blank(g, 1, "j_gros_michel"), blank(g, 1, "j_cavendish")) == (True, False)


def test_secret_planets_come_only_after_their_hand_was_played():
    g = start()
    assert blank(g, pools.POOL_PLANET, "c_ceres")
    g.hand_played[c.HANDS.id("Flush House")] = 1
    assert not blank(g, pools.POOL_PLANET, "c_ceres")
    assert blank(g, pools.POOL_SPECTRAL, "c_soul")


def test_an_all_blank_pool_gives_its_fallback_and_uses_one_draw():
    g, fresh = start(), start()
    g.used[: len(JOKERS)] = 1
    g.used[state.FIRST_CONSUMABLE_KEY :] = 1
    stream = streams.stream_id("Tarotsho{ante}")
    assert CONSUMABLES.key(int(pools.choose_from_pool(g, pools.POOL_TAROT, stream))) == "c_strength"
    assert JOKERS.key(int(pools.choose_from_pool(g, 2, streams.stream_id("Joker2sho{ante}")))) == "j_joker"
    streams.roll(fresh, stream)
    assert streams.roll(g, stream) == streams.roll(fresh, stream)


def test_second_tier_vouchers_need_the_first_and_nothing_is_sold_twice():
    g = start()
    plus, norm = VOUCHERS.id("v_overstock_plus"), VOUCHERS.id("v_overstock_norm")
    assert pools.is_blank(g, pools.POOL_VOUCHER, plus)
    own(g, "v_overstock_norm")
    assert not pools.is_blank(g, pools.POOL_VOUCHER, plus)
    assert pools.is_blank(g, pools.POOL_VOUCHER, norm)
    g.shop_voucher[0], g.voucher_count = plus, 1
    assert pools.is_blank(g, pools.POOL_VOUCHER, plus)


# --- stocking ---


def test_the_first_booster_of_a_run_is_a_buffoon_pack_even_in_ante_2():
    g = start()
    g.ante = 2
    stock.stock_shop(g)
    assert PACKS.key(int(g.booster_id[0])) == "p_buffoon_normal_1"
    stock.clear_shop(g)
    g.ante = 3
    stock.stock_shop(g)
    kinds = [PACKS.key(int(pack)) for pack in g.booster_id]
    fresh = start()
    fresh.ante, fresh.first_booster_given = 3, True
    assert kinds == [PACKS.key(int(stock.draw_booster(fresh))) for _ in range(2)]


def test_an_uncommon_tag_gives_a_free_uncommon_joker_in_the_first_slot_only():
    g = start()
    tags.gain_tag(g, tags.UNCOMMON, -1)
    stock.stock_shop(g)
    assert g.offer_kind[0] == state.OFFER_JOKER
    assert c.JOKER_RARITY[g.offer_id[0]] == 2
    assert (prices.offer_price(g, 0), g.tag_count) == (0, 0)
    assert prices.offer_price(g, 1) > 0


def test_a_rare_tag_is_spent_for_nothing_when_all_rare_jokers_are_held():
    g = start()
    for key in [row["key"] for row in JOKERS if row["rarity"] == 3]:
        give(g, key)
    tags.gain_tag(g, tags.RARE, -1)
    stock.stock_shop(g)
    assert g.tag_count == 0
    assert not g.offer_flags[0] & state.FREE


@pytest.mark.parametrize(
    ("tag", "edition"),
    [("tag_foil", c.FOIL), ("tag_holo", c.HOLOGRAPHIC), ("tag_polychrome", c.POLYCHROME), ("tag_negative", c.NEGATIVE)],
)
def test_an_edition_tag_turns_the_first_plain_joker(tag, edition):
    g = start()  # the first shop of this seed shows two jokers without edition
    tags.gain_tag(g, TAGS.id(tag), -1)
    stock.stock_shop(g)
    assert (g.offer_edition[0], prices.offer_price(g, 0), g.tag_count) == (edition, 0, 0)
    assert g.offer_edition[1] == 0


def test_coupon_d6_and_voucher_tags_act_once_in_the_next_shop():
    g = start()
    for tag in (tags.COUPON, tags.D_SIX, tags.VOUCHER, tags.VOUCHER, tags.D_SIX):
        tags.gain_tag(g, tag, -1)
    stock.stock_shop(g)
    assert [prices.offer_price(g, 0), prices.offer_price(g, 1)] == [0, 0]
    assert [prices.booster_price(g, 0), prices.booster_price(g, 1)] == [0, 0]
    assert g.voucher_count == 3
    assert len(set(g.shop_voucher[:3].tolist())) == 3
    assert prices.voucher_price(g, g.shop_voucher[0]) == 10
    assert (prices.reroll_price(g), g.tag_count) == (0, 1)
    stock.reroll_cards(g)
    assert prices.offer_price(g, 0) > 0


def test_every_double_tag_copies_the_next_tag_but_not_another_double_tag():
    g = start()
    for tag in (tags.DOUBLE, tags.DOUBLE, tags.ORBITAL):
        tags.gain_tag(g, tag, 7 if tag == tags.ORBITAL else -1)
    assert g.tag_id[: g.tag_count].tolist() == [tags.ORBITAL] * 3
    assert g.tag_hand[:3].tolist() == [7, 7, 7]


def test_overstock_fills_empty_slots_of_the_open_shop():
    g = start()
    stock.stock_shop(g)
    own(g, "v_overstock_norm", "v_overstock_plus")
    stock.fill_card_slots(g)
    assert g.shop_count == 4


def test_magic_trick_and_illusion_bring_playing_cards_with_editions():
    g = start()
    own(g, "v_magic_trick", "v_illusion")
    g.shop_weight[:] = 0
    g.shop_weight[3] = 4
    seen = []
    for ante in range(1, 60):
        g.ante = ante
        stock.reroll_cards(g)
        assert g.offer_kind[0] == state.OFFER_CARD
        seen.append((int(g.offer_enhancement[0]), int(g.offer_edition[0])))
    enhanced, with_edition = np.mean([bool(e) for e, _ in seen]), np.mean([bool(e) for _, e in seen])
    assert 0.2 < enhanced < 0.6
    assert 0.05 < with_edition < 0.4
    assert c.NEGATIVE not in {edition for _, edition in seen}


# --- packs ---


def test_telescope_forces_the_planet_of_the_most_played_hand_stronger_on_ties():
    g = start()
    own(g, "v_telescope")
    for hand in ("Flush", "High Card"):
        g.hand_played[c.HANDS.id(hand)] = 3
    packs.open_pack(g, PACKS.id("p_celestial_normal_1"))
    assert CONSUMABLES.key(int(g.offer_id[4])) == "c_jupiter"
    packs.close_pack(g)
    assert not g.used.any()


def test_omen_globe_puts_spectrals_into_arcana_packs():
    g = start()
    own(g, "v_omen_globe")
    seen = []
    for _ in range(20):
        packs.open_pack(g, PACKS.id("p_arcana_mega_1"))
        seen += [CONSUMABLES.rows[i]["set"] for i in g.offer_id[4 : 4 + g.pack_count]]
        packs.close_pack(g)
    assert 0.08 < np.mean([kind == "Spectral" for kind in seen]) < 0.35


# --- prices ---


@pytest.mark.parametrize(
    ("owned", "edition", "flags", "price", "sell"),
    [((), 0, 0, 10, 5), ((), c.FOIL, 0, 12, 6), ((), c.NEGATIVE, 0, 15, 7), (("v_clearance_sale",), 0, 0, 7, 3),
     (("v_clearance_sale", "v_liquidation"), c.POLYCHROME, 0, 7, 3), ((), c.HOLOGRAPHIC, state.RENTAL, 1, 1)],
)  # fmt: skip
def test_a_blueprint_costs_its_price_by_edition_discount_and_rental(owned, edition, flags, price, sell):
    g = start()
    own(g, *owned)
    index = give(g, "j_blueprint", edition, flags)
    assert prices.joker_price(g, JOKERS.id("j_blueprint"), edition, flags) == price
    assert prices.joker_sell_value(g, index) == sell


def test_an_active_astronomer_makes_planets_and_celestial_packs_free():
    g = start()
    planet = CONSUMABLES.id("c_pluto")
    g.booster_id[0] = PACKS.id("p_celestial_jumbo_1")
    assert (prices.consumable_price(g, planet, 0), prices.booster_price(g, 0)) == (3, 6)
    index = give(g, "j_astronomer")
    assert (prices.consumable_price(g, planet, 0), prices.booster_price(g, 0)) == (0, 0)
    g.joker_flags[index] |= state.DEBUFFED
    assert prices.consumable_price(g, planet, 0) == 3


def test_rerolls_cost_more_each_time_less_by_voucher_and_nothing_while_free():
    g = start()
    g.reroll_increase = 2
    assert prices.reroll_price(g) == 7
    own(g, "v_reroll_surplus")
    assert prices.reroll_price(g) == 5
    give(g, "j_chaos")
    assert prices.reroll_price(g) == 0


# --- what jokers give by being there ---


@pytest.mark.parametrize(
    ("joker", "hand_size", "hands", "discards", "interest"),
    [("j_juggler", 1, 0, 0, 0), ("j_troubadour", 2, -1, 0, 0), ("j_drunkard", 0, 0, 1, 0),
     ("j_merry_andy", -1, 0, 3, 0), ("j_stuntman", -2, 0, 0, 0), ("j_turtle_bean", 5, 0, 0, 0),
     ("j_to_the_moon", 0, 0, 0, 1)],
)  # fmt: skip
def test_passive_jokers_give_their_bonus_while_held_and_active(joker, hand_size, hands, discards, interest):
    g = start()

    def bonuses():
        return (int(g.hand_size), int(g.hands_per_round), int(g.discards_per_round), int(g.interest_per_five))

    before = bonuses()
    index = give(g, joker)
    gained = tuple(np.subtract(bonuses(), before))
    assert gained == (hand_size, hands, discards, interest)
    inventory.set_joker_debuff(g, index, True)
    assert bonuses() == before
    inventory.set_joker_debuff(g, index, False)
    assert tuple(np.subtract(bonuses(), before)) == gained
    inventory.remove_joker(g, index)
    assert bonuses() == before


def test_a_negative_joker_or_consumable_brings_its_own_slot():
    g = start()
    give(g, "j_joker", c.NEGATIVE)
    inventory.add_consumable(g, 0, c.NEGATIVE, 0)
    assert (g.joker_slots, g.consumable_slots) == (6, 3)
    inventory.remove_joker(g, 0)
    inventory.remove_consumable(g, 0)
    assert (g.joker_slots, g.consumable_slots) == (5, 2)


def test_credit_cards_and_oops_count_only_while_active():
    g = start()
    for _ in range(2):
        give(g, "j_credit_card")
        give(g, "j_oops")
    assert (inventory.debt_floor(g), inventory.odds_numerator(g)) == (-40, 4)
    inventory.set_joker_debuff(g, 0, True)
    inventory.set_joker_debuff(g, 1, True)
    assert (inventory.debt_floor(g), inventory.odds_numerator(g)) == (-20, 2)
