"""A state by the game's own keys: one table of fields, each with how it is written and how it is read.

Recordings write the fields that all states have (`read_state`) and show face-down cards openly. A whole state
(`whole_state`, `RecordedRun.state()`) tells on top what else its player can know: the cards that are left, what the run
has counted, a choice half made. Nothing here tells the order of the pile. `plain.py` reads whole states again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules import state as r
from jimbot.games.balatro.rules.chance.streams import BANKS
from jimbot.games.balatro.states.shown import CARD, CONSUMABLE, JOKER, UNSEEN, Card
from jimbot.games.balatro.view.derived import read_derived

BLIND_NAMES = ("Small", "Big", "Boss")
JOKER_VALUES = ("mult", "x_mult", "chips", "dollars", "h_size", "uses")  # names of `joker_value`, by joker
JOKER_COUNTERS = ("yorick_discards", "invis_rounds")  # names of `joker_counter`, by joker
_OTHER_NAMES = {"caino_xmult": "x_mult"}  # the game's own name for what recordings call otherwise
_LOYALTY_CARD, _TO_DO_LIST = c.JOKERS.id("j_loyalty_card"), c.JOKERS.id("j_todo_list")
_STICKERS = {"eternal": r.ETERNAL, "perishable": r.PERISHABLE, "rental": r.RENTAL}
_PAYOUT_PARTS = ("blind", "hands", "jokers", "tags", "interest")
_PLAYED = {"played": "hand_played", "played_this_round": "hand_played_round"}
_BLIND_STATES = ("upcoming", "selectable", "current", "skipped", "defeated")
_GRABBED = ("", "joker", "consumable", "hand")
_CARD_MARKS = {
    "face_down": r.CARD_FACE_DOWN, "forced": r.CARD_FORCED, "played_this_ante": r.CARD_PLAYED_THIS_ANTE,
}  # fmt: skip
_JOKER_MARKS = {"face_down": r.FACE_DOWN, "pinned": r.PINNED}
_NAMED = {"last_hand": c.HANDS, "most_played_hand": c.HANDS, "mouth_hand": c.HANDS, "last_tarot_planet": c.CONSUMABLES}
"""Fields of the record that are written by key, or as None."""
_NUMBERS = (
    "won", "endless", "win_ante", "steps", "reorderings", "sort_by_suit",
    "skips", "hands_played", "unused_discards", "tarots_used", "planets_used", "ectoplasm_uses", "michel_extinct",
    "hands_per_round", "discards_per_round", "hand_size", "joker_slots", "consumable_slots", "starting_deck_size",
    "interest_cap", "interest_per_five", "inflation", "discount_percent", "edition_rate",
    "hands_played_round", "discards_used", "round_hand_size", "blind_took_hands", "blind_took_discards",
    "blind_triggered", "blind_primed", "eye_used", "boss_rerolled", "payout",
    "shop_slots", "reroll_base", "reroll_increase", "reroll_rebate", "free_rerolls", "d6_shop",
)  # fmt: skip
"""Fields of the record that are written as they are."""


class _Source(NamedTuple):
    """What a field is written from."""

    g: Any
    prices: Any
    whole: bool


class Field(NamedTuple):
    """One key of a state."""

    key: str
    write: Callable[[_Source], Any]
    read: Callable[[Any], Mapping[str, Any]] | None = None
    """Its value → fields of the record; None where `plain.py` reads it together with others."""
    when: Callable[[Any], bool] | None = None
    """The records it is written for; None: all."""
    needed: str = ""
    """The phase in which no reader can do without it; those of all phases are always needed."""
    whole: bool = False
    """Whether only whole states tell it."""


def read_state(g: Any) -> dict[str, Any]:
    """The state of a game as recordings write it."""
    return _written(_Source(g, read_derived(g), whole=False))


def whole_state(g: Any) -> dict[str, Any]:
    """Everything that the player of a game can know, ready for JSON."""
    return _written(_Source(g, read_derived(g), whole=True))


def _written(source: _Source) -> dict[str, Any]:
    return {
        field.key: field.write(source)
        for field in FIELDS
        if (source.whole or not field.whole) and (field.when is None or field.when(source.g))
    }


def read_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """What of a state goes into the record as it is, by the record's names."""
    out: dict[str, Any] = {}
    for field in FIELDS:
        if field.read is not None and field.key in values:
            out |= field.read(values[field.key])
    return out


