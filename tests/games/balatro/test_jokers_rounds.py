"""Jokers outside scoring: blind selected, discards, end of round, payout, shop, packs, selling."""

import pytest

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import inventory, run_start
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.content import CONSUMABLES, ENHANCEMENTS, HANDS, JOKERS, NEGATIVE, STONE, parse_card
from jimbot.games.balatro.rules.jokers import dispatch
from jimbot.games.balatro.rules.jokers.evaluate import acts_as, resolve_copies
from jimbot.games.balatro.rules.jokers.round_jokers import clear_promises, keep_promises
from jimbot.games.balatro.rules.playing_cards import cards
from jimbot.games.balatro.rules.playing_cards.hands import read_jokers
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.shop import prices
from jimbot.games.balatro.rules.state import CARD_DEBUFFED, DOOMED, ETERNAL, IN_DECK, IN_HAND, SELECTING_HAND, new_games

ON_TABLE = 4
MOMENTS = (
    "setting_blind", "first_hand_drawn", "pre_discard", "discard", "cards_removed", "end_of_round", "round_payout",
    "selling_self", "selling_card", "using_consumable", "card_added", "open_booster", "skip_booster", "reroll_shop",
    "end_shop",
)  # fmt: skip


@njit
def run_phase(g, s, moment, subject):
    """All phases behind one door, so that the tests compile once."""
    read_jokers(g, s)
    resolve_copies(g, s)
    s.cards_added = 0
    s.dollars = 0
    if moment == 0:
        clear_promises(s)
        dispatch.setting_blind(g, s)
        keep_promises(g, s)
    elif moment == 1:
        dispatch.first_hand_drawn(g, s)
    elif moment == 2:
        dispatch.pre_discard(g, s)
    elif moment == 3:
        for place in range(s.played_count):
            dispatch.discard(g, s, place)
    elif moment == 4:
        dispatch.cards_removed(g, s)
    elif moment == 5:
        for i in range(g.joker_count):
            dispatch.run_end_of_round(g.joker_id[i], g, s, i, False)
    elif moment == 6:
        dispatch.round_payout(g, s)
    elif moment == 7:
        source = acts_as(g, subject)
        dispatch.run_selling_self(g.joker_id[source], g, s, source, source != subject)
    elif moment == 8:
        dispatch.selling_card(g, s)
    elif moment == 9:
        dispatch.using_consumable(g, s, subject)
    elif moment == 10:
        dispatch.card_added(g, s, subject)
    elif moment == 11:
        dispatch.open_booster(g, s)
    elif moment == 12:
        dispatch.skip_booster(g, s)
    elif moment == 13:
        dispatch.reroll_shop(g, s)
    elif moment == 14:
        dispatch.end_shop(g, s)
    if s.cards_added > 0:
        dispatch.card_added(g, s, s.cards_added)
    return s.dollars


def run(g, s, moment: str, subject: int = 0) -> int:
    return int(run_phase(g, s, MOMENTS.index(moment), subject))


def start(*jokers: str, seed: str = "TESTSEED"):
    g, s = new_games(1)[0], new_scratch()[0]
    g.seed, g.seed_length = streams.seed_bytes(seed)
    g.stake = 1
    run_start.clear_run(g)
    g.money, g.hands_left, g.discards_left, g.requirement = 10, 4, 3, 300.0
    for key in jokers:
        inventory.add_joker(g, JOKERS.id(key), 0, 0, inventory.START_COUNTER[JOKERS.id(key)], int(g.next_serial))
        g.next_serial += 1
    return g, s


def lay(g, s, text: str) -> None:
    """Puts cards such as `H_T` or `C_3!` (debuffed) on the table."""
    s.played_count, s.destroyed = 0, 0
    for word in text.split():
        code, _, extra = word.rstrip("!").partition("+")
        rank, suit = parse_card(code)
        enhancement = ENHANCEMENTS.id(extra) if extra else 0
        slot = cards.add_card(g, rank, suit, enhancement, 0, 0, int(g.card_count), ON_TABLE)
        g.card_flags[slot] = CARD_DEBUFFED * word.endswith("!")
        s.played[s.played_count] = slot
        s.played_count += 1


