"""The battle in a terminal, drawn from a row: what is shown is what its player knows."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from jimbot.games.vgc.fields import FOE, MOVES, SIDE_ROWS
from jimbot.games.vgc.words import PHASE_WORDS, STATUS_WORDS, Row

BAR = 12
_TYPE_STYLES = {
    "Fire": "red", "Water": "blue", "Grass": "green", "Electric": "yellow", "Ice": "cyan", "Psychic": "magenta",
    "Fairy": "bright_magenta", "Dragon": "blue", "Poison": "magenta", "Ghost": "bright_black", "Dark": "bright_black",
}  # fmt: skip


def render(game: Any, row: int) -> RenderableType:
    """The table of a row as its player sees it."""
    view = Row(game.features(row))
    scenery = view.scenery()
    title = f"turn {view.turn}" + (f" · {', '.join(scenery)}" if scenery else "")
    parts: list[RenderableType] = [
        _side(view, "rival", FOE, 1),
        Text(PHASE_WORDS[view.phase], style="dim", justify="center"),
        _side(view, "you", 0, 0),
    ]
    return Panel(Group(*parts), title=title, expand=False)


def render_small(game: Any, row: int) -> RenderableType:
    """The same in 80 columns and a few rows: whoever is out has a line, those who wait share one."""
    view = Row(game.features(row))
    out, waiting = Table.grid(padding=(0, 1)), []
    for _ in range(5):
        out.add_column(no_wrap=True)
    for title, first, side in (("rival", FOE, 1), ("you", 0, 0)):
        places = [place for place in range(first, first + SIDE_ROWS) if view.pokemon(place, "present")]
        active = [place for place in places if view.pokemon(place, "active_a") or view.pokemon(place, "active_b")]
        for place in active:
            slot, *rest, _ = _line(view, place)
            out.add_row(Text.assemble((f"{title:<5} ", "dim"), slot), *rest)
        waiting.append(_bench(view, title, side, [place for place in places if place not in active]))
    told = ", ".join([*view.scenery(), PHASE_WORDS[view.phase]])
    return Group(Text(f"turn {view.turn} · {told}", style="dim"), *([out] if out.row_count else []), *waiting)


def _bench(view: Row, title: str, side: int, places: list[int]) -> Text:
    """Those who wait with what is left of them, and what lasts on their side."""
    names = [
        Text(
            f"{view.name(place)} {view.pokemon(place, 'hp') / 10:.0f}%",
            style="dim strike" if view.pokemon(place, "fainted") else "",
        )
        for place in places
    ]
    lasting = f" ({', '.join(view.lasting(side))})" if view.lasting(side) else ""
    return Text.assemble((f"{title} waiting{lasting}: ", "dim"), Text(" · ").join(names))


def _side(view: Row, title: str, first: int, side: int) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    lasting = view.lasting(side)
    table.add_row("", Text(title + (f" ({', '.join(lasting)})" if lasting else ""), style="bold underline"))
    for place in range(first, first + SIDE_ROWS):
        if view.pokemon(place, "present"):
            table.add_row(*_line(view, place))
    return table


def _line(view: Row, place: int) -> tuple[Text, ...]:
    slot = "a" if view.pokemon(place, "active_a") else "b" if view.pokemon(place, "active_b") else " "
    out = slot == " "
    fainted = bool(view.pokemon(place, "fainted"))
    style = "dim strike" if fainted else "dim" if out else "bold"
    return (
        Text(slot, style="bold yellow"),
        Text(view.name(place), style=style),
        health(view.pokemon(place, "hp") / 1000),
        _types(view, place),
        Text(" ".join(_notes(view, place)), style="yellow"),
        _moves(view, place) if not out and not fainted else Text(view.named("item", "items", place), style="dim"),
    )


def health(share: float) -> Text:
    """A bar of HP, green to red."""
    filled = max(round(share * BAR), 1 if share > 0 else 0)
    colour = "green" if share > 0.5 else "yellow" if share > 0.2 else "red"
    return Text.assemble(("█" * filled, colour), ("░" * (BAR - filled), "dim"), f" {share:4.0%}")


def _types(view: Row, place: int) -> Text:
    names = [view.named(field, "types", place) for field in ("type_1", "type_2")]
    text = Text("/").join([Text(name, style=_TYPE_STYLES.get(name, "")) for name in names if name])
    if view.pokemon(place, "terastallized"):
        text.append(" tera", style="bold")
    return text


def _notes(view: Row, place: int) -> list[str]:
    status = view.named("status", "statuses", place)
    notes = [STATUS_WORDS[status]] if status and status != "fnt" else []
    return notes + view.boosts(place) + view.effects(place)


def _moves(view: Row, place: int) -> Text:
    names = [name for number in range(MOVES) if (name := view.move(place, number))]
    held = view.named("item", "items", place)
    return Text(" · ".join(names) + (f" [{held}]" if held and held != "none" else ""), style="cyan")
