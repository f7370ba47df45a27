"""What each joker gives when a hand is scored: alone, copied by Blueprint, and debuffed.

A row is a worked example: the cards played, the cards held, what was set up, and what the joker adds: chips, Mult,
X Mult, dollars. The expectation is the same hand without the joker, plus that; a Blueprint to its left gives it twice.
"""

import numpy as np
import pytest

from jimbot.games.balatro.rules import inventory, run_start
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.content import BLINDS, ENHANCEMENTS, HANDS, JOKERS, SEALS, STEEL, STONE, parse_card
from jimbot.games.balatro.rules.playing_cards import cards
from jimbot.games.balatro.rules.scoring import score_hand
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import CARD_DEBUFFED, IN_HAND, NOWHERE, new_games

ON_TABLE = 4
PAIR, FLUSH_OF_SPADES = "S_9 H_9", "S_2 S_4 S_6 S_8 S_T"
STRAIGHT = "S_2 H_3 D_4 C_5 S_6"


def put(g, text: str, place: int) -> list[int]:
    """Cards such as `H_T`, `S_9+m_wild`, `D_2+Red`, `C_3!` (debuffed)."""
    slots = []
    for word in text.split():
        code, _, extra = word.rstrip("!").partition("+")
        rank, suit = parse_card(code)
        enhancement = ENHANCEMENTS.id(extra) if extra in ENHANCEMENTS else 0
        seal = SEALS.id(extra) if extra in SEALS else 0
        slot = cards.add_card(g, rank, suit, enhancement, 0, seal, int(g.card_count), place)
        g.card_flags[slot] = CARD_DEBUFFED * word.endswith("!")
        slots.append(slot)
    return slots


def play(jokers, played: str, held: str = "", prepare=None, debuffed=False, seed="TESTSEED"):
    """Scores a hand; returns the game and the scratch."""
    g, s = new_games(1)[0], new_scratch()[0]
    g.seed, g.seed_length = streams.seed_bytes(seed)
    g.stake = 1
    run_start.clear_run(g)
    g.money, g.hands_left, g.discards_left = 10, 2, 2
    g.hands_played_round, g.discards_used, g.starting_deck_size = 1, 1, 0
    table, hand = put(g, played, ON_TABLE), put(g, held, IN_HAND)
    s.played[: len(table)], s.played_count = table, len(table)
    g.hand[: len(hand)], g.hand_count = hand, len(hand)
    for key in jokers:
        inventory.add_joker(g, JOKERS.id(key), 0, 0, 0, int(g.joker_count))
    if prepare:
        prepare(g, len(jokers) - 1)
    if debuffed:
        inventory.set_joker_debuff(g, len(jokers) - 1, True)
    score_hand(g, s)
    return g, s


def set_to(**values):
    """A preparation that sets fields of the game; `value` and `counter` belong to the joker in question."""

    def prepare(g, i):
        for name, value in values.items():
            if name == "value" and i >= 0:
                g.joker_value[i] = value
            elif name == "counter" and i >= 0:
                g.joker_counter[i] = value
            elif isinstance(value, dict):
                for index, entry in value.items():
                    g[name][index] = entry
            elif name not in ("value", "counter"):
                g[name] = value

    return prepare