# --- cards ---

_LOOKS = (
    ("enh", "enhancement", c.ENHANCEMENTS, ""),
    ("ed", "edition", c.EDITIONS, "e_"),
    ("seal", "seal", c.SEALS, ""),
)


def _looks(g: Any, kind: str, index: int, names: tuple[str, ...] = ("enh", "ed", "seal")) -> dict[str, Any]:
    """Enhancement, edition and seal of a card, joker, consumable or offer, as far as it has them."""
    looks = (
        (key, table, prefix, int(g[f"{kind}_{name}"][index])) for key, name, table, prefix in _LOOKS if key in names
    )
    return {key: table.key(number).removeprefix(prefix) for key, table, prefix, number in looks if number}


def read_looks(value: Mapping[str, Any]) -> dict[str, Any]:
    """Ids of enhancement, edition and seal by name; 0 for what is absent."""
    return {name: table.id(prefix + value[key]) if key in value else 0 for key, name, table, prefix in _LOOKS}


def _marks(flags: int, names: Mapping[str, int]) -> dict[str, int]:
    return {name: 1 for name, flag in names.items() if flags & flag}


def _flags(value: Mapping[str, Any], names: Mapping[str, int]) -> int:
    return sum(flag for name, flag in names.items() if value.get(name))


def _card(source: _Source, slot: int) -> dict[str, Any]:
    """A playing card the player owns."""
    g, flags = source.g, int(source.g.card_flags[slot])
    out: dict[str, Any] = {"c": c.card_code(int(g.card_rank[slot]), int(g.card_suit[slot]))} | _looks(g, "card", slot)
    if g.card_extra_chips[slot]:
        out["perma"] = int(g.card_extra_chips[slot])
    if flags & r.CARD_DEBUFFED:
        out["debuff"] = 1
    return out | _marks(flags, _CARD_MARKS) if source.whole else out


def read_card(value: Mapping[str, Any]) -> Card:
    """A playing card; one that lies face down need not tell its face, and is then any of the undrawn ones."""
    if value.get("face_down") and "c" not in value:
        return Card(UNSEEN, forced=bool(value.get("forced")))
    rank, suit = c.parse_card(value["c"])
    return Card(
        CARD, rank=rank, suit=suit, debuffed=bool(value.get("debuff")), chips=int(value.get("perma", 0)),
        marks=_flags(value, _CARD_MARKS), **read_looks(value),
    )  # fmt: skip


def _lying(source: _Source, place: int) -> list[dict[str, Any]]:
    """The cards of a place, sorted: their order is hidden."""
    g = source.g
    return sorted(
        (_card(source, int(slot)) for slot in g.cards[: g.card_count] if g.card_place[slot] == place), key=str
    )


def _joker(source: _Source, index: int) -> dict[str, Any]:
    g, flags = source.g, int(source.g.joker_flags[index])
    out: dict[str, Any] = {"key": c.JOKERS.key(int(g.joker_id[index])), "sell": int(source.prices.jokers[index])}
    out |= _looks(g, "joker", index, ("ed",)) | _marks(flags, _STICKERS | {"debuff": r.DEBUFFED})
    if flags & r.PERISHABLE:
        out["perish_tally"] = int(g.joker_perish[index])
    out |= joker_state(g, index)
    if source.whole:
        out |= _marks(flags, _JOKER_MARKS)
        out |= {"value": float(g.joker_value[index])} if g.joker_value[index] else {}
    return out