def doomed(g) -> list[str]:
    return [JOKERS.key(int(g.joker_id[i])) for i in range(g.joker_count) if g.joker_flags[i] & DOOMED]


def held(g) -> list[str]:
    return [JOKERS.key(int(joker)) for joker in g.joker_id[: g.joker_count]]


# --- a blind is selected ---


def test_riff_raff_fills_free_slots_with_at_most_two_common_jokers():
    g, s = start("j_riff_raff")
    run(g, s, "setting_blind")
    assert [JOKERS.row(key)["rarity"] for key in held(g)] == [1, 1, 1]
    g, s = start(*["j_riff_raff"] * 4)
    run(g, s, "setting_blind")
    assert g.joker_count == 5


def test_ceremonial_dagger_takes_its_right_neighbour_unless_eternal():
    g, s = start("j_ceremonial", "j_blueprint", "j_joker")
    run(g, s, "setting_blind")
    assert doomed(g) == ["j_blueprint"]
    assert g.joker_value[0] == 2 * prices.joker_sell_value(g, 1)
    g, s = start("j_ceremonial", "j_joker")
    g.joker_flags[1] |= ETERNAL
    run(g, s, "setting_blind")
    assert (doomed(g), g.joker_value[0]) == ([], 0)


def test_a_joker_doomed_by_the_dagger_does_not_act():
    g, s = start("j_ceremonial", "j_burglar")
    run(g, s, "setting_blind")
    assert g.hands_left == 4


def test_madness_grows_and_destroys_another_joker_but_not_at_a_boss():
    g, s = start("j_madness", "j_joker", "j_egg")
    g.joker_flags[2] |= ETERNAL
    run(g, s, "setting_blind")
    assert (g.joker_value[0], doomed(g)) == (1.5, ["j_joker"])
    g, s = start("j_madness", "j_joker")
    g.on_deck = 2
    run(g, s, "setting_blind")
    assert (g.joker_value[0], doomed(g)) == (1, [])


def test_marble_puts_a_stone_card_into_the_deck_and_hologram_grows():
    g, s = start("j_blueprint", "j_marble", "j_hologram")
    run(g, s, "setting_blind")
    assert (g.card_count, g.enhancement_count[STONE]) == (2, 2)
    assert g.card_place[g.cards[0]] == IN_DECK
    assert g.joker_value[2] == 1.5


def test_chicot_disables_a_boss_and_only_a_boss():
    g, s = start("j_chicot")
    run(g, s, "setting_blind")
    assert not g.blind_disabled
    g.on_deck = 2
    run(g, s, "setting_blind")
    assert g.blind_disabled


def test_certificate_adds_a_sealed_card_to_hand_and_deck():
    g, s = start("j_certificate", "j_hologram")
    run(g, s, "first_hand_drawn")
    slot = int(g.hand[0])
    assert (g.hand_count, g.card_count, g.card_place[slot]) == (1, 1, IN_HAND)
    assert g.card_seal[slot] > 0
    assert g.joker_value[1] == 1.25


# --- discards ---


