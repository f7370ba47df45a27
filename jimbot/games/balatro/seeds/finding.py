"""Seeds from outside: what a seed holds (`preview`), and which seeds hold something (`find`).

The view is explained in `preview_kernel.py`; where a found seed holds what was asked for, `places.py` says. A question
for `find` is written like

    voucher:v_telescope@1 and joker:j_blueprint+negative@<=2 and not boss:bl_needle@<=3

Kinds are boss, voucher, tag, joker, tarot, planet, spectral and pack; `card` stands for any consumable. Things go by
key or by display name, names with spaces in quotes (`joker:"Space Joker"@1`, `pack:'Mega Spectral Pack'`). `any` may
replace a joker's key, an edition may follow with `+`. Antes: `@3`, `@<=3`, `@>=5`, `@2-4`; none means any ante looked
at. `and`, `or`, `not` and brackets combine. A Legendary joker is found where the first Soul of the run would bring it.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.compiling.kernels import machine_code
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.chance.streams import SEED_COUNT, seed_bytes, seed_text
from jimbot.games.balatro.rules.run_start import clear_run
from jimbot.games.balatro.rules.state import ETERNAL, OFFER_CARD, OFFER_JOKER, PERISHABLE, RENTAL, new_games
from jimbot.games.balatro.seeds import preview_kernel as view
from jimbot.games.balatro.view.names import find_id, find_ids

DEFAULT_DECK, DEFAULT_STAKE = "b_red", "stake_white"
_LEGENDARY = 4
_BLOCK = 20_000  # seeds per call of the compiled scan: about a tenth of a second for a cheap question


@dataclass(frozen=True)
class Item:
    """A card in a shop or pack."""

    key: str
    """Internal key; `c_base` for a playing card."""
    edition: str = ""
    """foil, holo, polychrome, negative or nothing"""
    eternal: bool = False
    perishable: bool = False
    rental: bool = False
    card: str = ""
    """Suit and rank letters of a playing card."""
    enhancement: str = ""
    seal: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The key and whatever is set, as in the recorded data."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Pack:
    """A booster pack and what lies in it."""

    key: str
    cards: tuple[Item, ...]


@dataclass(frozen=True)
class Ante:
    """What one ante offers."""

    ante: int
    boss: str
    voucher: str
    tags: tuple[str, str]
    shop: tuple[Item, ...]
    packs: tuple[Pack, ...]


@dataclass(frozen=True)
class SeedPreview:
    """What a seed offers."""

    seed: str
    deck: str
    stake: str
    antes: tuple[Ante, ...]
    legendary: str
    """The joker the first Soul would bring."""

    def as_dict(self) -> dict[str, Any]:
        """The names of the recordings: keys, and only what is set."""
        antes = [
            {
                "ante": ante.ante,
                "boss": ante.boss,
                "voucher": ante.voucher,
                "tags": list(ante.tags),
                "queue": [item.as_dict() for item in ante.shop],
                "packs": [{"pack": pack.key, "cards": [card.as_dict() for card in pack.cards]} for pack in ante.packs],
            }
            for ante in self.antes
        ]
        return {"seed": self.seed, "deck": self.deck, "stake": self.stake, "legendary": self.legendary, "antes": antes}


def decode_item(code: int) -> Item:
    """An item from the number the compiled part makes of it."""
    kind, number, edition, flags, suit, enhancement, seal = ((code >> shift) & 0xFF for shift in range(0, 56, 8))
    name = "" if edition == 0 else content.EDITIONS.key(edition).removeprefix("e_")
    if kind == OFFER_CARD:
        return Item(
            "c_base",
            edition=name,
            card=content.card_code(number, suit),
            enhancement=content.ENHANCEMENTS.key(enhancement) if enhancement else "",
            seal=content.SEALS.key(seal) if seal else "",
        )
    if kind == OFFER_JOKER:
        eternal, perishable, rental = (bool(flags & flag) for flag in (ETERNAL, PERISHABLE, RENTAL))
        return Item(content.JOKERS.key(number), name, eternal, perishable, rental)
    return Item(content.CONSUMABLES.key(number), name)


def _records(deck: str, stake: str, shop_cards: int, first_packs: int, later_packs: int) -> tuple[Any, Any]:
    """A game and a preview record ready for `forget`."""
    for name, value, most in (
        ("shop_cards", shop_cards, view.PREVIEW_MAX_CARDS),
        ("first_packs", first_packs, view.PREVIEW_MAX_PACKS),
        ("later_packs", later_packs, view.PREVIEW_MAX_PACKS),
    ):
        if not 0 <= value <= most:
            raise UsageError(f"{name} is {value}; expected 0 to {most}. Look at fewer.")
    game = new_games(1)[0]
    game.deck, game.stake = content.DECKS.id(deck), content.STAKES.id(stake)
    game.seed_length = 8
    game.seed = ord("1")
    clear_run(game)
    seen = np.zeros(1, view.PREVIEW_DTYPE)[0]
    seen.shop_cards, seen.first_packs, seen.later_packs = shop_cards, first_packs, later_packs
    return game, seen


def preview_records(shop_cards: int, first_packs: int, later_packs: int) -> tuple[Any, Any]:
    """The working records of `kernels.look_at_many` for the default deck and stake."""
    return _records(DEFAULT_DECK, DEFAULT_STAKE, shop_cards, first_packs, later_packs)


def _check_antes(antes: int) -> None:
    if not 1 <= antes <= view.PREVIEW_MAX_ANTE:
        raise UsageError(f"antes is {antes}; expected 1 to {view.PREVIEW_MAX_ANTE}. Ask for fewer antes.")


def preview(
    seed: str,
    antes: int = 8,
    deck: str = DEFAULT_DECK,
    stake: str = DEFAULT_STAKE,
    shop_cards: int = 20,
    first_packs: int = 4,
    later_packs: int = 6,
) -> SeedPreview:
    """What a seed offers in its first antes.

    >>> preview("4WAX5M4D", antes=2, shop_cards=2).antes[1].boss
    'bl_water'
    """
    _check_antes(antes)
    game, seen = _records(deck, stake, shop_cards, first_packs, later_packs)
    game.seed, game.seed_length = seed_bytes(seed)
    view.look_at_everything(game, seen, antes, True)
    rows = []
    for ante in range(1, antes + 1):
        packs = []
        for number in range(first_packs if ante == 1 else later_packs):
            codes = [int(code) for code in seen.content[ante, number] if code]
            packs.append(
                Pack(content.PACKS.key(int(seen.pack[ante, number])), tuple(decode_item(code) for code in codes))
            )
        rows.append(
            Ante(
                ante,
                content.BLINDS.key(int(seen.boss[ante])),
                content.VOUCHERS.key(int(seen.voucher[ante])),
                (content.TAGS.key(int(seen.tag[ante, 0])), content.TAGS.key(int(seen.tag[ante, 1]))),
                tuple(decode_item(int(code)) for code in seen.shop[ante, :shop_cards]),
                tuple(packs),
            )
        )
    text = bytes(game.seed[: game.seed_length]).decode()
    return SeedPreview(text, deck, stake, tuple(rows), content.JOKERS.key(int(seen.legendary)))


# --- questions --------------------------------------------------------------------------------------------------------


@dataclass
class Condition:
    """One thing asked for, by numbers as the compiled search knows them, in antes `first` to `last`."""

    kind: int
    item: int
    edition: int
    first: int
    last: int


@dataclass
class _Not:
    part: _Node


@dataclass
class _Either:
    """All parts (`every`) or at least one."""

    every: bool
    parts: list[_Node] = field(default_factory=list)


_Node = Condition | _Not | _Either

_CONSUMABLE_IDS = range(len(content.CONSUMABLES))
_TABLES: dict[str, tuple[int, content.ContentTable, range | None]] = {
    "boss": (view.ASK_BOSS, content.BLINDS, None),
    "voucher": (view.ASK_VOUCHER, content.VOUCHERS, None),
    "tag": (view.ASK_TAG, content.TAGS, None),
    "joker": (view.ASK_JOKER, content.JOKERS, None),
    "tarot": (view.ASK_CONSUMABLE, content.CONSUMABLES, _CONSUMABLE_IDS[: content.FIRST_PLANET]),
    "planet": (
        view.ASK_CONSUMABLE,
        content.CONSUMABLES,
        _CONSUMABLE_IDS[content.FIRST_PLANET : content.FIRST_SPECTRAL],
    ),
    "spectral": (view.ASK_CONSUMABLE, content.CONSUMABLES, _CONSUMABLE_IDS[content.FIRST_SPECTRAL :]),
    "card": (view.ASK_CONSUMABLE, content.CONSUMABLES, None),
    "pack": (view.ASK_PACK, content.PACKS, None),
}
_QUOTED = r"\"[^\"]*\"|'[^']*'"
_WORD = re.compile(rf"\(|\)|(?:{_QUOTED}|[^\s()\"'])+")
_TERM = re.compile(
    rf"(?P<kind>\w+):(?P<key>{_QUOTED}|[^\s+@\"']+)(?:\+(?P<edition>\w+))?(?:@(?P<antes>\S+))?", re.IGNORECASE
)
_ANTES = re.compile(r"(?P<sign><=|>=)?(?P<first>\d+)(?:-(?P<last>\d+))?")


def _parse_antes(text: str | None, antes: int, term: str) -> tuple[int, int]:
    if text is None:
        return 1, antes
    match = _ANTES.fullmatch(text)
    if not match or (match["sign"] and match["last"]):
        raise UsageError(f"'{term}' has the antes '{text}'; expected one of @3, @<=3, @>=5, @2-4.")
    number = int(match["first"])
    first, last = {"<=": (1, number), ">=": (number, antes)}.get(match["sign"], (number, int(match["last"] or number)))
    if not 1 <= first <= last <= antes:
        raise UsageError(f"'{term}' asks for antes {first} to {last}; expected antes within 1 to {antes}.")
    return first, last


def _parse_term(term: str, antes: int) -> _Node:
    match = _TERM.fullmatch(term)
    if not match:
        raise UsageError(f"'{term}' is no condition; expected one like voucher:v_telescope@1 or joker:j_blueprint@<=2.")
    name = match["kind"].lower()
    if name not in _TABLES:
        raise UnknownNameError("kind of condition", match["kind"], _TABLES)
    kind, table, only = _TABLES[name]
    key = match["key"].strip("\"'")
    edition = view.ANY
    if match["edition"]:
        if kind != view.ASK_JOKER:
            raise UsageError(f"'{term}' asks for an edition; only jokers are found with one.")
        edition = find_id(content.EDITIONS, match["edition"])
    first, last = _parse_antes(match["antes"], antes, term)
    if kind == view.ASK_JOKER and key.lower() == "any":
        return Condition(kind, view.ANY, edition, first, last)
    found: list[_Node] = []
    for item in find_ids(table, key, name, only):
        legendary = kind == view.ASK_JOKER and content.JOKER_RARITY[item] == _LEGENDARY
        found.append(Condition(view.ASK_LEGENDARY if legendary else kind, item, edition, first, last))
    return found[0] if len(found) == 1 else _Either(False, found)


class _Parser:
    """Precedence: not, and, or."""

    def __init__(self, text: str, antes: int) -> None:
        self.text = text
        self.antes = antes
        self.words = _WORD.findall(text)

    def parse(self) -> _Node:
        node = self._or()
        if self.words:
            raise UsageError(f"'{self.words[0]}' is left over in '{self.text}'; expected 'and' or 'or' before it.")
        return node

    def _or(self) -> _Node:
        return self._list("or", lambda: self._list("and", self._not))

    def _list(self, word: str, part: Callable[[], _Node]) -> _Node:
        parts = [part()]
        while self.words and self.words[0].lower() == word:
            self.words.pop(0)
            parts.append(part())
        return parts[0] if len(parts) == 1 else _Either(word == "and", parts)

    def _not(self) -> _Node:
        if not self.words:
            raise UsageError(f"'{self.text}' ends too early; expected a condition like voucher:v_telescope@1.")
        word = self.words.pop(0)
        if word.lower() == "not":
            return _Not(self._not())
        if word == "(":
            node = self._or()
            if not self.words or self.words.pop(0) != ")":
                raise UsageError(f"A bracket is not closed in '{self.text}'; expected ')'.")
            return node
        return _parse_term(word, self.antes)


_COST = {view.ASK_VOUCHER: 1, view.ASK_TAG: 2, view.ASK_BOSS: 2, view.ASK_PACK: 2, view.ASK_LEGENDARY: 1}


def _cost(node: _Node) -> int:
    """Rough work of a condition, to ask cheap ones first."""
    if isinstance(node, Condition):
        return _COST.get(node.kind, 10) * (node.last if node.kind == view.ASK_BOSS else node.last - node.first + 1)
    return _cost(node.part) if isinstance(node, _Not) else min(_cost(part) for part in node.parts)


def _emit(node: _Node, rows: list[list[int]], if_true: int, if_false: int) -> int:
    """Appends a node's conditions back to front and returns where it starts."""
    if isinstance(node, _Not):
        return _emit(node.part, rows, if_false, if_true)
    if isinstance(node, Condition):
        rows.append([node.kind, node.item, node.edition, node.first, node.last, if_true, if_false])
        return len(rows) - 1
    start = if_true if node.every else if_false
    for part in sorted(node.parts, key=_cost, reverse=True):
        start = _emit(part, rows, start, if_false) if node.every else _emit(part, rows, if_true, start)
    return start


