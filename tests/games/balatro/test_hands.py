"""Poker hand detection, card by card."""

import pytest

from jimbot.games.balatro.rules import inventory, run_start
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.content import ENHANCEMENTS, HANDS, JOKERS, parse_card
from jimbot.games.balatro.rules.playing_cards import cards, hands
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import CARD_DEBUFFED, IN_DISCARD, new_games


def detect(text: str, *jokers: str):
    """(hand, scoring positions, contained hands) of cards such as `H_T S_9+m_wild D_2!`; `!` marks a debuff."""
    g, s = new_games(1)[0], new_scratch()[0]
    g.seed, g.seed_length = streams.seed_bytes("TESTSEED")
    g.stake = 1
    run_start.clear_run(g)
    for key in jokers:
        inventory.add_joker(g, JOKERS.id(key), 0, 0, 0, 0)
    words = text.split()
    for place, word in enumerate(words):
        code, _, enhancement = word.rstrip("!").partition("+")
        rank, suit = parse_card(code)
        number = ENHANCEMENTS.id(enhancement) if enhancement else 0
        slot = cards.add_card(g, rank, suit, number, 0, 0, place, IN_DISCARD)
        g.card_flags[slot] = CARD_DEBUFFED * word.endswith("!")
        s.played[place] = slot
    s.played_count = len(words)
    hands.read_jokers(g, s)
    hands.detect_hand(g, s)
    table = s.played[: s.played_count].tolist()
    scoring = [table.index(slot) for slot in s.scoring[: s.scoring_count].tolist()]
    contained = {HANDS.key(hand) for hand in range(12) if int(s.contains) >> hand & 1}
    return HANDS.key(int(s.hand)), scoring, contained


@pytest.mark.parametrize(
    ("played", "hand", "scoring"),
    [
        ("S_9", "High Card", [0]),
        ("S_9 H_K D_2", "High Card", [1]),
        ("S_9 H_9 D_2 C_K", "Pair", [0, 1]),
        ("S_9 H_2 D_9 C_2 S_K", "Two Pair", [0, 1, 2, 3]),
        ("S_9 H_9 D_9 C_2 S_K", "Three of a Kind", [0, 1, 2]),
        ("S_T H_J D_Q C_K S_A", "Straight", [0, 1, 2, 3, 4]),
        ("S_A H_2 D_3 C_4 S_5", "Straight", [0, 1, 2, 3, 4]),
        ("S_Q H_K D_A C_2 S_3", "High Card", [2]),
        ("S_2 S_4 S_6 S_8 S_T", "Flush", [0, 1, 2, 3, 4]),
        ("S_9 H_9 D_9 C_2 S_2", "Full House", [0, 1, 2, 3, 4]),
        ("S_9 H_9 D_9 C_9 S_2", "Four of a Kind", [0, 1, 2, 3]),
        ("S_5 S_6 S_7 S_8 S_9", "Straight Flush", [0, 1, 2, 3, 4]),
        ("S_9 H_9 D_9 C_9 S_9", "Five of a Kind", [0, 1, 2, 3, 4]),
        ("S_9 S_9 S_9 S_2 S_2", "Flush House", [0, 1, 2, 3, 4]),
        ("S_9 S_9 S_9 S_9 S_9", "Flush Five", [0, 1, 2, 3, 4]),
    ],
)
def test_the_twelve_hands(played, hand, scoring):
    assert detect(played)[:2] == (hand, scoring)


def test_larger_groups_contain_the_smaller_ones_but_four_of_a_kind_no_two_pair():
    assert detect("S_9 H_9 D_9 C_9")[2] == {"Four of a Kind", "Three of a Kind", "Pair", "High Card"}
    assert detect("S_9 H_9 D_9 C_2 S_2")[2] == {"Full House", "Three of a Kind", "Two Pair", "Pair", "High Card"}
    assert detect("S_9 H_9 D_9 C_9 S_9")[2] >= {"Five of a Kind", "Four of a Kind", "Three of a Kind", "Pair"}


def test_stone_cards_have_no_rank_or_suit_and_always_score():
    assert detect("S_9+m_stone H_9+m_stone")[:2] == ("High Card", [0, 1])
    assert detect("S_9 H_9 D_K+m_stone")[:2] == ("Pair", [0, 1, 2])
    assert detect("S_2 S_4 S_6 S_8 S_T+m_stone")[0] == "High Card"


def test_wild_cards_complete_flushes_unless_debuffed():
    assert detect("S_2 S_4 S_6 S_8 H_T+m_wild")[0] == "Flush"
    assert detect("S_2 S_4 S_6 S_8 H_T+m_wild!")[0] == "High Card"
    assert detect("S_2! S_4! S_6 S_8 S_T")[0] == "Flush"


def test_four_fingers_makes_flushes_and_straights_of_four():
    assert detect("S_2 S_4 S_6 S_8 H_T", "j_four_fingers")[:2] == ("Flush", [0, 1, 2, 3])
    assert detect("S_2 H_3 S_4 D_5", "j_four_fingers")[:2] == ("Straight", [0, 1, 2, 3])
    # The straight 5-8 and the flush of spades need not be the same four cards; both score.
    assert detect("S_5 S_6 S_7 H_8 S_K", "j_four_fingers")[:2] == ("Straight Flush", [0, 1, 2, 3, 4])
    assert detect("S_2 H_3 S_4 D_5")[0] == "High Card"


def test_shortcut_tolerates_single_gaps_only():
    assert detect("S_2 H_4 D_6 C_8 S_T", "j_shortcut")[0] == "Straight"
    assert detect("S_A H_3 D_5 C_7 S_9", "j_shortcut")[0] == "Straight"
    assert detect("S_2 H_5 D_6 C_7 S_8", "j_shortcut")[0] == "High Card"
    assert detect("S_9 H_T D_Q C_K S_A", "j_shortcut")[0] == "Straight"
    assert detect("S_2 H_4 D_6 C_8 S_T")[0] == "High Card"


def test_shortcut_and_four_fingers_work_together():
    assert detect("S_2 H_4 D_6 C_8", "j_shortcut", "j_four_fingers")[0] == "Straight"


def test_smeared_joker_joins_red_and_black_suits():
    assert detect("S_2 C_4 S_6 C_8 S_T", "j_smeared")[0] == "Flush"
    assert detect("H_2 D_4 H_6 D_8 D_T", "j_smeared")[0] == "Flush"
    assert detect("H_2 D_4 H_6 D_8 S_T", "j_smeared")[0] == "High Card"


def test_splash_makes_every_played_card_score():
    assert detect("S_9 H_9 D_2 C_K", "j_splash")[1] == [0, 1, 2, 3]
