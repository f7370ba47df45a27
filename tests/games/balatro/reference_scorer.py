"""A second scorer, written from the rule text alone: slow, plain, without a line of the engine.

It reads a scenario in the format of `scoring.json` and says what the hand scores. Everything left to luck is outside:
Lucky Cards, and the jokers that roll. Numbers are written out here once more on purpose; a wrong table entry of the
engine has to show as a difference.
"""

from __future__ import annotations

import math
from typing import Any

from tests.games.balatro.reference_hands import (
    HANDS,
    RANKS,
    SUIT_NAMES,
    Card,
    Hand,
    Joker,
    counts_as,
    detect,
    flush_counts_as,
    is_face,
    same_colour,
)

SECRET = ("Flush Five", "Flush House", "Five of a Kind")

UNCOMMON = """
stencil four_fingers mime ceremonial marble loyalty_card dusk fibonacci steel_joker hack pareidolia space burglar
blackboard sixth_sense constellation hiker card_sharp madness seance vampire shortcut hologram cloud_9 rocket
midas_mask luchador gift turtle_bean erosion to_the_moon stone lucky_cat bull diet_cola trading flash trousers
ramen selzer castle mr_bones acrobat sock_and_buskin troubadour certificate smeared throwback rough_gem bloodstone
arrowhead onyx_agate glass ring_master flower_pot merry_andy oops idol seeing_double matador satellite cartomancer
astronomer bootstraps
""".split()  # noqa: SIM905 - reads better than 64 quoted names

SUIT_MULT = {
    "greedy_joker": "Diamonds",
    "lusty_joker": "Hearts",
    "wrathful_joker": "Spades",
    "gluttenous_joker": "Clubs",
}
CONTAINS_MULT = {
    "jolly": ("Pair", 8), "zany": ("Three of a Kind", 12), "mad": ("Two Pair", 10), "crazy": ("Straight", 12),
    "droll": ("Flush", 10),
}  # fmt: skip
CONTAINS_CHIPS = {
    "sly": ("Pair", 50), "wily": ("Three of a Kind", 100), "clever": ("Two Pair", 80), "devious": ("Straight", 100),
    "crafty": ("Flush", 80),
}  # fmt: skip
CONTAINS_TIMES = {
    "duo": ("Pair", 2), "trio": ("Three of a Kind", 3), "family": ("Four of a Kind", 4), "order": ("Straight", 3),
    "tribe": ("Flush", 2),
}  # fmt: skip
KEEPS_MULT = ("ceremonial", "ride_the_bus", "green_joker", "red_card", "flash", "popcorn", "trousers")
KEEPS_CHIPS = ("runner", "ice_cream", "square", "castle", "wee")
KEEPS_TIMES = (
    "constellation", "madness", "vampire", "hologram", "obelisk", "lucky_cat", "ramen", "campfire", "hit_the_road",
    "glass", "caino", "yorick",
)  # fmt: skip


# --- before the cards score ---


def veto(hand: Hand) -> bool:
    blind, scenario = hand.scenario["blind"], hand.scenario
    if blind == "bl_psychic":
        return len(hand.played) < 5
    if blind == "bl_eye":
        return hand.name in (scenario.get("eye_used") or [])
    if blind == "bl_mouth":
        return bool(scenario.get("mouth_hand")) and scenario["mouth_hand"] != hand.name
    return False


def before(hand: Hand, times: dict[str, int]) -> None:
    for joker, rule in hand.actors():
        name = rule.name
        if name == "todo_list" and rule.hand == hand.name:
            hand.dollars += 4
        if joker is not rule:
            continue
        if name == "trousers" and "Two Pair" in hand.present:
            rule.value += 2
        elif name == "square" and len(hand.played) == 4:
            rule.value += 4
        elif name == "runner" and "Straight" in hand.present:
            rule.value += 15
        elif name == "green_joker":
            rule.value += 1
        elif name == "ride_the_bus":
            rule.value = 0 if any(is_face(hand, card) for card in hand.scoring) else rule.value + 1
        elif name == "obelisk":
            visible = [other for other in HANDS if other not in SECRET or times[other] > 0]
            opponents = [other for other in visible if other != hand.name and times[other] >= times[hand.name]]
            rule.value = rule.value + 0.2 if opponents else 1
        elif name == "midas_mask":
            for card in hand.scoring:
                if is_face(hand, card):
                    card.enhancement = "m_gold"
        elif name == "vampire":
            prey = [card for card in hand.scoring if card.enhancement and not card.debuffed]
            for card in prey:
                card.enhancement = ""
            rule.value += 0.1 * len(prey)


