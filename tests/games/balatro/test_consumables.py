"""Every Tarot, Planet and Spectral: when it may be used and what it does, played through the engine's own actions."""

import pytest

from jimbot.games.balatro.rules.content import CONSUMABLES, HANDS, JOKER_RARITY, JOKERS, PLANET_HAND
from jimbot.games.balatro.rules.state import DEBUFFED, ETERNAL
from tests.games.balatro.playing import Run

PLANETS = [row["key"] for row in CONSUMABLES if row["set"] == "Planet"]


@pytest.fixture
def round_():
    """A round in play with a known hand."""
    return Run().act("select").hand("S_A S_K H_Q H_J C_T C_9 D_8 D_7")


# --- target limits ---

LIMITS = {row["key"]: row["targets"] for row in CONSUMABLES if row["targets"][1] > 0}


@pytest.mark.parametrize("key", LIMITS)
def test_cards_with_targets_take_no_more_and_no_fewer_than_allowed(round_, key):
    least, most = LIMITS[key]
    for count in range(6):
        assert round_.can_use(key, *range(count)) == (least <= count <= most), (key, count)


@pytest.mark.parametrize("key", LIMITS)
def test_cards_with_targets_need_a_hand_on_the_table(key):
    run = Run()
    assert not run.can_use(key)
    assert not run.can_use(key, *range(LIMITS[key][0]))
    assert not run.to_shop().can_use(key, *range(LIMITS[key][0]))


@pytest.mark.parametrize("key", ["c_familiar", "c_grim", "c_incantation", "c_sigil", "c_ouija", "c_immolate"])
def test_spectrals_on_the_whole_hand_need_two_cards_in_it(key):
    run = Run().act("select").hand("S_A S_K")
    assert run.can_use(key)
    assert not run.can_use(key, 0)
    run.hand("S_A")
    assert not run.can_use(key)
    assert not Run().can_use(key)


def test_a_card_without_targets_is_not_usable_on_a_choice(round_):
    assert round_.can_use("c_hermit")
    assert not round_.can_use("c_hermit", 0)


def test_the_card_cerulean_bell_forces_must_be_among_the_targets():
    run = Run().boss("bl_final_bell").act("select")
    (forced,) = [place for place, slot in enumerate(run.slots) if run.g.card_flags[slot] & 8]
    other = (forced + 1) % 8
    assert run.can_use("c_lovers", forced)
    assert not run.can_use("c_lovers", other)
    assert run.can_use("c_empress", forced, other)


# --- enhancements, suits, seals ---


@pytest.mark.parametrize(
    ("key", "enhancement"),
    [
        ("c_magician", "m_lucky"), ("c_empress", "m_mult"), ("c_heirophant", "m_bonus"), ("c_lovers", "m_wild"),
        ("c_chariot", "m_steel"), ("c_justice", "m_glass"), ("c_devil", "m_gold"), ("c_tower", "m_stone"),
    ],
)  # fmt: skip
def test_enhancing_tarots_change_exactly_the_chosen_cards(round_, key, enhancement):
    count = LIMITS[key][1]
    round_.use(key, *range(count))
    cards = ["S_A", "S_K", "H_Q"]
    assert round_.held.split()[:3] == [f"{code}+{enhancement}" for code in cards[:count]] + cards[count:]


@pytest.mark.parametrize(("key", "suit"), [("c_star", "D"), ("c_moon", "C"), ("c_sun", "H"), ("c_world", "S")])
def test_suit_tarots_change_three_cards_and_leave_the_order_of_the_hand(round_, key, suit):
    round_.use(key, 0, 3, 7)
    assert round_.held == f"{suit}_A S_K H_Q {suit}_J C_T C_9 D_8 {suit}_7"


@pytest.mark.parametrize(
    ("key", "seal"), [("c_talisman", "Gold"), ("c_deja_vu", "Red"), ("c_trance", "Blue"), ("c_medium", "Purple")]
)
def test_seal_spectrals_put_their_seal_on_one_card(round_, key, seal):
    round_.use(key, 2)
    assert round_.held.split()[2] == f"H_Q+{seal}"
    assert "+" not in round_.held.replace(f"+{seal}", "", 1)


