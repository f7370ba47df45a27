"""Every tag as a player meets it: skipping for it and what it does, one after the other."""

import pytest

from jimbot.games.balatro.rules.content import JOKER_RARITY, JOKERS, TAGS
from jimbot.games.balatro.rules.state import FREE, OFFER_JOKER
from tests.games.balatro.playing import Run


def skip_for(key: str, before=lambda run: None, **options) -> Run:
    """Skips the Small Blind for a tag."""
    run = Run(**options)
    run.g.skip_tag[0] = TAGS.id(key)
    before(run)
    return run.act("skip")


@pytest.mark.parametrize("key", TAGS.keys)
def test_every_tag_can_be_skipped_for_and_the_run_goes_on(key):
    run = skip_for(key)
    while run.phase == "pack":
        run.act("skip_pack")
    assert run.phase == "blind_select"
    assert (run.g.on_deck, run.g.skips) == (1, 1)
    run.act("select").win_round().act("cash_out").act("next")
    run.act("select").win_round().act("cash_out")
    assert [tag for tag in run.tags if tag == key] == (["tag_double"] if key == "tag_double" else [])


def test_the_boss_cannot_be_skipped():
    run = Run().act("skip").act("skip")
    while run.phase == "pack":
        run.act("skip_pack")
    assert not run.allows("skip")


# --- at once ---


def set_fields(**values):
    def change(run: Run) -> None:
        for name, value in values.items():
            setattr(run.g, name, value)

    return change


@pytest.mark.parametrize(
    ("key", "before", "money"),
    [
        ("tag_handy", set_fields(hands_played=7), 4 + 7),
        ("tag_garbage", set_fields(unused_discards=9), 4 + 9),
        ("tag_skip", set_fields(skips=2), 4 + 15),
        ("tag_economy", set_fields(money=30), 60),
        ("tag_economy", set_fields(money=70), 110),
        ("tag_economy", set_fields(money=-3), -3),
    ],
)
def test_paying_tags_pay_at_once(key, before, money):
    assert skip_for(key, before).money == money


def test_an_orbital_tag_raises_the_hand_fixed_for_its_blind_by_three():
    run = Run()
    hand = int(run.g.orbital_hand[1, 0])
    run.g.skip_tag[0] = TAGS.id("tag_orbital")
    run.act("skip")
    assert run.g.hand_level[hand] == 4
    assert sum(run.g.hand_level) == 15


def test_orbital_hands_are_drawn_once_per_ante_in_the_order_small_big_boss():
    run = Run()
    hands = run.g.orbital_hand[1].copy()
    assert all(hand >= 3 for hand in hands), "secret hands are not visible yet"
    run.to_shop().act("next")
    assert list(run.g.orbital_hand[1]) == list(hands)


@pytest.mark.parametrize(("slots", "created"), [(5, 2), (1, 1), (0, 0)])
def test_top_up_creates_two_common_jokers_as_slots_allow(slots, created):
    run = skip_for("tag_top_up", set_fields(joker_slots=slots))
    assert [JOKER_RARITY[JOKERS.id(key)] for key in run.jokers] == [1] * created


# --- at blind selection ---


@pytest.mark.parametrize(
    ("key", "cards", "picks", "hand"),
    [
        ("tag_standard", 5, 2, 0), ("tag_charm", 5, 2, 8), ("tag_meteor", 5, 2, 0), ("tag_buffoon", 4, 2, 0),
        ("tag_ethereal", 2, 1, 8),
    ],
)  # fmt: skip
def test_pack_tags_open_a_free_pack_and_lead_back_to_the_choice(key, cards, picks, hand):
    run = skip_for(key)
    assert run.phase == "pack"
    assert run.money == 4
    assert (run.g.pack_count, run.g.pack_picks, run.g.hand_count) == (cards, picks, hand)
    run.act("skip_pack")
    assert run.phase == "blind_select"
    assert run.g.pile_count == 52


def test_doubled_pack_tags_open_one_after_the_other_and_count_as_skipped_packs():
    run = Run()
    run.joker("j_red_card")
    run.tag("tag_double")
    run.g.skip_tag[0] = TAGS.id("tag_charm")
    run.act("skip")
    assert run.tags == ["tag_charm"]
    run.act("skip_pack")
    assert run.phase == "pack"
    assert run.tags == []
    run.act("skip_pack")
    assert run.phase == "blind_select"
    assert run.g.joker_value[0] == 6


def test_a_boss_tag_rerolls_for_free_and_uses_up_the_directors_cut():
    run = Run()
    run.voucher("v_directors_cut")
    run.g.money = 50
    before = int(run.g.boss)
    run.g.skip_tag[0] = TAGS.id("tag_boss")
    run.act("skip")
    assert run.g.boss != before
    assert run.money == 50
    assert not run.allows("reroll_boss")


# --- doubling ---


def test_every_double_tag_held_adds_one_copy_and_an_orbital_copy_keeps_its_hand():
    run = Run()
    run.tag("tag_double")
    run.tag("tag_double")
    hand = int(run.g.orbital_hand[1, 0])
    run.g.skip_tag[0] = TAGS.id("tag_orbital")
    run.act("skip")
    assert run.g.hand_level[hand] == 10
    assert run.tags == []


def test_double_tags_do_not_double_each_other():
    run = skip_for("tag_double", lambda run: run.tag("tag_double"))
    assert run.tags == ["tag_double", "tag_double"]


# --- the next round ---


def test_juggle_tags_deal_three_more_cards_each_for_one_round():
    run = Run()
    run.tag("tag_juggle")
    run.tag("tag_juggle")
    run.act("select")
    assert run.g.hand_count == 14
    assert run.tags == []
    run.win_round().act("cash_out").act("next").act("select")
    assert run.g.hand_count == 8


def test_investment_tags_pay_25_each_after_a_boss_only():
    run = Run()
    run.tag("tag_investment")
    run.tag("tag_investment")
    run.act("select").win_round()
    assert run.g.payout_part[3] == 0
    run.act("cash_out").act("next").boss("bl_club").act("select").win_round()
    assert run.g.payout_part[3] == 50
    assert run.tags == []


# --- the next shop ---


@pytest.mark.parametrize(("key", "rarity"), [("tag_uncommon", 2), ("tag_rare", 3)])
def test_joker_tags_put_a_free_joker_of_their_rarity_first(key, rarity):
    run = Run()
    run.tag(key)
    run.to_shop()
    assert run.g.offer_kind[0] == OFFER_JOKER
    assert JOKER_RARITY[run.g.offer_id[0]] == rarity
    money = run.money
    assert run.act("buy", 0).money == money


@pytest.mark.parametrize(
    ("key", "edition"), [("tag_foil", 1), ("tag_holo", 2), ("tag_polychrome", 3), ("tag_negative", 4)]
)
def test_edition_tags_change_the_next_joker_without_edition_and_make_it_free(key, edition):
    run = Run()
    run.tag("tag_uncommon")
    run.tag(key)
    run.to_shop()
    assert run.g.offer_edition[0] == edition
    assert run.g.offer_flags[0] & FREE
    assert run.tags == []


def test_a_coupon_makes_cards_and_packs_free_but_not_rerolled_ones():
    run = Run()
    run.tag("tag_coupon")
    run.to_shop()
    run.g.money = 5
    run.act("open", 0).act("skip_pack")
    assert run.money == 5
    assert all(run.g.offer_flags[place] & FREE for place in range(2))
    run.act("reroll")
    assert not any(run.g.offer_flags[place] & FREE for place in range(2))
