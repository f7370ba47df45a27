"""One row per Tarot, Planet and Spectral: a worked example of its effect and a situation in which it is refused.

The registry test fails when a consumable has no row. Details beyond one example are in `test_consumables.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from jimbot.games.balatro.rules.content import CONSUMABLES, HANDS, JOKER_RARITY, JOKERS, PLANET_HAND
from jimbot.games.balatro.rules.state import ETERNAL
from tests.games.balatro.playing import Run
from tests.games.balatro.worked import Change, both, fields, jokers, nothing

HAND = "S_A S_K H_Q H_J C_T C_9 D_8 D_7"


@dataclass
class Row:
    """Uses the card on `targets` of a hand and reads what came of it; then a set-up in which it may not be used."""

    reads: Change
    gives: Any
    targets: tuple[int, ...] = ()
    before: Change = nothing
    hand: str = HAND
    refused: Change = nothing
    refused_targets: tuple[int, ...] = ()
    never_refused: bool = False  # while a round is on; see the tests below
    also: dict[str, Any] = field(default_factory=dict)  # fields of the game afterwards


def first(count: int) -> Change:
    return lambda run: " ".join(run.held.split()[:count])


def on_two(enhancement: str) -> Row:
    return Row(first(3), f"S_A+{enhancement} S_K+{enhancement} H_Q", (0, 1), refused_targets=(0, 1, 2))


def on_one(extra: str) -> Row:
    return Row(first(2), f"S_A+{extra} S_K", (0,), refused_targets=(0, 1))


def to_suit(letter: str) -> Row:
    return Row(first(4), f"{letter}_A {letter}_K {letter}_Q H_J", (0, 1, 2), refused_targets=(0, 1, 2, 3))


def planet(key: str) -> Row:
    """A Planet raises one hand by one level and can always be used, but not on chosen cards."""
    hand = int(PLANET_HAND[CONSUMABLES.id(key)])
    return Row(
        lambda run: [int(level) for level in run.g.hand_level],
        [2 if i == hand else 1 for i in range(12)],
        refused_targets=(0,),
    )


def created(count: int, ranks: str, added: int) -> Row:
    """Familiar, Grim, Incantation: one card goes, enhanced ones come to the right end of the hand."""

    def reads(run: Run) -> tuple[int, bool, bool]:
        new = run.held.split()[-added:]
        enhanced = all("+m_" in card and "m_stone" not in card for card in new)
        return run.g.hand_count, enhanced, all(card[2] in ranks for card in new)

    return Row(reads, (8 - 1 + count, True, True), refused=lambda run: run.hand("S_A"))


ROWS: dict[str, Row] = {
    # Tarots
    "c_fool": Row(lambda run: run.consumables, ["c_mars"], before=lambda run: run.use("c_mars")),
    "c_magician": on_two("m_lucky"),
    "c_high_priestess": Row(
        lambda run: [CONSUMABLES.row(key)["set"] for key in run.consumables], ["Planet", "Planet"], never_refused=True
    ),
    "c_empress": on_two("m_mult"),
    "c_emperor": Row(
        lambda run: [CONSUMABLES.row(key)["set"] for key in run.consumables], ["Tarot", "Tarot"], never_refused=True
    ),
    "c_heirophant": on_two("m_bonus"),
    "c_lovers": on_one("m_wild"),
    "c_chariot": on_one("m_steel"),
    "c_justice": on_one("m_glass"),
    "c_hermit": Row(lambda run: run.money, 26, before=fields(money=13), refused_targets=(0,)),
    "c_wheel_of_fortune": Row(
        lambda run: int(run.g.joker_edition[0]) in (1, 2, 3),
        True,
        before=both(jokers("j_joker"), jokers("j_oops", "j_oops", edition="foil")),
        refused=jokers("j_joker", edition="foil"),
        also={"money": 4},
    ),
    "c_strength": Row(first(3), "S_2 S_A H_Q", (0, 1), refused_targets=(0, 1, 2)),
    "c_hanged_man": Row(lambda run: (run.held[:7], len(run.owned)), ("H_Q H_J", 14), (0, 1), refused_targets=(0, 1, 2)),
    "c_death": Row(first(2), "H_Q+m_steel H_Q+m_steel", (0, 1), hand="S_A H_Q+m_steel C_2", refused_targets=(0,)),
    "c_temperance": Row(
        lambda run: run.money, 4 + 5 + 1, before=jokers("j_blueprint", "j_joker"), refused_targets=(0,)
    ),
    "c_devil": on_one("m_gold"),
    "c_tower": on_one("m_stone"),
    "c_star": to_suit("D"),
    "c_moon": to_suit("C"),
    "c_sun": to_suit("H"),
    "c_judgement": Row(lambda run: len(run.jokers), 1, refused=fields(joker_slots=0)),
    "c_world": to_suit("S"),
    # Planets
    **{row["key"]: planet(row["key"]) for row in CONSUMABLES if row["set"] == "Planet"},
    # Spectrals
    "c_familiar": created(3, "JQK", 3),
    "c_grim": created(2, "A", 2),
    "c_incantation": created(4, "23456789T", 4),
    "c_talisman": on_one("Gold"),
    "c_aura": Row(
        lambda run: run.held.split()[0] in ("S_A+foil", "S_A+holo", "S_A+polychrome"),
        True,
        (0,),
        refused=lambda run: run.hand("S_A+foil S_K"),
        refused_targets=(0,),
    ),
    "c_wraith": Row(
        lambda run: (int(JOKER_RARITY[JOKERS.id(run.jokers[0])]), run.money), (3, 0), refused=fields(joker_slots=0)
    ),
    "c_sigil": Row(
        lambda run: (len({card[0] for card in run.held.split()}), [card[2] for card in run.held.split()]),
        (1, list("AKQJT987")),
        refused=lambda run: run.hand("S_A"),
    ),
    "c_ouija": Row(
        lambda run: (len({card[2] for card in run.held.split()}), [card[0] for card in run.held.split()]),
        (1, list("SSHHCCDD")),
        refused=lambda run: run.hand("S_A"),
        also={"hand_size": 7},
    ),
    "c_ectoplasm": Row(
        lambda run: int(run.g.joker_edition[0]),
        4,
        before=jokers("j_joker"),
        refused=jokers("j_joker", edition="holo"),
        also={"hand_size": 7, "joker_slots": 6},
    ),
    "c_immolate": Row(lambda run: (run.g.hand_count, run.money), (3, 24), refused=lambda run: run.hand("S_A")),
    "c_ankh": Row(
        lambda run: len(set(run.jokers)) == 1 and len(run.jokers) == 2,
        True,
        before=jokers("j_joker", "j_egg", "j_ice_cream"),
        refused=both(jokers("j_joker"), fields(joker_slots=1)),
    ),
    "c_deja_vu": on_one("Red"),
    "c_hex": Row(
        lambda run: (run.jokers, int(run.g.joker_edition[0])),
        (["j_joker"], 3),
        before=both(jokers("j_joker"), jokers("j_egg", edition="foil")),
        refused=jokers("j_joker", edition="polychrome"),
    ),
    "c_trance": on_one("Blue"),
    "c_medium": on_one("Purple"),
    "c_cryptid": Row(
        lambda run: (run.held.split()[-2:], len(run.owned)),
        (["S_A+foil", "S_A+foil"], 12),
        (0,),
        hand="S_A+foil H_2",
        refused_targets=(0, 1),
    ),
    "c_soul": Row(lambda run: int(JOKER_RARITY[JOKERS.id(run.jokers[0])]), 4, refused=fields(joker_slots=0)),
    "c_black_hole": Row(lambda run: [int(level) for level in run.g.hand_level], [2] * len(HANDS), refused_targets=(0,)),
}


def in_round(row: Row) -> Run:
    return Run().act("select").hand(row.hand)


def test_every_consumable_has_a_row_and_no_row_is_without_a_consumable():
    assert sorted(ROWS) == sorted(CONSUMABLES.keys)


@pytest.mark.parametrize("key", ROWS)
def test_its_effect(key):
    row = ROWS[key]
    run = in_round(row)
    row.before(run)
    run.use(key, *row.targets)
    assert row.reads(run) == row.gives
    for name, value in row.also.items():
        assert run.g[name] == value, name


@pytest.mark.parametrize("key", [key for key, row in ROWS.items() if not row.never_refused])
def test_when_it_is_refused(key):
    row = ROWS[key]
    run = in_round(row)
    row.refused(run)
    assert not run.can_use(key, *row.refused_targets)


@pytest.mark.parametrize("key", ["c_high_priestess", "c_emperor", "c_fool"])
def test_creating_tarots_need_a_slot_unless_they_leave_their_own(key):
    run = Run().to_shop()
    run.use("c_mars")
    run.consumable("c_venus")
    run.consumable(key)
    assert run.allows("use", 1), "its own slot becomes free"
    run.g.consumable_slots = 2
    run.g.money = 20
    run.g.offer_kind[0], run.g.offer_id[0] = 2, CONSUMABLES.id(key)
    assert not run.allows("buy_and_use", 0), "in the shop it has none"


@pytest.mark.parametrize("key", ["c_hex", "c_ankh"])
def test_eternal_jokers_survive(key):
    run = Run().act("select")
    run.joker("j_joker", flags=ETERNAL)
    run.joker("j_egg", flags=ETERNAL)
    assert len(run.use(key).jokers) == (2 if key == "c_hex" else 3)
