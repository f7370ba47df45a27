"""Effects that meet: in which order money moves within a round, and rules that only show when two things combine."""

from __future__ import annotations

import pytest

from jimbot.games.balatro.rules.content import HANDS, TAGS
from jimbot.games.balatro.rules.state import DEBUFFED, FACE_DOWN, FREE, PERISHABLE, RENTAL
from tests.games.balatro.playing import Run
from tests.games.balatro.worked import offer, open_pack, sell_a_voucher, shop

HIGH_CARD = HANDS.id("High Card")

# --- money within a round ---


def test_rent_and_gold_cards_come_before_interest():
    run = Run().act("select").hand("S_A H_K+m_gold H_Q+m_gold")
    run.joker("j_joker", flags=RENTAL)
    run.g.money = 7
    run.win_round()
    assert run.money == 7 - 3 + 3 + 3
    assert run.g.payout_part[4] == 2


def test_rent_is_paid_for_a_joker_that_used_itself_up_in_the_same_round():
    run = Run().act("select")
    run.joker("j_popcorn", flags=RENTAL)
    run.g.joker_value[0] = 4
    run.g.money = 10
    run.win_round()
    assert run.jokers == []
    assert run.money == 7


def test_the_ox_takes_the_money_before_a_gold_seal_pays():
    run = Run().boss("bl_ox").hand("", deck="S_A+Gold S_K S_Q").act("select")
    run.g.most_played_hand, run.g.money = HIGH_CARD, 30
    assert run.act("play", cards=[0]).money == 3


def test_the_ox_lifts_a_debt():
    run = Run().boss("bl_ox").act("select")
    run.g.most_played_hand, run.g.money = HIGH_CARD, -7
    assert run.act("play", cards=[0]).money == 0


def test_the_tooth_is_paid_before_gold_seals_and_the_blinds_interest():
    run = Run().boss("bl_tooth").hand("", deck="S_A+Gold S_K S_Q S_J S_9").act("select")
    run.g.money, run.g.score = 11, 600
    run.act("play", cards=[0, 1, 2, 3])
    assert run.money == 11 - 4 + 3
    assert run.g.payout_part[4] == 2


def test_wraith_and_the_hermit_count_what_is_held_at_that_moment():
    run = Run().act("select")
    run.g.money = -4
    assert run.use("c_wraith").money == 0
    assert run.use("c_hermit").money == 0


def test_temperance_counts_sell_values_after_a_discount():
    run = shop(0)
    run.joker("j_blueprint")  # 10 dollars, 7 at three quarters, sold for 3
    run.voucher("v_clearance_sale")
    assert run.use("c_temperance").money == 3


def test_a_blue_seal_in_hand_and_one_on_the_table_make_one_planet_of_the_last_hand():
    run = Run().act("select").hand("S_A+Blue S_K+Blue S_Q").win_round()
    assert run.consumables == ["c_pluto"]


@pytest.mark.parametrize(("copies", "planets"), [(1, 1), (2, 2), (3, 2)])
def test_blue_seals_fill_the_slots_and_no_more(copies, planets):
    run = Run().act("select").hand("S_A " + "S_K+Blue " * copies).win_round()
    assert run.consumables == ["c_pluto"] * planets


def test_a_red_seal_repeats_held_gold_at_the_rounds_end_together_with_mime():
    run = Run().act("select").hand("S_A")
    slot = run.card("S_K+m_gold+Red", 4)
    assert run.g.card_seal[slot] > 0
    run.joker("j_mime")
    assert run.win_round().money == 4 + 3 * 3


# --- slots ---


def test_a_debuffed_negative_joker_keeps_its_slot_until_it_is_gone():
    run = Run()
    run.joker("j_joker", edition="negative", flags=PERISHABLE)
    run.g.joker_perish[0] = 1
    run.act("select").win_round()
    assert run.g.joker_flags[0] & DEBUFFED
    assert run.g.joker_slots == 6
    assert run.act("sell_joker").g.joker_slots == 5


def test_a_negative_joker_fits_into_full_slots_of_the_shop_but_not_beyond_them():
    run = shop(100)
    for _ in range(5):
        run.joker("j_joker")
    offer(run, 0, "j_jolly", edition=4)
    assert run.allows("buy", 0)
    run.g.joker_slots = 4
    assert not run.allows("buy", 0)


def test_a_joker_copied_under_amber_acorn_lies_face_up():
    run = Run().boss("bl_final_acorn")
    run.joker("j_egg")
    run.joker("j_joker")
    run.act("select").use("c_ankh")
    assert [bool(flags & FACE_DOWN) for flags in run.g.joker_flags[:2]] == [True, False]


# --- the shop ---


def test_overstocks_new_card_is_not_part_of_a_coupon():
    run = Run()
    run.tag("tag_coupon")
    run.to_shop()
    run.g.money = 50
    sell_a_voucher(run, "v_overstock_norm")
    assert run.act("redeem").money == 40, "a voucher is not free either"
    assert [bool(run.g.offer_flags[place] & FREE) for place in range(3)] == [True, True, False]


def test_an_overstock_bought_while_a_joker_tag_waits_uses_it():
    run = shop()
    run.tag("tag_rare")
    sell_a_voucher(run, "v_overstock_norm")
    run.act("redeem")
    assert run.g.offer_flags[2] & FREE
    assert run.tags == []


def test_a_free_reroll_of_chaos_comes_before_the_d6_price():
    run = Run()
    run.joker("j_chaos")
    run.tag("tag_d_six")
    run.to_shop()
    run.g.money = 10
    assert [10 - run.act("reroll").money for _ in range(4)] == [0, 0, 1, 3]


def test_luxury_tax_counts_for_the_hand_dealt_by_a_pack():
    run = Run(challenge="c_luxury_1").to_shop()
    run.g.money = 25
    open_pack(run, "p_arcana_normal_1")
    assert run.g.hand_count == 5


def test_cards_created_in_a_pack_join_the_dealt_hand():
    run = shop()
    open_pack(run, "p_spectral_mega_1")
    run.use("c_cryptid", 0)
    assert run.g.hand_count == 10
    run.act("skip_pack")
    assert run.g.pile_count == run.g.card_count == 54


def test_a_pack_of_a_skipped_blind_deals_from_the_deck_as_the_last_shuffle_left_it():
    run = shop()
    run.act("next")
    top = [run.describe(int(slot)) for slot in run.g.pile[run.g.pile_count - 8 : run.g.pile_count]]
    run.g.skip_tag[1] = TAGS.id("tag_charm")
    run.act("skip")
    assert sorted(run.held.split()) == sorted(top)


# --- antes ---


def test_hieroglyph_in_the_last_shop_before_ante_8s_boss_postpones_the_win():
    run = shop(100)
    run.g.ante, run.g.on_deck = 8, 2
    sell_a_voucher(run, "v_hieroglyph")
    run.act("redeem").act("next").boss("bl_final_vessel").act("select").win_round()
    assert run.phase == "round_eval"
    assert run.g.ante == 8
    assert not run.g.won


def test_a_boss_met_at_ante_0_asks_for_the_base_of_100():
    run = Run()
    run.g.ante = 0
    assert run.boss("bl_club").act("select").g.requirement == 200