def joker_state(g: Any, index: int) -> dict[str, Any]:
    """What a joker has grown to or counts, by the names recordings use."""
    joker = int(g.joker_id[index])
    out: dict[str, Any] = {}
    for name in _state_names(joker):
        if name in JOKER_VALUES:
            out[name] = round(float(g.joker_value[index]), 9)
        else:
            out[name] = int(g.joker_counter[index])
    if joker == _TO_DO_LIST:
        out["hand"] = c.HANDS.key(int(g.joker_counter[index])) if g.joker_counter[index] >= 0 else ""
    elif joker == _LOYALTY_CARD:
        out["hands_since_bought"] = int(g.hands_played - g.joker_counter[index])
    return out


def grow_joker(g: Any, index: int, joker: Mapping[str, Any]) -> None:
    """Gives a joker of a record what it has grown to and counts; the inverse of `joker_state`."""
    number = int(g.joker_id[index])
    for name in _state_names(number):
        if name in joker and name in JOKER_VALUES:
            g.joker_value[index] = float(joker[name])
        elif name in joker:
            g.joker_counter[index] = int(joker[name])
    if "value" in joker:  # with all its digits
        g.joker_value[index] = float(joker["value"])
    if number == _TO_DO_LIST:
        g.joker_counter[index] = c.HANDS.id(joker["hand"])
    elif number == _LOYALTY_CARD:
        g.joker_counter[index] = int(g.hands_played) - int(joker["hands_since_bought"])


def _state_names(joker: int) -> list[str]:
    names = (_OTHER_NAMES.get(name, name) for name in c.JOKERS.rows[joker].get("start", {}))
    return [name for name in names if name in JOKER_VALUES or name in JOKER_COUNTERS]


def _consumable(source: _Source, index: int) -> dict[str, Any]:
    g = source.g
    out = {"key": c.CONSUMABLES.key(int(g.consumable_id[index])), "sell": int(source.prices.consumables[index])}
    return out | _looks(g, "consumable", index, ("ed",))


def _offer(source: _Source, place: int, cost: int | None = None) -> dict[str, Any]:
    g, kind, number = source.g, source.g.offer_kind[place], int(source.g.offer_id[place])
    if kind == r.OFFER_CARD:
        out = {"c": c.card_code(number, int(g.offer_suit[place]))} | _looks(g, "offer", place)
    else:
        out = {"key": (c.JOKERS if kind == r.OFFER_JOKER else c.CONSUMABLES).key(number)} | _looks(g, "offer", place)
        out |= _marks(int(g.offer_flags[place]), _STICKERS)
    out |= {} if cost is None else {"cost": cost}
    counter = int(g.offer_counter[place])
    if source.whole and kind == r.OFFER_JOKER:  # what it would begin to count from
        if number == _TO_DO_LIST:
            out |= {"hand": c.HANDS.key(counter)} if counter >= 0 else {}
        elif counter:
            out["counter"] = counter
    return out


def read_thing(value: Mapping[str, Any], buy: int = 0, sell: int = 0) -> Card:
    """A card of any kind: a playing card has a code, the others have keys."""
    if "c" in value:
        return read_card(value)._replace(buy=buy)
    kind, table = (JOKER, c.JOKERS) if value["key"] in c.JOKERS else (CONSUMABLE, c.CONSUMABLES)
    perishable = bool(value.get("perishable"))
    return Card(
        kind, table.id(value["key"]), edition=read_looks(value)["edition"], eternal=bool(value.get("eternal")),
        perishable=int(value.get("perish_tally", 5)) if perishable else 0, rental=bool(value.get("rental")),
        debuffed=bool(value.get("debuff")), sell=sell, buy=buy,
        marks=_flags(value, _JOKER_MARKS) | r.PERISHABLE * perishable,
    )  # fmt: skip


# --- what is on offer ---


def _shop(source: _Source) -> dict[str, Any]:
    g, prices = source.g, source.prices
    vouchers = [[c.VOUCHERS.key(int(g.shop_voucher[i])), int(prices.vouchers[i])] for i in range(g.voucher_count)]
    out = {
        "cards": [_offer(source, place, int(prices.offers[place])) for place in range(g.shop_count)],
        "packs": [[c.PACKS.key(int(g.booster_id[i])), int(prices.boosters[i])] for i in range(g.booster_count)],
        "voucher": vouchers[0] if vouchers else None,
        "reroll": int(prices.reroll),
    }
    return out | {"vouchers": vouchers} if source.whole else out


