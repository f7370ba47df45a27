"""Recorded hands: the table as it lay, scored once, and everything about the result."""

from __future__ import annotations

import math
from typing import Any

from jimbot.games.balatro.rules import content, state
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.states import staging
from jimbot.games.balatro.states.document import JOKER_COUNTERS, JOKER_VALUES, joker_state
from jimbot.games.verification import Entry, FileReport, same_value

_CARD_FIELDS = ("c", "enh", "ed", "seal", "perma", "played_this_ante", "debuff")
_JOKER_FLAGS = {
    "eternal": state.ETERNAL,
    "perishable": state.PERISHABLE,
    "rental": state.RENTAL,
    "debuff": state.DEBUFFED,
}
_JOKER_FIELDS = ("key", "sell", "ed", "hand", "hands_since_bought", *_JOKER_FLAGS, *JOKER_VALUES, *JOKER_COUNTERS)
_SCENARIO_FIELDS = (
    "id", "seed", "played", "held", "jokers", "joker_slots", "hand_levels", "blind", "ante", "money", "hands_left",
    "discards_left", "deck_remaining", "deck_size", "starting_deck_size", "stone_in_deck", "steel_in_deck",
    "enhanced_in_deck", "tarots_used", "skips", "idol", "ancient_suit", "debuffed", "eye_used", "mouth_hand",
    "blind_disabled", "expected",
)  # fmt: skip
_EXPECTED_FIELDS = (
    "hand", "scoring", "blocked", "chips", "mult", "score", "dollars", "destroyed", "jokers_removed",
    "hand_level_after", "enh_after", "joker_state_after",
)  # fmt: skip
_NO_HAND = -1  # as To Do List's hand: nothing is asked for
_NEAR_INTEGER = 1e-6  # a product this close to a whole number may fall on either side


class RecordedTable:
    """A hand on the table of a run that holds nothing but what a recording names."""

    def __init__(self, recorded: dict[str, Any]) -> None:
        self.g: Any = state.new_games(1)[0]
        self.s: Any = new_scratch()[0]
        g, s = self.g, self.s
        g.seed, g.seed_length = seed_bytes(recorded["seed"])
        g.stake = 1
        self.do(staging.CLEAR)
        g.ante, g.money, g.blind = recorded["ante"], recorded["money"], content.BLINDS.id(recorded["blind"])
        g.blind_disabled = bool(recorded.get("blind_disabled", False))
        for place, card in enumerate(recorded["played"]):
            s.played[place] = self.put_card(card, state.IN_DISCARD)
        s.played_count = len(recorded["played"])
        for place, card in enumerate(recorded["held"]):
            g.hand[place] = self.put_card(card, state.IN_HAND)
        g.hand_count = len(recorded["held"])
        for joker in recorded["jokers"]:
            self.put_joker(joker)
        self.joker_serials = g.joker_serial[: g.joker_count].tolist()
        g.hands_left, g.discards_left = recorded["hands_left"], recorded["discards_left"]
        g.hands_played_round, g.discards_used = 1, 1  # not the first hand of the round; a discard has been used

    def do(self, what: int, *values: int) -> int:
        return staging.stage(self.g, self.s, what, *values)

    def put_card(self, card: dict[str, Any], place: int) -> int:
        rank, suit = content.parse_card(card["c"])
        enhancement = content.ENHANCEMENTS.id(card["enh"]) if "enh" in card else 0
        edition = content.EDITIONS.id(f"e_{card['ed']}") if "ed" in card else 0
        seal = content.SEALS.id(card["seal"]) if "seal" in card else 0
        slot = self.do(staging.ADD_CARD, rank, suit, enhancement, edition, seal, place)
        self.g.card_extra_chips[slot] = card.get("perma", 0)
        self.g.card_flags[slot] = state.CARD_PLAYED_THIS_ANTE * bool(card.get("played_this_ante"))
        return slot

    def put_joker(self, joker: dict[str, Any]) -> None:
        g = self.g
        edition = content.EDITIONS.id(f"e_{joker['ed']}") if "ed" in joker else 0
        flags = sum(flag for name, flag in _JOKER_FLAGS.items() if joker.get(name))
        counter = (
            content.HANDS.id(joker["hand"]) if "hand" in joker else _NO_HAND if joker["key"] == "j_todo_list" else 0
        )
        place = self.do(staging.ADD_JOKER, content.JOKERS.id(joker["key"]), edition, flags, counter)
        for name in JOKER_VALUES:
            if name in joker:
                g.joker_value[place] = joker[name]
        for name in JOKER_COUNTERS:
            if name in joker:
                g.joker_counter[place] = joker[name]
        if "hands_since_bought" in joker:  # no hand has been played in this run
            g.joker_counter[place] = -joker["hands_since_bought"]
        g.joker_extra_value[place] += joker["sell"] - self.do(staging.SELL_VALUE, place)

    def add_run(self, recorded: dict[str, Any]) -> None:
        """The numbers of the run around the hand."""
        g = self.g
        g.joker_slots = recorded["joker_slots"]
        while g.card_count < recorded["deck_size"]:
            self.do(staging.ADD_CARD, 2, 0, 0, 0, 0, state.IN_DECK)
        g.pile_count = recorded["deck_remaining"]
        g.starting_deck_size = recorded["starting_deck_size"]
        g.enhancement_count[content.STONE], g.enhancement_count[content.STEEL] = (
            recorded["stone_in_deck"],
            recorded["steel_in_deck"],
        )
        g.enhancement_count[0] = g.card_count - recorded["enhanced_in_deck"]
        g.tarots_used, g.skips = recorded["tarots_used"], recorded["skips"]
        g.idol_rank, g.idol_suit = (
            content.RANK_LETTERS[recorded["idol"]["rank"]],
            content.SUITS.index(recorded["idol"]["suit"]),
        )
        g.ancient_suit = content.SUITS.index(recorded["ancient_suit"])
        for name, hand in recorded["hand_levels"].items():
            number = content.HANDS.id(name)
            g.hand_level[number], g.hand_played[number] = hand["level"], hand["played"]
            g.hand_played_round[number] = hand["played_this_round"]
        for name in recorded.get("eye_used") or ():
            g.eye_used |= 1 << content.HANDS.id(name)
        if recorded.get("mouth_hand"):
            g.mouth_hand = content.HANDS.id(recorded["mouth_hand"])

    def debuffed(self) -> dict[str, list[int]]:
        """Which cards the blind debuffs, once `staging.DEBUFF` has been done."""
        g, s = self.g, self.s
        areas = {"played": s.played[: s.played_count], "held": g.hand[: g.hand_count]}
        return {
            name: [int(bool(g.card_flags[slot] & state.CARD_DEBUFFED)) for slot in slots]
            for name, slots in areas.items()
        }

    def set_debuffed(self, recorded: dict[str, list[int]]) -> None:
        """Debuffs exactly the recorded cards, so that a blind read differently is one difference and not two."""
        g, s = self.g, self.s
        for name, slots in (("played", s.played[: s.played_count]), ("held", g.hand[: g.hand_count])):
            for slot, debuffed in zip(slots.tolist(), recorded[name], strict=True):
                others = int(g.card_flags[slot]) & ~state.CARD_DEBUFFED
                g.card_flags[slot] = others | (state.CARD_DEBUFFED * bool(debuffed))

    def joker_state(self, place: int) -> dict[str, Any]:
        """A joker's state under every name its one number may be recorded by."""
        value = float(self.g.joker_value[place])
        return dict.fromkeys(JOKER_VALUES, value) | joker_state(self.g, place)

    def score(self) -> dict[str, Any]:
        """Scores the hand: the result as recordings write it."""
        self.do(staging.SCORE)
        g, s = self.g, self.s
        table = s.played[: s.played_count].tolist()
        left = {int(g.joker_serial[place]): place for place in range(g.joker_count)}
        return {
            "hand": content.HANDS.key(int(s.hand)),
            "scoring": [table.index(slot) for slot in s.scoring[: s.scoring_count].tolist()],
            "blocked": bool(s.blocked),
            "chips": float(s.chips),
            "mult": float(s.mult),
            "score": float(s.score),
            "dollars": int(s.dollars),
            "destroyed": [place for place in range(len(table)) if int(s.destroyed) >> place & 1],
            "jokers_removed": [place for place, serial in enumerate(self.joker_serials) if serial not in left],
            "hand_level_after": int(g.hand_level[s.hand]),
            "enh_after": [_enhancement(int(g.card_enhancement[slot])) for slot in table],
            "joker_state_after": [
                self.joker_state(left[serial]) if serial in left else None for serial in self.joker_serials
            ],
        }


