"""How a game ended, for people: the table after its last move, and what came of it in one sentence.

A batch begins the next game in the very step that ends one, so the last table has to be asked for (`final_board`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jimbot.games.batch_game import BatchGame
    from jimbot.games.entry import GameEntry


def ended_in_words(entry: GameEntry, game: BatchGame, row: int = 0) -> str:
    """How the game of a row ended; call it right after the step that ended it."""
    stats = dict(zip(game.spec.episode_stats, map(float, game.final_stats[row]), strict=True))
    cut, board = bool(game.truncated[row]), game.final_board(row)
    if entry.ending is not None and board is not None:
        return entry.ending(board, row, stats, cut)
    return plain_ending(entry, stats, cut)


def plain_ending(entry: GameEntry, stats: Mapping[str, float], cut: bool) -> str:
    """For games without words of their own: won or lost, and how far on the game's ladder, or its first statistic."""
    ladder = entry.spec.ladder or next((name for name in stats if name != "won"), "")
    far = f", {ladder.replace('_', ' ')} {stats[ladder]:g}" if ladder in stats else ""
    return f"{beginning(stats, cut)}{far}"


def beginning(stats: Mapping[str, float], cut: bool) -> str:
    if stats.get("won"):
        return "Won"
    return "Cut off by the step limit" if cut else "Lost" if "won" in stats else "Over"