def test_aura_gives_an_edition_to_a_card_without_one(round_):
    round_.use("c_aura", 1)
    changed = round_.held.split()[1]
    assert changed in ("S_K+foil", "S_K+holo", "S_K+polychrome")
    assert not round_.can_use("c_aura", 1)
    assert round_.can_use("c_aura", 0)


def test_a_club_turned_into_a_spade_is_revived_under_the_club_and_a_spade_turned_club_is_debuffed():
    run = Run().boss("bl_club").act("select").hand("S_A C_K")
    run.use("c_moon", 0, 1)
    assert run.debuffed == ["C_A", "C_K"]
    run.use("c_world", 0)
    assert run.debuffed == ["C_K"]


def test_a_card_made_wild_is_debuffed_by_any_suit_boss():
    run = Run().boss("bl_head").act("select").hand("S_A S_K")
    assert run.use("c_lovers", 0).debuffed == ["S_A+m_wild"]


# --- strength, death, hanged man, cryptid ---


def test_strength_raises_king_to_ace_and_ace_to_two(round_):
    assert round_.use("c_strength", 0, 1).held.startswith("S_2 S_A H_Q")


def test_death_turns_the_left_card_into_the_right_one_with_all_it_carries(round_):
    run = round_.hand("S_2 H_K+m_steel+foil+Red C_9")
    run.g.card_extra_chips[run.slots[1]] = 15
    run.use("c_death", 0, 1)
    assert run.held == "H_K+m_steel+foil+Red H_K+m_steel+foil+Red C_9"
    assert run.g.card_extra_chips[run.slots[0]] == 15
    assert run.g.card_serial[run.slots[0]] < run.g.card_serial[run.slots[1]]
    assert run.g.enhancement_count[5] == 2


def test_the_hanged_man_destroys_for_good_and_canio_and_glass_joker_see_it(round_):
    round_.joker("j_caino")
    round_.joker("j_glass")
    round_.hand("S_K S_2+m_glass S_3", deck="C_4")
    round_.use("c_hanged_man", 0, 1)
    assert round_.held == "S_3"
    assert round_.owned == ["S_3", "C_4"]
    assert round_.g.joker_value[0] == 2.0
    assert round_.g.joker_value[1] == 1.75


def test_glass_joker_does_not_count_glass_broken_by_immolate():
    run = Run().act("select")
    run.joker("j_glass")
    run.joker("j_caino")
    run.hand("S_K+m_glass S_Q+m_glass S_J+m_glass")
    run.use("c_immolate")
    assert list(run.g.joker_value[:2]) == [1.0, 4.0]


def test_cryptid_adds_two_full_copies_to_hand_and_deck_and_hologram_counts_them(round_):
    round_.joker("j_hologram")
    round_.hand("H_K+m_glass+holo+Gold S_2")
    round_.use("c_cryptid", 0)
    copy = "H_K+m_glass+holo+Gold"
    assert round_.held == f"{copy} S_2 {copy} {copy}"
    assert round_.g.card_count == 12
    assert round_.g.joker_value[0] == 1.5


def test_emptying_the_hand_with_cards_left_in_the_deck_loses_the_run():
    run = Run().act("select").hand("S_K S_Q")
    assert run.use("c_hanged_man", 0, 1).phase == "game_over"


def test_emptying_hand_and_deck_ends_the_round_by_score():
    run = Run().act("select").hand("S_K S_Q", deck="")
    run.g.score = run.g.requirement - 1
    assert run.use("c_hanged_man", 0, 1).phase == "game_over"


# --- creation ---


def test_the_fool_copies_the_last_tarot_or_planet_but_not_itself():
    run = Run()
    assert not run.can_use("c_fool")
    run.use("c_mercury").use("c_fool")
    assert run.consumables == ["c_mercury"]
    assert not run.can_use("c_fool")
    run.use("c_black_hole")
    assert not run.can_use("c_fool"), "a Spectral does not change what the Fool remembers"
    assert run.use("c_hermit").can_use("c_fool")


def test_the_high_priestess_creates_two_planets_and_one_when_one_slot_is_left():
    run = Run().use("c_high_priestess")
    assert len(run.consumables) == 2
    assert set(run.consumables) <= set(PLANETS)
    run.act("sell_consumable")
    run.g.consumable_slots = 2
    run.use("c_high_priestess")
    assert len(run.consumables) == 2


