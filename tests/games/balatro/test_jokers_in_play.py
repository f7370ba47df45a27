"""Worked examples: jokers that act while hands are played and discarded. See `joker_examples.py` for how to read."""

import pytest

from jimbot.games.balatro.rules.content import HANDS
from tests.games.balatro.joker_examples import Example, examples

PAIR, STRAIGHT_FLUSH = "S_9 H_9", "S_T S_J S_Q S_K S_A"
PAIR_NUMBER, HIGH_NUMBER = HANDS.id("Pair"), HANDS.id("High Card")


def hand_name(table):
    return HANDS.key(int(table.s.hand))


def earned(table, act):
    before = table.money
    act()
    return table.money - before


READS_HANDS = examples(
    ("j_four_fingers", "four Spades are", lambda t: hand_name(t.play("S_2 S_4 S_6 S_8")), "High Card", *["Flush"] * 2),
    ("j_shortcut", "2 3 5 6 8 is", lambda t: hand_name(t.play("S_2 H_3 S_5 H_6 S_8")), "High Card", *["Straight"] * 2),
    ("j_smeared", "three Spades and two Clubs are", lambda t: hand_name(t.play("S_2 C_4 S_6 C_8 S_T")), "High Card",
     *["Flush"] * 2),
    ("j_splash", "chips of a 9 and a 4", lambda t: t.play("S_9 H_4").s.chips, 14, 18, 18),
    ("j_pareidolia", "Mult of a 9 with Smiley Face", lambda t: t.others("j_smiley").play("S_9").mult, 1, 6, 6),
)  # fmt: skip

JOKERS_ON_JOKERS = examples(
    ("j_abstract", "Mult of a Pair", lambda t: t.play(PAIR).mult, 2, 2 + 3, 2 + 6 + 6),
    ("j_stencil", "Mult of a Pair", lambda t: t.play(PAIR).mult, 2, 2 * 5, 2 * 4 * 4),
    ("j_swashbuckler", "Mult of a Pair beside Joker",
     lambda t: t.others("j_joker").play(PAIR).mult, 6, 7, 2 + 6 + 6 + 4),
    ("j_baseball", "Mult of a Pair beside Hiker", lambda t: t.others("j_hiker").play(PAIR).mult, 2, 3, 4.5),
    ("j_blueprint", "Mult of a Pair beside Joker", lambda t: t.others("j_joker").play(PAIR).mult, 6, 10, 14),
    ("j_brainstorm", "Mult of a Pair with Joker moved to the left end",
     lambda t: t.others("j_joker").act("move_joker", t.me + 1, to=0).play(PAIR).mult, 6, 10, 14),
)  # fmt: skip

CHANCES = examples(  # made certain by enough Oops! All 6s
    ("j_oops", "Mult of a Heart with Bloodstone", lambda t: t.others("j_bloodstone").play("H_9").mult,
     1, 1.5, 1.5),
    ("j_business", "dollars of a King", lambda t: t.others("j_oops").play("S_K").s.dollars, 0, 2, 4),
    ("j_bloodstone", "Mult of a Heart", lambda t: t.others("j_oops").play("H_K").mult, 1, 1.5, 2.25),
    ("j_reserved_parking", "dollars of a held King",
     lambda t: t.others("j_oops").play("S_2", "S_K").s.dollars, 0, 1, 2),
    ("j_space", "level of the High Card played",
     lambda t: t.others("j_oops", "j_oops").play("S_K").g.hand_level[HIGH_NUMBER], 1, 2, 3),
    ("j_8_ball", "Tarots from an 8", lambda t: len(t.others("j_oops", "j_oops").play("S_8").consumables), 0, 1, 2),
    ("j_lucky_cat", "its X Mult after a Lucky Card hit",
     lambda t: t.others(*["j_oops"] * 3).play("S_9+m_lucky").value, 1, 1.25, 1.25),
    ("j_misprint", "Mult of a Pair with this seed", lambda t: t.play(PAIR).mult, 2, 2 + 8, 2 + 8 + 1),
)  # fmt: skip

CREATES_OR_CHANGES_CARDS = examples(
    ("j_hiker", "permanent chips of a played 9", lambda t: t.play("S_9").g.card_extra_chips[t.s.played[0]], 0, 5, 10),
    ("j_superposition", "Tarots from a Straight with an Ace",
     lambda t: len(t.play(STRAIGHT_FLUSH).consumables), 0, 1, 2),
    ("j_seance", "Spectrals from a Straight Flush", lambda t: len(t.play(STRAIGHT_FLUSH).consumables), 0, 1, 2),
    ("j_vagabond", "Tarots at $4", lambda t: len(t.play(PAIR, money=4).consumables), 0, 1, 2),
    ("j_vagabond", "Tarots at $5", lambda t: len(t.play(PAIR, money=5).consumables), 0, 0, 0),
    ("j_dna", "cards owned after a single first card", lambda t: len(t.play("S_K").owned), 9, 10, 11),
    ("j_sixth_sense", "Spectrals for a single first 6", lambda t: len(t.play("S_6").consumables), 0, 1, 1),
    ("j_midas_mask", "a played King", lambda t: t.describe(int(t.play("S_K").s.played[0])), "S_K", *["S_K+m_gold"] * 2),
)  # fmt: skip

