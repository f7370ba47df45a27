"""Worked examples of jokers in a running game: what can be seen debuffed, alone, and with a Blueprint to the left.

A row names a joker, says what is looked at, and gives the three values to see. The watching function drives a real
game through its named actions (`playing.Run`) and returns what it sees; `me` is the present place of the joker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jimbot.games.balatro.rules.state import DEBUFFED, PERISHABLE
from tests.games.balatro.playing import Run


class Table(Run):
    """A run with the joker of an example."""

    def __init__(self, *left: str, joker: str, flags: int = 0) -> None:
        super().__init__()
        for key in left:
            self.joker(key)
        self._serial = self.g.joker_serial[self.joker(joker, flags=flags)]

    @property
    def me(self) -> int:
        return self.g.joker_serial[: self.g.joker_count].tolist().index(self._serial)

    def play(self, cards: str, held: str = "", **fields: Any) -> Table:
        """Selects the blind, deals these cards and plays the first of them against a blind that is not beaten."""
        if self.phase == "blind_select":
            self.act("select")
        self.hand(f"{cards} {held}")
        self.g.requirement = 1e12
        self.set(**fields)
        self.act("play", cards=range(len(cards.split())))
        return self

    def discard(self, cards: str, **fields: Any) -> Table:
        if self.phase == "blind_select":
            self.act("select")
        self.hand(f"{cards} C_2 C_3")
        self.set(**fields)
        self.act("discard", cards=range(len(cards.split())))
        return self

    def set(self, **fields: Any) -> Table:
        """Sets fields of the game; `value` and `counter` belong to the joker."""
        for name, value in fields.items():
            if name in ("value", "counter"):
                self.g[f"joker_{name}"][self.me] = value
            else:
                self.g[name] = value
        return self

    def others(self, *keys: str) -> Table:
        """More jokers to the right."""
        for key in keys:
            self.joker(key)
        return self

    def win(self, boss: bool = False) -> Table:
        if boss:
            self.boss("bl_wall")
        self.act("select").win_round()
        return self

    @property
    def value(self) -> float:
        return round(float(self.g.joker_value[self.me]), 9)

    @property
    def payout(self) -> int:
        """Dollars of the jokers in the payout that waits."""
        return int(self.g.payout_part[2])

    @property
    def mult(self) -> float:
        return round(float(self.s.mult), 9)


@dataclass(frozen=True)
class Example:
    joker: str
    seen: str
    watch: Callable[[Table], Any]
    debuffed: Any
    alone: Any
    copied: Any

    def __str__(self) -> str:
        return f"{self.joker}: {self.seen}: {self.debuffed} debuffed, {self.alone} alone, {self.copied} copied"

    @property
    def expected(self) -> tuple[Any, Any, Any]:
        return self.debuffed, self.alone, self.copied

    def watched(self) -> tuple[Any, Any, Any]:
        """What is seen debuffed, alone and copied."""
        expired = Table(joker=self.joker, flags=PERISHABLE | DEBUFFED)
        expired.g.joker_perish[0] = 0  # nothing revives it
        return (
            self.watch(expired),
            self.watch(Table(joker=self.joker)),
            self.watch(Table("j_blueprint", joker=self.joker)),
        )


def examples(*rows: tuple[str, str, Callable[[Table], Any], Any, Any, Any]) -> list[Example]:
    return [Example(*row) for row in rows]
