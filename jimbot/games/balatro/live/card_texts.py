"""Cards as the protocol writes them, one by one: text that is put together once and kept.

The same card looks the same in every state, so a piece is found by everything that shows in it. An id is not among it:
the piece begins behind it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from typing import Any

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules import state as r
from jimbot.games.balatro.states import dialects as d

_RENTAL_COST = content.RATES["stickers"]["rental_cost"]
_PLAYING_CARD_COST = content.RATES["playing_card_cost"]
MOST_PIECES = 20_000

Costs = tuple[int, int]
"""What all prices depend on: inflation and discount."""


def number(value: float) -> str:
    """A number as the mod writes it: 14 digits.

    >>> number(300.0), number(2.5), number(1234567890123456)
    ('300', '2.5', '1.2345678901235e+15')
    """
    if not math.isfinite(value):
        return "1e+308"
    return f"{value:.14g}"


def as_object(parts: Iterable[tuple[str, str]]) -> str:
    """A JSON object of members that are written already; an empty one is `[]`."""
    inside = ",".join(f'"{name}":{value}' for name, value in parts)
    return f"{{{inside}}}" if inside else "[]"


@cache
def quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


class CardTexts:
    """The cards of one dialect."""

    def __init__(self, dialect: d.Dialect) -> None:
        self._dialect = dialect
        self._pieces: dict[tuple[Any, ...], str] = {}

    def forget(self) -> None:
        """Makes room once too many different cards were seen."""
        if len(self._pieces) > MOST_PIECES:
            self._pieces.clear()

    def playing_card(self, look: tuple[int, ...], lies: int, in_deck: bool, costs: Costs) -> str:
        """A playing card without its id: (rank, suit, enhancement, edition, seal) and its flags."""
        known = (look, lies, in_deck, costs)
        if known not in self._pieces:
            weak, down, forced = (
                lies & r.CARD_DEBUFFED,
                in_deck or bool(lies & r.CARD_FACE_DOWN),
                bool(lies & r.CARD_FORCED),
            )
            rank, suit, enhancement, edition, seal = look
            letters = content.SUIT_LETTERS[suit], content.LETTER_OF_RANK[rank]
            chips = f"+{content.RANK_CHIPS[rank]} chips" if enhancement != content.STONE else ""
            more = content.ENHANCEMENTS.rows[enhancement - 1]["effect"] if enhancement else ""
            price = usual_price(r.OFFER_CARD, rank, edition, 0, costs)
            value = f'{{"suit":"{letters[0]}","rank":"{letters[1]}","effect":{quoted(f"{chips} {more}".strip())}}}'
            self._pieces[known] = _card_text(
                f"{letters[0]}_{letters[1]}",
                "ENHANCED" if enhancement else "DEFAULT",
                content.ENHANCEMENTS.name(enhancement) if enhancement else "Base Card",
                value,
                self._modifier(seal, edition, self._dialect.enhancements[enhancement] if enhancement else None),
                _lies(weak, down, forced),
                max(1, price // 2),
                price,
            )
        return self._pieces[known]

    def joker(
        self,
        joker: int,
        edition: int,
        stickers: int,
        perish: int,
        weak: int,
        down: bool,
        sells: int,
        asks: int | None,
        state: tuple[tuple[str, Any], ...],
        costs: Costs,
    ) -> str:
        known = ("joker", joker, edition, stickers, perish, weak, down, sells, asks, state, costs)
        if known not in self._pieces:
            row = content.JOKERS.rows[joker]
            now = f" ({', '.join(f'{name} {value}' for name, value in state)})" if state else ""
            price = usual_price(r.OFFER_JOKER, joker, edition, stickers, costs)
            self._pieces[known] = _card_text(
                row["key"],
                "JOKER",
                d.JOKER_NAMES[joker],
                f'{{"effect":{quoted(row["effect"] + now)}}}',
                self._modifier(0, edition, d.JUNK_OF_JOKERS[joker] if self._dialect.junk else None, stickers, perish),
                _lies(weak, down, False),
                sells,
                price if asks is None else asks,
            )
        return self._pieces[known]

    def consumable(self, consumable: int, edition: int, sells: int, asks: int | None, costs: Costs) -> str:
        known = ("consumable", consumable, edition, sells, asks, costs)
        if known not in self._pieces:
            row = content.CONSUMABLES.rows[consumable]
            price = usual_price(r.OFFER_CONSUMABLE, consumable, edition, 0, costs)
            self._pieces[known] = _card_text(
                row["key"],
                d.SETS[row["set"]],
                row["name"],
                f'{{"effect":{quoted(row["effect"])}}}',
                self._modifier(0, edition, d.JUNK_OF_CONSUMABLES[consumable] if self._dialect.junk else None),
                "[]",
                sells,
                price if asks is None else asks,
            )
        return self._pieces[known]

    def ware(self, identifier: int, table: Any, number: int, kind: str, asks: int) -> str:
        known = ("ware", identifier, number, kind, asks)
        if known not in self._pieces:
            row = table.rows[number]
            value = f'{{"effect":{quoted(row.get("effect", row["name"]))}}}'
            piece = _card_text(row["key"], kind, row["name"], value, "[]", "[]", max(1, asks // 2), asks)
            self._pieces[known] = f'{{"id":{identifier},{piece}'
        return self._pieces[known]

    def _modifier(self, seal: int, edition: int, enhancement: str | None, stickers: int = 0, perish: int = 0) -> str:
        parts = []
        if seal:
            parts.append(("seal", f'"{self._dialect.seals[seal]}"'))
        if edition:
            parts.append(("edition", f'"{self._dialect.editions[edition]}"'))
        if enhancement is not None:
            parts.append(("enhancement", f'"{enhancement}"'))
        if stickers & r.ETERNAL:
            parts.append(("eternal", "true"))
        if perish > 0:
            parts.append(("perishable", str(perish)))
        if stickers & r.RENTAL:
            parts.append(("rental", "true"))
        return as_object(parts)


# --- parts of a card ---


def usual_price(kind: int, number: int, edition: int, stickers: int, costs: Costs) -> int:
    """What a card of this kind (`offer_kind`) costs where nothing makes it cheaper."""
    if stickers & r.RENTAL:
        return _RENTAL_COST
    base = _PLAYING_CARD_COST
    if kind != r.OFFER_CARD:
        base = int((content.JOKER_COST if kind == r.OFFER_JOKER else content.CONSUMABLE_COST)[number])
    inflation, discount = costs
    return max(
        1, math.floor((base + inflation + int(content.EDITION_SURCHARGE[edition]) + 0.5) * (100 - discount) / 100)
    )


def _lies(weak: int, down: bool, forced: bool) -> str:
    flags = (("debuff", weak), ("hidden", down), ("highlight", forced))
    return as_object((name, "true") for name, yes in flags if yes)


def _card_text(key: str, kind: str, label: str, value: str, modifier: str, state: str, sells: int, asks: int) -> str:
    """A card from behind its id to the closing bracket."""
    return (
        f'"key":"{key}","set":"{kind}","label":{quoted(label)},"value":{value},"modifier":{modifier},"state":{state},'
        f'"cost":{{"sell":{sells},"buy":{asks}}}}}'
    )


def blank(place: int, kind: str, label: str, forced: bool) -> str:
    """A card that lies face down and shows nothing, not even which one it is."""
    return f'{{"id":{-1 - place},' + _card_text("", kind, label, '{"effect":""}', "[]", _lies(0, True, forced), 0, 0)
