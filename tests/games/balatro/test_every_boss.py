"""One row per blind: what is seen against it that would not be seen without it. `test_bosses.py` has the details.

The registry test fails when a blind has no row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jimbot.games.balatro.rules.content import BLINDS, HANDS
from jimbot.games.balatro.rules.state import DEBUFFED, FACE_DOWN
from tests.games.balatro.playing import Run

Seen = Callable[[Run], Any]
BOSSES = [row["key"] for row in BLINDS if row["type"] == "boss"]
HIGH_CARD, PAIR = HANDS.id("High Card"), HANDS.id("Pair")
DECK = "S_K S_K H_K H_2 C_2 C_2 D_A D_3"


def field(name: str) -> Seen:
    return lambda run: run.g[name]


def debuffed_suits(run: Run) -> str:
    return "".join(sorted({card[0] for card in run.debuffed}))


def scores(*plays: list[int]) -> Seen:
    """The score of each play in turn."""

    def seen(run: Run) -> list[float]:
        out = []
        for cards in plays:
            run.act("play", cards=cards)
            out.append(float(run.s.score))
        return out

    return seen


def after(*acts: tuple, reads: Seen) -> Seen:
    def seen(run: Run) -> Any:
        for name, *arguments in acts:
            run.act(name, cards=arguments[0])
        return reads(run)

    return seen


def forced_choices(run: Run) -> int:
    """Single cards that may be played."""
    return sum(run.allows("play", cards=[place]) for place in range(run.g.hand_count))


def flagged_jokers(flag: int) -> Seen:
    return lambda run: sum(bool(flags & flag) for flags in run.g.joker_flags[: run.g.joker_count])


def levels(run: Run) -> tuple[int, int]:
    """Level of a level-3 Pair and of a level-1 High Card after one play each."""
    run.g.hand_level[PAIR] = 3
    run.act("play", cards=[1, 2]).act("play", cards=[0])
    return int(run.g.hand_level[PAIR]), int(run.g.hand_level[HIGH_CARD])


def ox(run: Run) -> tuple[int, int]:
    """Money after a hand that is not the most played one, then after the one that is."""
    run.g.most_played_hand, run.g.money = HIGH_CARD, 20
    other = run.act("play", cards=[1, 2]).money
    return other, run.act("play", cards=[0]).money


def played_before(run: Run) -> list[str]:
    """All debuffed cards in the round after one in which an Ace and two Kings were played."""
    pillar = run.g.blind == BLINDS.id("bl_pillar")
    run = against("bl_small").act("play", cards=[0, 1]).win_round().act("cash_out").act("next")
    if pillar:
        run.boss("bl_pillar")
    run.act("select")
    return [run.describe(int(slot)) for slot in run.g.cards[: run.g.card_count] if run.g.card_flags[slot] & 1]


# blind → (what is looked at, what is seen against it, what is seen against a Small Blind)
ROWS: dict[str, tuple[Seen, Any, Any]] = {
    "bl_small": (field("requirement"), 300, 300),
    "bl_big": (field("requirement"), 450, 300),
    "bl_hook": (after(("play", [0]), reads=field("pile_count")), 1, 3),
    "bl_ox": (ox, (20, 0), (20, 20)),
    "bl_house": (lambda run: len(run.face_down), 8, 0),
    "bl_wall": (field("requirement"), 1200, 300),
    "bl_wheel": (lambda run: len(run.face_down), 8, 0),  # with three Oops! All 6s
    "bl_arm": (levels, (2, 1), (3, 1)),
    "bl_club": (debuffed_suits, "C", ""),
    "bl_fish": (after(("discard", [0]), ("play", [0, 1]), reads=lambda run: len(run.face_down)), 2, 0),
    "bl_psychic": (scores([1, 2, 3, 4], [0, 1, 2, 3, 4]), [0, 5 + 11], [(30 + 30) * 3, 5 + 11]),
    "bl_goad": (debuffed_suits, "S", ""),
    "bl_water": (field("discards_left"), 0, 4),
    "bl_window": (debuffed_suits, "D", ""),
    "bl_manacle": (field("hand_count"), 7, 8),
    "bl_eye": (scores([0], [0]), [5 + 11, 0], [5 + 11, 5 + 10]),
    "bl_mouth": (scores([0], [0, 1]), [5 + 11, 0], [5 + 11, (10 + 20) * 2]),
    "bl_plant": (lambda run: run.debuffed, ["S_K", "S_K", "H_K"], []),
    "bl_serpent": (after(("discard", [0]), reads=field("hand_count")), 10, 8),
    "bl_pillar": (played_before, ["S_K", "S_K", "D_A"], []),
    "bl_needle": (field("hands_left"), 1, 4),
    "bl_head": (debuffed_suits, "H", ""),
    "bl_tooth": (after(("play", [0, 1, 2]), reads=field("money")), 1, 4),
    "bl_flint": (scores([1, 2]), [(5 + 20) * 1], [(10 + 20) * 2]),
    "bl_mark": (lambda run: run.face_down, ["S_K", "S_K", "H_K"], []),
    "bl_final_acorn": (flagged_jokers(FACE_DOWN), 3, 0),
    "bl_final_leaf": (lambda run: len(run.debuffed), 8, 0),
    "bl_final_vessel": (field("requirement"), 1800, 300),
    "bl_final_heart": (flagged_jokers(DEBUFFED), 1, 0),
    "bl_final_bell": (forced_choices, 1, 8),
}


def against(blind: str) -> Run:
    """A round against a blind: `DECK` in hand, four cards to draw; three Oops! All 6s make every chance certain."""
    run = Run().hand("", deck=DECK)
    if blind == "bl_big":
        run.g.on_deck = 1
    elif blind != "bl_small":
        run.boss(blind)
    for _ in range(3):
        run.joker("j_oops")
    run.act("select")
    for code in ("C_3", "C_4", "D_5", "D_6"):
        run.card(code, 5)
    return run


def test_every_blind_has_a_row():
    assert sorted(ROWS) == sorted(BLINDS.keys)


@pytest.mark.parametrize("blind", ROWS)
def test_what_is_seen_against_it_and_not_without_it(blind):
    seen, against_it, without_it = ROWS[blind]
    assert seen(against(blind)) == against_it
    assert seen(against("bl_small")) == without_it


@pytest.mark.parametrize("boss", BOSSES)
def test_luchador_sold_mid_round_lifts_it(boss):
    run = against(boss)
    run.joker("j_luchador")
    for place in range(3):
        run.g.joker_flags[place] &= 0xFF ^ FACE_DOWN
    run.act("sell_joker", 3)
    assert run.g.blind_disabled
    assert run.g.requirement == (300 if boss == "bl_needle" else 600)
    assert (run.g.hand_count, run.g.hands_left, run.g.discards_left) == (8, 4, 4)
    assert run.debuffed == run.face_down == []
    assert forced_choices(run) == 8
    money = run.money
    run.act("play", cards=[1, 2])
    assert (run.s.score, run.money, run.g.hand_count) == (60, money, 8)


# --- seals and enhancements under a boss ---


def test_a_debuffed_gold_seal_pays_nothing_and_an_unharmed_one_three_dollars():
    run = Run().boss("bl_window").hand("", deck="D_A+Gold S_A+Gold S_2 S_3").act("select")
    run.act("play", cards=[0, 1])
    assert run.money == 4 + 3


def test_a_debuffed_blue_seal_creates_no_planet_at_the_rounds_end():
    run = Run().boss("bl_window").hand("", deck="S_A D_K+Blue S_Q+Blue S_3").act("select").win_round()
    assert run.consumables == ["c_pluto"]


def test_a_debuffed_purple_seal_hooked_or_discarded_creates_no_tarot():
    run = Run().boss("bl_final_leaf").hand("", deck="S_A S_K+Purple S_Q S_3").act("select")
    assert run.act("discard", cards=[1]).consumables == []


def test_held_gold_and_steel_cards_give_nothing_while_debuffed():
    run = Run().boss("bl_head").hand("", deck="S_A H_K+m_gold H_Q+m_steel S_3").act("select")
    run.act("play", cards=[0])
    assert run.s.mult == 1
    run.g.score = run.g.requirement
    assert run.act("play", cards=[2]).money == 4


def test_the_pillar_does_not_debuff_a_card_copied_by_death_onto_one_played_before():
    """Death copies all of a card's state, also whether it was played in this ante."""
    run = against("bl_pillar")
    run.act("play", cards=[0, 1])
    for slot in run.slots:
        run.g.card_flags[slot] |= 5  # played this ante, debuffed
    fresh = run.slots[3]
    run.g.card_flags[fresh] &= 0xFF ^ 5
    run.use("c_death", 2, 3)
    assert run.slots[2] not in [slot for slot in run.slots if run.g.card_flags[slot] & 5]
    run.use("c_death", 3, 4)
    assert run.g.card_flags[fresh] & 5 == 5
