"""The shop as a player uses it: buying, using, selling, rerolling, vouchers, packs, and what it costs."""

import pytest

from jimbot.games.balatro.rules.content import CONSUMABLES, JOKERS, PACKS, VOUCHERS
from jimbot.games.balatro.rules.state import (
    ETERNAL,
    FIRST_CONSUMABLE_KEY,
    FIRST_PACK_OFFER,
    OFFER_CARD,
)
from tests.games.balatro.playing import Run
from tests.games.balatro.worked import offer, offer_card, sell_a_voucher, shop

# --- buying ---


def test_a_bought_joker_costs_its_price_and_later_cards_move_down():
    run = shop(10)
    offer(run, 0, "j_jolly")  # 3 dollars
    second = int(run.g.offer_id[1])
    run.act("buy", 0)
    assert run.money == 7
    assert run.jokers == ["j_jolly"]
    assert run.g.shop_count == 1
    assert run.g.offer_id[0] == second


def test_what_cannot_be_paid_cannot_be_bought_unless_a_credit_card_allows_debt():
    run = shop(2)
    offer(run, 0, "j_jolly")
    assert not run.allows("buy", 0)
    run.joker("j_credit_card")
    assert run.act("buy", 0).money == -1


def test_free_things_can_be_taken_even_in_debt():
    run = shop(-5)
    offer(run, 0, "j_jolly")
    run.g.offer_flags[0] = 128
    assert run.act("buy", 0).money == -5
    assert run.g.joker_flags[0] == 0


def test_jokers_and_consumables_need_a_slot_but_a_negative_joker_brings_its_own():
    run = shop()
    run.g.joker_slots, run.g.consumable_slots = 0, 0
    offer(run, 0, "j_jolly")
    offer(run, 1, "c_mars")
    assert not run.allows("buy", 0)
    assert not run.allows("buy", 1)
    run.g.offer_edition[0] = 4
    run.act("buy", 0)
    assert run.jokers == ["j_jolly"]
    assert run.g.joker_slots == 1


def test_a_playing_card_joins_the_deck_at_the_bottom_and_hologram_grows():
    run = shop()
    run.joker("j_hologram")
    offer_card(run, 0, 14, 0)
    run.act("buy", 0)
    assert run.g.card_count == run.g.pile_count == 53
    assert run.describe(int(run.g.pile[0])) == "S_A"
    assert run.g.joker_value[0] == 1.25


def test_buy_and_use_needs_no_slot_but_the_use_condition():
    run = shop(10)
    run.g.consumable_slots = 0
    offer(run, 0, "c_hermit")
    assert not run.allows("buy", 0)
    assert run.act("buy_and_use", 0).money == 14  # 10 - 3, doubled
    assert run.g.used[FIRST_CONSUMABLE_KEY + CONSUMABLES.id("c_hermit")] == 0
    offer(run, 0, "c_lovers")
    assert not run.allows("buy_and_use", 0), "there is no hand in the shop"
    offer(run, 0, "c_emperor")
    assert not run.allows("buy_and_use", 0), "its Tarots need a slot"


def test_jokers_cannot_be_bought_and_used():
    run = shop()
    offer(run, 0, "j_jolly")
    assert not run.allows("buy_and_use", 0)


def test_inflation_raises_all_prices_by_a_dollar_per_purchase():
    run = shop(challenge="c_inflation_1")
    offer(run, 0, "j_jolly")
    offer(run, 1, "j_jolly")
    assert run.act("buy", 0).money == 47
    assert run.act("buy", 0).money == 43


# --- selling ---


def test_a_sold_joker_pays_half_its_price_and_its_key_is_free_again():
    run = shop(0)
    run.joker("j_blueprint")
    assert run.act("sell_joker").money == 5
    assert run.g.used[JOKERS.id("j_blueprint")] == 0


def test_eternal_jokers_cannot_be_sold():
    run = shop()
    run.joker("j_joker", flags=ETERNAL)
    assert not run.allows("sell_joker")


