"""A person plays a battle: the orders of both slots as one numbered list in words, and the turn in words afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame
from jimbot.games.hooks.people import Offer
from jimbot.games.vgc import narration, orders
from jimbot.games.vgc.words import Row, describe_action, order_words

HOW = (
    "In a turn type one number for each of your two Pokémon, in any order: 3 15. A t behind a number terastallizes: 3t "
    "15. In team preview type the numbers of four Pokémon: the two leads first, then the two behind them."
)
SIDES = {"p1": "your", "p2": "the opponent's"}
_WINNERS = {"one wins": "you win", "two wins": "the opponent wins"}
_TYPED = re.compile(r"(\d+)(t?)")
_GIMMICK = len(orders.TARGETS)  # added to a move's code


class VgcInterface:
    """One person at side one of a batch of one battle."""

    how = HOW

    def __init__(self, game: BatchGame) -> None:
        self.game: Any = game
        self._read = 0

    # --- what can be typed ---

    def choices(self) -> RenderableType:
        row = Row(self.game.features(0))
        if self._in_preview():
            names = [Text.assemble((f"{place + 1}", "bold cyan"), f" {row.name(place)}") for place in range(6)]
            return Text("  ").join([*names, Text("type four: two leads, two behind them", style="dim")])
        lists, grid = self._lists(), Table.grid(padding=(0, 3))
        heads = [Text(row.name(slot) or f"slot {'ab'[slot]}", style="bold") for slot in range(2)]
        shown = [
            [Text.assemble((f"{number:>2}", "bold cyan"), f" {order_words(row, code, slot)}") for number, code in codes]
            for slot, codes in enumerate(lists)
        ]
        grid.add_row(*(head if lines else "" for head, lines in zip(heads, shown, strict=True)))
        for place in range(max(map(len, shown))):
            grid.add_row(*(lines[place] if place < len(lines) else "" for lines in shown))
        if any(code % 10 >= _GIMMICK for pair in self._legal() for code in pair if code < orders.FIRST_SWITCH):
            grid.add_row(Text("a t behind a move's number terastallizes: 1t", style="dim"))
        return grid

    def offers(self) -> Iterator[Offer]:
        row = Row(self.game.features(0))
        if self._in_preview():
            for order in self.game.legal_mask[0, orders.FIRST_PREVIEW :].nonzero()[0].tolist():
                places = orders.PREVIEW_ORDERS[order]
                typed = " ".join(str(place + 1) for place in places)
                yield Offer(typed, describe_action(self.game.features(0), orders.FIRST_PREVIEW + order))
            return
        for slot, codes in enumerate(self._lists()):
            title = row.name(slot) or f"slot {'ab'[slot]}"
            yield from (Offer(str(number), order_words(row, code, slot), group=title) for number, code in codes)

    def _in_preview(self) -> bool:
        return bool(self.game.legal_mask[0, orders.FIRST_PREVIEW :].any())

    def _legal(self) -> list[tuple[int, int]]:
        """The pairs of slot codes that may be ordered now."""
        return [orders.split(order) for order in self.game.legal_mask[0, : orders.ORDERS].nonzero()[0].tolist()]

    def _lists(self) -> list[list[tuple[int, int]]]:
        """(number, code) of the orders of each slot, numbered through; a slot that can only pass has none."""
        lists, number = [], 1
        for slot in range(2):
            codes = sorted({_plain(pair[slot]) for pair in self._legal()}, key=_opponents_first)
            codes = [] if codes == [orders.PASS] else codes
            lists.append(list(enumerate(codes, number)))
            number += len(codes)
        return lists

    # --- what a text means ---

    def actions(self, text: str) -> list[int]:
        typed = text.lower().replace(",", " ").split()
        found = [_TYPED.fullmatch(word) for word in typed]
        if not typed or not all(found):
            raise UsageError(f"'{text.strip()}' is no order here. Type the numbers shown, ? for help, q to leave.")
        chosen = [(int(match[1]), bool(match[2])) for match in found if match]
        return [self._preview([number for number, _ in chosen]) if self._in_preview() else self._order(chosen)]

    def _preview(self, numbers: list[int]) -> int:
        try:
            return orders.action_number("team " + "".join(map(str, numbers)))
        except UsageError as problem:
            raise UsageError("Type four different numbers from 1 to 6: two leads, then two behind them.") from problem

    def _order(self, chosen: list[tuple[int, bool]]) -> int:
        lists, pair = self._lists(), [orders.PASS, orders.PASS]
        wanted = sum(map(bool, lists))
        given = set()
        for number, gimmick in chosen:
            for slot, codes in enumerate(lists):
                if number in dict(codes):
                    given.add(slot)
                    pair[slot] = dict(codes)[number] + (_GIMMICK if gimmick else 0)
        if len(given) != wanted or len(chosen) != wanted:
            raise UsageError(f"Type {'one number of each list' if wanted == 2 else 'one number of the list'}.")
        action = orders.join(*pair)
        if not self.game.legal_mask[0, action]:
            raise UsageError("These two orders cannot be given together now; change one of them.")
        return action

    # --- what came of it ---

    def messages(self, ended: bool) -> list[str]:
        lines = self.game.log_lines(0, self._read, ended)
        self._read += len(lines)
        return [_WINNERS.get(sentence, sentence) for sentence in narration.sentences(lines, SIDES)]


def _plain(code: int) -> int:
    """The code of an order without its gimmick."""
    return code - _GIMMICK if code < orders.FIRST_SWITCH and code % 10 >= _GIMMICK else code


def _opponents_first(code: int) -> tuple[int, bool, int]:
    """Moves as the game lists them, each aimed at opponents before it is aimed at one's own Pokémon."""
    if code >= orders.FIRST_SWITCH:
        return code, False, 0
    return code // 10 * 10, orders.TARGETS[code % 10 % len(orders.TARGETS)] < 0, code