def wanted(expression: str, antes: int = 8) -> list[Condition]:
    """What a question asks to be there, in the order it is written; what is negated is left out."""

    def walk(node: _Node) -> Iterator[Condition]:
        if isinstance(node, Condition):
            yield node
        elif isinstance(node, _Either):
            for part in node.parts:
                yield from walk(part)

    return list(walk(_Parser(expression, antes).parse()))


def compile_question(expression: str, antes: int = 8) -> np.ndarray:
    """A question as the condition list of the compiled search; its first condition comes first."""
    rows: list[list[int]] = []
    start = _emit(_Parser(expression, antes).parse(), rows, view.ACCEPT, view.REJECT)
    order = [start, *[index for index in range(len(rows)) if index != start]]
    place = {old: new for new, old in enumerate(order)} | {view.ACCEPT: view.ACCEPT, view.REJECT: view.REJECT}
    question = np.zeros(len(rows), view.CONDITION_DTYPE)
    for new, old in enumerate(order):
        *values, if_true, if_false = rows[old]
        question[new] = (*values, place[if_true], place[if_false])
    return question


def search(
    expression: str,
    limit: int = 10,
    start: int = 0,
    max_seeds: int = SEED_COUNT,
    antes: int = 8,
    deck: str = DEFAULT_DECK,
    stake: str = DEFAULT_STAKE,
    shop_cards: int = 4,
    packs: int = 4,
    threads: int = 2,
) -> Iterator[tuple[int, list[str]]]:
    """Seeds that answer a question, as they are found: (seeds looked at so far, new seeds) about ten times a second.

    Seeds come by number from `start` on and around, at most `limit` of them. `shop_cards` and `packs` say how much of
    each ante is looked at: 4 cards and 4 packs are two shops without a reroll. The answer does not depend on `threads`.
    A wrong question is reported at once, before the first seed is asked for.
    """
    _check_antes(antes)
    if limit < 1 or threads < 1:
        raise UsageError(f"limit is {limit} and threads is {threads}; expected at least 1 of each.")
    question = compile_question(expression, antes)
    records = [_records(deck, stake, shop_cards, packs, packs) for _ in range(threads)]
    return _search(question, records, limit, _blocks(start % SEED_COUNT, max_seeds))


