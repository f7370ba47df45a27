"""A live gamestate as plain values, checked: our ids in the place of names, and nothing a fair player cannot know.

What lies face down loses its face here: the deck is the sorted list of all unseen cards, those in the hand among them,
whatever order or place the state gives away. Effect texts are never read: they are in the language of the game. A key
that no table has (a mod's) is an error that names it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jimbot.errors import UsageError
from jimbot.games.balatro.live import dialects as d
from jimbot.games.balatro.rules.content import (
    BLINDS,
    CHALLENGES,
    CONSUMABLES,
    HANDS,
    JOKERS,
    LETTER_OF_RANK,
    PACKS,
    RANK_LETTERS,
    SUIT_LETTERS,
    TAGS,
    VOUCHERS,
    Table,
)

JOKER, CONSUMABLE, CARD, VOUCHER, BOOSTER, UNSEEN = "joker", "consumable", "card", "voucher", "pack", "unseen"
_TABLES: dict[str, Table] = {JOKER: JOKERS, CONSUMABLE: CONSUMABLES, VOUCHER: VOUCHERS, BOOSTER: PACKS}
_KIND_OF_SET = {
    "JOKER": JOKER,
    "TAROT": CONSUMABLE,
    "PLANET": CONSUMABLE,
    "SPECTRAL": CONSUMABLE,
    "VOUCHER": VOUCHER,
    "BOOSTER": BOOSTER,
    "DEFAULT": CARD,
    "ENHANCED": CARD,
    "EDITION": CARD,
}
_AREAS = ("jokers", "consumables", "hand", "shop", "vouchers", "packs", "pack")
_GOODS = ("shop", "vouchers", "packs")
_SHORT = 2**15  # what limits and counters of a round stay below
MOST_CARDS = 1000  # of an area: more than any game has


class LiveStateError(UsageError):
    """A live state that cannot be read."""


class Card(NamedTuple):
    """One card of any kind; what it does not have is 0."""

    kind: str
    id: int = -1
    """Of a joker, consumable, voucher or pack; of a playing card its place in a sorted deck."""
    rank: int = 0
    suit: int = 0
    enhancement: int = 0
    edition: int = 0
    seal: int = 0
    eternal: bool = False
    perishable: int = 0
    rental: bool = False
    debuffed: bool = False
    forced: bool = False
    sell: int = 0
    buy: int = 0
    serial: int = 0
    chips: int = 0
    """Permanent ones of a playing card; like the marks told by our own states only."""
    marks: int = 0
    """Further flags, as the record has them."""

    def named(self) -> str:
        """The card's key."""
        if self.kind == CARD:
            return f"{SUIT_LETTERS[self.suit]}_{LETTER_OF_RANK[self.rank]}"
        return "face down" if self.kind == UNSEEN else _TABLES[self.kind].key(self.id)


class Blind(NamedTuple):
    """One of the ante's blinds."""

    status: int
    id: int
    score: float
    tag: int


class Area(NamedTuple):
    """Cards lying together."""

    cards: tuple[Card, ...] = ()
    limit: int = 0
    """-1 where our own state does not say."""


@dataclass(frozen=True)
class Shown:
    """Everything a state tells a fair player."""

    dialect: d.Dialect
    state: str
    ante: int
    round: int
    money: int
    won: bool
    deck: int
    stake: int
    challenge: int
    seed: str
    vouchers: frozenset[int]
    levels: tuple[int, ...]
    played: tuple[int, ...]
    played_this_round: tuple[int, ...]
    counters: Mapping[str, float]
    """hands_left, hands_played, discards_left, discards_used, reroll_cost, chips"""
    blinds: tuple[Blind, ...]
    areas: Mapping[str, Area]
    unseen: tuple[Card, ...]
    """Undrawn and face-down cards, sorted."""
    undrawn: int
    deck_size: int
    # dev only; None where the state does not say
    tags: tuple[int, ...] | None
    fool: int | None
    most_played: int | None
    starting_deck_size: int | None
    # our own states only
    laid_away: tuple[Card, ...] = ()
    """Cards played and discarded this round."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What is told as the record has it, by the record's names."""

    @property
    def choosing(self) -> bool:
        """Whether the choice of blinds is up, maybe under an open pack."""
        offered = any(blind.status == d.STATUS.index("SELECT") for blind in self.blinds)
        return offered and not any(self.areas[name].cards for name in _GOODS)

    @property
    def in_shop(self) -> bool:
        return self.state == d.SHOP or (self.state == d.PACK and not self.choosing)


