"""A round from selection to cash-out: drawing, order of the hand, playing, discarding, ends, payout, decks, stakes."""

import pytest

from jimbot.games.balatro.rules.content import DECKS
from jimbot.games.balatro.rules.state import PERISHABLE, PINNED, RENTAL
from tests.games.balatro.playing import Run


def parts(run: Run) -> dict[str, int]:
    return dict(zip(("blind", "hands", "jokers", "tags", "interest"), map(int, run.g.payout_part), strict=True))


# --- the hand ---


def test_the_hand_is_sorted_by_rank_then_spades_hearts_clubs_diamonds_with_stones_last():
    run = Run().hand("", deck="D_2 C_A D_A S_A H_A H_K+m_stone S_T C_Q").act("select")
    assert run.held == "S_A H_A C_A D_A C_Q S_T D_2 H_K+m_stone"


def test_sorting_by_suit_holds_for_later_draws_until_changed_back():
    run = Run().act("select").hand("D_2 C_A D_A S_3 H_A S_K H_4 C_5", deck="S_9")
    run.act("sort", 1)
    assert run.held == "S_K S_3 H_A H_4 C_A C_5 D_A D_2"
    run.act("discard", cards=[7])
    assert run.held == "S_K S_9 S_3 H_A H_4 C_A C_5 D_A"
    run.act("sort", 0)
    assert run.held == "H_A C_A D_A S_K S_9 C_5 H_4 S_3"


def test_equal_cards_lie_by_the_suit_they_were_created_with_then_by_age():
    run = Run().hand("", deck="C_4 H_4 S_9").act("select")
    heart_from_club = run.slots[2]
    run.use("c_sun", 2).act("sort", 0)
    assert run.held == "S_9 H_4 H_4"
    assert run.slots[2] == heart_from_club, "the heart that was a club lies right of the true heart"


def test_the_order_of_the_hand_may_be_changed_by_hand():
    run = Run().act("select").hand("S_A S_K S_Q S_J")
    assert run.act("move_hand", 0, to=2).held == "S_K S_Q S_A S_J"
    assert run.act("move_hand", 3, to=0).held == "S_J S_K S_Q S_A"
    assert not run.try_act("move_hand", 0, to=4)


def test_jokers_and_consumables_may_be_reordered_in_every_phase_but_a_pinned_joker_stays_left():
    run = Run()
    for key in ("j_joker", "j_egg", "j_ramen"):
        run.joker(key)
    run.consumable("c_mars")
    run.consumable("c_venus")
    assert run.act("move_joker", 2, to=0).jokers == ["j_ramen", "j_joker", "j_egg"]
    assert run.act("move_consumable", 0, to=1).consumables == ["c_venus", "c_mars"]
    run.g.joker_flags[0] |= PINNED
    assert run.act("move_joker", 1, to=0).jokers == ["j_ramen", "j_joker", "j_egg"]


# --- playing and discarding ---


@pytest.mark.parametrize("action", ["play", "discard"])
def test_one_to_five_cards_may_be_played_or_discarded(action):
    run = Run().act("select")
    for count in range(8):
        assert run.allows(action, cards=list(range(count))) == (1 <= count <= 5)
    assert not run.try_act(action, cards=[8]), "there is no ninth card"


def test_a_play_uses_a_hand_scores_and_refills():
    run = Run().act("select").hand("S_A H_A S_K S_Q C_J C_9 D_8 D_7")
    run.act("play", cards=[0, 1])
    assert run.g.score == (10 + 22) * 2
    assert (run.g.hands_left, run.g.hands_played, run.g.hands_played_round) == (3, 1, 1)
    assert run.g.hand_count == 8
    assert run.g.card_count == 16


def test_a_discard_uses_a_discard_and_refills():
    run = Run().act("select").act("discard", cards=[0, 1, 2, 3, 4])
    assert (run.g.discards_left, run.g.discards_used, run.g.hand_count, run.g.pile_count) == (3, 1, 8, 39)
    for _ in range(3):
        run.act("discard", cards=[0])
    assert not run.allows("discard", cards=[0])


def test_a_purple_seal_discarded_creates_a_tarot_while_there_is_room():
    run = Run().act("select").hand("S_A+Purple S_K+Purple S_Q+Purple S_J")
    run.act("discard", cards=[0, 1, 2])
    assert len(run.consumables) == 2


def test_a_debuffed_purple_seal_gives_nothing():
    run = Run().boss("bl_goad").hand("", deck="S_A+Purple S_K+Purple D_2").act("select")
    assert run.act("discard", cards=[0, 1]).consumables == []


