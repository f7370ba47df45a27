"""Tables in a certain state, and calls to them as a client makes them."""

from __future__ import annotations

import json
from typing import Any

from jimbot.games.balatro.live.refusals import RefusedError
from jimbot.games.balatro.live.table import LiveTable
from jimbot.games.balatro.states.dialects import find_dialect

Step = tuple[str, dict[str, Any]]
_ROUND: list[Step] = [("start", {}), ("select", {})]
_EVAL: list[Step] = [*_ROUND, ("set", {"chips": 1000}), ("play", {"cards": [0]})]
_SHOP: list[Step] = [*_EVAL, ("cash_out", {}), ("set", {"money": 200})]
_NO_PACKS: list[Step] = [*_SHOP, *[("buy", {"pack": 0}), ("pack", {"skip": True})] * 2]
_JOKERS: list[Step] = [("add", {"key": "j_joker"})] * 5
_BOSS: list[Step] = [("start", {}), ("skip", {}), ("skip", {})]

STATES: dict[str, list[Step]] = {
    "menu": [],
    "blind": [("start", {})],
    "boss": _BOSS,
    "hand": _ROUND,
    "last hand": [*_ROUND, ("set", {"hands": 1, "discards": 0})],
    "lost": [*_ROUND, ("set", {"hands": 1}), ("play", {"cards": [0]})],
    "eval": _EVAL,
    "shop": _SHOP,
    "poor shop": [*_SHOP, ("set", {"money": 0})],
    "full shop": [*_SHOP, *_JOKERS, ("add", {"key": "c_pluto"}), ("add", {"key": "c_pluto"})],
    "sold-out shop": [*_NO_PACKS, ("buy", {"voucher": 0}), ("buy", {"card": 0}), ("buy", {"card": 0})],
    "buffoon pack": [*_SHOP, ("buy", {"pack": 0})],
    "full buffoon pack": [*_SHOP, *_JOKERS, ("buy", {"pack": 0})],
    "arcana pack": [*_NO_PACKS, ("add", {"key": "p_arcana_jumbo_1"}), ("buy", {"pack": 0})],
    "spectral pack": [*_NO_PACKS, ("add", {"key": "p_spectral_jumbo_1"}), ("buy", {"pack": 0})],
    "mega pack": [*_NO_PACKS, ("add", {"key": "p_celestial_mega_1"}), ("buy", {"pack": 0})],
    "magician": [*_ROUND, ("add", {"key": "c_magician"}), ("add", {"key": "c_death"})],
    "magician in shop": [*_SHOP, ("add", {"key": "c_magician"})],
    "familiar in shop": [*_SHOP, ("add", {"key": "c_familiar"})],
    "fool": [*_ROUND, ("add", {"key": "c_fool"}), ("add", {"key": "c_aura"})],
    "eternal joker": [*_ROUND, ("add", {"key": "j_joker", "eternal": True})],
    "two jokers": [*_SHOP, ("add", {"key": "j_joker"}), ("add", {"key": "j_egg"})],
    "one pack left": [*_SHOP, ("buy", {"pack": 0}), ("pack", {"skip": True})],
}


def table_in(state: str, dialect: str = "1.x", seed: str = "TEST123", **keywords: Any) -> LiveTable:
    """A table brought into a state by calls."""
    table, names = LiveTable(dialect, **keywords), find_dialect(dialect)
    for method, params in STATES[state]:
        if method == "start":
            params = {"deck": names.decks[0], "stake": names.stakes[1], "seed": seed}
        table.call(method, params)
    return table


def call(table: LiveTable, method: str, **params: Any) -> dict[str, Any]:
    return json.loads(table.call(method, params))


def refusal(table: LiveTable, method: Any, params: Any) -> tuple[str, str]:
    """(name, sentence) of the refusal a call gets; nothing of the game may have changed."""
    before = table.g.tobytes(), table.in_run
    try:
        table.call(method, params)
    except RefusedError as refused:
        assert (table.g.tobytes(), table.in_run) == before
        return refused.name, refused.message
    raise AssertionError(f"{method} {params} was not refused")