def test_consumables_sell_for_half_and_campfire_sees_every_sale():
    run = shop(0)
    run.joker("j_campfire")
    run.consumable("c_mars")
    run.joker("j_joker")
    run.act("sell_consumable").act("sell_joker", 1)
    assert run.money == 2
    assert run.g.joker_value[0] == 1.5


def test_a_discount_lowers_prices_and_sell_values():
    run = shop(0)
    run.joker("j_blueprint")
    run.voucher("v_clearance_sale")
    assert run.act("sell_joker").money == 3  # 10 dollars at 75 percent are 7


def test_diet_cola_sold_gives_a_double_tag():
    run = shop()
    run.joker("j_diet_cola")
    assert run.act("sell_joker").tags == ["tag_double"]


@pytest.mark.parametrize("phase", ["blind_select", "selecting_hand", "round_eval", "shop", "pack"])
def test_cards_can_be_sold_and_planets_used_in_every_phase(phase):
    run = Run()
    for name in ("select", "win", "cash_out", "open"):
        if run.phase == phase:
            break
        if name == "win":
            run.win_round()
        else:
            run.g.money += 20
            run.act(name)
    assert run.phase == phase
    run.joker("j_joker")
    run.consumable("c_mars")
    run.act("sell_joker").act("use")
    assert run.g.hand_level[4] == 2
    assert run.phase == phase


# --- rerolling ---


def test_rerolls_cost_5_then_6_and_start_over_after_a_round():
    run = shop(50)
    run.joker("j_flash")
    assert run.act("reroll").money == 45
    assert run.act("reroll").money == 39
    assert run.g.joker_value[0] == 4
    run.act("next").to_shop()
    run.g.money = 50
    assert run.act("reroll").money == 45


def test_chaos_the_clown_makes_one_reroll_per_shop_free_without_raising_the_price():
    run = Run()
    run.joker("j_chaos")
    run.to_shop()
    run.g.money = 20
    assert run.act("reroll").money == 20
    assert run.act("reroll").money == 15


def test_a_d6_tag_starts_rerolls_at_nothing():
    run = Run()
    run.tag("tag_d_six")
    run.to_shop()
    run.g.money = 10
    assert run.act("reroll").money == 10
    assert run.act("reroll").money == 9


def test_a_reroll_that_cannot_be_paid_is_not_legal():
    assert not shop(4).allows("reroll")


# --- vouchers ---


@pytest.mark.parametrize("key", VOUCHERS.keys)
def test_every_voucher_can_be_redeemed_for_10_dollars_and_is_then_owned(key):
    run = shop(30)
    sell_a_voucher(run, key)
    run.act("redeem")
    assert run.money == 20
    assert run.g.voucher_owned[VOUCHERS.id(key)] == 1
    assert run.g.voucher_count == 0
    assert run.g.ante_voucher == -1
    run.act("next").to_shop()
    assert run.g.voucher_count == 0, "a bought slot stays empty until the next boss"


EFFECTS = {
    "v_overstock_norm": ("shop_slots", 3), "v_overstock_plus": ("shop_slots", 3),
    "v_clearance_sale": ("discount_percent", 25), "v_liquidation": ("discount_percent", 50),
    "v_hone": ("edition_rate", 2), "v_glow_up": ("edition_rate", 4),
    "v_reroll_surplus": ("reroll_base", 3), "v_reroll_glut": ("reroll_base", 3),
    "v_crystal_ball": ("consumable_slots", 3), "v_grabber": ("hands_per_round", 5),
    "v_nacho_tong": ("hands_per_round", 5), "v_wasteful": ("discards_per_round", 5),
    "v_recyclomancy": ("discards_per_round", 5), "v_seed_money": ("interest_cap", 50),
    "v_money_tree": ("interest_cap", 100), "v_antimatter": ("joker_slots", 6), "v_hieroglyph": ("hands_per_round", 3),
    "v_petroglyph": ("discards_per_round", 3), "v_paint_brush": ("hand_size", 9), "v_palette": ("hand_size", 9),
}  # fmt: skip