def _pack(source: _Source) -> dict[str, Any]:
    g = source.g
    cards = [_offer(source, r.FIRST_PACK_OFFER + number) for number in range(g.pack_count)]
    return {"key": c.PACKS.key(int(g.pack_id)), "left": int(g.pack_picks), "cards": cards}


# --- the run ---


def _targets(source: _Source) -> dict[str, Any]:
    g = source.g
    return {
        "idol": {"rank": c.LETTER_OF_RANK[int(g.idol_rank)], "suit": c.SUITS[g.idol_suit]},
        "mail": c.LETTER_OF_RANK[int(g.mail_rank)],
        "ancient": c.SUITS[g.ancient_suit],
        "castle": c.SUITS[g.castle_suit],
    }


def _read_targets(targets: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "idol_rank": c.RANK_LETTERS[targets["idol"]["rank"]],
        "idol_suit": c.SUITS.index(targets["idol"]["suit"]),
        "mail_rank": c.RANK_LETTERS[targets["mail"]],
        "ancient_suit": c.SUITS.index(targets["ancient"]),
        "castle_suit": c.SUITS.index(targets["castle"]),
    }


def _read_earnings(earnings: Mapping[str, Any]) -> dict[str, Any]:
    parts = [int(earnings[part]) for part in _PAYOUT_PARTS]
    return {"payout_part": parts, "payout": sum(parts)}


