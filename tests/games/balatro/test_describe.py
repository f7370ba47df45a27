"""Words for situations and moves: the right names, prices and values, and nothing hidden."""

import numpy as np
import pytest

from jimbot.games.balatro.rules import decisions as engine
from jimbot.games.balatro.view.describe import describe, describe_action, describe_move, hand_card, joker, number
from tests.games.balatro.playing import Run


def said(run: Run, name: str, index: int = 0, targets: int = 0) -> str:
    return describe_move(run.g, engine.ACTION_KINDS.index(name), index, targets)


def test_numbers_are_written_for_people():
    assert [number(value) for value in (300.0, 11000.0, 1.5, 0.0, 2e13)] == ["300", "11,000", "1.5", "0", "2.000e13"]


def test_a_card_is_named_with_everything_on_it():
    run = Run().act("select").hand("H_T+m_glass+foil+Red C_9+m_stone S_A")
    run.g.card_extra_chips[run.g.hand[2]] = 15
    assert hand_card(run.g, 0) == "10♥ (Glass, Foil, Red Seal)"
    assert hand_card(run.g, 1) == "Stone"
    assert hand_card(run.g, 2) == "A♠ (+15 chips)"
    run.g.card_flags[run.g.hand[0]] |= 2 | 8
    run.g.card_flags[run.g.hand[2]] |= 1
    assert hand_card(run.g, 0) == "face down (forced)"
    assert hand_card(run.g, 2) == "A♠ (+15 chips) [debuffed]"


@pytest.mark.parametrize(
    ("key", "value", "counter", "words"),
    [
        ("j_joker", 0, 0, "Joker"),
        ("j_green_joker", 7, 0, "Green Joker (+7 Mult)"),
        ("j_campfire", 1.25, 0, "Campfire (X1.25 Mult)"),
        ("j_runner", 45, 0, "Runner (+45 chips)"),
        ("j_rocket", 3, 0, "Rocket ($3 a round)"),
        ("j_turtle_bean", 4, 0, "Turtle Bean (+4 hand size)"),
        ("j_selzer", 8, 0, "Seltzer (8 hands left)"),
        ("j_yorick", 2, 12, "Yorick (X2 Mult, 12 discards to go)"),
        ("j_invisible", 0, 1, "Invisible Joker (1 of 2 rounds)"),
        ("j_todo_list", 0, 6, "To Do List (Flush)"),
        ("j_loyalty_card", 0, 0, "Loyalty Card (every 6th hand, 5 before it)"),
        ("j_loyalty_card", 0, -5, "Loyalty Card (every 6th hand, the next one)"),
        ("j_caino", 3, 0, "Canio (X3 Mult)"),
    ],
)
def test_a_joker_is_named_with_its_present_value(key, value, counter, words):
    run = Run()
    run.joker(key)
    run.g.joker_value[0], run.g.joker_counter[0] = value, counter
    assert joker(run.g, 0) == words


def test_editions_stickers_and_debuffs_of_a_joker_are_named():
    run = Run()
    run.joker("j_joker", edition="holo", flags=2 | 4)
    assert joker(run.g, 0) == "Joker (Holographic, Perishable 5, Rental)"
    run.g.joker_flags[0] |= 8
    assert joker(run.g, 0) == "Joker (Holographic, Perishable, Rental, debuffed)"
    run.g.joker_flags[0] |= 16
    assert joker(run.g, 0) == "face down"


def test_moves_are_told_with_names_and_prices():
    run = Run("4WAX5M4D")
    assert said(run, "select") == "select the Small Blind"
    assert said(run, "skip") == "skip the Small Blind for the Coupon Tag"
    run.joker("j_joker")
    run.to_shop()
    run.g.money = 30
    assert said(run, "buy") == "buy Dusk for $5"
    assert said(run, "redeem") == "redeem Reroll Surplus $10"
    assert said(run, "open", 1) == "open Arcana Pack $4"
    assert said(run, "reroll") == "reroll for $5"
    assert said(run, "sell_joker") == "sell Joker for $1"
    assert said(run, "buy", 3) == "buy number 4, which is not there"
    run.consumable("c_magician")
    assert said(run, "sell_consumable") == "sell The Magician for $1"
    run.act("next").act("select").hand("S_K H_Q D_2")
    assert said(run, "play", targets=0b101) == "play K♠ 2♦"
    assert said(run, "use", targets=0b10) == "use The Magician on Q♥"
    assert said(run, "move_hand", 0, 2) == "move K♠ to place 3"
    assert said(run, "sort", 1) == "sort the hand by suit"


def test_every_kind_of_move_has_words_in_every_phase():
    run = Run("4WAX5M4D")
    run.joker("j_joker")
    run.consumable("c_fool")
    for step in ("blind", "select", "eval", "cash_out"):
        for name in engine.ACTION_KINDS:
            for index in (0, 7):
                assert said(run, name, index, 1)
        if step == "select":
            run.win_round()
        elif step != "cash_out":
            run.act("select" if step == "blind" else "cash_out")


def test_a_situation_is_told_line_by_line():
    run = Run("4WAX5M4D")
    run.joker("j_joker")
    assert "Next is the Small Blind, 300 points for $3; skipping it brings the Coupon Tag." in describe(run.g)
    run.act("select")
    text = describe(run.g)
    assert "Small Blind: 0 of 300 points, 4 hands and 4 discards left, 44 of 52 cards undrawn." in text
    assert "Jokers: Joker." in text
    run.win_round()
    assert "The round is won and pays $" in describe(run.g)
    run.act("cash_out")
    assert "Shop: Dusk $5, Midas Mask $7." in describe(run.g)


def test_actions_of_the_flat_table_are_told_like_the_moves_they_make():
    from jimbot.games.balatro.encoding import action_table

    run = Run().act("select").hand("S_K H_Q D_2")
    run.consumable("c_magician")
    label = action_table.ACTIONS.index
    assert describe_action(run.g, label("play 1 3")) == "play K♠ 2♦"
    assert describe_action(run.g, label("choose 2")) == "choose Q♥"
    assert describe_action(run.g, label("choose 9")) == "choose 9"
    assert describe_action(run.g, label("buy 1")) == "buy 1"
    run.g.selected = np.uint64(0b10)
    assert describe_action(run.g, label("use 1")) == "use The Magician on Q♥"
    assert describe_action(run.g, label("play_chosen")) == "play Q♥"
    assert "Chosen: Q♥." in describe(run.g)
    assert describe_action(run.g, label("grab_hand 1")) == "take up K♠"
    run.g.selected, run.g.grabbed, run.g.grabbed_index = np.uint64(0), 3, 0
    assert describe_action(run.g, label("place 3")) == "put K♠ at place 3"
    assert "Moving K♠." in describe(run.g)