def test_trading_card_destroys_a_single_first_discard_for_3_dollars():
    run = Run()
    run.joker("j_trading")
    run.act("select").act("discard", cards=[0])
    assert run.g.card_count == 51
    assert run.money == 7


def test_a_broken_glass_card_leaves_the_deck():
    run = Run()
    run.joker("j_oops")
    run.joker("j_oops")
    run.act("select").hand("S_A+m_glass H_2", deck="C_3")
    run.act("play", cards=[0])
    assert run.owned == ["H_2", "C_3"]


def test_losing_the_last_hand_below_the_requirement_ends_the_run_with_the_hand_still_there():
    run = Run().act("select")
    run.g.requirement = 1e9
    for _ in range(4):
        assert run.phase == "selecting_hand"
        run.act("play", cards=[0])
    assert run.phase == "game_over"
    assert run.g.hand_count == 7
    assert not any(run.try_act(name) for name in ("select", "cash_out", "next", "play", "skip"))


def test_without_cards_in_hand_and_deck_the_round_ends_at_once():
    run = Run().hand("", deck="S_A S_K").act("select")
    assert run.act("play", cards=[0, 1]).phase == "game_over"


def test_a_hand_size_of_zero_ends_the_run_at_the_next_draw():
    run = Run()
    run.g.hand_size = 0
    assert run.act("select").phase == "game_over"


def test_luxury_tax_draws_one_card_fewer_per_five_dollars():
    run = Run(challenge="c_luxury_1")
    run.g.money = 17
    assert run.act("select").g.hand_count == 7


# --- the end of a round ---


def test_gold_cards_held_pay_3_and_count_for_interest():
    run = Run().act("select").hand("S_A S_K+m_gold S_Q+m_gold+Red S_J")
    run.g.money = 1
    run.win_round()
    assert run.money == 1 + 3 + 6
    assert parts(run)["interest"] == 2


def test_mime_triggers_held_gold_again():
    run = Run()
    run.joker("j_mime")
    run.act("select").hand("S_A S_K+m_gold S_Q")
    assert run.win_round().money == 4 + 6


def test_debuffed_gold_pays_nothing():
    run = Run().boss("bl_goad").hand("", deck="H_A S_K+m_gold H_K+m_gold").act("select")
    assert run.win_round().money == 4 + 3


def test_a_blue_seal_creates_the_planet_of_the_last_hand_while_there_is_room():
    run = Run().act("select").hand("S_A H_A S_K+Blue S_Q+Blue S_J+Blue")
    run.g.score = run.g.requirement
    run.act("play", cards=[0, 1])
    assert run.consumables == ["c_mercury", "c_mercury"]


def test_rental_jokers_cost_3_each_round_and_perishable_ones_die_after_five():
    run = Run()
    run.joker("j_joker", flags=RENTAL)
    run.joker("j_egg", flags=PERISHABLE)
    for left in (4, 3, 2, 1, 0):
        money = run.money
        run.act("select").win_round()
        assert run.money == money - 3
        assert run.g.joker_perish[1] == left
        assert bool(run.g.joker_flags[1] & 8) == (left == 0)
        run.act("cash_out").act("next")
    run.act("select")
    assert run.g.joker_flags[1] & 8, "a new blind does not revive it"


def test_mr_bones_saves_the_run_at_a_quarter_and_the_blind_pays_nothing():
    run = Run()
    run.joker("j_mr_bones")
    run.act("select")
    run.g.hands_left, run.g.requirement, run.g.score = 1, 10_000, 2_500
    run.act("play", cards=[0])
    assert run.phase == "round_eval"
    assert run.jokers == []
    assert parts(run)["blind"] == 0


def test_unused_discards_and_hands_are_tallied_for_tags():
    run = Run().act("select").act("discard", cards=[0]).win_round()
    assert run.g.unused_discards == 3
    assert run.g.hands_played == 1


def test_after_a_boss_the_ante_rises_and_the_choices_are_new_at_cash_out():
    run = Run().boss("bl_club").act("select").win_round()
    assert run.g.ante == 2
    assert run.g.on_deck == 2
    run.act("cash_out")
    assert run.g.on_deck == 0
    assert list(run.g.blind_state) == [1, 0, 0]


def test_the_most_played_hand_is_stored_after_a_boss():
    run = Run().boss("bl_club").act("select")
    run.g.hand_played[6], run.g.hand_played[10] = 3, 3
    run.win_round()
    assert run.g.most_played_hand == 6, "a tie goes to the stronger hand"