# --- cards ---


def add_edition(hand: Hand, edition: str) -> None:
    if edition == "foil":
        hand.chips += 50
    elif edition == "holo":
        hand.mult += 10
    elif edition == "polychrome":
        hand.mult *= 1.5


def card_itself(hand: Hand, card: Card) -> None:
    bonus = {"m_bonus": 30, "m_stone": 50}.get(card.enhancement, 0)
    hand.chips += bonus + card.extra_chips + (0 if card.stone else card.printed_chips)
    if card.enhancement == "m_mult":
        hand.mult += 4
    if card.enhancement == "m_glass":
        hand.mult *= 2
    if card.seal == "Gold":
        hand.dollars += 3
    add_edition(hand, card.edition)


def joker_on_card(hand: Hand, joker: Joker, rule: Joker, card: Card) -> None:
    name, rank, scenario = rule.name, card.id, hand.scenario
    if name in SUIT_MULT and counts_as(hand, card, SUIT_MULT[name]):
        hand.mult += 3
    elif name == "rough_gem" and counts_as(hand, card, "Diamonds"):
        hand.dollars += 1
    elif name == "arrowhead" and counts_as(hand, card, "Spades"):
        hand.chips += 50
    elif name == "onyx_agate" and counts_as(hand, card, "Clubs"):
        hand.mult += 7
    elif name == "ancient" and counts_as(hand, card, scenario["ancient_suit"]):
        hand.mult *= 1.5
    elif name == "idol" and rank == RANKS[scenario["idol"]["rank"]] and counts_as(hand, card, scenario["idol"]["suit"]):
        hand.mult *= 2
    elif name == "fibonacci" and rank in (14, 2, 3, 5, 8):
        hand.mult += 8
    elif name == "even_steven" and rank in (2, 4, 6, 8, 10):
        hand.mult += 4
    elif name == "odd_todd" and rank in (14, 3, 5, 7, 9):
        hand.chips += 31
    elif name == "scholar" and rank == 14:
        hand.chips += 20
        hand.mult += 4
    elif name == "walkie_talkie" and rank in (10, 4):
        hand.chips += 10
        hand.mult += 4
    elif name == "triboulet" and rank in (12, 13):
        hand.mult *= 2
    elif name == "scary_face" and is_face(hand, card):
        hand.chips += 30
    elif name == "smiley" and is_face(hand, card):
        hand.mult += 5
    elif name == "photograph" and card is next((other for other in hand.scoring if is_face(hand, other)), None):
        hand.mult *= 2
    elif name == "ticket" and card.enhancement == "m_gold":
        hand.dollars += 4
    elif name == "hiker":
        card.extra_chips += 5
    elif name == "wee" and joker is rule and rank == 2:
        rule.value += 8


def retriggers(hand: Hand, card: Card) -> int:
    extra = 1 if card.seal == "Red" else 0
    for _, rule in hand.actors():
        extra += {
            "hack": card.id in (2, 3, 4, 5),
            "sock_and_buskin": is_face(hand, card),
            "hanging_chad": 2 * (card is hand.scoring[0]),
            "dusk": hand.scenario["hands_left"] == 0,
            "selzer": True,
        }.get(rule.name, 0)
    return int(extra)


def score_cards(hand: Hand) -> None:
    for card in hand.scoring:
        if card.debuffed:
            hand.triggered = True
            continue
        for _ in range(1 + retriggers(hand, card)):
            card_itself(hand, card)
            for joker, rule in hand.actors():
                joker_on_card(hand, joker, rule, card)


