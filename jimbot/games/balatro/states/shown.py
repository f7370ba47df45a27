"""What a state tells a fair player, as plain values: our ids in the place of names, whatever wrote the document.

Live gamestates (`live/reading.py`) and states by the game's own keys (`plain.py`) are read into it, a record of the
rules shows it (`shown_of`), and `rebuild.py` puts a record together from it. Two of them are compared by their
essence: no ids, no texts, no hidden order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules import state as r
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.view.derived import read_derived

JOKER, CONSUMABLE, CARD, VOUCHER, BOOSTER, UNSEEN = "joker", "consumable", "card", "voucher", "pack", "unseen"
TABLES: dict[str, c.ContentTable] = {JOKER: c.JOKERS, CONSUMABLE: c.CONSUMABLES, VOUCHER: c.VOUCHERS, BOOSTER: c.PACKS}
_GOODS = ("shop", "vouchers", "packs")
LARGEST = 1e308  # what a score beyond all numbers is written as


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
    """Permanent ones of a playing card; like the marks in our own states only."""
    marks: int = 0
    """Further flags, as the record has them."""

    def named(self) -> str:
        """The card's key."""
        if self.kind == CARD:
            return f"{c.SUIT_LETTERS[self.suit]}_{c.LETTER_OF_RANK[self.rank]}"
        return "face down" if self.kind == UNSEEN else TABLES[self.kind].key(self.id)


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
    fool: int | None = None
    most_played: int | None = None
    starting_deck_size: int | None = None
    # our own states only
    laid_away: tuple[Card, ...] = ()
    """Cards played and discarded this round."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """What is given as the record has it, by the record's names."""

    @property
    def choosing(self) -> bool:
        """Whether the choice of blinds is up, maybe under an open pack."""
        offered = any(blind.status == d.STATUS.index("SELECT") for blind in self.blinds)
        return offered and not any(self.areas[name].cards for name in _GOODS)

    @property
    def in_shop(self) -> bool:
        return self.state == d.SHOP or (self.state == d.PACK and not self.choosing)


# --- what a record shows ---


def shown_of(g: Any, dialect: d.Dialect) -> Shown:
    """What a live state of this record tells in a dialect, without writing one."""
    prices, phase = read_derived(g), int(g.phase)
    choosing = phase == r.BLIND_SELECT or (phase == r.PACK and g.pack_phase == r.BLIND_SELECT)
    in_shop = phase == r.SHOP or (phase == r.PACK and g.pack_phase == r.SHOP)
    hand, pile = g.hand[: g.hand_count], g.pile[: g.pile_count]
    face_down = hand[g.card_flags[hand] & r.CARD_FACE_DOWN != 0]
    left = g.hands_left, g.discards_left, g.score
    if phase in (r.BLIND_SELECT, r.SHOP, r.PACK):  # cashing out sets them to what the next round will start with
        left = max(1, g.hands_per_round), max(0, g.discards_per_round), 0.0
    counters = {
        "hands_left": int(left[0]),
        "hands_played": int(g.hands_played_round),
        "discards_left": int(left[1]),
        "discards_used": int(g.discards_used),
        "reroll_cost": int(prices.reroll),
        "chips": _written(float(left[2])),
    }
    more = dialect.shows_more
    return Shown(
        dialect=dialect,
        state=d.STATE_OF_PHASE[phase],
        ante=int(g.ante),
        round=int(g.rounds),
        money=int(g.money),
        won=bool(g.won),
        deck=int(g.deck),
        stake=int(g.stake),
        challenge=int(g.challenge) if more else 0,
        seed=bytes(g.seed[: g.seed_length]).decode(),
        vouchers=frozenset(number for number, owned in enumerate(g.voucher_owned.tolist()) if owned),
        levels=tuple(g.hand_level.tolist()),
        played=tuple(g.hand_played.tolist()),
        played_this_round=tuple(g.hand_played_round.tolist()),
        counters=counters,
        blinds=_blinds_of(g, choosing, prices),
        areas=_areas_of(g, prices, hand, in_shop),
        unseen=tuple(_card_of(g, slot, in_deck=True) for slot in (*pile, *face_down)),
        undrawn=len(pile),
        deck_size=int(g.card_count),
        tags=tuple(g.tag_id[: g.tag_count].tolist()) if more else None,
        fool=int(g.last_tarot_planet) if more else None,
        most_played=int(g.most_played_hand) if more else None,
        starting_deck_size=int(g.starting_deck_size) if more else None,
    )


def _written(number: float) -> float:
    return number if math.isfinite(number) else LARGEST


def _blinds_of(g: Any, choosing: bool, prices: Any) -> tuple[Blind, ...]:
    numbers, tags = (0, 1, int(g.boss)), (*g.skip_tag.tolist(), -1)
    upcoming = d.STATUS.index("UPCOMING")
    return tuple(
        Blind(
            upcoming if state == r.SELECTABLE and not choosing else state,
            numbers[place],
            _written(float(np.floor(prices.requirements[place]))),
            tags[place],
        )
        for place, state in enumerate(g.blind_state.tolist())
    )


