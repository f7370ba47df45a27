"""Jokers that meet each other, a boss or a consumable: orders and limits that no single joker shows."""

import pytest

from jimbot.games.balatro.rules.chance.streams import roll, stream_id
from jimbot.games.balatro.rules.content import HANDS
from jimbot.games.balatro.rules.state import ETERNAL
from tests.games.balatro.playing import Run


def started(*jokers: str, boss: str = "", seed: str = "TESTSEED") -> Run:
    run = Run(seed)
    for key in jokers:
        run.joker(key)
    if boss:
        run.boss(boss)
    return run


def play(run: Run, cards: str, held: str = "") -> Run:
    run.hand(f"{cards} {held}")
    run.g.requirement = 1e12
    return run.act("play", cards=range(len(cards.split())))


# --- a blind is selected ---


def test_riff_raff_right_of_the_dagger_may_use_the_slot_it_frees():
    run = started("j_ceremonial", "j_egg", "j_riff_raff", "j_juggler", "j_juggler").act("select")
    assert run.jokers[:4] == ["j_ceremonial", "j_riff_raff", "j_juggler", "j_juggler"]
    assert len(run.jokers) == 5


def test_riff_raff_left_of_the_dagger_finds_no_room():
    run = started("j_riff_raff", "j_ceremonial", "j_egg", "j_juggler", "j_juggler").act("select")
    assert run.jokers == ["j_riff_raff", "j_ceremonial", "j_juggler", "j_juggler"]


def test_a_joker_doomed_by_madness_keeps_its_slot_from_riff_raff():
    run = started("j_madness", "j_egg", "j_riff_raff", "j_juggler", "j_juggler")
    run.g.joker_flags[2:5] |= ETERNAL
    assert run.act("select").jokers == ["j_madness", "j_riff_raff", "j_juggler", "j_juggler"]


@pytest.mark.parametrize("taker", ["j_ceremonial", "j_madness"])
def test_jokers_riff_raff_promises_cannot_be_taken_in_the_same_moment(taker):
    run = started("j_riff_raff", taker)
    run.g.joker_flags[0] |= ETERNAL
    assert len(run.act("select").jokers) == 4


def test_blueprint_does_not_copy_a_joker_madness_has_doomed():
    run = started("j_madness", "j_blueprint", "j_marble")
    run.g.joker_flags[1] |= ETERNAL
    run.act("select")
    assert run.jokers == ["j_madness", "j_blueprint"]
    assert not any("m_stone" in card for card in run.owned)


def test_a_drunkard_the_dagger_eats_takes_its_discard_with_it():
    assert started("j_ceremonial", "j_drunkard").act("select").g.discards_left == 4
    assert started("j_drunkard", "j_ceremonial").act("select").g.discards_left == 5


@pytest.mark.parametrize("jokers", [("j_chicot", "j_burglar"), ("j_burglar", "j_chicot")])
def test_chicot_gives_back_the_waters_discards_after_burglar_had_its_turn(jokers):
    run = started(*jokers, boss="bl_water").act("select")
    assert (run.g.hands_left, run.g.discards_left) == (7, 4)


def test_madness_grows_without_a_victim_and_leaves_eternal_jokers():
    run = started("j_madness", "j_egg")
    run.g.joker_flags[1] |= ETERNAL
    run.act("select")
    assert (run.jokers, run.g.joker_value[0]) == (["j_madness", "j_egg"], 1.5)


# --- scoring ---


@pytest.mark.parametrize(
    ("counter", "played", "mult"),
    [("j_steel_joker", "S_9+m_steel H_9+m_steel", 2 * 1.2 * 1.4), ("j_stone", "S_9+m_stone H_K", 1 * 1.1)],
)
def test_tallies_of_enhanced_cards_are_those_from_before_vampire_drank(counter, played, mult):
    run = play(started("j_vampire", counter).act("select"), played)
    assert run.s.mult == pytest.approx(mult)
    if counter == "j_stone":
        assert run.s.chips == 5 + 9 + 10 + 25


def test_midas_mask_feeds_a_vampire_to_its_right_only():
    assert play(started("j_midas_mask", "j_vampire").act("select"), "S_K H_K").g.joker_value[1] == pytest.approx(1.2)
    assert play(started("j_vampire", "j_midas_mask").act("select"), "S_K H_K").g.joker_value[0] == 1


def test_only_the_leftmost_vampire_gains():
    run = play(started("j_vampire", "j_vampire").act("select"), "S_9+m_bonus")
    assert run.g.joker_value[:2].tolist() == pytest.approx([1.1, 1])


def test_dnas_copy_of_a_steel_king_is_held_for_baron_and_steel():
    run = play(started("j_dna", "j_baron").act("select"), "S_K+m_steel")
    assert run.s.mult == pytest.approx(1.5 * 1.5)