@pytest.mark.parametrize("key", EFFECTS)
def test_a_redeemed_voucher_changes_its_number(key):
    run = shop()
    sell_a_voucher(run, key)
    run.act("redeem")
    field, value = EFFECTS[key]
    assert run.g[field] == value


@pytest.mark.parametrize("key", ["v_hieroglyph", "v_petroglyph"])
def test_the_glyphs_lower_the_ante_and_keep_its_orbital_hands(key):
    run = shop()
    hands = run.g.orbital_hand[run.g.ante % 3].copy()
    sell_a_voucher(run, key)
    run.act("redeem").act("next")
    assert run.g.ante == 0
    assert run.act("select").g.requirement == 150  # Big Blind of ante 0
    run.g.ante = 1
    run.win_round().act("cash_out").act("next")
    assert list(run.g.orbital_hand[1]) == list(hands), "ante 1 was shown before: nothing is drawn again"


def test_overstock_fills_its_new_slot_and_emptied_ones_at_once():
    run = shop()
    offer(run, 0, "j_jolly")
    run.act("buy", 0)
    sell_a_voucher(run, "v_overstock_norm")
    assert run.act("redeem").g.shop_count == 3


def test_a_voucher_tag_adds_a_second_voucher_and_buying_it_leaves_the_first():
    run = Run()
    run.tag("tag_voucher")
    run.to_shop()
    run.g.money = 30
    first, second = (int(voucher) for voucher in run.g.shop_voucher[:2])
    run.act("redeem", 1)
    assert run.g.voucher_owned[second] == 1
    assert run.g.ante_voucher == first
    assert run.g.voucher_count == 1


def test_crystal_ball_and_grabber_are_felt_in_the_next_round():
    run = shop()
    sell_a_voucher(run, "v_grabber")
    run.act("redeem").act("next").act("select")
    assert run.g.hands_left == 5


def test_magic_trick_brings_playing_cards_into_the_shop():
    run = shop(10_000)
    run.voucher("v_magic_trick")
    kinds = set()
    for _ in range(40):
        run.act("reroll")
        kinds |= {int(kind) for kind in run.g.offer_kind[: run.g.shop_count]}
    assert OFFER_CARD in kinds


# --- packs ---


def pack(key: str, **options) -> Run:
    run = shop(**options)
    run.g.booster_id[0] = PACKS.id(key)
    return run.act("open", 0)


@pytest.mark.parametrize("key", sorted({row["key"] for row in PACKS}))
def test_every_pack_opens_with_its_cards_and_picks_and_closes_when_skipped(key):
    run = pack(key)
    row = PACKS.row(key)
    assert run.money == 50 - row["cost"]
    assert (run.g.pack_count, run.g.pack_picks) == (row["cards"], row["picks"])
    assert run.g.hand_count == (8 if row["deals_hand"] else 0)
    assert run.g.booster_count == 1
    run.act("skip_pack")
    assert run.phase == "shop"
    assert run.g.hand_count == 0
    assert run.g.pile_count == 52
    assert run.g.pack_id == -1


def test_red_card_grows_when_a_pack_is_skipped_even_after_a_pick():
    run = Run()
    run.joker("j_red_card")
    run.to_shop()
    run.g.money = 50
    run.g.booster_id[:2] = PACKS.id("p_celestial_mega_1")
    run.act("open", 0).act("pick", 0).act("skip_pack")
    assert run.g.joker_value[0] == 3
    run.act("open", 0).act("pick", 0).act("pick", 0)
    assert run.phase == "shop"
    assert run.g.joker_value[0] == 3


