"""A game record written as the protocol's gamestate, with all its oddities.

Empty objects are `[]`, cards without an enhancement show an inner word in its place (1.x), areas of a left shop stay
with a count and no cards, numbers have 14 digits. A state is 10 to 20 KB and is written for every call, so it is put
together as text from pieces that are kept: the same card looks the same in every state.

**Fair** (the default) is what a player may know: `cards` lists every card that lies face down, those in the hand too,
in the order of their ids (its `count` is the undrawn pile), and a face-down card or joker shows nothing of itself.
With leaks, as the mod has them, the pile is in its true order and face-down cards keep key, suit and rank.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from jimbot.games.balatro.live import dialects as d
from jimbot.games.balatro.rules.content import (
    BLINDS,
    CHALLENGES,
    CONSUMABLE_COST,
    CONSUMABLES,
    EDITION_SURCHARGE,
    ENHANCEMENTS,
    HAND_CHIPS,
    HAND_LEVEL_CHIPS,
    HAND_LEVEL_MULT,
    HAND_MULT,
    HANDS,
    JOKER_COST,
    JOKERS,
    LETTER_OF_RANK,
    PACK_CARDS,
    PACKS,
    RANK_CHIPS,
    RATES,
    STONE,
    SUIT_LETTERS,
    TAGS,
    VOUCHERS,
)
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.rules.state import (
    BLIND_SELECT,
    CARD_DEBUFFED,
    CARD_FACE_DOWN,
    CARD_FORCED,
    DEBUFFED,
    ETERNAL,
    FACE_DOWN,
    FIRST_PACK_OFFER,
    GAME_DTYPE,
    OFFER_CARD,
    OFFER_JOKER,
    PACK,
    PERISHABLE,
    RENTAL,
    SELECTABLE,
    SHOP,
)
from jimbot.games.balatro.verify.recorded_states import joker_state
from jimbot.games.balatro.view.figures import FIGURE_NAMES, read_figures

_RENTAL_COST = RATES["stickers"]["rental_cost"]
_PLAYING_CARD_COST = RATES["playing_card_cost"]
_BOSS_REROLL = VOUCHERS.row("v_directors_cut")["config"]["extra"]
_DIRECTORS_CUT, _RETCON = VOUCHERS.id("v_directors_cut"), VOUCHERS.id("v_retcon")
_CREDIT_CARD = JOKERS.id("j_credit_card")
_CREDIT = JOKERS.row("j_credit_card")["config"]["extra"]
_VOUCHER_IDS, _BOOSTER_IDS = 1_000_000, 1_000_000_000  # our goods have no serial; theirs must not meet one of a card
_MOST_PIECES = 20_000
_FIELDS: tuple[str, ...] = GAME_DTYPE.names or ()


class Leftover(NamedTuple):
    """What was left in the areas of the last shop when the player went: their counts, without the cards."""

    shop: int
    vouchers: int
    packs: int


def number(value: float) -> str:
    """A number as the mod writes it: 14 digits.

    >>> number(300.0), number(2.5), number(1234567890123456)
    ('300', '2.5', '1.2345678901235e+15')
    """
    if not math.isfinite(value):
        return "1e+308"
    return f"{value:.14g}"


def _object(parts: Iterable[tuple[str, str]]) -> str:
    """A JSON object of members that are written already; an empty one is `[]`."""
    inside = ",".join(f'"{name}":{value}' for name, value in parts)
    return f"{{{inside}}}" if inside else "[]"


@cache
def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def spendable(g: Any) -> int:
    """Dollars that can be spent: the balance, and what Credit Cards lend."""
    count = int(g.joker_count)
    cards = sum(
        joker == _CREDIT_CARD and not flags & DEBUFFED
        for joker, flags in zip(g.joker_id[:count].tolist(), g.joker_flags[:count].tolist(), strict=True)
    )
    return int(g.money) + _CREDIT * cards


class Writer:
    """Writes records in one dialect. One writer serves one thread."""

    def __init__(self, dialect: d.Dialect = d.ONE, fair: bool = True) -> None:
        self.dialect = dialect
        self.fair = fair
        self._pieces: dict[tuple[Any, ...], str] = {}
        self._last_deck: tuple[Any, str] = (None, "")

    def state(self, g: Any, leftover: Leftover | None = None) -> dict[str, Any]:
        """The gamestate as values, exactly as a client decodes them."""
        return json.loads(self.text(g, leftover))

    def text(
        self, g: Any, leftover: Leftover | None = None, dealt: int | None = None, stocked: bool = True, stock: int = 0
    ) -> str:
        """The gamestate as JSON.

        `dealt` shows only the first so many hand cards and `stocked=False` an empty shelf of shop cards: states in
        which the mod answers before the game is done. `stock` counts how often the shop was stocked anew: ids of its
        vouchers and packs depend on it.
        """
        if len(self._pieces) > _MOST_PIECES:
            self._pieces.clear()
        figures, g = _plain(read_figures(g), FIGURE_NAMES), _plain(g, _FIELDS)
        phase = g.phase
        parts = [*self._run(g, phase), *self._progress(g, phase, figures)]
        parts += self._held(g, figures, dealt)
        in_shop = phase == SHOP or (phase == PACK and g.pack_phase == SHOP)
        parts += self._goods(g, figures, stocked, stock) if in_shop else _leftover(g, leftover)
        if phase == PACK:
            parts.append(("pack", self._open_pack(g)))
        return _object(parts)

    def menu(self) -> str:
        """The gamestate of the main menu: there is no run."""
        return _object(
            [
                ("state", '"MENU"'),
                *([("paused", "false"), ("starting_deck_size", "52")] if self.dialect.shows_more else []),
                ("round_num", "0"),
                ("ante_num", "1"),
                ("money", "0"),
                ("won", "false"),
                ("deck", _text(self.dialect.decks[0])),
                ("stake", _text(self.dialect.stakes[1])),
                ("used_vouchers", "[]"),
                ("hands", self._hands([1] * len(HANDS), [0] * len(HANDS), [0] * len(HANDS))),
                ("round", _object((name, "0") for name in ("hands_left", "hands_played", "discards_left", "chips"))),
                ("blinds", _object((place, self._blind(place, "UPCOMING", -1, 0.0, -1)) for place in d.PLACES)),
            ]
        )

    # --- the run ---

    def _run(self, g: Any, phase: int) -> list[tuple[str, str]]:
        owned = [VOUCHERS.keys[i] for i, yes in enumerate(g.voucher_owned.tolist()) if yes]
        parts = [
            ("state", f'"{d.STATE_OF_PHASE[phase]}"'),
            ("round_num", str(int(g.rounds))),
            ("ante_num", str(int(g.ante))),
            ("money", str(int(g.money))),
            ("won", "true" if g.won else "false"),
            ("deck", f'"{self.dialect.decks[g.deck]}"'),
            ("stake", f'"{self.dialect.stakes[g.stake]}"'),
            ("seed", f'"{g.seed[: g.seed_length].tobytes().decode()}"'),
            ("used_vouchers", _object((key, '""') for key in owned)),
        ]
        if not self.dialect.shows_more:
            return parts
        parts += [("paused", "false"), ("starting_deck_size", str(int(g.starting_deck_size)))]
        if g.challenge:
            parts.append(("challenge", f'"{CHALLENGES.key(int(g.challenge))}"'))
        if g.last_tarot_planet >= 0:
            parts.append(("last_tarot_planet", f'"{CONSUMABLES.keys[g.last_tarot_planet]}"'))
        if g.tag_count:
            parts.append(("tags", f"[{','.join(_tag(tag) for tag in g.tag_id[: g.tag_count].tolist())}]"))
        return parts

    def _progress(self, g: Any, phase: int, figures: Any) -> list[tuple[str, str]]:
        levels, played, in_round = g.hand_level.tolist(), g.hand_played.tolist(), g.hand_played_round.tolist()
        begun = g.rounds > 0  # before the first round the counters show what a round will start with
        counters = [
            ("hands_left", str(int(g.hands_left if begun else g.hands_per_round))),
            ("hands_played", str(int(g.hands_played_round))),
            ("discards_left", str(int(g.discards_left if begun else g.discards_per_round))),
            ("discards_used", str(int(g.discards_used))),
            ("reroll_cost", str(int(figures.reroll))),
            ("chips", number(float(g.score))),
        ]
        if self.dialect.shows_more:
            counters.append(("most_played_hand", _text(HANDS.keys[g.most_played_hand])))
        return [
            ("hands", self._hands(levels, played, in_round)),
            ("round", _object(counters)),
            ("blinds", self._blinds(g, phase, figures)),
        ]

    def _hands(self, levels: Sequence[int], played: Sequence[int], in_round: Sequence[int]) -> str:
        known = ("hands", *levels, *played, *in_round)
        if known not in self._pieces:
            self._pieces[known] = _object(
                (HANDS.keys[hand], self._hand(hand, levels[hand], played[hand], in_round[hand]))
                for hand in range(len(HANDS))
            )
        return self._pieces[known]

    def _hand(self, hand: int, level: int, played: int, in_round: int) -> str:
        known = ("hand", hand, level, played, in_round)
        if known not in self._pieces:
            chips = max(0.0, HAND_CHIPS[hand] + HAND_LEVEL_CHIPS[hand] * (level - 1))
            mult = max(1.0, HAND_MULT[hand] + HAND_LEVEL_MULT[hand] * (level - 1))
            example = [[card.strip("()"), card[0] != "("] for card in d.EXAMPLES[HANDS.keys[hand]].split()]
            self._pieces[known] = (
                f'{{"order":{hand + 1},"level":{level},"chips":{number(chips)},"mult":{number(mult)},'
                f'"played":{played},"played_this_round":{in_round},"example":{json.dumps(example)}}}'
            )
        return self._pieces[known]

    def _blinds(self, g: Any, phase: int, figures: Any) -> str:
        choosing = phase == BLIND_SELECT or (phase == PACK and g.pack_phase == BLIND_SELECT)
        blinds, tags = (0, 1, int(g.boss)), (*g.skip_tag.tolist(), -1)
        parts = []
        for place, (name, state) in enumerate(zip(d.PLACES, g.blind_state.tolist(), strict=True)):
            status = d.STATUS[state]
            if state == SELECTABLE and not choosing:  # it is offered when the choice is shown
                status = "UPCOMING"
            parts.append(
                (name, self._blind(name, status, blinds[place], float(figures.requirements[place]), tags[place]))
            )
        if self.dialect.shows_more:
            reroll = '"reroll_available":' + ("true" if can_reroll_boss(g) else "false")
            parts[2] = ("boss", f"{parts[2][1][:-1]},{reroll}}}")
        return _object(parts)

    def _blind(self, place: str, status: str, blind: int, score: float, tag: int) -> str:
        known = ("blind", place, status, blind, score, tag)
        if known not in self._pieces:
            row = BLINDS.rows[blind] if blind >= 0 else {"key": "", "name": "", "effect": "", "type": "small"}
            parts = [
                ("type", f'"{place.upper()}"'),
                ("status", f'"{status}"'),
                ("name", _text(row["name"])),
                ("effect", _text(row["effect"] if row["type"] == "boss" else "")),
                ("score", number(math.floor(score) if math.isfinite(score) else score)),
            ]
            if self.dialect.shows_more:
                parts.append(("key", f'"{row["key"]}"'))
                parts += [("tag", _tag(tag))] if tag >= 0 else []
            else:
                parts.append(("tag_name", _text(d.TAG_NAMES[tag] if tag >= 0 else "")))
                parts.append(("tag_effect", _text(TAGS.rows[tag]["effect"] if tag >= 0 else "")))
            self._pieces[known] = _object(parts)
        return self._pieces[known]

    # --- what is held ---

    def _held(self, g: Any, figures: Any, dealt: int | None) -> list[tuple[str, str]]:
        hand, pile = g.hand[: g.hand_count][:dealt], g.pile[: g.pile_count]
        shown = pile
        if self.fair:
            unseen = np.concatenate([pile, hand[g.card_flags[hand] & CARD_FACE_DOWN != 0]])
            shown = unseen[np.argsort(g.card_serial[unseen])]
        jokers = [self._joker(g, index, int(figures.jokers[index])) for index in range(g.joker_count)]
        consumables = [self._consumable(g, i, int(figures.consumables[i])) for i in range(g.consumable_count)]
        return [
            ("jokers", _area(jokers, g.joker_slots, 1)),
            ("consumables", _area(consumables, g.consumable_slots, 1)),
            ("cards", self._deck(g, shown, len(pile))),
            ("hand", _area(self._cards(g, hand, False), figures.hand_limit, MAX_PLAYED)),
        ]

    def _deck(self, g: Any, shown: np.ndarray, count: int) -> str:
        """The undrawn cards: half of every state, and the same in most that follow each other."""
        parts = (shown, g.card_serial, g.card_rank, g.card_suit, g.card_enhancement, g.card_edition, g.card_seal,
                 g.card_flags)  # fmt: skip
        known = (g.card_count, count, _costs(g), *(part.tobytes() for part in parts))
        if self._last_deck[0] != known:
            self._last_deck = known, _area(self._cards(g, shown, True), g.card_count, MAX_PLAYED, count)
        return self._last_deck[1]

    def _cards(self, g: Any, slots: np.ndarray, in_deck: bool) -> list[str]:
        """Playing cards by slot; those in the deck lie face down and show their faces all the same."""
        looks = zip(*(column[slots].tolist() for column in (g.card_rank, g.card_suit, g.card_enhancement,
                                                            g.card_edition, g.card_seal)), strict=True)  # fmt: skip
        costs, out = _costs(g), []
        flags = g.card_flags[slots]
        lying = (flags & (CARD_DEBUFFED if in_deck else CARD_DEBUFFED | CARD_FACE_DOWN | CARD_FORCED)).tolist()
        for place, (serial, look, lies) in enumerate(zip(g.card_serial[slots].tolist(), looks, lying, strict=True)):
            if lies & CARD_FACE_DOWN and self.fair:
                out.append(_blank(place, "DEFAULT", "Base Card", bool(lies & CARD_FORCED)))
            else:
                out.append(f'{{"id":{serial},{self._card(look, lies, in_deck, costs)}')
        return out

    def _card(self, look: tuple[int, ...], lies: int, in_deck: bool, costs: tuple[int, int]) -> str:
        """A playing card without its id: (rank, suit, enhancement, edition, seal) and its flags."""
        known = (look, lies, in_deck, costs)
        if known not in self._pieces:
            weak, down, forced = lies & CARD_DEBUFFED, in_deck or bool(lies & CARD_FACE_DOWN), bool(lies & CARD_FORCED)
            rank, suit, enhancement, edition, seal = look
            letters = SUIT_LETTERS[suit], LETTER_OF_RANK[rank]
            chips = f"+{RANK_CHIPS[rank]} chips" if enhancement != STONE else ""
            more = ENHANCEMENTS.rows[enhancement - 1]["effect"] if enhancement else ""
            price = _price(_PLAYING_CARD_COST, edition, costs)
            value = f'{{"suit":"{letters[0]}","rank":"{letters[1]}","effect":{_text(f"{chips} {more}".strip())}}}'
            self._pieces[known] = _card_text(
                f"{letters[0]}_{letters[1]}",
                "ENHANCED" if enhancement else "DEFAULT",
                ENHANCEMENTS.name(enhancement) if enhancement else "Base Card",
                value,
                self._modifier(seal, edition, self.dialect.enhancements[enhancement] if enhancement else None),
                _lies(weak, down, forced),
                max(1, price // 2),
                price,
            )
        return self._pieces[known]

    def _joker(self, g: Any, index: int, sells: int) -> str:
        joker, edition, flags = int(g.joker_id[index]), int(g.joker_edition[index]), int(g.joker_flags[index])
        down = bool(flags & FACE_DOWN)
        if down and self.fair:
            return _blank(index, "JOKER", "Joker", False)
        state = tuple(joker_state(g, index).items())
        piece = self._joker_piece(
            joker, edition, flags, int(g.joker_perish[index]), flags & DEBUFFED, down, sells, None, state, _costs(g)
        )
        return f'{{"id":{g.joker_serial[index]},{piece}'

    def _joker_piece(
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
        costs: tuple[int, int],
    ) -> str:
        known = ("joker", joker, edition, stickers, perish, weak, down, sells, asks, state, costs)
        if known not in self._pieces:
            row = JOKERS.rows[joker]
            now = f" ({', '.join(f'{name} {value}' for name, value in state)})" if state else ""
            price = _RENTAL_COST if stickers & RENTAL else _price(int(JOKER_COST[joker]), edition, costs)
            self._pieces[known] = _card_text(
                row["key"],
                "JOKER",
                d.JOKER_NAMES[joker],
                f'{{"effect":{_text(row["effect"] + now)}}}',
                self._modifier(0, edition, d.JUNK_OF_JOKERS[joker] if self.dialect.junk else None, stickers, perish),
                _lies(weak, down, False),
                sells,
                price if asks is None else asks,
            )
        return self._pieces[known]

    def _consumable(self, g: Any, index: int, sells: int) -> str:
        consumable, edition = int(g.consumable_id[index]), int(g.consumable_edition[index])
        piece = self._consumable_piece(consumable, edition, sells, None, _costs(g))
        return f'{{"id":{g.consumable_serial[index]},{piece}'

    def _consumable_piece(
        self, consumable: int, edition: int, sells: int, asks: int | None, costs: tuple[int, int]
    ) -> str:
        known = ("consumable", consumable, edition, sells, asks, costs)
        if known not in self._pieces:
            row = CONSUMABLES.rows[consumable]
            price = _price(int(CONSUMABLE_COST[consumable]), edition, costs)
            self._pieces[known] = _card_text(
                row["key"],
                d.SETS[row["set"]],
                row["name"],
                f'{{"effect":{_text(row["effect"])}}}',
                self._modifier(0, edition, d.JUNK_OF_CONSUMABLES[consumable] if self.dialect.junk else None),
                "[]",
                sells,
                price if asks is None else asks,
            )
        return self._pieces[known]

    def _modifier(self, seal: int, edition: int, enhancement: str | None, stickers: int = 0, perish: int = 0) -> str:
        parts = []
        if seal:
            parts.append(("seal", f'"{self.dialect.seals[seal]}"'))
        if edition:
            parts.append(("edition", f'"{self.dialect.editions[edition]}"'))
        if enhancement is not None:
            parts.append(("enhancement", f'"{enhancement}"'))
        if stickers & ETERNAL:
            parts.append(("eternal", "true"))
        if perish > 0:
            parts.append(("perishable", str(perish)))
        if stickers & RENTAL:
            parts.append(("rental", "true"))
        return _object(parts)

    # --- what is on offer ---

    def _goods(self, g: Any, figures: Any, stocked: bool, stock: int) -> list[tuple[str, str]]:
        cards = [self._offer(g, place, int(figures.offers[place])) for place in range(g.shop_count)] if stocked else []
        first = 100 * (int(g.rounds) + 1000 * stock)
        vouchers = []
        for index in range(g.voucher_count):
            voucher = int(g.shop_voucher[index])
            identifier = _VOUCHER_IDS + first + voucher
            vouchers.append(self._ware(identifier, VOUCHERS, voucher, "VOUCHER", int(figures.vouchers[index])))
        packs, seen = [], set()
        for index in range(g.booster_count):
            pack = int(g.booster_id[index])
            identifier = _BOOSTER_IDS + first + 2 * pack + (pack in seen)
            seen.add(pack)
            packs.append(self._ware(identifier, PACKS, pack, "BOOSTER", int(figures.boosters[index])))
        return [
            ("shop", _area(cards, int(g.shop_slots), 1, int(g.shop_count))),
            ("vouchers", _area(vouchers, max(1, len(vouchers)), 1)),
            ("packs", _area(packs, 2, 1)),
        ]

    def _open_pack(self, g: Any) -> str:
        cards = [self._offer(g, FIRST_PACK_OFFER + number, 0) for number in range(g.pack_count)]
        return _area(cards, int(PACK_CARDS[g.pack_id]), 1)

    def _offer(self, g: Any, place: int, asks: int) -> str:
        kind, identifier, edition = int(g.offer_kind[place]), int(g.offer_id[place]), int(g.offer_edition[place])
        costs, sells = _costs(g), max(1, asks // 2)
        if kind == OFFER_JOKER:
            flags = int(g.offer_flags[place])
            perish = RATES["stickers"]["perish_rounds"] if flags & PERISHABLE else 0
            piece = self._joker_piece(identifier, edition, flags, perish, 0, False, sells, asks, (), costs)
        elif kind == OFFER_CARD:
            look = (identifier, int(g.offer_suit[place]), int(g.offer_enhancement[place]), edition)
            piece = self._card((*look, int(g.offer_seal[place])), 0, False, costs)
            piece = f'{piece[: piece.rindex(chr(34) + "cost")]}"cost":{{"sell":{sells},"buy":{asks}}}}}'
        else:
            piece = self._consumable_piece(identifier, edition, sells, asks, costs)
        return f'{{"id":{g.offer_serial[place]},{piece}'

    def _ware(self, identifier: int, table: Any, number: int, kind: str, asks: int) -> str:
        known = ("ware", identifier, number, kind, asks)
        if known not in self._pieces:
            row = table.rows[number]
            value = f'{{"effect":{_text(row.get("effect", row["name"]))}}}'
            piece = _card_text(row["key"], kind, row["name"], value, "[]", "[]", max(1, asks // 2), asks)
            self._pieces[known] = f'{{"id":{identifier},{piece}'
        return self._pieces[known]


# --- pieces ---


def _plain(g: Any, names: tuple[str, ...]) -> Any:
    """A record with Python's own numbers: reading many fields of one is several times as fast."""
    return SimpleNamespace(**dict(zip(names, np.void.item(g), strict=True)))  # past the slow lookup of np.record


