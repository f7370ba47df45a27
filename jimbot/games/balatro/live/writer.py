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
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from jimbot.games.balatro.live.card_texts import (
    MOST_PIECES,
    CardTexts,
    Costs,
    as_object,
    blank,
    number,
    quoted,
    usual_price,
)
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules import state as r
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.states.document import joker_state
from jimbot.games.balatro.view.derived import DERIVED_NAMES, read_derived

_BOSS_REROLL = content.VOUCHERS.row("v_directors_cut")["config"]["extra"]
_DIRECTORS_CUT, _RETCON = content.VOUCHERS.id("v_directors_cut"), content.VOUCHERS.id("v_retcon")
_CREDIT_CARD = content.JOKERS.id("j_credit_card")
_CREDIT = content.JOKERS.row("j_credit_card")["config"]["extra"]
_VOUCHER_IDS, _BOOSTER_IDS = 1_000_000, 1_000_000_000  # our goods have no serial; theirs must not meet one of a card
_FIELDS: tuple[str, ...] = r.GAME_DTYPE.names or ()
_MENU_COUNTERS = {"hands_left": 0, "hands_played": 0, "discards_left": 0, "discards_used": 0,
                  "reroll_cost": content.RATES["starting"]["reroll_cost"], "chips": 0}  # fmt: skip
_MENU_BLINDS = {"small": ("SELECT", 0, 300.0), "big": ("UPCOMING", 1, 450.0), "boss": ("UPCOMING", -1, 600.0)}


class Leftover(NamedTuple):
    """What was left in the areas of the last shop when the player went: their counts, without the cards."""

    shop: int
    vouchers: int
    packs: int


def spendable(g: Any) -> int:
    """Dollars that can be spent: the balance, and what Credit Cards lend."""
    count = int(g.joker_count)
    cards = sum(
        joker == _CREDIT_CARD and not flags & r.DEBUFFED
        for joker, flags in zip(g.joker_id[:count].tolist(), g.joker_flags[:count].tolist(), strict=True)
    )
    return int(g.money) + _CREDIT * cards