def _enhancement(identifier: int) -> str:
    return content.ENHANCEMENTS.key(identifier) if identifier else "c_base"


def _check_input(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, _SCENARIO_FIELDS)
    entry.only_known("expected", recorded["expected"], _EXPECTED_FIELDS)
    for area in ("played", "held"):
        for place, card in enumerate(recorded[area]):
            entry.only_known(f"{area}[{place}]", card, _CARD_FIELDS)
    for place, joker in enumerate(recorded["jokers"]):
        entry.only_known(f"jokers[{place}]", joker, _JOKER_FIELDS)


def _check_result(entry: Entry, expected: dict[str, Any], got: dict[str, Any]) -> None:
    for name, value in expected.items():
        if name == "joker_state_after":
            states = zip(value, got[name], strict=True)
            for place, (recorded, simulated) in enumerate(states):
                if simulated is not None:  # a removed joker has no state
                    simulated = {key: simulated[key] for key in recorded if key in simulated}
                    entry.compare(f"{name}[{place}]", recorded, simulated)
        elif name == "score":
            entry.values += 1
            if not _same_score(value, got):
                entry.differ(name, value, got[name])
        elif name in got and not (name == "scoring" and expected.get("blocked")):  # a vetoed hand scores no card
            entry.compare(name, value, got[name])


def _same_score(recorded: Any, got: dict[str, Any]) -> bool:
    """Exactly equal; where the product sits on a whole number its last bit may fall on either side."""
    score, product = got["score"], got["chips"] * got["mult"]
    if recorded == score or not math.isfinite(product):
        return same_value(recorded, score)
    near = abs(product - round(product)) < _NEAR_INTEGER
    return near and abs(recorded - score) <= max(1.0, math.ulp(product))


def check_scoring(recorded: list[dict[str, Any]], report: FileReport) -> None:
    """Each scenario is an entry."""
    report.unit = "scenarios"
    for number, scenario in enumerate(recorded):
        with report.entry(f"scenario {scenario.get('id', number)}", scenario.get("seed", "")) as entry:
            _check_input(entry, scenario)
            table = RecordedTable(scenario)
            table.add_run(scenario)
            table.do(staging.DEBUFF)
            if "debuffed" in scenario:
                entry.compare("debuffed", scenario["debuffed"], table.debuffed())
                table.set_debuffed(scenario["debuffed"])
            _check_result(entry, scenario["expected"], table.score())