def test_beating_the_boss_of_ante_8_wins_and_ends_the_run():
    run = Run()
    run.g.ante = 8
    run.boss("bl_final_vessel").act("select").win_round()
    assert run.phase == "won"
    assert run.g.won
    assert not run.try_act("cash_out")


def test_an_endless_run_goes_on_after_the_win():
    run = Run(endless=True)
    run.g.ante = 8
    run.boss("bl_final_vessel").act("select").win_round()
    assert run.g.won
    assert run.phase == "round_eval"
    run.act("cash_out").act("next").act("select")
    assert (run.g.ante, run.g.requirement) == (9, 110_000)


def test_losing_to_the_boss_of_ante_8_wins_nothing():
    run = Run()
    run.g.ante = 8
    run.boss("bl_final_vessel").act("select")
    run.g.hands_left = 1
    assert run.act("play", cards=[0]).phase == "game_over"
    assert not run.g.won


def test_a_round_deals_the_recorded_first_hand_of_seed_bbbbbbb():
    run = Run("BBBBBBB").act("select")
    assert run.held == "C_A C_Q D_J D_7 C_6 D_6 S_5 H_3"


# --- payout ---


def test_the_payout_is_blind_hands_left_and_interest_up_to_five():
    run = Run().act("select")
    run.g.money = 60
    run.win_round()
    assert parts(run) == {"blind": 3, "hands": 3, "jokers": 0, "tags": 0, "interest": 5}
    assert run.act("cash_out").money == 71


@pytest.mark.parametrize(("vouchers", "most"), [(["v_seed_money"], 10), (["v_seed_money", "v_money_tree"], 20)])
def test_interest_vouchers_raise_the_cap(vouchers, most):
    run = Run()
    for key in vouchers:
        run.voucher(key)
    run.act("select")
    run.g.money = 999
    assert parts(run.win_round())["interest"] == most


def test_to_the_moon_adds_a_dollar_of_interest_per_five():
    run = Run()
    run.joker("j_to_the_moon")
    run.act("select")
    run.g.money = 22
    assert parts(run.win_round())["interest"] == 8


def test_debt_earns_no_interest():
    run = Run().act("select")
    run.g.money = -12
    assert parts(run.win_round())["interest"] == 0


def test_jokers_pay_left_to_right_in_their_own_part():
    run = Run()
    for key in ("j_golden", "j_delayed_grat", "j_cloud_9"):
        run.joker(key)
    run.act("select").win_round()
    assert parts(run)["jokers"] == 4 + 2 * 4 + 4


# --- decks ---


def test_the_green_deck_pays_2_per_hand_1_per_discard_and_no_interest():
    run = Run(deck="b_green").act("select")
    run.g.money = 50
    assert parts(run.win_round()) == {"blind": 3, "hands": 2 * 3 + 3, "jokers": 0, "tags": 0, "interest": 0}


def test_the_anaglyph_deck_gains_a_double_tag_after_a_boss_only():
    run = Run(deck="b_anaglyph").act("select").win_round()
    assert run.tags == []
    run.act("cash_out").act("next").boss("bl_club").act("select").win_round()
    assert run.tags == ["tag_double"]


def test_the_plasma_deck_doubles_requirements_and_balances_chips_and_mult():
    run = Run(deck="b_plasma").act("select").hand("S_A H_A S_K S_Q")
    assert run.g.requirement == 600
    run.act("play", cards=[0, 1])
    assert run.g.score == 17 * 17  # Pair of Aces: 32 chips and 2 Mult become 17 and 17


@pytest.mark.parametrize("deck", DECKS.keys)
def test_every_deck_plays_through_a_whole_ante(deck):
    run = Run(deck=deck)
    for _ in range(3):
        run.to_shop().act("next")
    assert run.g.ante == 2
    assert run.phase == "blind_select"


# --- stakes ---


@pytest.mark.parametrize("stake", range(1, 9))
def test_each_stake_plays_and_from_red_on_the_small_blind_pays_nothing(stake):
    run = Run(stake=stake).act("select")
    assert run.g.discards_left == (4 if stake < 5 else 3)
    assert parts(run.win_round())["blind"] == (3 if stake == 1 else 0)
    run.act("cash_out").act("next").act("select")
    assert parts(run.win_round())["blind"] == 4


@pytest.mark.parametrize(("stake", "requirement"), [(1, 2000), (3, 2600), (6, 3200)])
def test_requirements_follow_the_scaling_of_the_stake(stake, requirement):
    run = Run(stake=stake)
    run.g.ante = 3
    assert run.act("select").g.requirement == requirement