def held_effect(hand: Hand, card: Card) -> bool:
    """One trigger of a held card; whether it did anything."""
    if card.debuffed:
        return False
    effect = card.enhancement == "m_steel"
    if effect:
        hand.mult *= 1.5
    lowest = min((other.id for other in hand.held if other.id), default=0)
    last_lowest = [other for other in hand.held if other.id and other.id == lowest][-1:]
    for _, rule in hand.actors():
        if rule.name == "baron" and card.id == 13:
            hand.mult *= 1.5
        elif rule.name == "shoot_the_moon" and card.id == 12:
            hand.mult += 13
        elif rule.name == "raised_fist" and last_lowest and card is last_lowest[0]:
            hand.mult += 2 * card.printed_chips
        else:
            continue
        effect = True
    return effect


def score_held(hand: Hand) -> None:
    mimes = sum(rule.name == "mime" for _, rule in hand.actors())
    for card in hand.held:
        if held_effect(hand, card):
            for _ in range(mimes + (card.seal == "Red")):
                held_effect(hand, card)


# --- jokers ---


def four_suits(hand: Hand) -> bool:
    """Flower Pot: plain cards, debuffed or not, take the first suit still open; then Wild Cards."""
    filled: set[str] = set()
    order = ("Hearts", "Diamonds", "Spades", "Clubs")
    wild = [card for card in hand.scoring if card.enhancement == "m_wild"]
    for card in [card for card in hand.scoring if card.enhancement != "m_wild" and not card.stone]:
        filled |= set([suit for suit in order if same_colour(hand, card.suit, suit) and suit not in filled][:1])
    for _ in [card for card in wild if not card.debuffed]:
        filled |= set([suit for suit in order if suit not in filled][:1])
    return len(filled) == 4


def sees_double(hand: Hand) -> bool:
    filled: set[str] = set()
    wild = [card for card in hand.scoring if card.enhancement == "m_wild"]
    for card in [card for card in hand.scoring if card.enhancement != "m_wild"]:
        filled |= {suit for suit in SUIT_NAMES.values() if counts_as(hand, card, suit)}
    for _ in [card for card in wild if not card.debuffed]:
        filled |= set([suit for suit in ("Clubs", "Diamonds", "Spades", "Hearts") if suit not in filled][:1])
    return "Clubs" in filled and len(filled) > 1