def test_the_emperor_creates_two_tarots_and_never_itself():
    for seed in ("AAAAAAAA", "BBBBBBBB", "CCCCCCCC"):
        run = Run(seed)
        for _ in range(12):
            run.use("c_emperor")
            assert len(run.consumables) == 2
            assert "c_emperor" not in run.consumables
            run.act("sell_consumable").act("sell_consumable")


def test_a_negative_emperor_finds_room_for_one_card_in_full_slots():
    run = Run()
    run.consumable("c_mars")
    run.consumable("c_venus")
    run.use("c_emperor", edition="negative")
    assert len(run.consumables) == 3
    assert run.g.consumable_slots == 2


def test_judgement_creates_a_joker_only_with_a_free_slot():
    run = Run().use("c_judgement")
    assert len(run.jokers) == 1
    run.g.joker_slots = 1
    assert not run.can_use("c_judgement")


def test_wraith_creates_a_rare_joker_and_takes_all_money():
    run = Run()
    run.g.money = 37
    run.use("c_wraith")
    assert JOKER_RARITY[JOKERS.id(run.jokers[0])] == 3
    assert run.money == 0


def test_the_soul_creates_a_legendary_joker_and_advances_the_unused_rarity_stream():
    run = Run().use("c_soul")
    assert JOKER_RARITY[JOKERS.id(run.jokers[0])] == 4
    run.g.joker_slots = 1
    assert not run.can_use("c_soul")


# --- money ---


@pytest.mark.parametrize(("money", "after"), [(7, 14), (20, 40), (50, 70), (0, 0), (-5, -5)])
def test_the_hermit_doubles_money_up_to_20(money, after):
    run = Run()
    run.g.money = money
    assert run.use("c_hermit").money == after


def test_temperance_pays_the_sell_value_of_all_jokers_up_to_50():
    run = Run()
    run.joker("j_joker")  # 2 dollars: sells for 1
    run.joker("j_blueprint")  # 10 dollars: sells for 5
    assert run.use("c_temperance").money == 4 + 6
    run.g.joker_extra_value[0] = 90
    assert run.use("c_temperance").money == 10 + 50


# --- jokers ---


def test_the_wheel_of_fortune_needs_a_joker_without_edition():
    run = Run()
    assert not run.can_use("c_wheel_of_fortune")
    run.joker("j_joker", "foil")
    assert not run.can_use("c_wheel_of_fortune")
    run.joker("j_egg", flags=DEBUFFED)
    assert run.can_use("c_wheel_of_fortune")


def test_the_wheel_of_fortune_with_two_oops_always_hits_a_joker_without_edition():
    run = Run()
    run.joker("j_oops", "negative")
    run.joker("j_oops", "negative")
    run.joker("j_joker")
    run.use("c_wheel_of_fortune")
    assert run.g.joker_edition[2] in (1, 2, 3)


def test_the_wheel_of_fortune_repeats_the_recorded_use_of_seed_u4cvjvie():
    run = Run("U4CVJVIE", deck="b_abandoned", stake=2)
    for key in ("j_joker", "j_egg", "j_ramen", "j_popcorn"):
        run.joker(key)
    run.use("c_wheel_of_fortune")
    assert list(run.g.joker_edition[:4]) == [2, 0, 0, 0], "first-created of four, Holographic"


def test_ectoplasm_makes_a_joker_negative_and_costs_one_two_three_hand_size():
    run = Run()
    for key in ("j_joker", "j_egg", "j_ramen"):
        run.joker(key)
    for size in (7, 5, 2):
        assert run.use("c_ectoplasm").g.hand_size == size
    assert list(run.g.joker_edition[:3]) == [4, 4, 4]
    assert run.g.joker_slots == 8
    assert not run.can_use("c_ectoplasm")


def test_hex_makes_one_polychrome_and_destroys_all_others_but_eternal_ones():
    run = Run()
    run.joker("j_joker")
    run.joker("j_egg", "foil", ETERNAL)
    run.joker("j_ramen", "holo")
    run.use("c_hex")
    assert run.jokers == ["j_joker", "j_egg"]
    assert list(run.g.joker_edition[:2]) == [3, 1]


