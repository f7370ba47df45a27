"""The card table: everything the player may know is on it, nothing else, and it fits the terminal."""

import pytest
from rich.console import Console

from jimbot.games.balatro.rules.content import PACKS, SEALS
from jimbot.games.balatro.transcript import RecordedRun
from jimbot.games.balatro.view.scene import scene_of
from jimbot.games.drawing import WIDTH, draw
from tests.games.balatro.playing import Run
from tests.games.balatro.strolling import stroll

HEIGHT = 40


def drawn(g) -> str:
    console = Console(width=WIDTH, record=True, file=open("/dev/null", "w"), color_system=None)  # noqa: SIM115
    console.print(draw(scene_of(g)))
    return console.export_text()


def size(text: str) -> tuple[int, int]:
    lines = text.splitlines()
    return max(map(len, lines)), len(lines)


def test_the_choice_of_a_blind_shows_all_three_with_requirement_reward_and_tag():
    text = drawn(Run("4WAX5M4D").g)
    for words in (
        "Small Blind", "Big Blind", "The Window", "score 300", "score 450", "score 600", "reward $3", "reward $5",
        "skip: Coupon Tag", "skip: D6 Tag", "up next", "ante 1/8",
    ):  # fmt: skip
        assert words in text


def test_a_hand_shows_ranks_suits_and_what_is_special_about_cards():
    run = Run().act("select").hand("S_K H_T+m_glass+foil+Red C_9+m_stone D_2+m_lucky+polychrome")
    run.g.card_flags[run.g.hand[3]] |= 1
    text = drawn(run.g)
    for words in ("K", "♠", "10 ●R", "♥", "glass", "foil", "stone", "▒", "debuf", "Hand 4"):
        assert words in text


@pytest.mark.parametrize("seal", range(1, 5))
def test_every_seal_has_its_own_letter(seal):
    run = Run().act("select").hand(f"S_K+{SEALS.key(seal)}")
    assert f"●{SEALS.key(seal)[0]}" in drawn(run.g)


def test_face_down_cards_and_jokers_show_their_backs_only():
    run = Run().act("select").hand("S_K H_Q")
    run.joker("j_joker")
    run.g.card_flags[run.g.hand[0]] |= 2
    run.g.joker_flags[0] |= 16
    text = drawn(run.g)
    hand = text.split("Hand 2", 1)[1]
    assert "░" in hand
    assert "♠" not in hand
    assert "♥" in hand
    assert "Joker " not in text.replace("Jokers", "")


def test_the_deck_count_does_not_give_away_a_card_that_lies_face_down():
    run = Run().act("select")
    before = [int(run.g.card_flags[slot]) for slot in run.g.hand[:8]]
    counts = []
    for place in (0, 7):
        for slot, flags in zip(run.g.hand[:8], before, strict=True):
            run.g.card_flags[slot] = flags
        run.g.card_flags[run.g.hand[place]] |= 2
        counts.append(scene_of(run.g)["lists"][0]["items"])
    assert counts[0] != counts[1]  # each counts as still unseen, whichever it is


def test_jokers_show_value_edition_stickers_and_what_they_sell_for():
    run = Run()
    run.joker("j_green_joker")
    run.joker("j_blueprint", edition="negative", flags=1)
    run.g.joker_value[0] = 7
    text = drawn(run.g)
    for words in ("Green Joker", "+7 Mult", "Blueprint", "neg eter", "sells $2", "Jokers 2/6"):
        assert words in text


def test_a_shop_shows_prices_reroll_voucher_boosters_and_what_things_do():
    text = drawn(Run("4WAX5M4D").to_shop().g)
    for words in ("Dusk", "Midas Mask", "$5", "$7", "Reroll", "Surplus", "$10", "Buffoon", "1 of 2", "reroll $5"):
        assert words in text
    assert "Gives each scored" in text


def test_an_arcana_pack_shows_its_cards_and_the_hand():
    run = Run("4WAX5M4D").to_shop()
    run.g.money = 30
    run.g.booster_id[0] = PACKS.id("p_arcana_mega_1")
    text = drawn(run.act("open", 0).g)
    for words in ("Mega Arcana Pack", "2 to pick", "The Fool", "Death", "Hand 8"):
        assert words in text


def test_a_won_round_shows_what_it_pays_and_a_lost_run_what_was_missing():
    assert "Cash out" in drawn(Run().act("select").win_round().g)
    run = Run().act("select")
    run.g.hands_left = 1
    assert "GAME OVER" in drawn(run.act("play", cards=[0]).g)


def test_a_crowded_table_still_fits():
    run = Run()
    run.g.hand_size = 30
    run.act("select")
    for key in (
        "j_ride_the_bus",
        "j_jolly",
        "j_zany",
        "j_mad",
        "j_crazy",
        "j_droll",
        "j_sly",
        "j_yorick",
        "j_todo_list",
    ):
        run.joker(key)
    for key in ("c_fool", "c_high_priestess", "c_wheel_of_fortune", "c_pluto"):
        run.consumable(key)
    width, height = size(drawn(run.g))
    assert (width, height <= HEIGHT) == (WIDTH, True)


@pytest.mark.parametrize("number", range(6))
def test_every_table_of_a_strolling_game_fits_100_by_40(number):
    game = RecordedRun("TESTSEED", deck=("b_red", "b_ghost", "b_plasma")[number % 3])
    for step in range(40):
        stroll(game, 100 * number + step, moves=3)
        width, height = size(drawn(game.g))
        assert width == WIDTH
        assert height <= HEIGHT