def main_mult(hand: Hand, rule: Joker, times: dict[str, int]) -> float:
    name, scenario, money = rule.name, hand.scenario, hand.scenario["money"] + hand.dollars
    if name in CONTAINS_MULT:
        wanted, amount = CONTAINS_MULT[name]
        return amount if wanted in hand.present else 0
    if name in KEEPS_MULT:
        return rule.value
    return {
        "joker": 4,
        "half": 20 * (len(hand.played) <= 3),
        "mystic_summit": 15 * (scenario["discards_left"] == 0),
        "abstract": 3 * len(hand.jokers),
        "gros_michel": 15,
        "supernova": times[hand.name],
        "erosion": 4 * max(0, scenario["starting_deck_size"] - scenario["deck_size"]),
        "fortune_teller": scenario["tarots_used"],
        "swashbuckler": sum(joker.sell for joker in hand.jokers if joker is not rule),
        "bootstraps": 2 * max(0, money // 5),
    }.get(name, 0)


def main_chips(hand: Hand, rule: Joker) -> float:
    name, scenario = rule.name, hand.scenario
    if name in CONTAINS_CHIPS:
        wanted, amount = CONTAINS_CHIPS[name]
        return amount if wanted in hand.present else 0
    if name in KEEPS_CHIPS:
        return rule.value
    return {
        "banner": 30 * scenario["discards_left"],
        "blue_joker": 2 * scenario["deck_remaining"],
        "stone": 25 * scenario["stone_in_deck"],
        "bull": 2 * max(0, scenario["money"] + hand.dollars),
        "stuntman": 250,
    }.get(name, 0)


def main_times(hand: Hand, rule: Joker, times_this_round: dict[str, int]) -> float:
    name, scenario = rule.name, hand.scenario
    if name in CONTAINS_TIMES:
        wanted, amount = CONTAINS_TIMES[name]
        return amount if wanted in hand.present else 1
    if name in KEEPS_TIMES:
        return rule.value
    stencils = sum(joker.name == "stencil" for joker in hand.jokers)
    black = all(any(flush_counts_as(hand, card, suit) for suit in ("Spades", "Clubs")) for card in hand.held)
    return {
        "stencil": scenario["joker_slots"] - len(hand.jokers) + stencils,
        "steel_joker": 1 + 0.2 * scenario["steel_in_deck"],
        "acrobat": 3 if scenario["hands_left"] == 0 else 1,
        "blackboard": 3 if black else 1,
        "cavendish": 3,
        "card_sharp": 3 if times_this_round[hand.name] > 1 else 1,
        "throwback": 1 + 0.25 * scenario["skips"],
        "flower_pot": 3 if four_suits(hand) else 1,
        "seeing_double": 2 if sees_double(hand) else 1,
        "drivers_license": 3 if scenario["enhanced_in_deck"] >= 16 else 1,
        "loyalty_card": 4 if (4 - rule.hands_since_bought) % 6 == 5 else 1,
    }.get(name, 1)


def main_pass(hand: Hand, times: dict[str, int], times_this_round: dict[str, int]) -> None:
    rules = {id(joker): rule for joker, rule in hand.actors()}
    for joker in hand.jokers:
        edition = "" if joker.debuffed else joker.edition
        if edition != "polychrome":
            add_edition(hand, edition)
        rule = rules.get(id(joker))
        if rule:
            hand.mult += main_mult(hand, rule, times)
            hand.chips += main_chips(hand, rule)
            if rule.name == "matador" and hand.triggered:
                hand.dollars += 8
            factor = main_times(hand, rule, times_this_round)
            if factor > 1:
                hand.mult *= factor
        if joker.name in UNCOMMON:
            for _, other in hand.actors():
                if other.name == "baseball":
                    hand.mult *= 1.5
        if edition == "polychrome":
            add_edition(hand, edition)


# --- all of it ---


def read(scenario: dict[str, Any]) -> Hand:
    def cards(area: str) -> list[Card]:
        return [
            Card(
                rank=RANKS[entry["c"][2]],
                suit=SUIT_NAMES[entry["c"][0]],
                enhancement=entry.get("enh", ""),
                edition=entry.get("ed", ""),
                seal=entry.get("seal", ""),
                extra_chips=entry.get("perma", 0),
                debuffed=bool(debuffed),
            )
            for entry, debuffed in zip(scenario[area], scenario["debuffed"][area], strict=True)
        ]

    jokers = [
        Joker(
            name=entry["key"].removeprefix("j_"),
            edition=entry.get("ed", ""),
            sell=entry["sell"],
            debuffed=bool(entry.get("debuff")),
            value=next((entry[name] for name in ("mult", "x_mult", "chips") if name in entry), 0),
            hand=entry.get("hand", ""),
            hands_since_bought=entry.get("hands_since_bought", 0),
        )
        for entry in scenario["jokers"]
    ]
    return Hand(scenario, cards("played"), cards("held"), jokers)


def score(scenario: dict[str, Any]) -> Hand:
    """Scores the scenario's hand; the result carries chips, Mult, dollars, the hand and the jokers' values."""
    hand = read(scenario)
    detect(hand)
    levels = scenario["hand_levels"]
    times = {name: levels[name]["played"] + (name == hand.name) for name in HANDS}
    times_this_round = {name: levels[name]["played_this_round"] + (name == hand.name) for name in HANDS}
    hand.level = levels[hand.name]["level"]
    hand.blocked = veto(hand)
    if hand.blocked:
        hand.dollars += 8 * sum(rule.name == "matador" for _, rule in hand.actors())
    else:
        if scenario["blind"] == "bl_arm" and hand.level > 1:
            hand.level -= 1
            hand.triggered = True
        before(hand, times)
        chips, mult, more_chips, more_mult = HANDS[hand.name]
        hand.chips = float(chips + more_chips * (hand.level - 1))
        hand.mult = float(mult + more_mult * (hand.level - 1))
        if scenario["blind"] == "bl_flint":
            hand.chips, hand.mult = math.floor(hand.chips / 2 + 0.5), max(1, math.floor(hand.mult / 2 + 0.5))
            hand.triggered = True
        score_cards(hand)
        score_held(hand)
        main_pass(hand, times, times_this_round)
        if scenario.get("deck") == "b_plasma":
            hand.chips = hand.mult = math.floor((hand.chips + hand.mult) / 2)
    for joker, rule in hand.actors():
        if joker is rule and rule.name == "ice_cream":
            rule.value -= 5
    return hand
