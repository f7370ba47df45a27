"""Every boss blind outside of scoring: set-up, debuffs, drawing, reactions to a play, and being disabled."""

import pytest

from jimbot.games.balatro.rules.content import BLINDS, JOKERS
from jimbot.games.balatro.rules.state import DEBUFFED, FACE_DOWN, PERISHABLE
from tests.games.balatro.playing import Run

BOSSES = [row["key"] for row in BLINDS if row["type"] == "boss"]


def against(boss: str, *jokers: str, **options) -> Run:
    run = Run(**options).boss(boss)
    for key in jokers:
        run.joker(key)
    return run.act("select")


# --- all of them ---


@pytest.mark.parametrize("boss", BOSSES)
def test_a_boss_asks_for_its_multiple_of_the_ante_and_pays_its_reward(boss):
    run = against(boss)
    assert run.g.requirement == 300 * BLINDS.row(boss)["mult"]
    run.win_round()
    assert run.g.payout_part[0] == BLINDS.row(boss)["reward"]
    assert run.g.ante == 2


@pytest.mark.parametrize("boss", BOSSES)
def test_nothing_of_a_boss_is_left_after_its_round(boss):
    run = against(boss, "j_joker", "j_egg")
    run.win_round().act("cash_out")
    assert not any(run.g.card_flags[slot] for slot in range(52))
    assert not run.g.joker_flags[:2].any()
    assert run.g.round_hand_size == 0
    run.act("next").act("select")
    assert (run.g.hand_count, run.g.hands_left, run.g.discards_left) == (8, 4, 4)
    assert not run.debuffed
    assert not run.face_down


@pytest.mark.parametrize("boss", BOSSES)
def test_chicot_leaves_an_ordinary_round_of_twice_the_base(boss):
    run = against(boss, "j_chicot", "j_joker")
    assert (run.g.hand_count, run.g.hands_left, run.g.discards_left) == (8, 4, 4)
    assert run.g.requirement == (300 if boss == "bl_needle" else 600)
    assert not run.debuffed
    assert not run.face_down
    assert not run.g.joker_flags[:2].any()
    assert run.allows("play", cards=[0])
    assert run.allows("discard", cards=[7])


# --- debuffs ---


@pytest.mark.parametrize(("boss", "letter"), [("bl_club", "C"), ("bl_goad", "S"), ("bl_head", "H"), ("bl_window", "D")])
def test_suit_bosses_debuff_every_card_of_their_suit(boss, letter):
    run = against(boss)
    assert run.debuffed == [card for card in run.held.split() if card[0] == letter]
    debuffed = [slot for slot in range(52) if run.g.card_flags[slot] & 1]
    assert len(debuffed) == 13


def test_with_smeared_joker_the_club_debuffs_spades_too():
    run = against("bl_club", "j_smeared")
    assert sum(bool(run.g.card_flags[slot] & 1) for slot in range(52)) == 26


def test_stone_cards_escape_suit_bosses_and_wild_cards_do_not():
    run = Run().boss("bl_club").hand("", deck="C_A+m_stone H_K+m_wild C_Q H_J").act("select")
    assert run.debuffed == ["H_K+m_wild", "C_Q"]


def test_the_plant_debuffs_faces_and_everything_with_pareidolia():
    run = Run().boss("bl_plant").hand("", deck="S_K S_Q S_J S_T S_A S_K+m_stone").act("select")
    assert run.debuffed == ["S_K", "S_Q", "S_J"]
    run = Run().boss("bl_plant").hand("", deck="S_K S_Q S_T S_A")
    run.joker("j_pareidolia")
    assert len(run.act("select").debuffed) == 4


def test_the_pillar_debuffs_cards_played_earlier_in_the_ante():
    run = Run().act("select")
    played = run.held.split()[:5]
    run.g.score = run.g.requirement
    run.act("play", cards=range(5)).act("cash_out").act("next").boss("bl_pillar").act("select")
    flagged = [run.describe(slot) for slot in range(52) if run.g.card_flags[slot] & 1]
    assert sorted(flagged) == sorted(played)
    run.win_round()
    assert not any(run.g.card_flags[slot] for slot in range(52)), "a new ante forgets"


def test_verdant_leaf_debuffs_everything_until_a_joker_is_sold():
    run = against("bl_final_leaf", "j_joker", "j_egg")
    run.consumable("c_mars")
    assert len(run.debuffed) == 8
    run.act("sell_consumable")
    assert len(run.debuffed) == 8
    run.act("sell_joker")
    assert run.debuffed == []
    assert run.g.blind_disabled


# --- hands, discards, hand size ---


