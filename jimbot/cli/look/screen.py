"""The parts of a picture of a game, shared by `watch` and `play`: board, chances, rewards, standing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import numpy as np

    from jimbot.games import BatchGame, GameSpec
    from jimbot.games.contract import GameEntry

NARROW = 60  # columns below which bars give their room to words
BAR_WIDTH, LABEL_WIDTH = 12, 12  # beside a board of 40 columns the picture fits a terminal of 80


def board(entry: GameEntry, game: BatchGame, row: int = 0) -> RenderableType:
    """The game as the player sees it: its own drawing, or its words where it has none."""
    from jimbot.games.drawing import picture

    drawn = picture(entry, game, row)
    return Panel(drawn, title=entry.spec.id, expand=False) if entry.scene is None else drawn


def fitting(console: Console, entry: GameEntry, game: BatchGame, rows: int, row: int = 0) -> RenderableType:
    """The largest picture of the game that fits so many rows: its drawing or its small one; else the smallest there is
    (words, where it has no small drawing) that is not too wide, without its last rows."""
    large, small = board(entry, game, row), small_board(entry, game, row)
    if fits(console, large, rows):
        return large
    narrow = least_width(console, small) <= console.width
    if narrow and height(console, small) <= rows:
        return small
    return Cropped(large if not narrow and width(console, large) <= console.width else small, rows)


def small_board(entry: GameEntry, game: BatchGame, row: int = 0) -> RenderableType:
    """For terminals that are too small for the drawing: the game's small one, or words."""
    from jimbot.games.drawing import picture

    return picture(entry, game, row, small=True)


def fits(console: Console, part: RenderableType, rows: int) -> bool:
    return height(console, part) <= rows and width(console, part) <= console.width


def width(console: Console, part: RenderableType) -> int:
    """The columns a picture would take if nothing limited it."""
    return Measurement.get(console, console.options.update(width=1000), part).maximum


def least_width(console: Console, part: RenderableType) -> int:
    """The columns below which words or rows of a picture would be broken."""
    return Measurement.get(console, console.options.update(width=1000), part).minimum


def height(console: Console, part: RenderableType) -> int:
    return len(console.render_lines(part, pad=False))


@dataclass(frozen=True)
class Cropped:
    """The first lines of a picture."""

    part: RenderableType
    rows: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        for line in console.render_lines(self.part, options, pad=False)[: max(1, self.rows)]:
            yield from line
            yield Segment.line()


def chances(
    game: BatchGame,
    probabilities: np.ndarray,
    chosen: int,
    value: float | None,
    steady: bool,
    top: int = 6,
    row: int = 0,
    bars: bool = True,
    chance: str = "",
) -> RenderableType:
    """The likeliest actions of a row as bars, the chosen one marked, what the policy expects and how often it wins.

    `steady` keeps the height whatever is legal, so that a live picture does not jump. Without `bars` the words have the
    room.
    """
    import numpy as np

    table = Table.grid(padding=(0, 1))
    table.add_column()
    table.add_column(min_width=LABEL_WIDTH)
    order = np.argsort(-probabilities, kind="stable")
    shown = [int(action) for action in order[:top] if probabilities[action] > 0]
    shown += [] if chosen in shown else [chosen]
    for action in shown:
        share = float(probabilities[action])
        style = "bold green" if action == chosen else ""
        table.add_row(
            Text("▶" if action == chosen else " ", style=style),
            Text(game.describe_action(row, action), style=style),
            Text(bar(share) if bars else "", style="green" if action == chosen else "cyan"),
            Text(f"{share:6.1%}", style=style),
        )
    for _ in range(top + 1 - len(shown) if steady else 0):
        table.add_row("", "", "", "")
    legal = int(game.legal_mask[row].sum())
    words = f"{legal} legal action{'s' if legal != 1 else ''}" + (f", value {value:+.2f}" if value is not None else "")
    below = [Text(f"  {chance}", style="bold")] if chance else []
    return Group(table, Text(f"  {words}", style="dim"), *below)


def opinion(advice: Any) -> str:
    """What an adviser says, in one line."""
    return f"{advice.source} says: {advice.words}. {advice.reason}"


def beside(console: Console, left: RenderableType, right: RenderableType, gap: int = 3) -> RenderableType:
    """Two pictures next to each other where the console is wide enough, else one above the other."""
    widths = [Measurement.get(console, console.options, part).maximum for part in (left, right)]
    if sum(widths) + gap > console.width:
        return Group(left, right)
    table = Table.grid(padding=(0, gap))
    table.add_row(left, right)
    return table


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """A bar of eighth blocks.

    >>> bar(0.5, 4), bar(1.0, 4), bar(0.0, 4)
    ('██  ', '████', '    ')
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    text = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return text.ljust(width)


def rewards(spec: GameSpec, terms: np.ndarray) -> Any:
    """The reward terms of a step that were not zero, with signs and colours."""
    text = Text()
    for name, amount in zip(spec.reward_terms, terms.tolist(), strict=True):
        if amount:
            text.append(f"{name} ", style="dim")
            text.append(f"{amount:+.2f}  ", style="green" if amount > 0 else "red")
    return text if text else Text("no reward", style="dim")


def outcome(entry: GameEntry, game: BatchGame, total: float, turns: int) -> str:
    """How the game that just ended went, in one line."""
    from jimbot.games.narration import ended_in_words

    return f"{ended_in_words(entry, game)} ({turns} moves, return {total:+.2f})."


def final_board(console: Console, entry: GameEntry, game: BatchGame, rows: int | None) -> RenderableType:
    """The table after the last move of the game that just ended, in so many rows if that matters; nothing where the
    game does not keep it."""
    shown = game.final_board(0)
    if shown is None:
        return ""
    return board(entry, shown) if rows is None else fitting(console, entry, shown, rows)
