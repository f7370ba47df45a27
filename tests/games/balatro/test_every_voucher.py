"""One row per voucher: redeemed in a shop, then felt in play. The registry test fails when a row is missing.

Chances are counted over many cards and compared with their share, within about three standard deviations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jimbot.games.balatro.rules.content import CONSUMABLES, PLANET_HAND, VOUCHERS
from tests.games.balatro.playing import Run
from tests.games.balatro.worked import offer, offered, open_pack, rerolled, sell_a_voucher, shop

Felt = Callable[[Run], Any]


def price_of(key: str) -> Felt:
    """What the shop asks for a joker."""

    def felt(run: Run) -> int:
        offer(run, 0, key)
        before = run.money
        return before - run.act("buy", 0).money

    return felt


def reroll_prices(run: Run) -> list[int]:
    return [run.money - run.act("reroll").money for _ in range(2)]


def next_round(field: str) -> Felt:
    return lambda run: int(run.act("next").act("select").g[field])


def share_of(kind: str) -> Felt:
    """Cards of a kind among the 240 of 120 rerolls."""
    return lambda run: sum(CONSUMABLES.row(key)["set"] == kind for key, *_ in rerolled(run, 120) if key in CONSUMABLES)


def shiny(run: Run) -> float:
    """Percent of Foil, Holographic and Polychrome jokers in 400 rerolls."""
    editions = [edition for key, edition, _ in rerolled(run, 400) if key.startswith("j_")]
    return 100 * sum(edition in (1, 2, 3) for edition in editions) / len(editions)


def spectrals_in_arcana(run: Run) -> int:
    count = 0
    for _ in range(12):
        count += sum(CONSUMABLES.row(key)["set"] == "Spectral" for key in open_pack(run, "p_arcana_mega_1"))
        run.act("skip_pack")
    return count


def pluto_first(run: Run) -> bool:
    """Whether a Celestial pack begins with the Planet of the hand played most."""
    run.g.hand_played[11] = 9
    run.g.hand_played[8] = 2
    return open_pack(run, "p_celestial_normal_1")[0] == "c_pluto"


def mult_with_pluto(run: Run) -> float:
    """Mult of a High Card with its Planet held."""
    run.act("next").act("select").hand("S_A S_K H_Q H_J C_9")
    run.consumable("c_pluto")
    run.consumable("c_mars")
    run.g.requirement = 1e9
    run.act("play", cards=[0])
    return float(run.s.mult)


def payout_at(money: int) -> Felt:
    """Interest of the next round with this money held."""

    def felt(run: Run) -> int:
        run.act("next").act("select")
        run.g.money = money
        return int(run.win_round().g.payout_part[4])

    return felt


def jokers_bought(run: Run) -> int:
    """How many jokers of 1 dollar fit."""
    run.g.money = 50
    while True:
        offer(run, 0, "j_joker")
        run.g.shop_count = 1
        if not run.try_act("buy", 0):
            return len(run.jokers)


def consumables_bought(run: Run) -> int:
    run.g.money = 50
    while True:
        offer(run, 0, "c_mars")
        run.g.shop_count = 1
        if not run.try_act("buy", 0):
            return len(run.consumables)


def playing_cards(run: Run) -> tuple[bool, bool, bool]:
    """Whether playing cards come, enhanced ones, and ones with an edition."""
    cards = [card for card in rerolled(run, 150) if card[0][1] == "_" and card[0][0] in "SHCD"]
    return bool(cards), any(enhancement for *_, enhancement in cards), any(edition for _, edition, _ in cards)


def boss_rerolls(run: Run) -> int:
    run.act("next")
    run.g.money = 35
    count = 0
    while run.try_act("reroll_boss"):
        count += 1
    assert run.money == 35 - 10 * count
    return count


def what_changed(run: Run) -> tuple[int, ...]:
    g = run.g
    return int(g.joker_slots), int(g.consumable_slots), int(g.hand_size), int(g.hands_per_round), int(g.shop_slots)


# Tarots or Planets among 240 cards: weight 4 of 28, 9.6 of 33.6, 32 of 56
_OF_28, _OF_34, _OF_56 = (pytest.approx(240 * weight / (24 + weight), abs=18) for weight in (4, 9.6, 32))

# voucher → what is felt: without it (but with its first tier), and with it
ROWS: dict[str, tuple[Felt, Any, Any]] = {
    "v_overstock_norm": (lambda run: len(offered(run, 0, int(run.g.shop_count))), 2, 3),
    "v_overstock_plus": (lambda run: len(offered(run, 0, int(run.g.shop_count))), 2, 4),
    "v_clearance_sale": (price_of("j_blueprint"), 10, 7),
    "v_liquidation": (price_of("j_blueprint"), 7, 5),
    "v_hone": (shiny, pytest.approx(3.7, abs=2), pytest.approx(7.7, abs=2.5)),
    "v_glow_up": (shiny, pytest.approx(7.7, abs=2.5), pytest.approx(15.7, abs=4)),
    "v_reroll_surplus": (reroll_prices, [5, 6], [3, 4]),
    "v_reroll_glut": (reroll_prices, [3, 4], [1, 2]),
    "v_crystal_ball": (consumables_bought, 2, 3),
    "v_omen_globe": (spectrals_in_arcana, 0, pytest.approx(60 * 0.2, abs=9)),
    "v_telescope": (pluto_first, False, True),
    "v_observatory": (mult_with_pluto, 1.0, 1.5),
    "v_grabber": (next_round("hands_left"), 4, 5),
    "v_nacho_tong": (next_round("hands_left"), 5, 6),
    "v_wasteful": (next_round("discards_left"), 4, 5),
    "v_recyclomancy": (next_round("discards_left"), 5, 6),
    "v_tarot_merchant": (share_of("Tarot"), _OF_28, _OF_34),
    "v_tarot_tycoon": (share_of("Tarot"), _OF_34, _OF_56),
    "v_planet_merchant": (share_of("Planet"), _OF_28, _OF_34),
    "v_planet_tycoon": (share_of("Planet"), _OF_34, _OF_56),
    "v_seed_money": (payout_at(70), 5, 10),
    "v_money_tree": (payout_at(97), 10, 19),
    "v_blank": (what_changed, (5, 2, 8, 4, 2), (5, 2, 8, 4, 2)),
    "v_antimatter": (jokers_bought, 5, 6),
    "v_magic_trick": (playing_cards, (False, False, False), (True, False, False)),
    "v_illusion": (playing_cards, (True, False, False), (True, True, True)),
    "v_hieroglyph": (next_round("ante"), 1, 0),
    "v_petroglyph": (next_round("ante"), 0, -1),
    "v_directors_cut": (boss_rerolls, 0, 1),
    "v_retcon": (boss_rerolls, 1, 3),
    "v_paint_brush": (next_round("hand_count"), 8, 9),
    "v_palette": (next_round("hand_count"), 9, 10),
}


def with_first_tier(key: str) -> Run:
    run = shop()
    for required in VOUCHERS.row(key)["requires"]:
        run.voucher(required)
    return run


def test_every_voucher_has_a_row():
    assert sorted(ROWS) == sorted(VOUCHERS.keys)


@pytest.mark.parametrize("key", ROWS)
def test_it_is_felt_once_redeemed_and_not_before(key):
    felt, without, with_it = ROWS[key]
    assert felt(with_first_tier(key)) == without
    run = with_first_tier(key)
    sell_a_voucher(run, key)
    assert felt(run.act("redeem")) == with_it


def test_the_glyphs_also_cost_a_hand_and_a_discard():
    run = shop()
    sell_a_voucher(run, "v_hieroglyph")
    run.act("redeem")
    sell_a_voucher(run, "v_petroglyph")
    run.act("redeem").act("next").act("select")
    assert (run.g.hands_left, run.g.discards_left) == (3, 3)


def test_a_telescope_forces_nothing_before_a_hand_was_played_and_prefers_the_stronger_hand_on_ties():
    run = shop()
    run.voucher("v_telescope")
    run.g.hand_played[:] = 0
    drawn = open_pack(run, "p_celestial_normal_1")
    run.act("skip_pack")
    run.g.hand_played[11] = run.g.hand_played[6] = 3  # High Card and Flush
    assert open_pack(run, "p_celestial_normal_1")[0] == "c_jupiter"
    assert PLANET_HAND[CONSUMABLES.id("c_jupiter")] == 6
    assert len(set(drawn)) == 3


@pytest.mark.parametrize(("increase", "prices"), [(0, [0, 1, 2]), (1, [0, 2, 3]), (3, [1, 4, 5])])
def test_a_reroll_voucher_in_a_d6_shop_cheapens_the_next_reroll_only(increase, prices):
    run = Run()
    run.tag("tag_d_six")
    run.to_shop()
    run.g.money = 100
    for _ in range(increase):
        run.act("reroll")
    sell_a_voucher(run, "v_reroll_surplus")
    run.act("redeem")
    assert [run.money - run.act("reroll").money for _ in range(3)] == prices
    run.act("next").to_shop()
    run.g.money = 100
    assert run.act("reroll").money == 97


def test_a_discount_reprices_what_is_held_and_what_is_on_sale_at_once():
    run = shop()
    run.joker("j_blueprint")
    run.consumable("c_mars")
    offer(run, 0, "j_jolly")
    sell_a_voucher(run, "v_liquidation")
    run.act("redeem")
    before = run.money
    assert before - run.act("buy", 0).money == 1  # (3 + 0.5) / 2
    before = run.money
    assert run.act("sell_joker").money - before == 2  # 10.5 / 2 is 5, sold for half
    before = run.money
    assert run.act("sell_consumable").money - before == 1