def test_planets_of_a_pack_are_used_on_the_spot_without_a_slot():
    run = pack("p_celestial_normal_1")
    run.g.consumable_slots = 0
    run.act("pick", 0)
    assert sum(run.g.hand_level) == 13
    assert run.phase == "shop"


def test_tarots_of_a_pack_work_on_the_dealt_hand():
    run = pack("p_arcana_normal_1")
    offer(run, FIRST_PACK_OFFER, "c_chariot")
    assert not run.allows("pick", 0)
    slot = run.slots[3]
    run.act("pick", 0, cards=[3])
    assert run.g.card_enhancement[slot] == 5
    assert run.g.pile_count == 52


def test_dealt_cards_go_under_the_deck_so_a_second_pack_deals_the_next_ones():
    run = shop()
    run.g.booster_id[:2] = PACKS.id("p_arcana_normal_1")
    order = [int(slot) for slot in run.g.pile[:52]]
    run.act("open", 0)
    assert set(run.slots) == set(order[-8:])
    hand = run.slots
    run.act("skip_pack")
    assert [int(slot) for slot in run.g.pile[:8]] == hand[::-1]
    run.act("open", 0)
    assert set(run.slots) == set(order[-16:-8])


def test_packs_deal_the_recorded_hands_of_seed_u4cvjvie():
    """`cashout2` third use over serials 13..52 and 76: the last eight as recorded."""
    recorded = [39, 20, 31, 46, 76, 43, 33, 18]
    run = Run("U4CVJVIE", deck="b_abandoned", stake=2)
    run.clear_cards()
    for serial in [*range(13, 53), 76]:
        run.g.next_serial = serial
        run.card("S_2", 5)
    run.g.ante = 2
    for _ in range(3):
        run.g.phase, run.g.on_deck, run.g.payout = 2, 0, 0
        run.act("cash_out")
    assert [int(run.g.card_serial[slot]) for slot in run.g.pile[33:41]] == recorded


def test_a_standard_pack_adds_the_picked_card_to_the_deck():
    run = pack("p_standard_normal_1")
    run.act("pick", 1)
    assert run.g.card_count == run.g.pile_count == 53


def test_a_buffoon_pack_needs_a_joker_slot_for_a_pick():
    run = pack("p_buffoon_normal_1")
    run.g.offer_edition[FIRST_PACK_OFFER] = 0
    run.g.joker_slots = 0
    assert not run.allows("pick", 0)
    run.g.offer_edition[FIRST_PACK_OFFER] = 4
    assert len(run.act("pick", 0).jokers) == 1


def test_cards_left_in_a_pack_are_free_for_the_pools_again():
    run = pack("p_buffoon_normal_1")
    keys = [int(joker) for joker in run.g.offer_id[FIRST_PACK_OFFER : FIRST_PACK_OFFER + 2]]
    assert all(run.g.used[key] for key in keys)
    run.act("skip_pack")
    assert not any(run.g.used[key] for key in keys)


def test_hallucination_may_create_a_tarot_when_a_pack_is_opened():
    run = Run()
    run.joker("j_hallucination")
    run.joker("j_oops")
    run.to_shop()
    run.g.money = 50
    assert len(run.act("open", 0).consumables) == 1


def test_perkeo_copies_a_consumable_as_negative_on_leaving():
    run = shop()
    run.joker("j_perkeo")
    run.consumable("c_mars")
    run.act("next")
    assert run.consumables == ["c_mars", "c_mars"]
    assert run.g.consumable_edition[1] == 4
    assert run.g.consumable_slots == 3


def test_leaving_clears_the_shelves_and_frees_unsold_keys():
    run = shop()
    offer(run, 0, "j_jolly")
    run.g.used[JOKERS.id("j_jolly")] = 1
    run.act("next")
    assert run.g.used[JOKERS.id("j_jolly")] == 0
    assert (run.g.shop_count, run.g.booster_count, run.g.voucher_count) == (0, 0, 0)
    assert run.phase == "blind_select"
