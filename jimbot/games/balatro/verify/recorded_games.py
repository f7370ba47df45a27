"""Recorded games: replayed action by action, every state compared with the recorded one.

A game is compared up to the first step that differs; what follows it would only repeat the difference. An action that
the rules forbid is such a difference, with the field `legal`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from jimbot.errors import JimbotError, UnknownNameError, UsageError
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.content import CHALLENGES, DECKS, HANDS, STAKES
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import new_games
from jimbot.games.balatro.states import staging
from jimbot.games.balatro.states.document import JOKER_COUNTERS, JOKER_VALUES, read_state
from jimbot.games.balatro.verify.recorded_seeds import FIRST_BOOSTER
from jimbot.games.balatro.view.names import find_deck, find_stake
from jimbot.games.verification import UNKNOWN_FIELD, Difference, Entry, FileReport

_RECORD_FIELDS = ("game", "step", "action", "state", "scored")
_START_FIELDS = ("seed", "deck", "stake", "challenge", "endless")
_SCORED_FIELDS = ("hand", "chips", "mult", "score", "dollars")
# What a recording need not write: compared where it does.
_OPTIONAL_JOKER_FIELDS = (*JOKER_VALUES, *JOKER_COUNTERS, "hand", "hands_since_bought", "perish_tally")
_OPTIONAL = {"jokers": _OPTIONAL_JOKER_FIELDS, "consumables": ("sell",)}
_KEEPS_ORDER = ("sort", "move_hand", "move_joker", "move_consumable")
_NONE = np.uint64(0)


def split_games(records: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The records of each game, in order of appearance; step 0 opens a game even if its number was used before."""
    games: dict[tuple[Any, int], list[dict[str, Any]]] = {}
    starts: dict[Any, int] = {}
    for record in records:
        number = record.get("game", 0)
        if record.get("step") == 0:
            starts[number] = starts.get(number, 0) + 1
        games.setdefault((number, starts.get(number, 0)), []).append(record)
    return list(games.values())


def replay(records: list[dict[str, Any]]) -> list[Difference]:
    """Where the simulator first leaves one recorded game; empty if it never does."""
    report = FileReport("", "traces")
    check_traces(records, report)
    return report.differences


def check_traces(records: list[dict[str, Any]], report: FileReport) -> None:
    """Each game is an entry."""
    report.unit = "games"
    for game in split_games(records):
        with report.entry(f"game {game[0].get('game', 0)}", game[0].get("seed", "")) as entry:
            _replay(entry, game)


def _replay(entry: Entry, records: list[dict[str, Any]]) -> None:
    g, s = start_recorded(records[0])
    first_shop = True
    for number, record in enumerate(records):
        entry.step = record.get("step", number)
        entry.only_known("", record, (*_RECORD_FIELDS, *_START_FIELDS) if number == 0 else _RECORD_FIELDS)
        before = new_games(1)
        before[0] = g
        if number > 0 and not _take(entry, g, s, record["action"]):
            return
        _compare_state(entry, record["state"], read_state(g), first_shop)
        if "scored" in record:
            _compare_scored(entry, record["scored"], before[0], record["action"])
        if entry.differences:
            return
        first_shop &= record.get("action", {}).get("a") != "next"


def _compare_scored(entry: Entry, recorded: dict[str, Any], before: Any, action: dict[str, Any]) -> None:
    """What the hand scored, read when it is scored: the end of a round uses the same working space for its payout."""
    entry.only_known("scored", recorded, _SCORED_FIELDS)
    s = new_scratch()[0]
    staging.stage(before, s, staging.PUT_FORWARD, int(read_action(action)[2]))
    for name in _SCORED_FIELDS:
        if name in recorded:
            got = HANDS.key(int(s.hand)) if name == "hand" else float(s[name])
            entry.compare(f"scored.{name}", recorded[name], got)