def read_shown(state: Any, dialect: d.Dialect | None = None) -> Shown:
    """Reads a gamestate; the dialect is known by the spelling of its deck where none is given."""
    if not isinstance(state, Mapping) or not isinstance(state.get("state"), str):
        raise LiveStateError("The live state has no text 'state'; expected a gamestate of balatrobot.")
    if state["state"] not in d.RUN_STATES:
        raise LiveStateError(f"Nothing is decided in the state {state['state']}; wait until a run asks for a move.")
    dialect = dialect or d.dialect_of_state(state)
    if dialect is None:
        raise LiveStateError(
            f"The deck {state.get('deck')!r} is none of the game's; is it a mod's? It cannot be played."
        )
    hands = _object(state, "hands")
    levels, played, in_round = (
        tuple(_whole(_object(hands, name), what, 0) for name in HANDS.keys)
        for what in ("level", "played", "played_this_round")
    )
    areas = {name: _area(state, name, dialect) for name in _AREAS}
    if not isinstance(state.get("cards"), Mapping):
        raise LiveStateError("The live state has no area 'cards'; use balatrobot 1.2.0 or newer.")
    pile = _area(state, "cards", dialect, in_deck=True)
    leaked = [_card(card, dialect, True) for card in _cards(state, "hand") if _is_hidden(card) and _has_face(card)]
    return Shown(
        dialect=dialect,
        state=state["state"],
        ante=_whole(state, "ante_num"),
        round=_whole(state, "round_num"),
        money=_whole(state, "money"),
        won=bool(state.get("won", False)),
        deck=_enum(dialect, "deck", state.get("deck")),
        stake=_enum(dialect, "stake", state.get("stake")),
        challenge=_key(CHALLENGES, "challenge", state["challenge"]) if state.get("challenge") else 0,
        seed=str(state.get("seed", "")),
        vouchers=frozenset(_key(VOUCHERS, "voucher", key) for key in _object(state, "used_vouchers")),
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


def _order(card: Card) -> tuple[int, ...]:
    return (card.serial, card.rank, card.suit, card.enhancement, card.edition, card.seal)


# --- values ---


def _object(container: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A member that is an object; an empty one is written as a list."""
    value = container.get(name)
    if value == [] or value is None:
        return {}
    if not isinstance(value, Mapping):
        raise LiveStateError(f"'{name}' of the live state is {_short(value)}; expected an object.")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise LiveStateError(f"'{name}' of the live state is {_short(value)}; expected a number.")
    return value


def _whole(container: Mapping[str, Any], name: str, usual: int | None = None, most: int = 2**31) -> int:
    value = container.get(name, usual)
    number = _number(value, name)
    if not math.isfinite(number) or number != int(number) or abs(number) >= most:
        raise LiveStateError(f"'{name}' of the live state is {_short(value)}; expected a whole number.")
    return int(number)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _foreign(kind: str, name: Any) -> LiveStateError:
    """Something of a mod, or of a version nobody knows."""
    return LiveStateError(
        f"The {kind} {_short(name)} of the live state is none of the game's; play without the mod it belongs to."
    )


def _key(table: Table, kind: str, key: Any) -> int:
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
        raise LiveStateError(f"'tags' of the live state is {_short(tags)}; expected a list of objects.")
    return tuple(_key(TAGS, "tag", tag.get("key")) for tag in tags)


def _fool(state: Mapping[str, Any]) -> int:
    key = state.get("last_tarot_planet")
    return -1 if key is None else _key(CONSUMABLES, "consumable", key)


def _most_played(state: Mapping[str, Any]) -> int | None:
    name = _object(state, "round").get("most_played_hand")
    return d.HAND_OF_NAME.get(name) if isinstance(name, str) else None


def _blind(blind: Mapping[str, Any], place: str, dialect: d.Dialect) -> Blind:
    status = blind.get("status")
    if status not in d.STATUS:
        raise LiveStateError(f"The {place} blind is {_short(status)}; expected one of {', '.join(d.STATUS)}.")
    name = blind.get("name")
    if dialect.shows_more and "key" in blind:
        number = _key(BLINDS, "blind", blind["key"])
    elif isinstance(name, str) and name in d.BLIND_OF_NAME:
        number = d.BLIND_OF_NAME[name]
    else:
        raise _foreign("blind", name)
    tag = _object(blind, "tag").get("name") if dialect.shows_more else blind.get("tag_name")
    if tag and (not isinstance(tag, str) or tag not in d.TAG_OF_NAME):
        raise _foreign("tag", tag)
    return Blind(
        d.STATUS.index(status), number, _number(blind.get("score"), "score"), d.TAG_OF_NAME[tag] if tag else -1
    )


# --- cards ---


def _cards(state: Mapping[str, Any], area: str) -> list[Any]:
    cards = _object(state, area).get("cards")
    if cards is None or cards == {}:
        return []
    if not isinstance(cards, list) or len(cards) > MOST_CARDS or not all(isinstance(card, Mapping) for card in cards):
        raise LiveStateError(f"The cards of '{area}' in the live state are no list of at most {MOST_CARDS} objects.")
    return cards


def _area(state: Mapping[str, Any], name: str, dialect: d.Dialect, in_deck: bool = False) -> Area:
    cards = tuple(_card(card, dialect, in_deck) for card in _cards(state, name))
    return Area(cards, _whole(_object(state, name), "limit", len(cards), _SHORT))


def _is_hidden(card: Mapping[str, Any]) -> bool:
    return bool(_object(card, "state").get("hidden"))


def _has_face(card: Mapping[str, Any]) -> bool:
    return bool(card.get("key"))


def _card(card: Mapping[str, Any], dialect: d.Dialect, in_deck: bool) -> Card:
    kind = _KIND_OF_SET.get(str(card.get("set")))
    if kind is None:
        raise _foreign("set of cards", card.get("set"))
    state, modifier, cost = (_object(card, name) for name in ("state", "modifier", "cost"))
    forced = bool(state.get("highlight")) and not in_deck
    if state.get("hidden") and not in_deck:
        return _face_down(kind, card, dialect, forced)
    looks = Card(
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
    if kind != CARD:
        return looks._replace(id=_key(_TABLES[kind], kind, card.get("key")))
    rank, suit = _face(card)
    enhancement = _enum(dialect, "enhancement", modifier["enhancement"]) if "enhancement" in modifier else 0
    return looks._replace(rank=rank, suit=suit, enhancement=enhancement)


def _face_down(kind: str, card: Mapping[str, Any], dialect: d.Dialect, forced: bool) -> Card:
    """A card nobody sees the face of. Which jokers lie there is known, only not where."""
    if kind == JOKER and _has_face(card):
        visible = {**card, "state": {name: yes for name, yes in _object(card, "state").items() if name != "hidden"}}
        return _card(visible, dialect, False)._replace(kind=UNSEEN)
    return Card(UNSEEN, forced=forced)


def _face(card: Mapping[str, Any]) -> tuple[int, int]:
    value = _object(card, "value")
    rank, suit = value.get("rank"), value.get("suit")
    if str(rank) not in RANK_LETTERS or str(suit) not in tuple(SUIT_LETTERS):
        raise _foreign("playing card", card.get("key"))
    return RANK_LETTERS[str(rank)], SUIT_LETTERS.index(str(suit))


# --- what two states must agree in ---


def essence(state: Any, dialect: d.Dialect | None = None) -> dict[str, Any]:
    """What a state says that a simulator can be held to: no ids, no texts, no hidden order; by names."""
    shown = state if isinstance(state, Shown) else read_shown(state, dialect)
    out: dict[str, Any] = {
        "state": shown.state,
        "ante": shown.ante,
        "round": shown.round,
        "money": shown.money,
        "won": shown.won,
        "vouchers": sorted(VOUCHERS.key(voucher) for voucher in shown.vouchers),
        "levels": dict(zip(HANDS.keys, shown.levels, strict=True)),
        "played": dict(zip(HANDS.keys, shown.played, strict=True)),
        "blinds": {
            place: {"status": d.STATUS[blind.status], "key": BLINDS.key(blind.id), "score": blind.score,
                    "tag": TAGS.key(blind.tag) if blind.tag >= 0 else ""}
            for place, blind in zip(d.PLACES, shown.blinds, strict=True)
        },
        "jokers": [_looks(card, "sell") for card in shown.areas["jokers"].cards],
        "consumables": [_looks(card, "sell") for card in shown.areas["consumables"].cards],
        "joker_slots": shown.areas["jokers"].limit,
        "consumable_slots": shown.areas["consumables"].limit,
        "hand": [_looks(card) for card in shown.areas["hand"].cards],
        "unseen": sorted(str(_looks(card)) for card in shown.unseen),
        "deck_size": shown.deck_size,
    }  # fmt: skip
    if shown.state == d.SELECTING_HAND:
        out |= {name: value for name, value in shown.counters.items() if name != "reroll_cost"}
        out["played_this_round"] = dict(zip(HANDS.keys, shown.played_this_round, strict=True))
        out["hand_limit"] = shown.areas["hand"].limit
    if shown.in_shop:
        out |= {name: [_looks(card, "buy") for card in shown.areas[name].cards] for name in _GOODS}
        out["reroll_cost"] = shown.counters.get("reroll_cost")
    if shown.state == d.PACK:
        out["pack"] = [_looks(card) for card in shown.areas["pack"].cards]
    if shown.dialect.shows_more:
        out["tags"] = [TAGS.key(tag) for tag in shown.tags or ()]
        out["last_tarot_planet"] = CONSUMABLES.key(shown.fool) if shown.fool is not None and shown.fool >= 0 else ""
        out["most_played_hand"] = HANDS.key(shown.most_played) if shown.most_played is not None else ""
    return out


_SAME_PACK = {
    "p_buffoon_normal_2": "p_buffoon_normal_1"
}  # which of its pictures a run's first pack shows is not seeded
_MARKS = ("edition", "seal", "enhancement", "eternal", "perishable", "rental", "debuffed", "forced")


def _looks(card: Card, price: str = "") -> Any:
    if card.kind == UNSEEN:
        return "face down, forced" if card.forced else "face down"
    out = {"key": _SAME_PACK.get(card.named(), card.named())} | {
        name: value for name in _MARKS if (value := getattr(card, name))
    }
    return out | {price: getattr(card, price)} if price else out


def differences(recorded: Mapping[str, Any], simulated: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(field, first, second) wherever two essences differ."""
    out: list[tuple[str, Any, Any]] = []
    for name in dict.fromkeys([*recorded, *simulated]):
        first, second = recorded.get(name), simulated.get(name)
        if not _same(first, second):
            out.append((name, first, second))
    return out


def _same(first: Any, second: Any) -> bool:
    """Equal, numbers to the 14 digits that the mod writes."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)
    if isinstance(first, float | int) and isinstance(second, float | int):
        return math.isclose(first, second, rel_tol=1e-12)
    return first == second