def test_the_water_takes_all_discards_and_gives_them_back_when_disabled():
    run = against("bl_water")
    assert run.g.discards_left == 0
    assert not run.allows("discard", cards=[0])
    run.disable()
    assert run.g.discards_left == 4


def test_the_needle_leaves_one_hand_and_gives_the_others_back_when_disabled():
    run = against("bl_needle")
    assert run.g.hands_left == 1
    run.disable()
    assert run.g.hands_left == 4


def test_the_needle_with_burglar_leaves_four_hands():
    assert against("bl_needle", "j_burglar").g.hands_left == 4


def test_the_manacle_takes_a_hand_size_and_when_disabled_gives_it_back_with_a_card():
    run = against("bl_manacle")
    assert run.g.hand_count == 7
    run.disable()
    assert run.g.hand_count == 8
    run.act("discard", cards=[0])
    assert run.g.hand_count == 8


def test_the_serpent_draws_three_cards_after_every_play_or_discard_whatever_the_hand_size():
    run = against("bl_serpent")
    assert run.g.hand_count == 8
    assert run.act("discard", cards=[0]).g.hand_count == 10
    assert run.act("discard", cards=[0, 1, 2, 3, 4]).g.hand_count == 8
    assert run.act("play", cards=[0, 1, 2, 3, 4]).g.hand_count == 6


# --- face-down cards ---


def test_the_house_deals_the_first_hand_face_down_and_nothing_after():
    run = against("bl_house")
    assert len(run.face_down) == 8
    run.act("discard", cards=[0, 1, 2])
    assert len(run.face_down) == 5


def test_the_fish_deals_face_down_after_plays_but_not_after_discards():
    run = against("bl_fish")
    assert run.face_down == []
    run.act("discard", cards=[0, 1])
    assert run.face_down == []
    run.act("play", cards=[0, 1, 2])
    assert len(run.face_down) == 3
    run.act("discard", cards=[0])
    assert len(run.face_down) <= 3


def test_the_mark_deals_face_cards_face_down():
    run = Run().boss("bl_mark").hand("", deck="S_K S_Q S_T S_A S_2").act("select")
    assert run.face_down == ["S_K", "S_Q"]


def test_the_wheel_flips_about_one_card_in_seven_and_all_with_three_oops():
    flipped = [len(against("bl_wheel", seed=f"WHEEL{i}").face_down) for i in range(1, 10)]
    assert 4 <= sum(flipped) <= 18
    run = Run().boss("bl_wheel")
    for _ in range(3):
        run.joker("j_oops")
    assert len(run.act("select").face_down) == 8


@pytest.mark.parametrize("boss", ["bl_house", "bl_mark", "bl_wheel", "bl_fish"])
def test_disabling_a_hiding_boss_turns_the_hand_up(boss):
    run = against(boss)
    for slot in run.slots:
        run.g.card_flags[slot] |= 2
    run.disable()
    assert run.face_down == []


def test_played_face_down_cards_are_turned_up():
    run = against("bl_house")
    slots = run.slots[:3]
    run.act("play", cards=[0, 1, 2])
    assert not any(run.g.card_flags[slot] & 2 for slot in slots)


# --- reactions to a play ---


def test_the_hook_discards_two_held_cards_without_using_a_discard_and_jokers_react():
    run = against("bl_hook", "j_yorick")
    run.act("play", cards=[0])
    assert run.g.hand_count == 8
    assert run.g.pile_count == 52 - 8 - 3
    assert run.g.joker_counter[0] == 21
    assert (run.g.discards_left, run.g.discards_used) == (4, 0)
    assert run.s.played_count == 1, "the played card is scored, not the hooked ones"


def test_the_hook_takes_what_is_there_from_a_hand_of_one():
    run = Run().boss("bl_hook").hand("", deck="S_A S_K S_Q").act("select")
    run.act("play", cards=[0, 1])
    assert run.g.pile_count == 0
    assert run.phase == "game_over", "no card is left and the score is too low"


def test_the_hook_makes_purple_seals_create_tarots():
    run = Run().boss("bl_hook").hand("", deck="S_A S_K+Purple S_Q+Purple S_J S_T").act("select")
    assert run.held == "S_A S_K+Purple S_Q+Purple S_J S_T"
    run.act("play", cards=[0, 3, 4])
    assert len(run.consumables) == 2


def test_the_tooth_takes_a_dollar_per_played_card_even_into_debt():
    run = against("bl_tooth")
    run.act("play", cards=[0, 1, 2])
    assert run.money == 1
    run.act("play", cards=[0, 1, 2])
    assert run.money == -2


# --- showdown bosses ---


