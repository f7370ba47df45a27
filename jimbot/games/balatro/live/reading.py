"""A live gamestate as plain values, checked: our ids in the place of names, and nothing a fair player cannot know.

What lies face down loses its face here: the deck is the sorted list of all unseen cards, those in the hand among them,
whatever order or place the state gives away. Effect texts are never read: they are in the language of the game. A key
that no table has (a mod's) is an error that names it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.states import shown

_KIND_OF_SET = {
    "JOKER": shown.JOKER,
    "TAROT": shown.CONSUMABLE,
    "PLANET": shown.CONSUMABLE,
    "SPECTRAL": shown.CONSUMABLE,
    "VOUCHER": shown.VOUCHER,
    "BOOSTER": shown.BOOSTER,
    "DEFAULT": shown.CARD,
    "ENHANCED": shown.CARD,
    "EDITION": shown.CARD,
}
_AREAS = ("jokers", "consumables", "hand", "shop", "vouchers", "packs", "pack")
_SHORT = 2**15  # what limits and counters of a round stay below
MOST_CARDS = 1000  # of an area: more than any game has


def read_shown(state: Any, dialect: d.Dialect | None = None) -> shown.Shown:
    """Reads a gamestate; the dialect is known by the spelling of its deck where none is given."""
    if not isinstance(state, Mapping) or not isinstance(state.get("state"), str):
        raise shown.LiveStateError("The live state has no text 'state'; expected a gamestate of balatrobot.")
    if state["state"] not in d.RUN_STATES:
        raise shown.LiveStateError(
            f"Nothing is decided in the state {state['state']}; wait until a run asks for a move."
        )
    dialect = dialect or d.dialect_of_state(state)
    if dialect is None:
        raise shown.LiveStateError(
            f"The deck {state.get('deck')!r} is none of the game's; is it a mod's? It cannot be played."
        )
    hands = _object(state, "hands")
    levels, played, in_round = (
        tuple(_whole(_object(hands, name), what, 0) for name in content.HANDS.keys)
        for what in ("level", "played", "played_this_round")
    )
    areas = {name: _area(state, name, dialect) for name in _AREAS}
    if not isinstance(state.get("cards"), Mapping):
        raise shown.LiveStateError("The live state has no area 'cards'; use balatrobot 1.2.0 or newer.")
    pile = _area(state, "cards", dialect, in_deck=True)
    leaked = [_card(card, dialect, True) for card in _cards(state, "hand") if _is_hidden(card) and _has_face(card)]
    return shown.Shown(
        dialect=dialect,
        state=state["state"],
        ante=_whole(state, "ante_num"),
        round=_whole(state, "round_num"),
        money=_whole(state, "money"),
        won=bool(state.get("won", False)),
        deck=_enum(dialect, "deck", state.get("deck")),
        stake=_enum(dialect, "stake", state.get("stake")),
        challenge=_key(content.CHALLENGES, "challenge", state["challenge"]) if state.get("challenge") else 0,
        seed=str(state.get("seed", "")),
        vouchers=frozenset(_key(content.VOUCHERS, "voucher", key) for key in _object(state, "used_vouchers")),
        levels=levels,
        played=played,
        played_this_round=in_round,
        counters=_counters(_object(state, "round")),
        blinds=tuple(_blind(_object(_object(state, "blinds"), place), place, dialect) for place in d.PLACES),
        areas=areas,
        unseen=tuple(sorted([*pile.cards, *leaked], key=_order)),
        undrawn=_whole(_object(state, "cards"), "count", len(pile.cards)),
        deck_size=pile.limit,
        tags=_tags(state) if dialect.shows_more else None,
        fool=_fool(state) if dialect.shows_more else None,
        most_played=_most_played(state) if dialect.shows_more else None,
        starting_deck_size=_whole(state, "starting_deck_size") if "starting_deck_size" in state else None,
    )


_COUNTERS = ("hands_left", "hands_played", "discards_left", "discards_used", "reroll_cost")


def _counters(values: Mapping[str, Any]) -> dict[str, float]:
    out: dict[str, float] = {name: _whole(values, name, most=_SHORT) for name in _COUNTERS if name in values}
    return out | ({"chips": _number(values["chips"], "chips")} if "chips" in values else {})


def _order(card: shown.Card) -> tuple[int, ...]:
    return (card.serial, card.rank, card.suit, card.enhancement, card.edition, card.seal)


# --- values ---


def _object(container: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A member that is an object; an empty one is written as a list."""
    value = container.get(name)
    if value == [] or value is None:
        return {}
    if not isinstance(value, Mapping):
        raise shown.LiveStateError(f"'{name}' of the live state is {_short(value)}; expected an object.")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise shown.LiveStateError(f"'{name}' of the live state is {_short(value)}; expected a number.")
    return value


def _whole(container: Mapping[str, Any], name: str, usual: int | None = None, most: int = 2**31) -> int:
    value = container.get(name, usual)
    number = _number(value, name)
    if not math.isfinite(number) or number != int(number) or abs(number) >= most:
        raise shown.LiveStateError(f"'{name}' of the live state is {_short(value)}; expected a whole number.")
    return int(number)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _foreign(kind: str, name: Any) -> shown.LiveStateError:
    """Something of a mod, or of an unknown version."""
    return shown.LiveStateError(
        f"The {kind} {_short(name)} of the live state is none of the game's; play without the mod it belongs to."
    )


