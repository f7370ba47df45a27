"""The answer to `rpc.discover`: an OpenRPC document made from the table of methods.

As the mod's own, that of 1.x knows neither `pack` nor the state of an open pack.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jimbot.games.balatro.live import dialects as d
from jimbot.games.balatro.live.methods import BOOLEAN, INTEGER, INTEGERS, METHODS, Method, Param
from jimbot.games.balatro.live.refusals import CODES
from jimbot.games.balatro.rules.content import CHALLENGES

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