def test_amber_acorn_hides_and_shuffles_the_jokers_and_keeps_what_they_carry():
    keys = ["j_joker", "j_egg", "j_ramen", "j_popcorn", "j_square"]
    orders = set()
    for number in range(1, 6):
        run = Run(f"ACRN{number}").boss("bl_final_acorn")
        for key in keys:
            run.joker(key)
        run.g.joker_value[:5] = [10, 11, 12, 13, 14]
        run.act("select")
        assert sorted(run.jokers) == sorted(keys)
        assert all(flags & FACE_DOWN for flags in run.g.joker_flags[:5])
        for place, key in enumerate(run.jokers):
            assert run.g.joker_value[place] == 10 + keys.index(key)
        orders.add(tuple(run.jokers))
    assert len(orders) > 1


def test_cerulean_bell_forces_one_card_into_every_play_and_discard_and_picks_anew():
    run = against("bl_final_bell")
    (forced,) = [place for place, slot in enumerate(run.slots) if run.g.card_flags[slot] & 8]
    other = (forced + 1) % 8
    assert not run.allows("play", cards=[other])
    assert not run.allows("discard", cards=[other])
    run.act("discard", cards=[forced, other])
    assert sum(bool(run.g.card_flags[slot] & 8) for slot in run.slots) == 1
    run.disable()
    assert all(run.allows("play", cards=[place]) for place in range(8))


def test_crimson_heart_debuffs_one_joker_from_the_start_and_another_after_each_play_but_not_after_discards():
    run = against("bl_final_heart", "j_joker", "j_egg", "j_ramen")

    def hit() -> list[int]:
        return [place for place in range(3) if run.g.joker_flags[place] & DEBUFFED]

    first = hit()
    assert len(first) == 1
    run.act("discard", cards=[0])
    assert hit() == first
    run.g.requirement = 1e9
    for _ in range(3):
        before = hit()
        run.act("play", cards=[0])
        assert len(hit()) == 1
        if run.phase == "selecting_hand":
            assert hit() != before


def test_crimson_heart_hits_a_single_joker_every_time_and_withdraws_its_hand_size():
    run = Run().boss("bl_final_heart")
    run.joker("j_juggler")
    run.act("select")
    assert run.g.joker_flags[0] & DEBUFFED
    assert run.g.hand_size == 8
    run.win_round()
    assert run.g.hand_size == 9


def test_crimson_heart_never_revives_an_expired_perishable_joker():
    run = Run().boss("bl_final_heart")
    run.joker("j_joker", flags=PERISHABLE | DEBUFFED)
    run.g.joker_perish[0] = 0
    run.joker("j_egg")
    run.act("select")
    assert run.g.joker_flags[0] & DEBUFFED
    run.win_round()
    assert run.g.joker_flags[0] & DEBUFFED
    assert not run.g.joker_flags[1] & DEBUFFED


def test_violet_vessel_and_the_wall_lower_their_requirement_when_disabled_and_may_end_the_round():
    run = against("bl_final_vessel")
    assert run.g.requirement == 1800
    run.disable()
    assert run.g.requirement == 600
    run = against("bl_wall", "j_luchador")
    run.g.score = 700
    run.act("sell_joker")
    assert run.phase == "round_eval", "700 is enough for the halved requirement of 600"


def test_luchador_sold_against_a_small_blind_changes_nothing():
    run = Run()
    run.joker("j_luchador")
    run.act("select").act("sell_joker")
    assert not run.g.blind_disabled


# --- the boss of an ante ---


def test_directors_cut_allows_one_reroll_per_ante_for_ten_dollars():
    run = Run()
    run.g.money = 25
    assert not run.allows("reroll_boss")
    run.voucher("v_directors_cut")
    before = int(run.g.boss)
    run.act("reroll_boss")
    assert run.g.boss != before
    assert run.money == 15
    assert not run.allows("reroll_boss")


def test_retcon_allows_any_number_of_rerolls_while_money_lasts():
    run = Run()
    run.g.money = 25
    run.voucher("v_directors_cut")
    run.voucher("v_retcon")
    run.act("reroll_boss").act("reroll_boss")
    assert run.money == 5
    assert not run.allows("reroll_boss")
    run.joker("j_credit_card")
    assert run.act("reroll_boss").money == -5


def test_chicot_from_the_soul_disables_a_boss_at_once():
    for number in range(1, 60):
        run = against("bl_water", seed=f"SOUL{number}")
        run.use("c_soul")
        assert (run.g.discards_left == 4) == (run.jokers == ["j_chicot"])
        if run.jokers == ["j_chicot"]:
            assert JOKERS.id("j_chicot") == run.g.joker_id[0]
            return
    pytest.fail("no Chicot in 59 seeds")