def _key(table: content.ContentTable, kind: str, key: Any) -> int:
    if not isinstance(key, str) or key not in table:
        raise _foreign(kind, key)
    return table.id(key)


def _enum(dialect: d.Dialect, kind: str, text: Any) -> int:
    if not isinstance(text, str) or text not in dialect.ids[kind]:
        raise _foreign(kind, text)
    return dialect.ids[kind][text]


def _tags(state: Mapping[str, Any]) -> tuple[int, ...]:
    tags = state.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, Mapping) for tag in tags):
        raise shown.LiveStateError(f"'tags' of the live state is {_short(tags)}; expected a list of objects.")
    return tuple(_key(content.TAGS, "tag", tag.get("key")) for tag in tags)


def _fool(state: Mapping[str, Any]) -> int:
    key = state.get("last_tarot_planet")
    return -1 if key is None else _key(content.CONSUMABLES, "consumable", key)


def _most_played(state: Mapping[str, Any]) -> int | None:
    name = _object(state, "round").get("most_played_hand")
    return d.HAND_OF_NAME.get(name) if isinstance(name, str) else None


def _blind(blind: Mapping[str, Any], place: str, dialect: d.Dialect) -> shown.Blind:
    status = blind.get("status")
    if status not in d.STATUS:
        raise shown.LiveStateError(f"The {place} blind is {_short(status)}; expected one of {', '.join(d.STATUS)}.")
    name = blind.get("name")
    if dialect.shows_more and "key" in blind:
        number = _key(content.BLINDS, "blind", blind["key"])
    elif isinstance(name, str) and name in d.BLIND_OF_NAME:
        number = d.BLIND_OF_NAME[name]
    else:
        raise _foreign("blind", name)
    tag = _object(blind, "tag").get("name") if dialect.shows_more else blind.get("tag_name")
    if tag and (not isinstance(tag, str) or tag not in d.TAG_OF_NAME):
        raise _foreign("tag", tag)
    return shown.Blind(
        d.STATUS.index(status), number, _number(blind.get("score"), "score"), d.TAG_OF_NAME[tag] if tag else -1
    )


# --- cards ---


def _cards(state: Mapping[str, Any], area: str) -> list[Any]:
    cards = _object(state, area).get("cards")
    if cards is None or cards == {}:
        return []
    if not isinstance(cards, list) or len(cards) > MOST_CARDS or not all(isinstance(card, Mapping) for card in cards):
        raise shown.LiveStateError(
            f"The cards of '{area}' in the live state are no list of at most {MOST_CARDS} objects."
        )
    return cards


def _area(state: Mapping[str, Any], name: str, dialect: d.Dialect, in_deck: bool = False) -> shown.Area:
    cards = tuple(_card(card, dialect, in_deck) for card in _cards(state, name))
    return shown.Area(cards, _whole(_object(state, name), "limit", len(cards), _SHORT))


def _is_hidden(card: Mapping[str, Any]) -> bool:
    return bool(_object(card, "state").get("hidden"))


def _has_face(card: Mapping[str, Any]) -> bool:
    return bool(card.get("key"))


def _card(card: Mapping[str, Any], dialect: d.Dialect, in_deck: bool) -> shown.Card:
    kind = _KIND_OF_SET.get(str(card.get("set")))
    if kind is None:
        raise _foreign("set of cards", card.get("set"))
    state, modifier, cost = (_object(card, name) for name in ("state", "modifier", "cost"))
    forced = bool(state.get("highlight")) and not in_deck
    if state.get("hidden") and not in_deck:
        return _face_down(kind, card, dialect, forced)
    looks = shown.Card(
        kind,
        edition=_enum(dialect, "edition", modifier["edition"]) if "edition" in modifier else 0,
        seal=_enum(dialect, "seal", modifier["seal"]) if "seal" in modifier else 0,
        eternal=bool(modifier.get("eternal")),
        perishable=_whole(modifier, "perishable", 0),
        rental=bool(modifier.get("rental")),
        debuffed=bool(state.get("debuff")),
        forced=forced,
        sell=_whole(cost, "sell", 0),
        buy=_whole(cost, "buy", 0),
        serial=_whole(card, "id", 0),
    )
    if kind != shown.CARD:
        return looks._replace(id=_key(shown.TABLES[kind], kind, card.get("key")))
    rank, suit = _face(card)
    enhancement = _enum(dialect, "enhancement", modifier["enhancement"]) if "enhancement" in modifier else 0
    return looks._replace(rank=rank, suit=suit, enhancement=enhancement)


def _face_down(kind: str, card: Mapping[str, Any], dialect: d.Dialect, forced: bool) -> shown.Card:
    """A card whose face is hidden. Which jokers lie there is known, only not where."""
    if kind == shown.JOKER and _has_face(card):
        visible = {**card, "state": {name: yes for name, yes in _object(card, "state").items() if name != "hidden"}}
        return _card(visible, dialect, False)._replace(kind=shown.UNSEEN)
    return shown.Card(shown.UNSEEN, forced=forced)


def _face(card: Mapping[str, Any]) -> tuple[int, int]:
    value = _object(card, "value")
    rank, suit = value.get("rank"), value.get("suit")
    if str(rank) not in content.RANK_LETTERS or str(suit) not in tuple(content.SUIT_LETTERS):
        raise _foreign("playing card", card.get("key"))
    return content.RANK_LETTERS[str(rank)], content.SUIT_LETTERS.index(str(suit))
