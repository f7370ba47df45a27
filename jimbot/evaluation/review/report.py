"""A review in a terminal: the verdict, the curve, and the moves that cost something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from jimbot.evaluation.review.verdicts import BLUNDER, INACCURACY, MISTAKE
from jimbot.foreign_text import marked

if TYPE_CHECKING:
    from rich.console import RenderableType

_BLOCKS = " ▁▂▃▄▅▆▇█"
_COLOURS = {BLUNDER: "bold red", MISTAKE: "red", INACCURACY: "yellow"}
_WIDTH = 60


def review_tables(document: Mapping[str, Any]) -> RenderableType:
    """All of it."""
    parts: list[RenderableType] = [marked("[bold]{}[/]", document["title"])]
    parts.append(_sentence(f"{document['ending'] or 'Not over yet'}."))
    parts += [_curve(document["moves"]), _sentence(_accuracy(document)), _sentence(document["decided"])]
    costly = [one for one in document["moves"] if one["mark"] in _COLOURS]
    if costly:
        parts.append(_moves(costly))
    parts += [_sentence(note) for note in document["notes"]]
    parts.append(Text(_how(document), style="dim"))
    return Group(*parts)


def _sentence(text: str) -> Text:
    return marked("{}", text)


def _curve(moves: Sequence[Mapping[str, Any]]) -> Text:
    chances = np.array([one["chance"]["mean"] for one in moves])
    shown = [float(part.mean()) for part in np.array_split(chances, min(_WIDTH, len(chances)))]
    blocks = "".join(_BLOCKS[round(chance * (len(_BLOCKS) - 1))] for chance in shown)
    return marked("wins from here [cyan]{}[/] {}", blocks, f"{chances[-1]:.0%}")


def _accuracy(document: Mapping[str, Any]) -> str:
    accuracy = dict(document["accuracy"])
    whole = accuracy.pop("all")
    if whole is None:
        return "No move was in doubt."
    parts = ", ".join(f"{kind} {value:.0f}" for kind, value in accuracy.items() if value is not None)
    counts = ", ".join(f"{many} {name}" for name, many in document["counts"].items() if many)
    return f"Accuracy {whole:.0f} of 100{f' ({parts})' if parts else ''}; {counts}."


def _moves(costly: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("move", justify="right")
    table.add_column("played", overflow="fold")
    table.add_column("cost", justify="right")
    table.add_column("better", overflow="fold")
    for one in costly:
        cost, colour = one["cost"], _COLOURS[one["mark"]]
        points = f"{100 * cost['mean']:.0f} ({100 * cost['low']:.0f} to {100 * cost['high']:.0f})"
        played = Text.assemble(_sentence(one["words"]), (f" ({one['mark']})", colour))
        table.add_row(str(one["number"]), played, points, _sentence(", then ".join(one["line"][:3]) or one["better"]))
    return table


def _how(document: Mapping[str, Any]) -> str:
    whole = "every move in doubt was tried out" if document["complete"] else "more time tries out more (--seconds)"
    seed = " The seed was known: nothing was dealt anew." if document["know_the_seed"] else ""
    return (
        f"Points of winning chance in the hands of {document['by']}, 99 % intervals; {document['simulations']:,} "
        f"simulations in {document['seconds']:.0f} s, {whole}.{seed}"
    )


def batch_table(rows: Sequence[Mapping[str, Any]], by: str) -> Table:
    """Who loses how much where: a row per player, file or game."""
    kinds = list(dict.fromkeys(kind for row in rows for kind in row["lost"]))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(by, overflow="fold")
    for name in ("games", "won", "accuracy", *(f"{kind}: points a game" for kind in kinds), "blunders", "mistakes"):
        table.add_column(name, justify="right")
    for row in rows:
        accuracy = "" if row["accuracy"] is None else f"{row['accuracy']:.0f}"
        lost = (f"{row['lost'].get(kind, 0.0):.1f}" for kind in kinds)
        counts = (f"{row[name]:.1f}" for name in ("blunders", "mistakes"))
        table.add_row(_sentence(row[by]), str(row["games"]), str(row["won"]), accuracy, *lost, *counts)
    return table
