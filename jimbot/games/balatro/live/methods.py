"""Every method of the protocol as a row: its parameters, the states that allow it, and the dialects that have it; and
the OpenRPC document made of them, which `rpc.discover` answers with.

Checks come in the mod's order: the method, then the types of its parameters (no ranges), then the state; what is left
is the method's own business (`handlers.py`). Unknown parameters are passed over, as the mod does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jimbot.games.balatro.live.refusals import CODES, bad, wrong_state
from jimbot.games.balatro.rules.content import CHALLENGES
from jimbot.games.balatro.states import dialects as d

STRING, INTEGER, BOOLEAN, INTEGERS = "string", "integer", "boolean", "array"


@dataclass(frozen=True)
class Param:
    """One parameter."""

    name: str
    type: str
    about: str
    required: bool = False


@dataclass(frozen=True)
class Method:
    """One method; `states` None: it works in any."""

    name: str
    about: str
    params: tuple[Param, ...] = ()
    states: tuple[str, ...] | None = None
    answer: str = "gamestate"
    """What it answers with: gamestate, path or health."""


_HELD = (d.SELECTING_HAND, d.SHOP)
_HELD_OR_PACK = (*_HELD, d.PACK)
_ORDERED = (*_HELD_OR_PACK, d.ROUND_EVAL, d.BLIND_SELECT)
_PATH = (Param("path", STRING, "Where the file is.", True),)
_CARDS = (Param("cards", INTEGERS, "Hand cards, counted from 0.", True),)
_ONE_OF_THE_SHOP = (
    Param("card", INTEGER, "A card of the shop, counted from 0."),
    Param("voucher", INTEGER, "A voucher of the shop, counted from 0."),
    Param("pack", INTEGER, "A booster pack of the shop, counted from 0."),
)
_START = (
    Param("deck", STRING, "Which deck.", True),
    Param("stake", STRING, "Which stake.", True),
    Param("seed", STRING, "The seed; without it one is drawn."),
)
_START_DEV = (
    Param("deck", STRING, "Which deck; a challenge brings its own."),
    Param("stake", STRING, "Which stake; a challenge brings its own."),
    Param("seed", STRING, "The seed; without it one is drawn."),
    Param("challenge", STRING, "A challenge by its id, instead of deck and stake."),
)
_ORDERS = tuple(
    Param(area, INTEGERS, f"All places of the {area}, in their new order.")
    for area in ("hand", "jokers", "consumables")
)
_ADD = (
    Param("key", STRING, "What to add: a key of a joker, consumable, voucher or pack, or a card such as H_A.", True),
    Param("seal", STRING, "A seal, for playing cards."),
    Param("edition", STRING, "An edition."),
    Param("enhancement", STRING, "An enhancement, for playing cards."),
    Param("eternal", BOOLEAN, "An Eternal joker."),
    Param("perishable", INTEGER, "A Perishable joker with so many rounds left, at least 1."),
    Param("rental", BOOLEAN, "A Rental joker."),
)
_NUMBERS = ("money", "chips", "ante", "round", "hands", "discards")
_SET = (
    *(Param(name, INTEGER, f"The new value of {name}, at least 0.") for name in _NUMBERS),
    Param("shop", BOOLEAN, "Stock the shop anew."),
)

# The states the mod names when it refuses to save, in its order.
_SAVED = (
    d.SELECTING_HAND, "HAND_PLAYED", "DRAW_TO_HAND", d.GAME_OVER, d.SHOP, "PLAY_TAROT", d.BLIND_SELECT, d.ROUND_EVAL,
    "TAROT_PACK", "PLANET_PACK", "SPECTRAL_PACK", "STANDARD_PACK", "BUFFOON_PACK", "NEW_ROUND", d.PACK,
)  # fmt: skip

_SHARED = (
    Method("health", "Answers that the server runs.", answer="health"),
    Method("gamestate", "The state as it is now."),
    Method("menu", "Leaves the run for the main menu."),
    Method("save", "Writes the run to a file.", _PATH, _SAVED, "path"),
    Method("load", "Goes on with a run from a file.", _PATH, answer="path"),
    Method("screenshot", "Writes a picture of the table, as PNG.", _PATH, answer="path"),
    Method("select", "Plays the blind that is up.", (), (d.BLIND_SELECT,)),
    Method("skip", "Skips the blind that is up for its tag.", (), (d.BLIND_SELECT,)),
    Method("play", "Plays hand cards.", _CARDS, (d.SELECTING_HAND,)),
    Method("discard", "Discards hand cards.", _CARDS, (d.SELECTING_HAND,)),
    Method("cash_out", "Takes the payout and enters the shop.", (), (d.ROUND_EVAL,)),
    Method("buy", "Buys one thing of the shop.", _ONE_OF_THE_SHOP, (d.SHOP,)),
    Method(
        "pack",
        "Takes a card out of the open pack, or leaves the rest.",
        (
            Param("card", INTEGER, "A card of the pack, counted from 0."),
            Param("targets", INTEGERS, "Hand cards the consumable is used on, counted from 0."),
            Param("skip", BOOLEAN, "Leaves the rest of the pack."),
        ),
        (d.PACK,),
    ),
    Method("reroll", "New cards in the shop, for money.", (), (d.SHOP,)),
    Method("next_round", "Leaves the shop.", (), (d.SHOP,)),
    Method("add", "Debug: puts a card into the game.", _ADD, (d.SELECTING_HAND, d.SHOP, d.ROUND_EVAL)),
)
_SELL = (
    Param("joker", INTEGER, "A joker, counted from 0."),
    Param("consumable", INTEGER, "A consumable, counted from 0."),
)
_USE = (
    Param("consumable", INTEGER, "A held consumable, counted from 0.", True),
    Param("cards", INTEGERS, "Hand cards it is used on, counted from 0."),
)
_OWN: dict[str, tuple[Method, ...]] = {
    "1.x": (
        Method("start", "Starts a run.", _START, (d.MENU,)),
        Method("sell", "Sells a joker or a consumable.", _SELL, _HELD),
        Method("use", "Uses a held consumable.", _USE, _HELD),
        Method("rearrange", "Puts cards into another order.", _ORDERS, _HELD_OR_PACK),
        Method("set", "Debug: sets a value of the run.", _SET),
    ),
    "dev": (
        Method("start", "Starts a run.", _START_DEV, (d.MENU,)),
        Method("sell", "Sells a joker or a consumable.", _SELL, _HELD_OR_PACK),
        Method("use", "Uses a held consumable.", _USE, _HELD_OR_PACK),
        Method("rearrange", "Puts cards into another order.", _ORDERS, _ORDERED),
        Method(
            "set", "Debug: sets a value of the run.", (*_SET, Param("boss", STRING, "Which boss the ante ends with."))
        ),
        Method("buy_and_use", "Buys a consumable and uses it at once.", _ONE_OF_THE_SHOP[:1], (d.SHOP,)),
        Method("reroll_boss", "Another boss for the ante, for $10.", (), (d.BLIND_SELECT,)),
        Method("sort", "Sorts the hand.", (Param("by", STRING, "rank or suit", True),), (d.SELECTING_HAND,)),
    ),
}
METHODS: dict[str, dict[str, Method]] = {
    dialect: {method.name: method for method in (*_SHARED, *own)} for dialect, own in _OWN.items()
}
SETTABLE = _NUMBERS


def find_method(dialect: str, name: Any) -> Method:
    """The method a request names."""
    if not isinstance(name, str):
        raise bad("Request missing 'method' field")
    if name not in METHODS[dialect]:
        raise bad(f"Unknown method: {name}")
    return METHODS[dialect][name]


def read_params(method: Method, params: Any) -> dict[str, Any]:
    """The parameters of a request, checked by type; null counts as absent, 2.0 as 2."""
    if params is None or isinstance(params, list):  # Lua has one kind of table: a list has no named members
        params = {}
    if not isinstance(params, Mapping):
        raise bad("Arguments must be a table")
    out: dict[str, Any] = {}
    for param in method.params:
        value = params.get(param.name)
        if value is not None:
            out[param.name] = _read(param, value)
        elif param.required:
            raise bad(f"Missing required field '{param.name}'")
    return out


def require_state(method: Method, state: str) -> None:
    if method.states is not None and state not in method.states:
        raise wrong_state(f"Method '{method.name}' requires one of these states: {', '.join(method.states)}")


def _read(param: Param, value: Any) -> Any:
    if param.type == INTEGER:
        if not _is_integer(value):
            raise bad(f"Field '{param.name}' must be an integer")
        return int(value)
    if param.type == INTEGERS:
        value = _array(value)
        if value is None:
            raise bad(f"Field '{param.name}' must be an array")
        for place, item in enumerate(value):
            if not _is_integer(item):
                raise bad(f"Field '{param.name}' array item at index {place} must be of type integer")
        return [int(item) for item in value]
    if not isinstance(value, str if param.type == STRING else bool):
        raise bad(f"Field '{param.name}' must be of type {param.type}")
    return value


def _array(value: Any) -> list[Any] | None:
    """A list as Lua has it: null leaves a gap, so [null] is empty, [1, null] is [1], and [null, 1] is no array."""
    if value == {}:
        return []
    if not isinstance(value, list):
        return None
    items = list(value)
    while items and items[-1] is None:
        items.pop()
    return None if any(item is None for item in items) else items


def _is_integer(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or value.is_integer()


_LEFT_OUT = {"1.x": ("pack",), "dev": ()}
_ABOUT = {
    "INTERNAL_ERROR": "Something went wrong inside.",
    "BAD_REQUEST": "The request does not fit.",
    "INVALID_STATE": "The method is not open in this state.",
    "NOT_ALLOWED": "The rules do not allow it.",
}


def _type(param: Param) -> dict[str, Any]:
    if param.type == INTEGERS:
        return {"type": "array", "items": {"type": "integer", "minimum": 0}}
    if param.type == INTEGER:
        return {"type": "integer", "minimum": 1 if param.name == "perishable" else 0}
    if param.type == BOOLEAN:
        return {"type": "boolean"}
    enum = {"deck": "Deck", "stake": "Stake", "seal": "Seal", "edition": "Edition", "enhancement": "Enhancement"}
    if param.name in enum:
        return {"$ref": f"#/components/schemas/{enum[param.name]}"}
    return {"type": "string"}


def _method(method: Method) -> dict[str, Any]:
    answers = {"gamestate": "GameState", "path": "PathResult", "health": "Health"}
    return {
        "name": method.name,
        "summary": method.about,
        "params": [
            {"name": p.name, "description": p.about, "required": p.required, "schema": _type(p)} for p in method.params
        ],
        "result": {"name": method.answer, "schema": {"$ref": f"#/components/schemas/{answers[method.answer]}"}},
        "errors": [{"$ref": f"#/components/errors/{name}"} for name in CODES],
    }


def _choice(values: tuple[str, ...]) -> dict[str, Any]:
    return {"oneOf": [{"const": value} for value in values if value]}


def _object(required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in (*required, *optional)}, "required": list(required)}


def _schemas(dialect: d.Dialect) -> dict[str, Any]:
    states = tuple(state for state in (d.MENU, *d.RUN_STATES, *d.PASSING_STATES) if "SMODS" not in state)
    tags = ("key", "tag", "reroll_available") if dialect.shows_more else ("tag_name", "tag_effect")
    more = ("paused", "challenge", "last_tarot_planet", "starting_deck_size", "tags") if dialect.shows_more else ()
    return {
        "GameState": _object(
            ("state", "round_num", "ante_num", "money"),
            ("won", "deck", "stake", "seed", "used_vouchers", "hands", "round", "blinds", "jokers", "consumables",
             "cards", "hand", "shop", "vouchers", "packs", "pack", *more),
        ),
        "Area": _object(("count", "limit", "cards"), ("highlighted_limit",)),
        "Card": _object(("id", "key", "set", "label", "value", "modifier", "state", "cost")),
        "Blind": _object(("type", "status", "name", "effect", "score"), tags),
        "PathResult": _object(("success", "path")),
        "Health": _object(("status",)),
        "State": _choice(states),
        "Deck": _choice(dialect.decks),
        "Stake": _choice(dialect.stakes),
        "Seal": _choice(dialect.seals),
        "Edition": _choice(dialect.editions),
        "Enhancement": _choice(dialect.enhancements),
        **({"Challenge": _choice(CHALLENGES.keys)} if dialect.shows_more else {}),
    }  # fmt: skip


@cache
def document(dialect: d.Dialect) -> str:
    """The document of a dialect, as JSON."""
    methods = [
        {"name": "rpc.discover", "summary": "This document.", "params": [], "result": {"name": "OpenRPC", "schema": {}}}
    ]
    methods += [_method(m) for m in METHODS[dialect.name].values() if m.name not in _LEFT_OUT[dialect.name]]
    errors = {name: {"code": code, "message": _ABOUT[name], "data": {"name": name}} for name, code in CODES.items()}
    return json.dumps(
        {
            "openrpc": d.OPENRPC,
            "info": {"title": "Balatro, simulated by JimBot, as balatrobot serves it", "version": d.VERSION},
            "methods": methods,
            "components": {"schemas": _schemas(dialect), "errors": errors},
        }
    )