# (joker, played, held, preparation, (chips, mult, x mult, dollars))
ROWS = [
    ("j_joker", PAIR, "", None, (0, 4, 1, 0)),
    ("j_greedy_joker", "D_9 D_4 S_9", "", None, (0, 3, 1, 0)),
    ("j_lusty_joker", "H_9 S_9+m_wild", "", None, (0, 6, 1, 0)),
    ("j_wrathful_joker", "S_9 H_9", "", None, (0, 3, 1, 0)),
    ("j_gluttenous_joker", "C_9 C_9", "", None, (0, 6, 1, 0)),
    ("j_jolly", PAIR, "", None, (0, 8, 1, 0)),
    ("j_zany", "S_9 H_9 D_9", "", None, (0, 12, 1, 0)),
    ("j_mad", "S_9 H_9 D_4 C_4", "", None, (0, 10, 1, 0)),
    ("j_crazy", STRAIGHT, "", None, (0, 12, 1, 0)),
    ("j_droll", FLUSH_OF_SPADES, "", None, (0, 10, 1, 0)),
    ("j_sly", PAIR, "", None, (50, 0, 1, 0)),
    ("j_wily", "S_9 H_9 D_9", "", None, (100, 0, 1, 0)),
    ("j_clever", "S_9 H_9 D_4 C_4", "", None, (80, 0, 1, 0)),
    ("j_devious", STRAIGHT, "", None, (100, 0, 1, 0)),
    ("j_crafty", FLUSH_OF_SPADES, "", None, (80, 0, 1, 0)),
    ("j_half", "S_9 H_9 D_2", "", None, (0, 20, 1, 0)),
    ("j_half", "S_9 H_9 D_2 C_3", "", None, (0, 0, 1, 0)),
    ("j_banner", PAIR, "", None, (60, 0, 1, 0)),
    ("j_mystic_summit", PAIR, "", set_to(discards_left=0), (0, 15, 1, 0)),
    ("j_loyalty_card", PAIR, "", set_to(hands_played=5), (0, 0, 4, 0)),
    ("j_loyalty_card", PAIR, "", set_to(hands_played=4), (0, 0, 1, 0)),
    ("j_dusk", "S_9", "", set_to(hands_left=0), (9, 0, 1, 0)),
    ("j_dusk", "S_9", "", None, (0, 0, 1, 0)),
    ("j_raised_fist", "S_K", "S_9 H_4 D_4 C_A", None, (0, 8, 1, 0)),
    ("j_raised_fist", "S_K", "S_9 H_4 D_4!", None, (0, 0, 1, 0)),
    ("j_fibonacci", "S_A S_2 S_3 S_5 S_7", "", None, (0, 32, 1, 0)),
    ("j_steel_joker", PAIR, "", set_to(enhancement_count={STEEL: 3}), (0, 0, 1.6, 0)),
    ("j_scary_face", "S_K H_K", "", None, (60, 0, 1, 0)),
    ("j_hack", "S_5 H_5", "", None, (10, 0, 1, 0)),
    ("j_gros_michel", PAIR, "", None, (0, 15, 1, 0)),
    ("j_even_steven", "S_T H_T", "", None, (0, 8, 1, 0)),
    ("j_odd_todd", "S_A H_A", "", None, (62, 0, 1, 0)),
    ("j_scholar", "S_A H_A", "", None, (40, 8, 1, 0)),
    ("j_supernova", PAIR, "", set_to(hand_played={HANDS.id("Pair"): 6}), (0, 7, 1, 0)),
    ("j_ride_the_bus", PAIR, "", set_to(value=4), (0, 5, 1, 0)),
    ("j_ride_the_bus", "S_K H_K", "", set_to(value=4), (0, 0, 1, 0)),
    ("j_blackboard", PAIR, "S_2 C_3 H_4+m_wild", None, (0, 0, 3, 0)),
    ("j_blackboard", PAIR, "", None, (0, 0, 3, 0)),
    ("j_blackboard", PAIR, "S_2 H_3", None, (0, 0, 1, 0)),
    ("j_runner", STRAIGHT, "", set_to(value=30), (45, 0, 1, 0)),
    ("j_ice_cream", PAIR, "", None, (100, 0, 1, 0)),
    ("j_blue_joker", PAIR, "", set_to(pile_count=40), (80, 0, 1, 0)),
    ("j_constellation", PAIR, "", set_to(value=1.5), (0, 0, 1.5, 0)),
    ("j_green_joker", PAIR, "", set_to(value=2), (0, 3, 1, 0)),
    ("j_todo_list", PAIR, "", set_to(counter=HANDS.id("Pair")), (0, 0, 1, 4)),
    ("j_todo_list", PAIR, "", set_to(counter=HANDS.id("Flush")), (0, 0, 1, 0)),
    ("j_cavendish", PAIR, "", None, (0, 0, 3, 0)),
    ("j_card_sharp", PAIR, "", set_to(hand_played_round={HANDS.id("Pair"): 1}), (0, 0, 3, 0)),
    ("j_card_sharp", PAIR, "", None, (0, 0, 1, 0)),
    ("j_red_card", PAIR, "", set_to(value=9), (0, 9, 1, 0)),
    ("j_madness", PAIR, "", set_to(value=2.5), (0, 0, 2.5, 0)),
    ("j_square", "S_9 H_9 D_2 C_3", "", set_to(value=8), (12, 0, 1, 0)),
    ("j_ceremonial", PAIR, "", set_to(value=12), (0, 12, 1, 0)),
    ("j_hologram", PAIR, "", set_to(value=1.75), (0, 0, 1.75, 0)),
    ("j_baron", "S_9", "S_K H_K!", None, (0, 0, 1.5, 0)),
    ("j_obelisk", PAIR, "", set_to(value=1.4, hand_played={HANDS.id("Flush"): 1}), (0, 0, 1.6, 0)),
    ("j_obelisk", PAIR, "", set_to(value=1.4), (0, 0, 1, 0)),
    ("j_photograph", "S_K H_K", "", None, (0, 0, 2, 0)),
    ("j_erosion", PAIR, "", set_to(starting_deck_size=12), (0, 40, 1, 0)),
    ("j_fortune_teller", PAIR, "", set_to(tarots_used=7), (0, 7, 1, 0)),
    ("j_stone", PAIR, "", set_to(enhancement_count={STONE: 2}), (50, 0, 1, 0)),
    ("j_lucky_cat", PAIR, "", set_to(value=1.25), (0, 0, 1.25, 0)),
    ("j_bull", PAIR, "", set_to(money=13), (26, 0, 1, 0)),
    ("j_bull", PAIR, "", set_to(money=-3), (0, 0, 1, 0)),
    ("j_flash", PAIR, "", set_to(value=6), (0, 6, 1, 0)),
    ("j_popcorn", PAIR, "", None, (0, 20, 1, 0)),
    ("j_trousers", "S_9 H_9 D_4 C_4", "", set_to(value=2), (0, 4, 1, 0)),
    ("j_ancient", PAIR, "", set_to(ancient_suit=1), (0, 0, 1.5, 0)),
    ("j_ramen", PAIR, "", None, (0, 0, 2, 0)),
    ("j_walkie_talkie", "S_T H_T", "", None, (20, 8, 1, 0)),
    ("j_selzer", "S_9", "", None, (9, 0, 1, 0)),
    ("j_castle", PAIR, "", set_to(value=30), (30, 0, 1, 0)),
    ("j_smiley", "S_K H_K", "", None, (0, 10, 1, 0)),
    ("j_campfire", PAIR, "", set_to(value=2.25), (0, 0, 2.25, 0)),
    ("j_ticket", "S_9+m_gold H_9", "", None, (0, 0, 1, 4)),
    ("j_acrobat", PAIR, "", set_to(hands_left=0), (0, 0, 3, 0)),
    ("j_sock_and_buskin", "S_K", "", None, (10, 0, 1, 0)),
    ("j_throwback", PAIR, "", set_to(skips=2), (0, 0, 1.5, 0)),
    ("j_hanging_chad", "S_9 H_9", "", None, (18, 0, 1, 0)),
    ("j_rough_gem", "D_9 D_9", "", None, (0, 0, 1, 2)),
    ("j_arrowhead", PAIR, "", None, (50, 0, 1, 0)),
    ("j_onyx_agate", "C_9 S_9", "", None, (0, 7, 1, 0)),
    ("j_glass", PAIR, "", set_to(value=1.75), (0, 0, 1.75, 0)),
    ("j_flower_pot", "S_2 H_3 D_4 C_5 S_6", "", None, (0, 0, 3, 0)),
    ("j_flower_pot", "S_2 H_3 D_4 H_5 S_6", "", None, (0, 0, 1, 0)),
    ("j_wee", "S_2 H_2", "", set_to(value=16), (32, 0, 1, 0)),
    ("j_idol", PAIR, "", set_to(idol_rank=9, idol_suit=1), (0, 0, 2, 0)),
    ("j_seeing_double", "C_9 H_9", "", None, (0, 0, 2, 0)),
    ("j_seeing_double", "C_9 C_9", "", None, (0, 0, 1, 0)),
    ("j_hit_the_road", PAIR, "", set_to(value=2), (0, 0, 2, 0)),
    ("j_duo", PAIR, "", None, (0, 0, 2, 0)),
    ("j_trio", "S_9 H_9 D_9", "", None, (0, 0, 3, 0)),
    ("j_family", "S_9 H_9 D_9 C_9", "", None, (0, 0, 4, 0)),
    ("j_order", STRAIGHT, "", None, (0, 0, 3, 0)),
    ("j_tribe", FLUSH_OF_SPADES, "", None, (0, 0, 2, 0)),
    ("j_stuntman", PAIR, "", None, (250, 0, 1, 0)),
    ("j_shoot_the_moon", "S_9", "S_Q H_Q", None, (0, 26, 1, 0)),
    ("j_drivers_license", PAIR, "", set_to(enhancement_count={0: -14}), (0, 0, 3, 0)),
    ("j_bootstraps", PAIR, "", set_to(money=14), (0, 4, 1, 0)),
    ("j_caino", PAIR, "", set_to(value=3), (0, 0, 3, 0)),
    ("j_triboulet", "S_K H_K", "", None, (0, 0, 4, 0)),
    ("j_yorick", PAIR, "", set_to(value=2), (0, 0, 2, 0)),
    ("j_mime", "S_9", "S_4+m_steel", None, (0, 0, 1.5, 0)),
]