def _search(
    question: np.ndarray, records: list[tuple[Any, Any]], limit: int, blocks: Iterator[tuple[int, int]]
) -> Iterator[tuple[int, list[str]]]:
    looked = 0
    while limit > 0 and (batch := list(itertools.islice(blocks, len(records)))):
        found = _scan_batch(batch, records, question, limit)
        hits: list[int] = []
        for first, count in batch:
            if limit > 0:
                new = found[first][:limit]
                limit -= len(new)
                hits += new
                looked += count if limit > 0 else new[-1] - first + 1  # what is found last ends the search
        yield looked, [seed_text(number) for number in hits]


def find(expression: str, limit: int = 10, **options: Any) -> list[str]:
    """The first `limit` seeds that answer a question; the options are those of `search`.

    >>> find("voucher:Telescope@1 and tag:'Negative Tag'@2", limit=2)
    ['111111A3', '111111KB']
    """
    return [seed for _, seeds in search(expression, limit, **options) for seed in seeds]


def _blocks(start: int, max_seeds: int) -> Iterator[tuple[int, int]]:
    """(first seed, seeds), and after the last seed there is on with the first one."""
    end = start + min(max_seeds, SEED_COUNT)
    for begin, until in ((start, min(end, SEED_COUNT)), (0, end - SEED_COUNT)):
        for first in range(begin, until, _BLOCK):
            yield first, min(_BLOCK, until - first)


def _scan_batch(
    batch: list[tuple[int, int]], records: list[tuple[Any, Any]], question: np.ndarray, limit: int
) -> dict[int, list[int]]:
    """What each block holds, by its first seed; one thread each: the compiled scan leaves the interpreter lock."""
    out: dict[int, list[int]] = {}

    def work(block: tuple[int, int], record: tuple[Any, Any]) -> None:
        found = np.zeros(limit, np.int64)
        hits = machine_code(view.scan)(record[0], record[1], question, block[0], block[1], found)
        out[block[0]] = found[:hits].tolist()

    workers = [threading.Thread(target=work, args=pair) for pair in zip(batch[1:], records[1:], strict=False)]
    for worker in workers:
        worker.start()
    work(batch[0], records[0])
    for worker in workers:
        worker.join()
    return out