def _take(entry: Entry, g: Any, s: Any, action: dict[str, Any]) -> bool:
    """Takes a recorded action; False, and a difference, if the rules do not have it."""
    try:
        kind, index, targets = read_action(action)
    except JimbotError as problem:
        entry.differ("action", action, str(problem))
        return False
    if not decisions.apply(g, s, kind, index, targets):
        entry.differ("legal", action, f"not legal in phase {read_state(g)['phase']}")
        return False
    if g.hand_count and decisions.ACTION_KINDS[kind] not in _KEEPS_ORDER:
        # The game keeps the order after a consumable has changed cards; recordings show the hand sorted.
        decisions.apply(g, s, decisions.SORT, int(g.sort_by_suit), _NONE)
    return True


def _compare_state(entry: Entry, recorded: dict[str, Any], simulated: dict[str, Any], first_shop: bool) -> None:
    for name, value in recorded.items():
        if name == "open_pack" and "pack" in simulated:  # some recordings call it so, or write its cards only
            got = simulated["pack"] if isinstance(value, dict) else simulated["pack"]["cards"]
            entry.compare(name, _same_picture(value), _same_picture(got))
            continue
        if name not in simulated:
            known = name in ("blind", "blind_disabled", "earnings", "shop", "pack", "open_pack")
            entry.differ(name, value, f"(none in phase {simulated['phase']})" if known else UNKNOWN_FIELD)
            continue
        got = simulated[name]
        if name in _OPTIONAL:
            got = [_as_recorded(value, item, place, _OPTIONAL[name]) for place, item in enumerate(got)]
        elif first_shop and name in ("shop", "pack"):
            value, got = _same_picture(value), _same_picture(got)
        entry.compare(name, value, got)


def _as_recorded(
    recorded: list[dict[str, Any]], item: dict[str, Any], place: int, optional: tuple[str, ...]
) -> dict[str, Any]:
    """A thing without the optional fields its recording does not write; all others must be there on both sides."""
    written = recorded[place] if place < len(recorded) else {}
    return {name: value for name, value in item.items() if name in written or name not in optional}


def _same_picture(part: Any) -> Any:
    """Shop or pack with the run's first booster under one name: which of its two pictures it shows is not seeded."""
    if isinstance(part, dict):
        return {name: _same_picture(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_same_picture(value) for value in part]
    return FIRST_BOOSTER[0] if part in FIRST_BOOSTER else part


# --- actions and starts, as recordings write them ---

_ACTION_FIELDS = ("a", "i", "cards", "targets", "area", "to")
_AREAS = {
    ("sell", "jokers"): "sell_joker",
    ("sell", "consumables"): "sell_consumable",
    ("move", "jokers"): "move_joker",
    ("move", "consumables"): "move_consumable",
    ("move", "hand"): "move_hand",
}


def read_action(action: dict[str, Any]) -> tuple[int, int, np.uint64]:
    """(kind, index, targets) of a recorded action; an unknown action is a UsageError."""
    for key in action:
        if key not in _ACTION_FIELDS:
            raise UnknownNameError("field of an action", key, _ACTION_FIELDS)
    name = _AREAS.get((action["a"], action.get("area", "")), action["a"])
    if name not in decisions.ACTION_KINDS:
        raise UnknownNameError("action", name, decisions.ACTION_KINDS)
    if "to" in action:
        targets = int(action["to"])
    else:
        targets = 0
        for place in action.get("cards", action.get("targets", ())):
            targets |= 1 << int(place)
    if not 0 <= targets < 2**64:
        raise UsageError(f"An action names a hand position beyond the 64 a hand can have: {action}.")
    return decisions.ACTION_KINDS.index(name), int(action.get("i", 0)), np.uint64(targets)


def start_recorded(record: dict[str, Any]) -> tuple[Any, Any]:
    """A game and its working space at step 0 of a recording."""
    g, s = new_games(1)[0], new_scratch()[0]
    g.seed, g.seed_length = seed_bytes(record["seed"])
    g.deck, g.stake = DECKS.id(find_deck(record.get("deck", "b_red"))), STAKES.id(find_stake(record.get("stake", 1)))
    g.challenge = CHALLENGES.id(record["challenge"]) if record.get("challenge") else 0
    g.endless = bool(record.get("endless", False))
    decisions.apply(g, s, decisions.START, 0, np.uint64(0))
    return g, s