def can_reroll_boss(g: Any) -> bool:
    """Whether the boss may be rerolled at the next choice of blinds, as the mod says it."""
    if spendable(g) < _BOSS_REROLL:
        return False
    return bool(g.voucher_owned[_RETCON] or (g.voucher_owned[_DIRECTORS_CUT] and not g.boss_rerolled))


def _costs(g: Any) -> tuple[int, int]:
    """What all prices depend on."""
    return int(g.inflation), int(g.discount_percent)


def _price(base: int, edition: int, costs: tuple[int, int]) -> int:
    inflation, discount = costs
    return max(1, math.floor((base + inflation + int(EDITION_SURCHARGE[edition]) + 0.5) * (100 - discount) / 100))


def _lies(weak: int, down: bool, forced: bool) -> str:
    flags = (("debuff", weak), ("hidden", down), ("highlight", forced))
    return _object((name, "true") for name, yes in flags if yes)


def _card_text(key: str, kind: str, label: str, value: str, modifier: str, state: str, sells: int, asks: int) -> str:
    """A card from behind its id to the closing bracket."""
    return (
        f'"key":"{key}","set":"{kind}","label":{_text(label)},"value":{value},"modifier":{modifier},"state":{state},'
        f'"cost":{{"sell":{sells},"buy":{asks}}}}}'
    )


def _blank(place: int, kind: str, label: str, forced: bool) -> str:
    """A card that lies face down and shows nothing, not even which one it is."""
    return f'{{"id":{-1 - place},' + _card_text("", kind, label, '{"effect":""}', "[]", _lies(0, True, forced), 0, 0)


def _tag(tag: int) -> str:
    return f'{{"key":"{TAGS.keys[tag]}","name":{_text(d.TAG_NAMES[tag])},"effect":{_text(TAGS.rows[tag]["effect"])}}}'


def _area(cards: Sequence[str], limit: int, highlighted: int, count: int | None = None) -> str:
    size = len(cards) if count is None else count
    return f'{{"count":{size},"limit":{limit},"highlighted_limit":{highlighted},"cards":[{",".join(cards)}]}}'


def _leftover(g: Any, leftover: Leftover | None) -> list[tuple[str, str]]:
    if leftover is None:
        return []
    counts = zip(("shop", "vouchers", "packs"), leftover, (int(g.shop_slots), 1, 2), strict=True)
    return [(name, _area((), limit, 1, count)) for name, count, limit in counts]
