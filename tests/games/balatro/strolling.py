"""A player for tests: takes any legal move, the same ones for the same number."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.transcript import RecordedRun
from jimbot.games.balatro.view.move_text import Move

_WITHOUT_INDEX = (
    decisions.SELECT, decisions.SKIP, decisions.REROLL_BOSS, decisions.PLAY, decisions.DISCARD, decisions.CASH_OUT,
    decisions.REROLL, decisions.SKIP_PACK, decisions.NEXT,
)  # fmt: skip


def some_move(game: RecordedRun, luck: np.random.Generator) -> Move:
    """A legal move by trying random ones; plays and purchases are likelier than selling or sorting."""
    kinds = [
        *range(decisions.SELL_JOKER),
        decisions.PLAY,
        decisions.PLAY,
        decisions.BUY,
        decisions.BUY,
        decisions.PICK,
        *range(len(decisions.ACTION_KINDS)),
    ]
    while True:
        kind, index = int(luck.choice(kinds)), int(luck.integers(5))
        hand = int(game.g.hand_count)
        targets = 0
        if kind >= decisions.MOVE_JOKER:
            targets = int(luck.integers(max(1, hand)))
        elif (
            hand
            and kind in (decisions.PLAY, decisions.DISCARD, decisions.USE, decisions.PICK)
            and (kind < decisions.OPEN or luck.random() < 0.7)
        ):
            places = luck.choice(hand, size=min(hand, int(luck.integers(1, 6))), replace=False)
            targets = sum(1 << int(place) for place in places)
        if kind in _WITHOUT_INDEX:
            index = 0
        elif kind == decisions.SORT:
            index %= 2
        move = Move(kind, index, targets)
        if game.allows(move):
            return move


def stroll(game: RecordedRun, number: int, moves: int = 200) -> RecordedRun:
    """Plays until the game is over, or for so many moves."""
    luck = np.random.default_rng(number)
    for _ in range(moves):
        if game.over:
            break
        game.do(some_move(game, luck))
    return game