def test_ankh_copies_one_joker_with_its_state_but_not_negative_and_destroys_the_others():
    run = Run()
    run.joker("j_green_joker", "negative")
    run.g.joker_value[0] = 9
    run.use("c_ankh")
    assert run.jokers == ["j_green_joker", "j_green_joker"]
    assert list(run.g.joker_edition[:2]) == [4, 0]
    assert list(run.g.joker_value[:2]) == [9, 9]


def test_ankh_needs_a_joker_and_more_than_one_slot_and_spares_eternal_jokers():
    run = Run()
    assert not run.can_use("c_ankh")
    run.joker("j_egg", flags=ETERNAL)
    run.joker("j_ramen", flags=ETERNAL)
    run.joker("j_joker")
    run.use("c_ankh")
    assert run.jokers[:2] == ["j_egg", "j_ramen"]
    assert len(run.jokers) in (3, 4)
    run.g.joker_slots = 1
    assert not run.can_use("c_ankh")


# --- levels ---


@pytest.mark.parametrize("key", PLANETS)
def test_each_planet_raises_its_own_hand(key):
    run = Run().use(key)
    hand = PLANET_HAND[CONSUMABLES.id(key)]
    assert [int(level) for level in run.g.hand_level] == [2 if i == hand else 1 for i in range(len(HANDS))]


def test_black_hole_raises_every_hand_and_is_no_planet_to_satellite_or_constellation():
    run = Run()
    run.joker("j_constellation")
    run.use("c_black_hole")
    assert set(run.g.hand_level) == {2}
    assert run.g.planets_used == 0
    assert run.g.joker_value[0] == 1.0
    run.use("c_mars").use("c_mars")
    assert bin(run.g.planets_used).count("1") == 1
    assert round(float(run.g.joker_value[0]), 9) == 1.2


def test_tarots_used_are_counted_for_fortune_teller_spectrals_are_not():
    run = Run().use("c_hermit").use("c_temperance").use("c_black_hole").use("c_mars")
    assert run.g.tarots_used == 2


# --- the whole hand ---


def test_sigil_turns_the_hand_into_one_suit(round_):
    round_.use("c_sigil")
    assert len({code[0] for code in round_.held.split()}) == 1
    assert [code[2] for code in round_.held.split()] == list("AKQJT987")


def test_ouija_turns_the_hand_into_one_rank_and_costs_a_hand_size(round_):
    round_.use("c_ouija")
    assert len({code[2] for code in round_.held.split()}) == 1
    assert round_.g.hand_size == 7


def test_immolate_destroys_five_cards_for_20_dollars(round_):
    round_.use("c_immolate")
    assert round_.g.hand_count == 3
    assert round_.money == 24
    assert round_.g.card_count == 11


def test_immolate_on_a_hand_of_three_destroys_all_three():
    run = Run().act("select").hand("S_A S_K S_Q", deck="")
    run.g.score = run.g.requirement  # so the round ends won when nothing is left
    run.use("c_immolate")
    assert run.phase == "round_eval"
    assert run.g.card_count == 0


@pytest.mark.parametrize(
    ("key", "count", "ranks"), [("c_familiar", 3, "JQK"), ("c_grim", 2, "A"), ("c_incantation", 4, "23456789T")]
)
def test_creating_spectrals_trade_one_card_for_enhanced_ones(round_, key, count, ranks):
    round_.joker("j_hologram")
    before = round_.held.split()
    round_.use(key)
    after = round_.held.split()
    assert len(after) == 7 + count
    assert set(after[:7]) < set(before)
    for card in after[7:]:
        assert card[2] in ranks
        assert "+m_" in card
        assert "m_stone" not in card
    assert round_.g.joker_value[0] == 1 + 0.25 * count


# --- use from packs and the shop ---


def test_a_used_consumable_frees_its_key_for_the_pools_afterwards():
    run = Run().use("c_hermit")
    assert run.g.used[150 + CONSUMABLES.id("c_hermit")] == 0
    run.consumable("c_hermit")
    run.use("c_hermit")
    assert run.g.used[150 + CONSUMABLES.id("c_hermit")] == 1, "another copy is still held"