def _areas_of(g: Any, prices: Any, hand: Any, in_shop: bool) -> dict[str, Area]:
    jokers = [_joker_of(g, index, int(prices.jokers[index])) for index in range(g.joker_count)]
    consumables = [
        Card(CONSUMABLE, int(g.consumable_id[i]), edition=int(g.consumable_edition[i]), sell=int(prices.consumables[i]))
        for i in range(g.consumable_count)
    ]
    goods: dict[str, list[Card]] = {name: [] for name in _GOODS}
    if in_shop:
        goods["shop"] = [_offer_of(g, place, int(prices.offers[place])) for place in range(g.shop_count)]
        goods["vouchers"] = [
            Card(VOUCHER, int(g.shop_voucher[i]), buy=int(prices.vouchers[i])) for i in range(g.voucher_count)
        ]
        goods["packs"] = [
            Card(BOOSTER, int(g.booster_id[i]), buy=int(prices.boosters[i])) for i in range(g.booster_count)
        ]
    pack = [_offer_of(g, r.FIRST_PACK_OFFER + i) for i in range(g.pack_count)] if g.phase == r.PACK else []
    return {
        "jokers": Area(tuple(jokers), int(g.joker_slots)),
        "consumables": Area(tuple(consumables), int(g.consumable_slots)),
        "hand": Area(tuple(_card_of(g, slot, in_deck=False) for slot in hand), int(prices.hand_limit)),
        "pack": Area(tuple(pack), len(pack)),
        **{name: Area(tuple(cards), len(cards)) for name, cards in goods.items()},
    }


def _card_of(g: Any, slot: int, in_deck: bool) -> Card:
    flags = int(g.card_flags[slot])
    forced = bool(flags & r.CARD_FORCED) and not in_deck
    if flags & r.CARD_FACE_DOWN and not in_deck:
        return Card(UNSEEN, forced=forced)
    return Card(
        CARD, rank=int(g.card_rank[slot]), suit=int(g.card_suit[slot]), enhancement=int(g.card_enhancement[slot]),
        edition=int(g.card_edition[slot]), seal=int(g.card_seal[slot]), debuffed=bool(flags & r.CARD_DEBUFFED),
        forced=forced, serial=int(g.card_serial[slot]),
    )  # fmt: skip


def _joker_of(g: Any, index: int, sell: int) -> Card:
    flags = int(g.joker_flags[index])
    if flags & r.FACE_DOWN:
        return Card(UNSEEN)
    return Card(
        JOKER, int(g.joker_id[index]), edition=int(g.joker_edition[index]), eternal=bool(flags & r.ETERNAL),
        perishable=max(0, int(g.joker_perish[index])), rental=bool(flags & r.RENTAL),
        debuffed=bool(flags & r.DEBUFFED), sell=sell, serial=int(g.joker_serial[index]),
    )  # fmt: skip


def _offer_of(g: Any, place: int, buy: int = 0) -> Card:
    kind, number, flags = int(g.offer_kind[place]), int(g.offer_id[place]), int(g.offer_flags[place])
    looks = Card(CONSUMABLE, number, edition=int(g.offer_edition[place]), buy=buy)
    if kind == r.OFFER_CARD:
        return looks._replace(
            kind=CARD, id=-1, rank=number, suit=int(g.offer_suit[place]), seal=int(g.offer_seal[place]),
            enhancement=int(g.offer_enhancement[place]),
        )  # fmt: skip
    if kind == r.OFFER_JOKER:
        perish = c.RATES["stickers"]["perish_rounds"] if flags & r.PERISHABLE else 0
        return looks._replace(
            kind=JOKER, eternal=bool(flags & r.ETERNAL), rental=bool(flags & r.RENTAL), perishable=perish
        )
    return looks


# --- what two states must agree in ---


def essence(shown: Shown) -> dict[str, Any]:
    """What a state says that a simulator can be held to: no ids, no texts, no hidden order; by names."""
    out: dict[str, Any] = {
        "state": shown.state,
        "ante": shown.ante,
        "round": shown.round,
        "money": shown.money,
        "won": shown.won,
        "vouchers": sorted(c.VOUCHERS.key(voucher) for voucher in shown.vouchers),
        "levels": dict(zip(c.HANDS.keys, shown.levels, strict=True)),
        "played": dict(zip(c.HANDS.keys, shown.played, strict=True)),
        "blinds": {
            place: {"status": d.STATUS[blind.status], "key": c.BLINDS.key(blind.id), "score": blind.score,
                    "tag": c.TAGS.key(blind.tag) if blind.tag >= 0 else ""}
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
        out["played_this_round"] = dict(zip(c.HANDS.keys, shown.played_this_round, strict=True))
        out["hand_limit"] = shown.areas["hand"].limit
    if shown.in_shop:
        out |= {name: [_looks(card, "buy") for card in shown.areas[name].cards] for name in _GOODS}
        out["reroll_cost"] = shown.counters.get("reroll_cost")
    if shown.state == d.PACK:
        out["pack"] = [_looks(card) for card in shown.areas["pack"].cards]
    if shown.dialect.shows_more:
        out["tags"] = [c.TAGS.key(tag) for tag in shown.tags or ()]
        out["last_tarot_planet"] = c.CONSUMABLES.key(shown.fool) if shown.fool is not None and shown.fool >= 0 else ""
        out["most_played_hand"] = c.HANDS.key(shown.most_played) if shown.most_played is not None else ""
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