GROWS_WITH_HANDS = examples(
    ("j_vampire", "its X Mult after a Bonus and a Wild Card",
     lambda t: t.play("S_9+m_bonus H_9+m_wild").value, 1, 1.2, 1.2),
    ("j_runner", "its chips after a Straight", lambda t: t.play(STRAIGHT_FLUSH).value, 0, 15, 15),
    ("j_square", "its chips after four cards", lambda t: t.play("S_2 H_4 S_6 H_8").value, 0, 4, 4),
    ("j_trousers", "its Mult after a Full House", lambda t: t.play("S_9 H_9 C_9 D_4 S_4").value, 0, 2, 2),
    ("j_green_joker", "its Mult after a hand", lambda t: t.play(PAIR).value, 0, 1, 1),
    ("j_ride_the_bus", "its Mult after a hand without faces", lambda t: t.play(PAIR, value=3).value, 3, 4, 4),
    ("j_wee", "its chips after two 2s", lambda t: t.play("S_2 H_2").value, 0, 16, 16),
    ("j_obelisk", "its X Mult after High Card, then a Pair", lambda t: t.play("S_K").play(PAIR).value, 1, 1.2, 1.2),
    ("j_obelisk", "its X Mult after two High Cards", lambda t: t.set(value=3).play("S_K").play("S_K").value, 3, 1, 1),
    ("j_ice_cream", "its chips after a hand", lambda t: t.play(PAIR).value, 100, 95, 95),
    ("j_selzer", "its uses after a hand", lambda t: t.play(PAIR).value, 10, 9, 9),
)  # fmt: skip

PAYS_FOR_HANDS = examples(
    ("j_todo_list", "dollars for its hand", lambda t: t.play(PAIR, counter=PAIR_NUMBER).s.dollars, 0, 4, 8),
    ("j_matador", "dollars for a hand The Psychic forbids",
     lambda t: earned(t.boss("bl_psychic").act("select"), lambda: t.play(PAIR)), 0, 8, 16),
    ("j_matador", "dollars under The Hook",
     lambda t: earned(t.boss("bl_hook").act("select"), lambda: t.play(PAIR)), 0, 0, 0),
)  # fmt: skip

DISCARDS = examples(
    ("j_faceless", "dollars for three faces", lambda t: earned(t, lambda: t.discard("S_K H_Q D_J")), 0, 5, 10),
    ("j_mail", "dollars for one card of its rank",
     lambda t: earned(t, lambda: t.discard("S_9 H_4", mail_rank=9)), 0, 5, 10),
    ("j_trading", "dollars for a single first card", lambda t: earned(t, lambda: t.discard("S_9")), 0, 3, 3),
    ("j_trading", "cards owned after a single first card", lambda t: len(t.discard("S_9").owned), 11, 10, 10),
    ("j_burnt", "level of the first Pair discarded", lambda t: t.discard(PAIR).g.hand_level[PAIR_NUMBER], 1, 2, 3),
    ("j_castle", "its chips after two cards of its suit",
     lambda t: t.discard("S_9 S_4 H_2", castle_suit=0).value, 0, 6, 6),
    ("j_hit_the_road", "its X Mult after a Jack", lambda t: t.discard("S_J H_4").value, 1, 1.5, 1.5),
    ("j_yorick", "its X Mult when its last card goes", lambda t: t.discard("S_J H_4", counter=2).value, 1, 2, 2),
    ("j_ramen", "its X Mult after three cards", lambda t: t.discard("S_J H_4 D_2").value, 2, 1.97, 1.97),
    ("j_green_joker", "its Mult after a discard", lambda t: t.discard("S_J H_4", value=5).value, 5, 4, 4),
)  # fmt: skip

EXAMPLES = [
    *READS_HANDS,
    *JOKERS_ON_JOKERS,
    *CHANCES,
    *CREATES_OR_CHANGES_CARDS,
    *GROWS_WITH_HANDS,
    *PAYS_FOR_HANDS,
    *DISCARDS,
]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_worked_example(example: Example):
    assert example.watched() == example.expected