def result(outcome):
    _, s = outcome
    return float(s.chips), float(s.mult), int(s.dollars)


def expected(base, gives, times):
    chips, mult, dollars = base
    add_chips, add_mult, x_mult, add_dollars = gives
    return (
        pytest.approx(chips + times * add_chips),
        pytest.approx((mult + times * add_mult) * x_mult**times),
        dollars + times * add_dollars,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1].replace(' ', '')}-{row[4]}")
def test_a_joker_gives_its_amount_alone_twice_with_blueprint_and_nothing_debuffed(row):
    joker, played, held, prepare, gives = row
    base = result(play([], played, held, prepare))
    assert result(play([joker], played, held, prepare)) == expected(base, gives, 1)
    assert result(play(["j_blueprint", joker], played, held, prepare)) == expected(base, gives, 2)
    assert result(play([joker], played, held, prepare, debuffed=True)) == base


def test_vampire_drinks_enhancements_before_they_score():
    g, s = play(["j_vampire"], "S_9+m_bonus H_9+m_mult D_4!", "", set_to(value=1.2))
    assert (s.chips, s.mult) == (28, pytest.approx(2 * 1.4))
    assert g.card_enhancement[s.played[:2]].tolist() == [0, 0]
    assert g.joker_value[0] == pytest.approx(1.4)