def _read_numbers(numbers: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in numbers:
        if name not in _NUMBERS:
            raise UnknownNameError("figure of a state", str(name), _NUMBERS)
    return numbers


def _read_place(value: Any) -> int:
    if not 0 <= int(value) < r.MAX_HAND:
        raise UsageError(f"A card in place {value!r} is chosen or grabbed; expected a place of 0 to {r.MAX_HAND - 1}.")
    return int(value)


def _read_grabbed(value: Any) -> dict[str, int]:
    return {"grabbed": _GRABBED.index(value[0]), "grabbed_index": _read_place(value[1])} if value else {}


def bank_of(ante: int) -> int:
    """Where the record keeps what an ante's Orbital Tags raise."""
    return (ante + BANKS * (1 << 20)) % BANKS


def _tag_hands(source: _Source) -> list[str | None]:
    """What the Orbital Tags of Small and Big raise, once their choice was shown."""
    g, bank = source.g, bank_of(int(source.g.ante))
    hands = g.orbital_hand[bank][:2].tolist() if g.orbital_ante[bank] == g.ante else (-1, -1)
    return [c.HANDS.key(hand) if hand >= 0 else None for hand in hands]


def _by_hand(numbers: Any, usual: int) -> dict[str, int]:
    """A number per poker hand, without the usual ones."""
    return {c.HANDS.key(hand): int(number) for hand, number in enumerate(numbers) if number != usual}


# --- the table ---


def _in(*phases: int) -> Callable[[Any], bool]:
    return lambda g: int(g.phase) in phases


def _number(key: str, name: str = "") -> Field:
    return Field(key, lambda source: int(source.g[name or key]))


def _named(name: str, table: c.ContentTable) -> Field:
    return Field(
        name,
        lambda source: table.key(int(source.g[name])) if source.g[name] >= 0 else None,
        lambda key: {name: table.id(key) if key else -1},
        whole=True,
    )


def _counted(key: str, name: str) -> Field:
    return Field(key, lambda source: _by_hand(source.g[name], 0), whole=True)


def _shop_is_open(g: Any) -> bool:
    return g.phase == r.SHOP or (g.phase == r.PACK and g.pack_phase == r.SHOP)


FIELDS = (
    Field("phase", lambda s: r.PHASE_NAMES[s.g.phase]),
    _number("ante"),
    _number("round", "rounds"),
    _number("money"),
    Field("on_deck", lambda s: BLIND_NAMES[s.g.on_deck], lambda name: {"on_deck": BLIND_NAMES.index(name)}),
    Field("boss", lambda s: c.BLINDS.key(int(s.g.boss))),
    Field("tags", lambda s: [c.TAGS.key(int(tag)) for tag in s.g.skip_tag]),
    Field("held_tags", lambda s: [c.TAGS.key(int(tag)) for tag in s.g.tag_id[: s.g.tag_count]]),
    _number("hands_left"),
    _number("discards_left"),
    Field("score", lambda s: float(s.g.score)),
    _number("deck_left", "pile_count"),
    _number("deck_total", "card_count"),
    Field("hand_size", lambda s: int(s.prices.hand_limit)),
    Field("hand", lambda s: [_card(s, int(slot)) for slot in s.g.hand[: s.g.hand_count]]),
    Field("jokers", lambda s: [_joker(s, index) for index in range(s.g.joker_count)]),
    Field("consumables", lambda s: [_consumable(s, index) for index in range(s.g.consumable_count)]),
    Field("levels", lambda s: _by_hand(s.g.hand_level, 1)),
    Field("targets", _targets, _read_targets),
    Field(
        "blind",
        lambda s: [c.BLINDS.key(int(s.g.blind)), float(s.g.requirement)],
        lambda blind: {"blind": c.BLINDS.id(blind[0]), "requirement": float(blind[1])},
        _in(r.SELECTING_HAND, r.GAME_OVER, r.WON),
        "selecting_hand",
    ),
    Field(
        "blind_disabled",
        lambda s: bool(s.g.blind_disabled),
        lambda disabled: {"blind_disabled": bool(disabled)},
        _in(r.SELECTING_HAND, r.GAME_OVER, r.WON),
    ),
    Field(
        "earnings",
        lambda s: dict(zip(_PAYOUT_PARTS, map(int, s.g.payout_part), strict=True)),
        _read_earnings,
        _in(r.ROUND_EVAL, r.WON),
        "round_eval",
    ),
    Field("shop", _shop, None, _shop_is_open, "shop"),
    Field(
        "pack",
        _pack,
        lambda pack: {"pack_id": c.PACKS.id(pack["key"]), "pack_picks": int(pack["left"])},
        _in(r.PACK),
        "pack",
    ),
    Field("deck", lambda s: c.DECKS.key(int(s.g.deck)), whole=True),
    Field("stake", lambda s: c.STAKES.key(int(s.g.stake)), whole=True),
    Field("challenge", lambda s: c.CHALLENGES.key(int(s.g.challenge)) if s.g.challenge else "", whole=True),
    Field("vouchers", lambda s: [c.VOUCHERS.key(int(i)) for i in np.flatnonzero(s.g.voucher_owned)], whole=True),
    Field("pile", lambda s: _lying(s, r.IN_DECK), whole=True),
    Field("laid_away", lambda s: _lying(s, r.IN_DISCARD), whole=True),
    Field(
        "selected",
        lambda s: [place for place in range(s.g.hand_count) if int(s.g.selected) >> place & 1],
        lambda places: {"selected": sum(1 << place for place in set(map(_read_place, places)))},
        whole=True,
    ),
    Field(
        "grabbed",
        lambda s: [_GRABBED[s.g.grabbed], int(s.g.grabbed_index)] if s.g.grabbed else None,
        _read_grabbed,
        whole=True,
    ),
    Field(
        "blinds",
        lambda s: [_BLIND_STATES[state] for state in s.g.blind_state],
        lambda states: {"blind_state": [_BLIND_STATES.index(state) for state in states]},
        whole=True,
    ),
    Field("tag_hands", _tag_hands, whole=True),
    *(_counted(key, name) for key, name in _PLAYED.items()),
    *(_named(name, table) for name, table in _NAMED.items()),
    Field("figures", lambda s: {name: s.g[name].item() for name in _NUMBERS}, _read_numbers, whole=True),
)
KEYS = tuple(field.key for field in FIELDS)


def needed_in(phase: str) -> list[str]:
    """The keys that a state of a phase must have."""
    return [f.key for f in FIELDS if f.needed == phase or (f.when is None and not f.whole)]