def test_dnas_copy_is_not_debuffed_by_the_pillar_this_round():
    run = play(started("j_dna", boss="bl_pillar").act("select"), "S_K")
    assert "S_K" in run.held.split()
    assert run.debuffed == []


def test_bull_counts_money_earned_earlier_in_the_hand():
    run = started("j_todo_list", "j_bull").act("select")
    run.g.joker_counter[0] = HANDS.id("Pair")
    run.g.money = 10
    assert play(run, "S_9 H_9").s.chips == 10 + 18 + 2 * 14


def test_a_straight_flush_of_four_fingers_scores_the_union_of_both():
    run = play(started("j_four_fingers").act("select"), "S_2 S_3 S_4 H_5 S_K")
    assert HANDS.key(int(run.s.hand)) == "Straight Flush"
    assert run.s.scoring_count == 5


# --- discards ---


def test_the_hook_feeds_discard_jokers_but_not_burnt_joker():
    run = started("j_yorick", "j_faceless", "j_burnt", boss="bl_hook").act("select")
    play(run, "S_9", "S_K H_Q")
    assert run.g.joker_counter[0] == 21
    assert run.g.hand_level.tolist() == [1] * 12


def test_the_hook_lets_a_trading_card_destroy_the_only_held_card():
    run = started("j_trading", boss="bl_hook").act("select")
    money = run.money
    play(run, "S_9", "S_K")
    assert (run.money - money, "S_K" in run.owned) == (3, False)


def test_both_trading_cards_pay():
    run = started("j_trading", "j_trading").act("select").hand("S_9 C_2")
    money = run.money
    run.act("discard", cards=[0])
    assert (run.money - money, "S_9" in run.owned) == (6, False)


# --- hand size during a round ---


def test_selling_a_stuntman_during_a_round_draws_two_cards():
    run = started("j_stuntman").act("select")
    assert run.g.hand_count == 6
    assert run.act("sell_joker", 0).g.hand_count == 8


def test_selling_a_juggler_during_a_round_takes_no_card():
    run = started("j_juggler").act("select").act("sell_joker", 0)
    assert (run.g.hand_count, run.g.hand_size) == (9, 8)


def test_a_juggler_crimson_heart_lets_go_draws_its_card():
    run = started("j_juggler", "j_egg", boss="bl_final_heart").act("select")
    for _ in range(3):
        debuffed = bool(run.g.joker_flags[0] & 8)
        assert (run.g.hand_size, run.g.hand_count >= run.g.hand_size) == (8 if debuffed else 9, True)
        run.g.requirement = 1e12
        run.act("play", cards=[0])
    assert run.g.hand_count >= 8


# --- copies of jokers and consumables ---


def test_copying_a_todo_list_uses_up_one_of_its_draws():
    run, other = started("j_invisible", "j_todo_list"), started("j_invisible", "j_todo_list")
    run.g.joker_counter[0] = 2
    run.act("sell_joker", 0)
    assert run.jokers == ["j_todo_list", "j_todo_list"]
    assert run.g.joker_counter[0] == run.g.joker_counter[1]
    roll(other.g, stream_id("to_do"))
    assert roll(run.g, stream_id("to_do")) == roll(other.g, stream_id("to_do"))


def test_perkeos_copy_keeps_the_value_gift_card_has_added():
    run = started("j_perkeo")
    run.consumable("c_fool")
    run.g.consumable_extra_value[0] = 4
    run.to_shop().act("next")
    assert run.g.consumable_extra_value[:2].tolist() == [4, 4]


def test_a_joker_copied_by_invisible_joker_reacts_to_that_sale():
    run = started("j_invisible", "j_campfire")
    run.g.joker_counter[0] = 2
    run.act("sell_joker", 0)
    assert run.g.joker_value[:2].tolist() == [1.25, 1.25]


# --- the end of a round ---


def test_a_second_mr_bones_is_kept():
    run = started("j_mr_bones", "j_mr_bones").act("select")
    run.g.hands_left, run.g.score = 1, 80.0
    assert run.act("play", cards=[0]).jokers == ["j_mr_bones"]


def test_mime_and_its_copy_trigger_a_gold_card_at_the_end_of_a_round():
    run = started("j_blueprint", "j_mime").act("select").hand("S_2 S_K+m_gold")
    money = run.money
    assert run.win_round().money - money == 9


def test_gift_card_raises_every_joker_and_consumable():
    run = started("j_gift", "j_egg").act("select")
    run.consumable("c_fool")
    run.win_round()
    assert run.g.joker_extra_value[:2].tolist() == [1, 4]
    assert run.g.consumable_extra_value[0] == 1