def test_abstract_counts_itself_and_stencil_counts_empty_slots_and_itself():
    assert play(["j_joker", "j_abstract"], PAIR)[1].mult == 2 + 4 + 6
    assert play(["j_stencil"], PAIR)[1].mult == 2 * 5
    assert play(["j_stencil", "j_stencil"], PAIR)[1].mult == 2 * 5 * 5


def test_swashbuckler_adds_the_sell_values_of_the_others():
    assert play(["j_blueprint", "j_swashbuckler", "j_joker"], PAIR)[1].mult == 2 + 6 + 6 + 4


def test_baseball_multiplies_for_every_uncommon_joker_even_debuffed():
    # Hiker and the debuffed Stencil are Uncommon; Joker adds 4 between them.
    assert play(["j_baseball", "j_hiker", "j_joker", "j_stencil"], PAIR, debuffed=True)[1].mult == (2 * 1.5 + 4) * 1.5


def test_hiker_raises_the_card_for_its_next_trigger():
    g, s = play(["j_hiker"], "S_9+Red")
    assert s.chips == 5 + 9 + 14
    assert g.card_extra_chips[s.played[0]] == 10


def test_misprint_adds_a_whole_number_up_to_23_and_rolls_again_for_a_copy():
    numbers = {int(play(["j_misprint"], PAIR, seed=streams.seed_text(n))[1].mult) - 2 for n in range(60)}
    assert numbers <= set(range(24))
    assert len(numbers) > 12
    alone, copied = play(["j_misprint"], PAIR)[1].mult, play(["j_blueprint", "j_misprint"], PAIR)[1].mult
    assert copied != 2 * alone - 2


@pytest.mark.parametrize("joker", ["j_business", "j_bloodstone", "j_reserved_parking", "j_space", "j_8_ball"])
def test_chances_come_true_sometimes_and_always_with_enough_oops(joker):
    played, held = {"j_reserved_parking": ("S_9", "S_K"), "j_8_ball": ("H_8", "")}.get(joker, ("H_K", ""))

    def worked(jokers, seed):
        g, s = play(jokers, played, held, seed=seed)
        base = play([], played, held, seed=seed)[1]
        return bool(s.dollars > 0 or s.mult > base.mult or s.chips > base.chips or g.consumable_count > 0)

    alone = [worked([joker], streams.seed_text(number)) for number in range(40)]
    assert 3 < sum(alone) < 34
    assert all(worked([joker, "j_oops", "j_oops"], streams.seed_text(number)) for number in range(10))


