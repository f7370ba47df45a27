"""One row per deck and per stake: what it changes, seen in play. Their start values are in `test_setup.py`.

The registry tests fail when a deck or stake has no row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jimbot.games.balatro.rules.content import CONSUMABLES, DECKS, STAKES, VOUCHERS
from jimbot.games.balatro.rules.state import ETERNAL, OFFER_JOKER, PERISHABLE, RENTAL
from tests.games.balatro.playing import Run
from tests.games.balatro.worked import open_pack, rerolled

Seen = Callable[[Run], Any]


def in_round(*names: str) -> Seen:
    return lambda run: tuple(int(run.act("select").g[name] if i == 0 else run.g[name]) for i, name in enumerate(names))


def payout_parts(run: Run) -> list[int]:
    """Blind, hands and discards left, jokers, tags, interest of a round won by its first hand with 22 dollars."""
    run.act("select")
    run.g.money = 22
    return [int(part) for part in run.win_round().g.payout_part]


def ranks_and_suits(run: Run) -> tuple[str, str, int]:
    cards = run.owned
    return "".join(sorted({card[2] for card in cards})), "".join(sorted({card[0] for card in cards})), len(cards)


def telescope(run: Run) -> str:
    run.to_shop()
    run.g.hand_played[10] = 9  # Pair
    return open_pack(run, "p_celestial_normal_1")[0]


def spectrals_shown(run: Run) -> int:
    """Spectrals among 240 shop cards."""
    cards = rerolled(run.to_shop(), 120)
    return sum(CONSUMABLES.row(key)["set"] == "Spectral" for key, *_ in cards if key in CONSUMABLES)


def zodiac(run: Run) -> tuple[int, list[str]]:
    return int(run.to_shop().g.shop_count), [key for key in VOUCHERS.keys if run.g.voucher_owned[VOUCHERS.id(key)]]


def tags_after_boss(run: Run) -> list[str]:
    return run.boss("bl_club").act("select").win_round().tags


def plasma(run: Run) -> tuple[float, float]:
    """Requirement, and the score of a pair of Kings: 30 chips, 2 Mult."""
    run.act("select").hand("S_K H_K C_2 C_3")
    requirement = float(run.g.requirement)
    run.act("play", cards=[0, 1])
    return requirement, float(run.s.score)


def erratic(run: Run) -> tuple[int, bool]:
    return len(run.owned), len(set(run.owned)) < 52


# deck → what is looked at, what is seen with the deck, what is seen with the Red Deck
DECK_ROWS: dict[str, tuple[Seen, Any, Any]] = {
    "b_red": (in_round("discards_left", "hands_left"), (4, 4), (4, 4)),
    "b_blue": (in_round("discards_left", "hands_left"), (3, 5), (4, 4)),
    "b_yellow": (lambda run: run.money, 14, 4),
    "b_green": (payout_parts, [3, 3 * 2 + 3 * 1, 0, 0, 0], [3, 3, 0, 0, 4]),
    "b_black": (in_round("hands_left", "joker_slots"), (3, 6), (4, 5)),
    "b_magic": (lambda run: (run.consumables, int(run.g.consumable_slots)), (["c_fool", "c_fool"], 3), ([], 2)),
    "b_nebula": (telescope, "c_mercury", "c_saturn"),
    "b_ghost": (spectrals_shown, pytest.approx(240 * 2 / 30, abs=11), 0),
    "b_abandoned": (ranks_and_suits, ("23456789AT", "CDHS", 40), ("23456789AJKQT", "CDHS", 52)),
    "b_checkered": (ranks_and_suits, ("23456789AJKQT", "HS", 52), ("23456789AJKQT", "CDHS", 52)),
    "b_zodiac": (zodiac, (3, ["v_overstock_norm", "v_tarot_merchant", "v_planet_merchant"]), (2, [])),
    "b_painted": (in_round("hand_count", "joker_slots"), (10, 4), (8, 5)),
    "b_anaglyph": (tags_after_boss, ["tag_double"], []),
    "b_plasma": (plasma, (600, 16 * 16), (300, 30 * 2)),
    "b_erratic": (erratic, (52, True), (52, False)),
}


def test_every_deck_has_a_row():
    assert sorted(DECK_ROWS) == sorted(DECKS.keys)


@pytest.mark.parametrize("deck", DECK_ROWS)
def test_what_is_seen_with_the_deck_and_not_with_the_red_one(deck):
    seen, with_it, with_red = DECK_ROWS[deck]
    assert seen(Run(deck=deck)) == with_it
    assert seen(Run()) == with_red


def test_the_ghost_deck_starts_with_hex_and_the_nebula_deck_with_one_slot():
    assert Run(deck="b_ghost").consumables == ["c_hex"]
    assert Run(deck="b_nebula").g.consumable_slots == 1


def test_the_magic_decks_fools_are_of_no_use_before_another_tarot_or_planet():
    run = Run(deck="b_magic")
    assert not run.allows("use", 0)
    run.use("c_mars")
    assert run.act("use", 0).consumables == ["c_fool", "c_mars"]


def test_the_plasma_deck_rounds_the_half_down():
    run = Run(deck="b_plasma").act("select").hand("S_A H_T C_2").act("play", cards=[0])
    assert run.s.score == 8 * 8  # 16 chips and 1 Mult


# --- stakes ---


def stickers(run: Run) -> tuple[bool, bool, bool]:
    """Whether shop jokers come Eternal, Perishable, Rental."""
    run.to_shop()
    seen = 0
    for _ in range(40):
        run.g.money = 10_000
        run.act("reroll")
        for place in range(run.g.shop_count):
            if run.g.offer_kind[place] == OFFER_JOKER:
                seen |= int(run.g.offer_flags[place])
    return bool(seen & ETERNAL), bool(seen & PERISHABLE), bool(seen & RENTAL)


def stake_effects(run: Run) -> tuple:
    """Small Blind reward, discards, requirement of ante 8, stickers."""
    run.g.ante = 8
    run.act("select")
    requirement, discards = int(run.g.requirement), int(run.g.discards_left)
    reward = int(run.win_round().g.payout_part[0])
    fresh = Run(stake=int(run.g.stake))
    return reward, discards, requirement, *stickers(fresh)


# stake → Small Blind reward, discards (Red Deck), requirement of ante 8, Eternal, Perishable, Rental jokers
STAKE_ROWS: dict[str, tuple] = {
    "stake_white": (3, 4, 50_000, False, False, False),
    "stake_red": (0, 4, 50_000, False, False, False),
    "stake_green": (0, 4, 100_000, False, False, False),
    "stake_black": (0, 4, 100_000, True, False, False),
    "stake_blue": (0, 3, 100_000, True, False, False),
    "stake_purple": (0, 3, 200_000, True, False, False),
    "stake_orange": (0, 3, 200_000, True, True, False),
    "stake_gold": (0, 3, 200_000, True, True, True),
}


def test_every_stake_has_a_row():
    assert sorted(STAKE_ROWS) == sorted(STAKES.keys)


@pytest.mark.parametrize("stake", STAKE_ROWS)
def test_what_is_seen_at_the_stake(stake):
    assert stake_effects(Run(stake=STAKES.id(stake))) == STAKE_ROWS[stake]


def test_big_and_boss_blinds_pay_at_every_stake():
    run = Run(stake=8).act("select").win_round().act("cash_out").act("next").act("select").win_round()
    assert run.g.payout_part[0] == 4
    run.act("cash_out").act("next").boss("bl_club").act("select").win_round()
    assert run.g.payout_part[0] == 5


def test_discards_of_stake_and_deck_add_up_and_never_fall_below_none():
    assert Run(stake=5, deck="b_blue").act("select").g.discards_left == 2
    run = Run(stake=5, deck="b_blue")
    run.g.discards_per_round = -1
    assert run.act("select").g.discards_left == 0


# --- stickers in play ---


def test_a_perishable_joker_dies_at_the_end_of_its_fifth_round_and_pays_nothing_in_that_payout():
    run = Run()
    run.joker("j_golden", flags=PERISHABLE)
    paid = []
    for _ in range(5):
        run.g.ante = 1
        run.g.on_deck = 0
        run.act("select").win_round()
        paid.append(int(run.g.payout_part[2]))
        run.act("cash_out").act("next")
    assert paid == [4, 4, 4, 4, 0]


def test_a_rental_joker_costs_1_sells_for_1_and_charges_before_interest():
    run = Run()
    run.joker("j_blueprint", flags=RENTAL)
    run.act("select")
    run.g.money = 12
    run.win_round()
    assert run.money == 9
    assert run.g.payout_part[4] == 1
    assert run.act("sell_joker").money == 10


def test_a_debuffed_rental_joker_is_charged_all_the_same_and_may_lead_into_debt():
    run = Run()
    run.joker("j_blueprint", flags=RENTAL | PERISHABLE)
    run.g.joker_perish[0] = 1
    for expected in (-2, -5):
        run.g.on_deck, run.g.money = 0, expected + 3
        run.act("select").win_round()
        assert run.money == expected
        run.act("cash_out").act("next")