class Writer:
    """Writes records in one dialect. One writer serves one thread."""

    def __init__(self, dialect: d.Dialect = d.ONE, fair: bool = True) -> None:
        self.dialect = dialect
        self.fair = fair
        self._texts = CardTexts(dialect)
        self._pieces: dict[tuple[Any, ...], str] = {}
        self._last_deck: tuple[Any, str] = (None, "")

    def text(
        self, g: Any, leftover: Leftover | None = None, dealt: int | None = None, stocked: bool = True, stock: int = 0
    ) -> str:
        """The gamestate as JSON.

        `dealt` shows only the first so many hand cards and `stocked=False` an empty shelf of shop cards: states in
        which the mod answers before the game is done. `stock` counts how often the shop was stocked anew: ids of its
        vouchers and packs depend on it.
        """
        self._texts.forget()
        if len(self._pieces) > MOST_PIECES:
            self._pieces.clear()
        derived, g = _plain(read_derived(g), DERIVED_NAMES), _plain(g, _FIELDS)
        phase = g.phase
        parts = [*self._run(g, phase), *self._progress(g, phase, derived)]
        parts += self._held(g, derived, dealt)
        in_shop = phase == r.SHOP or (phase == r.PACK and g.pack_phase == r.SHOP)
        parts += self._goods(g, derived, stocked, stock) if in_shop else _leftover(g, leftover)
        if phase == r.PACK:
            parts.append(("pack", self._open_pack(g)))
        return as_object(parts)

    def menu(self) -> str:
        """The gamestate of the main menu: there is no run."""
        return as_object(
            [
                ("state", '"MENU"'),
                *([("paused", "false"), ("starting_deck_size", "52")] if self.dialect.shows_more else []),
                ("round_num", "0"),
                ("ante_num", "1"),
                ("money", "0"),
                ("won", "false"),
                ("deck", quoted(self.dialect.decks[0])),
                ("stake", quoted(self.dialect.stakes[1])),
                ("used_vouchers", "[]"),
                ("hands", self._hands([1] * len(content.HANDS), [0] * len(content.HANDS), [0] * len(content.HANDS))),
                ("round", as_object((name, str(value)) for name, value in _MENU_COUNTERS.items())),
                (
                    "blinds",
                    as_object((place, self._blind(place, *blind, -1)) for place, blind in _MENU_BLINDS.items()),
                ),
            ]
        )

    # --- the run ---

    def _run(self, g: Any, phase: int) -> list[tuple[str, str]]:
        owned = [content.VOUCHERS.keys[i] for i, yes in enumerate(g.voucher_owned.tolist()) if yes]
        parts = [
            ("state", f'"{d.STATE_OF_PHASE[phase]}"'),
            ("round_num", str(int(g.rounds))),
            ("ante_num", str(int(g.ante))),
            ("money", str(int(g.money))),
            ("won", "true" if g.won else "false"),
            ("deck", f'"{self.dialect.decks[g.deck]}"'),
            ("stake", f'"{self.dialect.stakes[g.stake]}"'),
            ("seed", f'"{g.seed[: g.seed_length].tobytes().decode()}"'),
            ("used_vouchers", as_object((key, '""') for key in owned)),
        ]
        if not self.dialect.shows_more:
            return parts
        parts += [("paused", "false"), ("starting_deck_size", str(int(g.starting_deck_size)))]
        if g.challenge:
            parts.append(("challenge", f'"{content.CHALLENGES.key(int(g.challenge))}"'))
        if g.last_tarot_planet >= 0:
            parts.append(("last_tarot_planet", f'"{content.CONSUMABLES.keys[g.last_tarot_planet]}"'))
        if g.tag_count:
            parts.append(("tags", f"[{','.join(_tag(tag) for tag in g.tag_id[: g.tag_count].tolist())}]"))
        return parts

    def _progress(self, g: Any, phase: int, derived: Any) -> list[tuple[str, str]]:
        levels, played, in_round = g.hand_level.tolist(), g.hand_played.tolist(), g.hand_played_round.tolist()
        left = int(g.hands_left), int(g.discards_left), float(g.score)
        if phase in (r.BLIND_SELECT, r.SHOP, r.PACK):  # cashing out sets them to what the next round will start with
            left = max(1, int(g.hands_per_round)), max(0, int(g.discards_per_round)), 0.0
        counters = [
            ("hands_left", str(left[0])),
            ("hands_played", str(int(g.hands_played_round))),
            ("discards_left", str(left[1])),
            ("discards_used", str(int(g.discards_used))),
            ("reroll_cost", str(int(derived.reroll))),
            ("chips", number(left[2])),
        ]
        if self.dialect.shows_more:
            counters.append(("most_played_hand", quoted(content.HANDS.keys[g.most_played_hand])))
        return [
            ("hands", self._hands(levels, played, in_round)),
            ("round", as_object(counters)),
            ("blinds", self._blinds(g, phase, derived)),
        ]

    def _hands(self, levels: Sequence[int], played: Sequence[int], in_round: Sequence[int]) -> str:
        known = ("hands", *levels, *played, *in_round)
        if known not in self._pieces:
            self._pieces[known] = as_object(
                (content.HANDS.keys[hand], self._hand(hand, levels[hand], played[hand], in_round[hand]))
                for hand in range(len(content.HANDS))
            )
        return self._pieces[known]

    def _hand(self, hand: int, level: int, played: int, in_round: int) -> str:
        known = ("hand", hand, level, played, in_round)
        if known not in self._pieces:
            chips = max(0.0, content.HAND_CHIPS[hand] + content.HAND_LEVEL_CHIPS[hand] * (level - 1))
            mult = max(1.0, content.HAND_MULT[hand] + content.HAND_LEVEL_MULT[hand] * (level - 1))
            example = [[card.strip("()"), card[0] != "("] for card in d.EXAMPLES[content.HANDS.keys[hand]].split()]
            self._pieces[known] = (
                f'{{"order":{hand + 1},"level":{level},"chips":{number(chips)},"mult":{number(mult)},'
                f'"played":{played},"played_this_round":{in_round},"example":{json.dumps(example)}}}'
            )
        return self._pieces[known]

    def _blinds(self, g: Any, phase: int, derived: Any) -> str:
        choosing = phase == r.BLIND_SELECT or (phase == r.PACK and g.pack_phase == r.BLIND_SELECT)
        blinds, tags = (0, 1, int(g.boss)), (*g.skip_tag.tolist(), -1)
        parts = []
        for place, (name, state) in enumerate(zip(d.PLACES, g.blind_state.tolist(), strict=True)):
            status = d.STATUS[state]
            if state == r.SELECTABLE and not choosing:  # it is offered when the choice is shown
                status = "UPCOMING"
            parts.append(
                (name, self._blind(name, status, blinds[place], float(derived.requirements[place]), tags[place]))
            )
        if self.dialect.shows_more:
            reroll = '"reroll_available":' + ("true" if can_reroll_boss(g) else "false")
            parts[2] = ("boss", f"{parts[2][1][:-1]},{reroll}}}")
        return as_object(parts)

    def _blind(self, place: str, status: str, blind: int, score: float, tag: int) -> str:
        known = ("blind", place, status, blind, score, tag)
        if known not in self._pieces:
            row = (
                content.BLINDS.rows[blind]
                if blind >= 0
                else {"key": "", "name": "Boss Blind", "effect": "", "type": ""}
            )
            parts = [
                ("type", f'"{place.upper()}"'),
                ("status", f'"{status}"'),
                ("name", quoted(row["name"])),
                ("effect", quoted(row["effect"] if row["type"] == "boss" else "")),
                ("score", number(math.floor(score) if math.isfinite(score) else score)),
            ]
            if self.dialect.shows_more:
                parts.append(("key", f'"{row["key"]}"'))
                parts += [("tag", _tag(tag))] if tag >= 0 else []
            else:
                parts.append(("tag_name", quoted(d.TAG_NAMES[tag] if tag >= 0 else "")))
                parts.append(("tag_effect", quoted(content.TAGS.rows[tag]["effect"] if tag >= 0 else "")))
            self._pieces[known] = as_object(parts)
        return self._pieces[known]

    # --- what is held ---

    def _held(self, g: Any, derived: Any, dealt: int | None) -> list[tuple[str, str]]:
        hand, pile = g.hand[: g.hand_count][:dealt], g.pile[: g.pile_count]
        shown = pile
        if self.fair:
            unseen = np.concatenate([pile, hand[g.card_flags[hand] & r.CARD_FACE_DOWN != 0]])
            shown = unseen[np.argsort(g.card_serial[unseen])]
        jokers = [self._joker(g, index, int(derived.jokers[index])) for index in range(g.joker_count)]
        consumables = [self._consumable(g, i, int(derived.consumables[i])) for i in range(g.consumable_count)]
        return [
            ("jokers", _area(jokers, g.joker_slots, 1)),
            ("consumables", _area(consumables, g.consumable_slots, 1)),
            ("cards", self._deck(g, shown, len(pile))),
            ("hand", _area(self._cards(g, hand, False), derived.hand_limit, MAX_PLAYED)),
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
        lying = (flags & (r.CARD_DEBUFFED if in_deck else r.CARD_DEBUFFED | r.CARD_FACE_DOWN | r.CARD_FORCED)).tolist()
        for place, (serial, look, lies) in enumerate(zip(g.card_serial[slots].tolist(), looks, lying, strict=True)):
            if lies & r.CARD_FACE_DOWN and self.fair:
                out.append(blank(place, "DEFAULT", "Base Card", bool(lies & r.CARD_FORCED)))
            else:
                out.append(f'{{"id":{serial},{self._texts.playing_card(look, lies, in_deck, costs)}')
        return out

    def _joker(self, g: Any, index: int, sells: int) -> str:
        joker, edition, flags = int(g.joker_id[index]), int(g.joker_edition[index]), int(g.joker_flags[index])
        down = bool(flags & r.FACE_DOWN)
        if down and self.fair:
            return blank(index, "JOKER", "Joker", False)
        state = tuple(joker_state(g, index).items())
        piece = self._texts.joker(
            joker, edition, flags, int(g.joker_perish[index]), flags & r.DEBUFFED, down, sells, None, state, _costs(g)
        )
        return f'{{"id":{g.joker_serial[index]},{piece}'

    def _consumable(self, g: Any, index: int, sells: int) -> str:
        consumable, edition = int(g.consumable_id[index]), int(g.consumable_edition[index])
        piece = self._texts.consumable(consumable, edition, sells, None, _costs(g))
        return f'{{"id":{g.consumable_serial[index]},{piece}'

    # --- what is on offer ---

    def _goods(self, g: Any, derived: Any, stocked: bool, stock: int) -> list[tuple[str, str]]:
        cards = [self._offer(g, place, int(derived.offers[place])) for place in range(g.shop_count)] if stocked else []
        first = 100 * (int(g.rounds) + 1000 * stock)
        vouchers = []
        for index in range(g.voucher_count):
            voucher = int(g.shop_voucher[index])
            identifier = _VOUCHER_IDS + first + voucher
            vouchers.append(
                self._texts.ware(identifier, content.VOUCHERS, voucher, "VOUCHER", int(derived.vouchers[index]))
            )
        packs, seen = [], set()
        for index in range(g.booster_count):
            pack = int(g.booster_id[index])
            identifier = _BOOSTER_IDS + first + 2 * pack + (pack in seen)
            seen.add(pack)
            packs.append(self._texts.ware(identifier, content.PACKS, pack, "BOOSTER", int(derived.boosters[index])))
        return [
            ("shop", _area(cards, int(g.shop_slots), 1, int(g.shop_count))),
            ("vouchers", _area(vouchers, max(1, len(vouchers)), 1)),
            ("packs", _area(packs, 2, 1)),
        ]

    def _open_pack(self, g: Any) -> str:
        cards = [self._offer(g, r.FIRST_PACK_OFFER + number) for number in range(g.pack_count)]
        return _area(cards, int(content.PACK_CARDS[g.pack_id]), 1)

    def _offer(self, g: Any, place: int, asks: int | None = None) -> str:
        """A card of the shop for what it asks; one of a pack costs what it usually does, though it is free."""
        kind, identifier, edition = int(g.offer_kind[place]), int(g.offer_id[place]), int(g.offer_edition[place])
        costs, flags = _costs(g), int(g.offer_flags[place])
        if asks is None:
            asks = usual_price(kind, identifier, edition, flags, costs)
        sells = max(1, asks // 2)
        if kind == r.OFFER_JOKER:
            perish = content.RATES["stickers"]["perish_rounds"] if flags & r.PERISHABLE else 0
            piece = self._texts.joker(identifier, edition, flags, perish, 0, False, sells, asks, (), costs)
        elif kind == r.OFFER_CARD:
            look = (identifier, int(g.offer_suit[place]), int(g.offer_enhancement[place]), edition)
            piece = self._texts.playing_card((*look, int(g.offer_seal[place])), 0, False, costs)
            piece = f'{piece[: piece.rindex(chr(34) + "cost")]}"cost":{{"sell":{sells},"buy":{asks}}}}}'
        else:
            piece = self._texts.consumable(identifier, edition, sells, asks, costs)
        return f'{{"id":{g.offer_serial[place]},{piece}'


# --- pieces ---


def _plain(g: Any, names: tuple[str, ...]) -> Any:
    """A record with Python's own numbers: reading many fields of one is several times as fast."""
    return SimpleNamespace(**dict(zip(names, np.void.item(g), strict=True)))  # past the slow lookup of np.record


def _costs(g: Any) -> Costs:
    """What all prices depend on."""
    return int(g.inflation), int(g.discount_percent)


def can_reroll_boss(g: Any) -> bool:
    """Whether the boss may be rerolled at the next choice of blinds, as the mod says it."""
    if spendable(g) < _BOSS_REROLL:
        return False
    return bool(g.voucher_owned[_RETCON] or (g.voucher_owned[_DIRECTORS_CUT] and not g.boss_rerolled))


def _tag(tag: int) -> str:
    name, effect = quoted(d.TAG_NAMES[tag]), quoted(content.TAGS.rows[tag]["effect"])
    return f'{{"key":"{content.TAGS.keys[tag]}","name":{name},"effect":{effect}}}'


def _area(cards: Sequence[str], limit: int, highlighted: int, count: int | None = None) -> str:
    size = len(cards) if count is None else count
    return f'{{"count":{size},"limit":{limit},"highlighted_limit":{highlighted},"cards":[{",".join(cards)}]}}'


def _leftover(g: Any, leftover: Leftover | None) -> list[tuple[str, str]]:
    if leftover is None:
        return []
    counts = zip(("shop", "vouchers", "packs"), leftover, (int(g.shop_slots), 1, 2), strict=True)
    return [(name, _area((), limit, 1, count)) for name, count, limit in counts]
