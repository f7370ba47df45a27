"""The engine against the second scorer of `reference_scorer.py`, over recorded and random hands without luck."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from jimbot.games.balatro.rules.content import DECKS, ENHANCEMENTS, HANDS, JOKERS
from jimbot.games.balatro.states import staging
from jimbot.games.balatro.verify.recorded_hands import RecordedTable
from tests.games.balatro import reference_hands, reference_scorer

SCENARIOS = json.loads((Path(__file__).parents[2] / "golden" / "balatro" / "scoring.json").read_text())
LUCK = {"j_misprint", "j_space", "j_business", "j_bloodstone", "j_reserved_parking", "j_8_ball"}
# Jokers that make cards while scoring are left out too: what they make is luck, and they change no score.
MAKERS = {"j_superposition", "j_seance", "j_vagabond"}
NAMES = [key for key in JOKERS.keys if key not in LUCK | MAKERS]
CHANGES_READING = ["j_four_fingers", "j_shortcut", "j_smeared", "j_splash", "j_pareidolia"]
COPIERS = ["j_blueprint", "j_brainstorm"]
START = {
    **dict.fromkeys(("j_ceremonial", "j_ride_the_bus", "j_green_joker", "j_red_card", "j_flash", "j_trousers"), "mult"),
    **dict.fromkeys(("j_runner", "j_square", "j_castle", "j_wee", "j_ice_cream"), "chips"),
    **{f"j_{name}": "x_mult" for name in reference_scorer.KEEPS_TIMES},
    "j_popcorn": "mult",
}
GROWS_BY_LUCK = {"j_glass", "j_caino"}  # when a Glass Card breaks
BLINDS = ["bl_small", "bl_big", "bl_flint", "bl_arm", "bl_psychic", "bl_eye", "bl_mouth", "bl_goad", "bl_wall"]
ENHANCED = ["m_bonus", "m_mult", "m_wild", "m_glass", "m_steel", "m_stone", "m_gold"]


def random_card(rng: random.Random, ranks: str, suits: str) -> dict[str, Any]:
    card: dict[str, Any] = {"c": f"{rng.choice(suits)}_{rng.choice(ranks)}"}
    if rng.random() < 0.35:
        card["enh"] = rng.choice(ENHANCED)
    if rng.random() < 0.15:
        card["ed"] = rng.choice(["foil", "holo", "polychrome"])
    if rng.random() < 0.25:
        card["seal"] = rng.choice(["Red", "Gold", "Blue", "Purple"])
    if rng.random() < 0.1:
        card["perma"] = 5 * rng.randint(1, 6)
    return card


def random_joker(rng: random.Random) -> dict[str, Any]:
    chance = rng.random()
    key = rng.choice(COPIERS if chance < 0.12 else CHANGES_READING if chance < 0.22 else NAMES)
    joker: dict[str, Any] = {"key": key, "sell": rng.randint(1, 12)}
    if rng.random() < 0.2:
        joker["ed"] = rng.choice(["foil", "holo", "polychrome"])
    if rng.random() < 0.08:
        joker["debuff"] = 1
    if START.get(key) == "mult":
        joker["mult"] = rng.randint(0, 30)
    elif START.get(key) == "chips":
        joker["chips"] = 5 * rng.randint(1, 20)
    elif START.get(key) == "x_mult":
        joker["x_mult"] = rng.choice([1.0, 1.0 + 0.1 * rng.randint(1, 20), 1.0 + 0.25 * rng.randint(1, 9)])
    elif key == "j_todo_list":
        joker["hand"] = rng.choice(list(reference_hands.HANDS))
    elif key == "j_loyalty_card":
        joker["hands_since_bought"] = rng.randint(0, 12)
    return joker


def random_scenario(number: int) -> dict[str, Any]:
    """A hand in the format of `scoring.json`, drawn so that strong hands are common."""
    rng = random.Random(number)
    ranks = rng.choice(["KQ", "A23", "2345A", "89TJQ", "TJQKA", "A2468TK", "23456789TJQKA"])
    suits = rng.choice(["S", "HD", "SC", "SHCD", "SHCD"])
    played = [random_card(rng, ranks, suits) for _ in range(rng.choice([1, 2, 3, 4, 5, 5, 5, 5]))]
    held = [random_card(rng, "23456789TJQKA", rng.choice(["SC", "SHCD"])) for _ in range(rng.randint(0, 5))]
    jokers = [random_joker(rng) for _ in range(rng.randint(0, 6))]
    hands = list(reference_hands.HANDS)
    return {
        "id": number,
        "seed": "TESTSEED",
        "played": played,
        "held": held,
        "jokers": jokers,
        "joker_slots": max(5, len(jokers)) + rng.randint(0, 2),
        "hand_levels": {
            hand: {"level": rng.randint(1, 8), "played": rng.randint(0, 9), "played_this_round": rng.randint(0, 2)}
            for hand in hands
        },
        "blind": rng.choice(BLINDS),
        "eye_used": rng.sample(hands, 4),
        "mouth_hand": rng.choice([None, *hands]),
        "ante": rng.randint(1, 8),
        "money": rng.randint(-20, 60),
        "hands_left": rng.choice([0, 1, 2, 3]),
        "discards_left": rng.choice([0, 0, 1, 2, 3]),
        "deck_remaining": rng.randint(0, 44),
        "deck_size": rng.randint(10, 16),
        "starting_deck_size": rng.randint(8, 20),
        "stone_in_deck": rng.randint(0, 5),
        "steel_in_deck": rng.randint(0, 5),
        "enhanced_in_deck": rng.randint(10, 20),
        "tarots_used": rng.randint(0, 20),
        "skips": rng.randint(0, 6),
        "idol": {"rank": rng.choice(ranks), "suit": rng.choice(list(reference_hands.SUIT_NAMES.values()))},
        "ancient_suit": rng.choice(list(reference_hands.SUIT_NAMES.values())),
        "debuffed": {
            "played": [int(rng.random() < 0.12) for _ in played],
            "held": [int(rng.random() < 0.12) for _ in held],
        },
        "deck": rng.choice(["b_red", "b_red", "b_red", "b_plasma"]),
    }


def differences(scenario: dict[str, Any]) -> list[str]:
    """What the engine and the second scorer see differently."""
    table = RecordedTable(scenario)
    table.add_run(scenario)
    table.set_debuffed(scenario["debuffed"])
    g, s = table.g, table.s
    g.deck = DECKS.id(scenario["deck"])
    table.do(staging.SCORE)
    hand = reference_scorer.score(scenario)
    seen = {
        "hand": (HANDS.key(int(s.hand)), hand.name),
        "blocked": (bool(s.blocked), hand.blocked),
        "dollars": (int(s.dollars), hand.dollars),
        "level": (int(g.hand_level[s.hand]), hand.level),
        "chips": (float(s.chips), pytest.approx(hand.chips, rel=1e-9)),
        "mult": (float(s.mult), pytest.approx(hand.mult, rel=1e-9)),
    }
    for place, card in enumerate(hand.played):
        slot = int(s.played[place])
        enhancement = int(g.card_enhancement[slot])
        seen[f"enhancement of card {place}"] = (ENHANCEMENTS.key(enhancement) if enhancement else "", card.enhancement)
        seen[f"permanent chips of card {place}"] = (int(g.card_extra_chips[slot]), card.extra_chips)
    for place in range(g.joker_count):  # used-up jokers are gone
        joker = hand.jokers[int(g.joker_serial[place])]
        key = f"j_{joker.name}"
        if key in START and not (key in GROWS_BY_LUCK and s.destroyed):
            seen[f"value of {key}"] = (float(g.joker_value[place]), pytest.approx(joker.value, rel=1e-9))
    return [f"{name}: engine {ours}, reference {theirs}" for name, (ours, theirs) in seen.items() if ours != theirs]


def is_lucky(scenario: dict[str, Any]) -> bool:
    jokers = {joker["key"] for joker in scenario["jokers"]}
    return bool(jokers & LUCK) or any(card.get("enh") == "m_lucky" for card in scenario["played"])


def test_the_second_scorer_agrees_with_the_recorded_scenarios_without_luck():
    plain = [scenario for scenario in SCENARIOS if not is_lucky(scenario)]
    assert len(plain) > 300
    for scenario in plain:
        hand, expected = reference_scorer.score(scenario), scenario["expected"]
        assert (hand.name, hand.blocked, hand.dollars) == (expected["hand"], expected["blocked"], expected["dollars"])
        assert (hand.chips, hand.mult) == pytest.approx((expected["chips"], expected["mult"]), rel=1e-9)


@pytest.mark.parametrize("block", range(6))
def test_the_engine_scores_random_hands_like_the_second_scorer(block):
    for number in range(block * 500, (block + 1) * 500):
        assert differences(random_scenario(number)) == [], f"random_scenario({number})"


@pytest.mark.long
def test_the_engine_scores_many_more_random_hands_like_the_second_scorer():
    for number in range(100_000, 130_000):
        assert differences(random_scenario(number)) == [], f"random_scenario({number})"