@pytest.mark.parametrize(
    ("joker", "discarded", "fields", "money", "value"),
    [
        ("j_mail", "S_9 H_9! D_4", {"mail_rank": 9}, 5, None),
        ("j_faceless", "S_K H_Q D_J", {}, 5, None),
        ("j_faceless", "S_K H_Q D_J!", {}, 0, None),
        ("j_castle", "S_9 H_9 S_4!", {"castle_suit": 0}, 0, 3),
        ("j_hit_the_road", "S_J H_J D_J! C_4", {}, 0, 2),
        ("j_ramen", "S_9 H_9! D_4", {}, 0, 1.97),
        ("j_green_joker", "S_9 H_9 D_4", {"joker_value": 4.0}, 0, 3),
        ("j_green_joker", "S_9", {}, 0, 0),
    ],
)
def test_discard_jokers_pay_or_grow(joker, discarded, fields, money, value):
    g, s = start(joker)
    for name, entry in fields.items():
        if name == "joker_value":
            g.joker_value[0] = entry
        else:
            g[name] = entry
    lay(g, s, discarded)
    assert run(g, s, "discard") == money
    if value is not None:
        assert g.joker_value[0] == pytest.approx(value)


def test_yorick_grows_every_twenty_three_cards():
    g, s = start("j_yorick")
    for _ in range(9):
        lay(g, s, "S_2 S_3 S_4 S_5 S_6")
        run(g, s, "discard")
    assert (g.joker_value[0], g.joker_counter[0]) == (2, 23 - (45 - 23))


def test_ramen_is_eaten_up():
    g, s = start("j_ramen")
    g.joker_value[0] = 1.01
    lay(g, s, "S_9")
    run(g, s, "discard")
    assert doomed(g) == ["j_ramen"]


def test_every_trading_card_pays_for_the_single_first_discard_it_destroys():
    g, s = start("j_trading", "j_trading")
    lay(g, s, "S_9")
    assert run(g, s, "discard") == 6
    assert s.destroyed == 1
    g, s = start("j_trading")
    g.discards_used = 1
    lay(g, s, "S_9")
    run(g, s, "discard")
    assert s.destroyed == 0


def test_burnt_joker_raises_the_hand_of_the_first_discard():
    g, s = start("j_blueprint", "j_burnt")
    lay(g, s, "S_9 H_9")
    run(g, s, "pre_discard")
    assert g.hand_level[HANDS.id("Pair")] == 3
    g.discards_used = 1
    run(g, s, "pre_discard")
    assert g.hand_level[HANDS.id("Pair")] == 3


def test_glass_joker_ignores_glass_taken_by_a_spectral_but_canio_counts_faces():
    g, s = start("j_glass", "j_caino")
    lay(g, s, "S_K+m_glass H_9+m_glass D_2")
    s.destroyed, s.glass_counts = 3, False
    run(g, s, "cards_removed")
    assert (g.joker_value[0], g.joker_value[1]) == (1, 2)
    s.glass_counts = True
    run(g, s, "cards_removed")
    assert g.joker_value[0] == 2.5


# --- the end of a round ---


def test_upkeep_of_shrinking_and_resetting_jokers():
    g, s = start("j_popcorn", "j_hit_the_road", "j_campfire", "j_rocket", "j_invisible", "j_turtle_bean")
    g.joker_value[1], g.joker_value[2] = 3, 2
    size = int(g.hand_size)
    run(g, s, "end_of_round")
    assert g.joker_value[:4].tolist() == [16, 1, 2, 1]
    assert (g.joker_counter[4], g.joker_value[5], g.hand_size) == (1, 4, size - 1)
    g.on_deck = 2
    run(g, s, "end_of_round")
    assert g.joker_value[2:4].tolist() == [1, 3]


def test_popcorn_and_turtle_bean_are_used_up():
    g, s = start("j_popcorn", "j_turtle_bean")
    g.joker_value[0] = 4
    for _ in range(4):
        run(g, s, "end_of_round")
    assert doomed(g) == ["j_popcorn"]
    run(g, s, "end_of_round")
    assert doomed(g) == ["j_popcorn", "j_turtle_bean"]
    inventory.remove_doomed(g)
    assert g.hand_size == 8