def test_lucky_cat_grows_once_per_lucky_trigger():
    g, s = play(["j_lucky_cat", "j_oops", "j_oops", "j_oops", "j_oops"], "S_9+m_lucky H_9+m_lucky")
    assert s.dollars == 40
    assert g.joker_value[0] == 1.5


def test_superposition_seance_and_vagabond_create_cards_only_with_room():
    straight_flush = "S_T S_J S_Q S_K S_A"
    for joker, played, prepare in (
        ("j_superposition", straight_flush, None),
        ("j_seance", straight_flush, None),
        ("j_vagabond", PAIR, set_to(money=4)),
    ):
        assert play([joker], played, "", prepare)[0].consumable_count == 1
        assert play(["j_blueprint", joker], played, "", prepare)[0].consumable_count == 2
        assert play(["j_blueprint", "j_blueprint", joker], played, "", prepare)[0].consumable_count == 2
    assert play(["j_superposition"], STRAIGHT)[0].consumable_count == 0
    assert play(["j_vagabond"], PAIR, "", set_to(money=5))[0].consumable_count == 0


def test_dna_copies_a_single_first_card_into_the_hand_and_hologram_sees_it():
    first = set_to(hands_played_round=0)
    g, s = play(["j_dna", "j_hologram"], "S_K+m_steel", "", first)
    assert (g.card_count, g.hand_count) == (2, 1)
    assert s.mult == pytest.approx(1 * 1.5 * 1.25)
    assert play(["j_dna"], PAIR, "", first)[0].card_count == 2
    assert play(["j_dna"], "S_K")[0].card_count == 1


def test_sixth_sense_trades_a_single_first_six_for_a_spectral():
    first = set_to(hands_played_round=0)
    g, s = play(["j_sixth_sense"], "S_6", "", first)
    assert (s.destroyed, g.consumable_count) == (1, 1)
    assert play(["j_blueprint", "j_sixth_sense"], "S_6", "", first)[0].consumable_count == 1
    assert play(["j_sixth_sense"], "S_6")[1].destroyed == 0


def test_midas_mask_gilds_scoring_faces_before_ticket_pays():
    g, s = play(["j_midas_mask", "j_ticket"], "S_K H_K D_2")
    assert s.dollars == 8
    assert [ENHANCEMENTS.key(int(e)) for e in g.card_enhancement[s.played[:2]]] == ["m_gold", "m_gold"]


def test_ice_cream_and_seltzer_are_used_up():
    assert play(["j_ice_cream"], PAIR)[0].joker_value[0] == 95
    assert play(["j_ice_cream"], PAIR, "", set_to(value=5))[0].joker_count == 0
    assert play(["j_blueprint", "j_selzer"], "S_9", "", set_to(value=2))[0].joker_value[1] == 1
    assert play(["j_selzer"], "S_9", "", set_to(value=1))[0].joker_count == 0


def test_matador_pays_when_the_boss_was_triggered_also_for_a_vetoed_hand():
    psychic = set_to(blind=BLINDS.id("bl_psychic"))
    _, s = play(["j_matador"], PAIR, "", psychic)
    assert (bool(s.blocked), s.dollars, s.score) == (True, 8, 0)
    assert play(["j_matador"], "S_9! H_9")[1].dollars == 8
    assert play(["j_matador"], PAIR)[1].dollars == 0


def test_glass_joker_and_canio_count_what_breaks():
    jokers = ["j_glass", "j_caino", "j_oops", "j_oops"]
    g, s = play(jokers, "S_K+m_glass H_K+m_glass")
    assert s.destroyed == 3
    assert (g.joker_value[0], g.joker_value[1]) == (2.5, 3)


def test_splash_and_pareidolia_change_what_scores_and_who_is_a_face():
    assert play(["j_splash"], "S_9 H_9 D_4")[1].chips == 10 + 22
    assert play(["j_pareidolia", "j_smiley"], "S_9 H_9")[1].mult == 2 + 10


def test_cards_of_the_table_are_not_held():
    assert NOWHERE != ON_TABLE != IN_HAND
    assert np.isfinite(play(["j_baron"], "S_K")[1].mult)
    assert play(["j_baron"], "S_K")[1].mult == 1