def test_gros_michel_dies_out_about_once_in_six_rounds_and_never_survives_enough_oops():
    ends = []
    for number in range(60):
        g, s = start("j_gros_michel", seed=streams.seed_text(number))
        run(g, s, "end_of_round")
        ends.append(bool(doomed(g)))
        assert bool(g.michel_extinct) == ends[-1]
    assert 3 <= sum(ends) <= 20
    g, s = start("j_gros_michel", "j_cavendish", "j_oops", "j_oops", "j_oops")
    run(g, s, "end_of_round")
    assert doomed(g) == ["j_gros_michel"]


def test_todo_list_always_changes_its_hand():
    g, s = start("j_todo_list")
    for _ in range(20):
        before = int(g.joker_counter[0])
        run(g, s, "end_of_round")
        assert g.joker_counter[0] != before


def test_mr_bones_saves_once_at_a_quarter_of_the_requirement():
    g, s = start("j_mr_bones", "j_mr_bones")
    g.score = 74.0
    run(g, s, "end_of_round")
    assert not g.saved_by_bones
    g.score = 75.0
    run(g, s, "end_of_round")
    assert g.saved_by_bones
    assert doomed(g) == ["j_mr_bones"]


def test_cloud_9_counts_nines_of_the_full_deck_but_no_stone_cards():
    g, s = start("j_cloud_9")
    lay(g, s, "S_9 H_9! D_9+m_stone C_8")
    assert run(g, s, "round_payout") == 2


# --- shop, packs, consumables ---


def test_shop_jokers_grow_and_copies_do_not():
    g, s = start("j_blueprint", "j_flash", "j_red_card", "j_campfire", "j_constellation", "j_hologram")
    for moment in ("reroll_shop", "skip_booster", "selling_card"):
        run(g, s, moment)
    run(g, s, "using_consumable", CONSUMABLES.id("c_pluto"))
    run(g, s, "using_consumable", CONSUMABLES.id("c_fool"))
    run(g, s, "using_consumable", CONSUMABLES.id("c_black_hole"))
    run(g, s, "card_added", 2)
    assert g.joker_value[1:6].tolist() == [2, 3, 1.25, 1.1, 1.5]


def test_hallucination_rolls_only_with_room():
    made = []
    for number in range(40):
        g, s = start("j_hallucination", seed=streams.seed_text(number))
        g.ante = 1
        run(g, s, "open_booster")
        made.append(int(g.consumable_count))
    assert 8 < sum(made) < 32
    g, s = start("j_hallucination")
    g.consumable_slots = 0
    run(g, s, "open_booster")
    assert (g.ante_streams == 0).all()  # no bank was ever opened, so nothing was drawn


def test_perkeo_copies_a_consumable_as_negative_without_needing_room():
    g, s = start("j_blueprint", "j_perkeo")
    inventory.give_consumable(g, CONSUMABLES.id("c_fool"))
    run(g, s, "end_shop")
    assert g.consumable_id[:3].tolist() == [0, 0, 0]
    assert g.consumable_edition[:3].tolist() == [0, NEGATIVE, NEGATIVE]
    assert g.consumable_slots == 4


# --- selling ---


def test_luchador_disables_the_boss_only_during_its_round():
    g, s = start("j_luchador")
    g.on_deck = 2
    run(g, s, "selling_self", 0)
    assert not g.blind_disabled
    g.phase = SELECTING_HAND
    run(g, s, "selling_self", 0)
    assert g.blind_disabled


def test_invisible_joker_doubles_another_one_after_two_rounds():
    g, s = start("j_invisible", "j_runner")
    g.joker_value[1], g.joker_edition[1] = 45, NEGATIVE
    run(g, s, "selling_self", 0)
    assert g.joker_count == 2
    g.joker_counter[0] = 2
    run(g, s, "selling_self", 0)
    assert held(g) == ["j_invisible", "j_runner", "j_runner"]
    assert (g.joker_value[2], g.joker_edition[2]) == (45, 0)
    g, s = start("j_invisible", "j_invisible")
    g.joker_counter[:2] = 5
    run(g, s, "selling_self", 0)
    assert g.joker_counter[2] == 0
