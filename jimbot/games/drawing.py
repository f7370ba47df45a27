"""Scenes in the terminal: the one renderer of all games, large and small (see `jimbot.games.scenes`).

The large card table fits 100 columns and 40 rows, the small drawings 80 columns and about a dozen rows; what does not
fit (a crowded hand, many jokers) is drawn smaller, never cut off. Colours never carry a meaning alone: suits have
signs, everything else words or letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from jimbot.games import scenes
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry

WIDTH, SIDE_WIDTH, SMALL_WIDTH = 100, 30, 80
DIM = "dim"
MAIN = WIDTH - SIDE_WIDTH - 1
TILE, ROOMY_TILE = 13, 22  # widths of a named card: without and with the words of what it does
WIDE, SLIM, TINY = 7, 4, 5  # widths of a playing card: in full, half hidden by the next, in three rows
BAR, HEALTH_BAR = 20, 12
CELL_WIDTH = 6
BACK = Text("░", style="#5c7aa8")
TONES = {
    "good": "bold green", "bad": "bold #fe5f55", "money": "bold #ffd166", "energy": "#35c3e0", "quiet": DIM,
    "strong": "bold", "a": "bold #4aa8ff", "b": "bold #8fb3ff", "c": "bold dark_orange", "d": "bold hot_pink",
}  # fmt: skip
SUITS = {"♠": "bold #8fb3ff", "♥": "bold #ff5c7a", "♣": "bold #59d0a4", "♦": "bold #ffb454"}
KINDS = {
    "common": "#4aa8ff", "uncommon": "#4bc292", "rare": "#fe5f55", "legendary": "bold #c77dff", "tarot": "#b79bf0",
    "planet": "#35c3e0", "spectral": "#6f9bff", "voucher": "#ffb454", "boss": "bold #ff5c5c", "pay": "bold #ffd166",
    "arcana": "#b79bf0", "celestial": "#35c3e0", "standard": "#e8c170", "buffoon": "#fe5f55",
}  # fmt: skip
WORDS = {
    "foil": "bold #7fd8ff", "holo": "bold #ff7ac6", "poly": "bold #ffe066", "neg": "bold reverse", "bonus": "#7fb8ff",
    "mult": "#ff8f8f", "wild": "#d6a2ff", "glass": "#a8f0ff", "steel": "#c0c8d0", "stone": "#9a9a9a",
    "gold": "#ffd166", "lucky": "#8fe388", "red": "#ff5c5c", "blue": "#5c9dff", "purple": "#b06bff",
    "eternal": "#ff9ecb", "perishable": "#7aa2ff", "rental": "#e0c060", "debuffed": "red",
    "Fire": "red", "Water": "blue", "Grass": "green", "Electric": "yellow", "Ice": "cyan", "Psychic": "magenta",
    "Fairy": "bright_magenta", "Dragon": "blue", "Poison": "magenta", "Ghost": "bright_black", "Dark": "bright_black",
}  # fmt: skip
"""Words that have a colour of their own wherever they stand."""
GROUNDS = {
    "data": "on navy_blue", "program": "on purple4", "question": "on orange4", "siphoned": "dim on grey23",
    "exit": "bold bright_white on green4",
}  # fmt: skip
OPEN_GROUNDS = ("", "exit")  # the others are solid: their pattern shows it without colour
CHECKER = ("on grey7", "on grey11")
_SEAL = " seal"

Tile = list[Text]
"""Lines of one width."""


def picture(entry: GameEntry, game: BatchGame, row: int = 0, small: bool = False) -> RenderableType:
    """What the player of a row sees."""
    return draw(scenes.scene_of(entry, game, row), small)


def draw(scene: scenes.Scene, small: bool = False) -> RenderableType:
    if scene["kind"] == "cards":
        return _small_table(scene) if small else _table(scene)
    if scene["kind"] == "board":
        return _board_scene(scene, small)
    if scene["kind"] == "battle":
        return _small_battle(scene) if small else _battle(scene)
    return Text(scene["text"])


class Flow:
    """Pieces of text one after the other, wrapped between pieces; inside one only where it is wider than the place."""

    def __init__(self, pieces: Iterable[Text], gap: str = ", ") -> None:
        self.pieces = list(pieces)
        self.gap = Text(gap, style=DIM)
        self._least = len(gap.rstrip())  # of the gap, before the end of a line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = Text(no_wrap=True)
        for number, piece in enumerate(self.pieces):
            last = number == len(self.pieces) - 1
            if line and line.cell_len + piece.cell_len + (0 if last else self._least) > options.max_width:
                line.rstrip()
                yield line
                line = Text(no_wrap=True)
            line.append_text(piece)
            if line.cell_len > options.max_width:  # wider than the place by itself
                line.no_wrap = False
            if not last:
                line.append_text(self.gap[: max(0, options.max_width - line.cell_len)])
        line.rstrip()
        yield line

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widths = [piece.cell_len for piece in self.pieces] or [0]
        return Measurement(max(widths), sum(widths) + self.gap.cell_len * len(widths))


class Wide:
    """Rows beside each other where there is room for them, else what is said in their place."""

    def __init__(self, rows: RenderableType, narrow: RenderableType) -> None:
        self.rows, self.narrow = rows, narrow

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = Measurement.get(console, options.update(width=1000), self.rows).maximum
        yield self.rows if room <= options.max_width else self.narrow

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        least = Measurement.get(console, options, self.narrow).minimum
        return Measurement(least, Measurement.get(console, options, self.rows).maximum)


# --- stats and lists ---


def _stat(stat: scenes.Stat) -> Text:
    of = f"/{stat['of']}" if "of" in stat else ""
    style = TONES.get(stat.get("tone", ""), "bold")
    return Text.assemble((f"{stat['name']} ", DIM), (stat["value"] + of, style))


def _bar(share: float, width: int) -> Text:
    full = round(share * width)
    return Text.assemble(("━" * full, "green"), ("━" * (width - full), "grey30"))


def _stats(stats: Sequence[scenes.Stat], bar: int) -> Iterator[RenderableType]:
    """Figures one after the other; one with a bar or a note has lines of its own."""
    plain: list[Text] = []
    for stat in stats:
        if "share" not in stat and "note" not in stat:
            plain.append(_stat(stat))
            continue
        if plain:
            yield Flow(plain, "  ")
            plain = []
        yield _stat(stat)
        if "share" in stat:
            yield _bar(stat["share"], bar)
        if "note" in stat:
            yield Text(stat["note"], style=DIM)
    if plain:
        yield Flow(plain, "  ")


def _lists(lists: Sequence[scenes.List]) -> Iterator[RenderableType]:
    for one in lists:
        yield Flow([Text(one["title"], style=DIM), *map(Text, one["items"])], "  ")


# --- the card table ---


def _table(scene: scenes.CardScene) -> RenderableType:
    inside = SIDE_WIDTH - 4
    lines = [*_stats(scene["stats"], inside), *_lists(scene.get("lists", []))]
    side = Panel(
        Group(*lines), title=Text(scene.get("title", ""), style="bold"), subtitle=Text(scene.get("about", ""), DIM),
        border_style=DIM, width=SIDE_WIDTH,
    )  # fmt: skip
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=SIDE_WIDTH)
    grid.add_column(width=MAIN)
    grid.add_row(side, Group(*_shelves(scene["zones"])))
    return grid


def _shelves(zones: Sequence[scenes.Zone]) -> Iterator[RenderableType]:
    """Zones one below the other, side by side where they fit. What is held makes room first: it becomes a line."""
    shelf: list[tuple[RenderableType, int]] = []
    before: scenes.Zone | None = None
    for zone in zones:
        used = sum(width for _, width in shelf)
        drawn, width = _zone(zone)
        if zone.get("held") and used + width > MAIN:
            drawn, width = _named_line(zone), MAIN
        alike = before is None or _sort(before) == _sort(zone)
        if shelf and (used + width > MAIN or not alike):
            yield _side_by_side(shelf)
            shelf = []
        shelf.append((drawn, width))
        before = zone
    if shelf:
        yield _side_by_side(shelf)


def _sort(zone: scenes.Zone) -> tuple[bool, bool]:
    """Zones of a sort may stand side by side."""
    return bool(zone.get("held")), bool(zone["cards"]) and all(map(_playing, zone["cards"]))


def _side_by_side(shelf: Sequence[tuple[RenderableType, int]]) -> RenderableType:
    if len(shelf) == 1:
        return shelf[0][0]
    grid = Table.grid()
    for _, width in shelf:
        grid.add_column(width=width)
    grid.add_row(*(drawn for drawn, _ in shelf))
    return grid


def _title(zone: scenes.Zone) -> Text:
    return Text.assemble((zone["title"], "bold"), (f"  {zone['note']}" if zone.get("note") else "", DIM))


def _zone(zone: scenes.Zone) -> tuple[RenderableType, int]:
    """A zone and its width."""
    cards, title = zone["cards"], _title(zone)
    if not cards:
        return title, title.cell_len + 2
    if all(_playing(card) for card in cards):
        slim = len(cards) * WIDE > MAIN
        width = SLIM if slim else WIDE
        tiles = [_slim_card(card) if slim else _wide_card(card) for card in cards]
        return Group(title, *_rows(tiles, MAIN // width)), max(title.cell_len + 2, min(len(cards) * width, MAIN))
    described = not zone.get("held")
    width = ROOMY_TILE if described and len(cards) <= MAIN // ROOMY_TILE else TILE
    inside = [[] if _playing(card) else _tile_lines(card, width) for card in cards]
    height = max(map(len, inside))
    tiles = [
        _wide_card(card) if _playing(card) else _box(_padded(lines, height), width, _edge(card), _foot(card))
        for card, lines in zip(cards, inside, strict=True)
    ]
    notes = _effects(cards) if described and width == TILE else []
    columns = MAIN if notes else max(len(cards) * width, title.cell_len + 2)
    return Group(title, *_rows(tiles, MAIN // width), *notes), columns


def _named_line(zone: scenes.Zone) -> RenderableType:
    return Flow([_title(zone), *(_named(card, number) for number, card in enumerate(zone["cards"], 1))], "  ")


def _named(card: scenes.Card, number: int) -> Text:
    """A card in a line: its number, name, marks, and what its foot says beside the number."""
    if card.get("state") == "hidden":
        return Text(f"{number} face down", style=DIM)
    text = Text.assemble((f"{number} ", DIM), (card["name"], _style(card)))
    for mark in card.get("marks", []):
        text.append(f" {mark}", WORDS.get(mark, ""))
    price = card.get("foot", "").rpartition(" · ")[2]
    if price.startswith("$"):
        text.append(f" {price}", TONES[card.get("tone", "money")])
    return text


def _effects(cards: Sequence[scenes.Card]) -> list[RenderableType]:
    texts = dict.fromkeys((card["name"], card["text"]) for card in cards if card.get("text"))
    return [Text.assemble((f"{name}: ", "not dim"), text, style=DIM) for name, text in texts]


def _playing(card: scenes.Card) -> bool:
    return card["kind"] == "card"


def _style(card: scenes.Card) -> str:
    if "debuffed" in card.get("marks", []):
        return "dim strike"
    return next((KINDS[word] for word in reversed(card["kind"].split()) if word in KINDS), "bold")


def _foot(card: scenes.Card) -> Text:
    state, foot = card.get("state", ""), card.get("foot", "")
    if state == "chosen":
        return Text(f"▲{foot}" if foot.isdigit() else f"▲ {foot}", style="bold reverse")
    if state == "forced":
        return Text(f"!{foot}", style="bold red")
    return Text(foot, style=TONES[card.get("tone", "quiet")])


def _box(lines: Sequence[Text], width: int, edge: str, foot: Text | None = None) -> Tile:
    """A frame around lines, its foot below it."""
    inside = width - 2
    body = []
    for line in lines:
        line = line.copy()
        line.truncate(inside, pad=True)
        body.append(Text.assemble(("│", edge), line, ("│", edge)))
    below = foot.copy() if foot else Text()
    below.align("center", width)
    return [Text("╭" + "─" * inside + "╮", edge), *body, Text("╰" + "─" * inside + "╯", edge), below]


def _rows(tiles: Sequence[Tile], columns: int) -> Iterator[Text]:
    """Tiles side by side, so many in a row."""
    for first in range(0, len(tiles), columns):
        row = tiles[first : first + columns]
        for line in range(max(map(len, row))):
            yield Text.assemble(
                *(tile[line] if line < len(tile) else " " * tile[0].cell_len for tile in row), no_wrap=True
            )


def folded(name: str, width: int, lines: int = 2) -> list[str]:
    """A name on a fixed number of lines, broken between words, and inside words that are wider than a line.

    >>> folded("Constellation", 11), folded("To the Moon", 11), folded("Merry Andy", 11)
    (['Constellat-', 'ion'], ['To the Moon', ''], ['Merry Andy', ''])
    """
    out = [""]
    for word in name.split():
        if out[-1] and len(out[-1]) + 1 + len(word) > width and len(out) < lines:
            out.append(word)
        else:
            out[-1] = f"{out[-1]} {word}".strip()
    if max(map(len, out)) > width and lines > 1:
        out = [f"{name[: width - 1]}-", *folded(name[width - 1 :].strip(), width, lines - 1)]
    return out + [""] * (lines - len(out))


def _padded(lines: list[Text], height: int) -> list[Text]:
    return lines + [Text()] * (height - len(lines))


def _edge(card: scenes.Card) -> str:
    if card.get("state") == "chosen":
        return "bold yellow"
    style = _style(card)
    return DIM if "strike" in style else style


def _tile_lines(card: scenes.Card, width: int) -> list[Text]:
    """A named card: with room, what it does; else its value and its marks in a line each."""
    if card.get("state") == "hidden":
        return [_back(width)] * 4
    style = _style(card)
    marks = card.get("marks", [])
    if width == ROOMY_TILE:
        lines = [Text(line, style) for line in wrap(card["name"], width - 2)]
        lines += [Text(mark, WORDS.get(mark, "bold")) for mark in marks]
        lines += [Text(line, DIM) for line in wrap(card.get("text", ""), width - 2)]
    else:
        lines = [Text(line, style) for line in folded(card["name"], width - 2)]
        values, words = [one for one in marks if one not in WORDS], [one for one in marks if one in WORDS]
        lines.append(Text(" ".join(values) or ("" if words else card["kind"].split()[0]), "bold" if values else DIM))
        lines.append(Text(" ").join([Text(_short(one, len(words), width - 2), WORDS[one]) for one in words]))
    return lines


def _short(word: str, count: int, room: int) -> str:
    return word if count == 1 else word[: max(3, (room - count + 1) // count)]


def _back(width: int) -> Text:
    return Text(BACK.plain * (width - 2), BACK.style)


def _face(card: scenes.Card) -> tuple[str, str, str, list[str], str]:
    """Rank, sign and style of a playing card's front, its marks, its seal; without a rank it is of stone."""
    marks = [mark for mark in card.get("marks", []) if not mark.endswith(_SEAL)]
    seal = next((mark.removesuffix(_SEAL) for mark in card.get("marks", []) if mark.endswith(_SEAL)), "")
    sign = card.get("suit", "▒")
    style = "dim strike" if "debuffed" in marks else SUITS.get(sign, WORDS["stone"])
    return card.get("rank", ""), sign, style, marks, seal


def _wide_card(card: scenes.Card) -> Tile:
    """A playing card in full: rank and seal, suit, a mark; a second mark on its lower edge."""
    if card.get("state") == "hidden":
        return _box([_back(WIDE)] * 3, WIDE, DIM, _foot(card))
    rank, sign, style, marks, seal = _face(card)
    first, *others = [*marks, ""]
    dot = Text(f"●{seal[0].upper()}" if seal else "", WORDS.get(seal, ""))
    lines = [Text.assemble((rank.ljust(3), style), dot), Text(sign, style), Text(first, WORDS.get(first, ""))]
    box = _box(lines, WIDE, DIM, _foot(card))
    if others and others[0]:
        words = "+".join(mark[: 5 if len(others) == 2 else 2] for mark in others if mark)
        box[4] = Text.assemble(("╰", DIM), (words.center(WIDE - 2, "─"), WORDS.get(others[0], "")), ("╯", DIM))
    return box


def _slim_card(card: scenes.Card) -> Tile:
    """A playing card in a crowded hand: first letters of its marks, its seal's colour on the edge."""
    if card.get("state") == "hidden":
        return _box([_back(SLIM)] * 3, SLIM, DIM, _foot(card))
    rank, sign, style, marks, seal = _face(card)
    return _box([Text(rank, style), Text(sign, style), _letters(marks)], SLIM, WORDS.get(seal, DIM), _foot(card))


def _letters(marks: Sequence[str]) -> Text:
    return Text.assemble(*((mark[:1], WORDS.get(mark, "")) for mark in marks[:2]))


def _tiny_card(card: scenes.Card) -> Tile:
    """A playing card of three rows: its number on the upper edge, first letters of its marks on the lower one."""
    rank, sign, style, marks, seal = _face(card)
    hidden = card.get("state") == "hidden"
    edge = WORDS.get(seal, DIM)
    front = _back(TINY) if hidden else Text(f"{rank}{sign}".center(TINY - 2), style)

    def line(left: str, inside: Text, right: str) -> Text:
        return Text.assemble((left, edge), inside, ("─" * (TINY - 2 - inside.cell_len), edge), (right, edge))

    below = Text() if hidden else _letters(marks)
    return [line("╭", _foot(card), "╮"), Text.assemble(("│", edge), front, ("│", edge)), line("╰", below, "╯")]


def _small_table(scene: scenes.CardScene) -> RenderableType:
    parts: list[RenderableType] = []
    stats = scene["stats"]
    pieces = [
        Text.assemble(_stat(one), " ", _bar(one["share"], BAR)) if "share" in one else _stat(one) for one in stats
    ]
    parts.append(Flow(pieces, "  "))
    parts += [Text(one["note"], style=DIM) for one in stats if "note" in one]
    alone = sum(not zone.get("held") for zone in scene["zones"]) == 1
    for zone in scene["zones"]:
        if zone["cards"] and all(_playing(card) for card in zone["cards"]):
            parts += _rows([_tiny_card(card) for card in zone["cards"]], SMALL_WIDTH // TINY)
        elif alone and not zone.get("held") and len(zone["cards"]) <= 3:
            parts += [_title(zone), *map(_card_line, zone["cards"])]
        else:
            parts.append(_named_line(zone))
    return Group(*parts)


def _card_line(card: scenes.Card) -> Text:
    pointer = "▶ " if card.get("state") == "chosen" else "  "
    marks = "  ".join(one for one in (*card.get("marks", []), card.get("foot", "")) if one)
    return Text.assemble(
        (pointer, "bold yellow"), (card["name"], _style(card)), f"  {marks}  ", (card.get("text", ""), DIM)
    )


# --- the board ---


def _board_scene(scene: scenes.BoardScene, small: bool) -> RenderableType:
    width = 2 + CELL_WIDTH * scene["cols"]  # a label of the row, then the cells
    stats = Group(*_stats(scene["stats"], BAR), *_lists(scene.get("lists", [])))
    grid = Table.grid(padding=(0, 3, 0, 0) if small else 0)
    grid.add_column(width=width)
    if small:
        grid.add_column(width=width)
        grid.add_row(_board(scene), stats)
    else:
        grid.add_row(_board(scene))
        grid.add_row(stats)
    return grid


def _board(scene: scenes.BoardScene) -> Text:
    cells = {(cell["row"], cell["col"]): cell for cell in scene["cells"]}
    text = Text(no_wrap=True)
    for row in reversed(range(scene["rows"])):
        drawn = [_cell(cells[row, col]) for col in range(scene["cols"])]
        for line in range(2):
            text.append(f"{row} " if line == 0 else "  ", style=DIM)
            for lines, background in drawn:
                _append_centred(text, lines[line], background)
            text.append("\n")
    return text.append("  " + "".join(str(col).center(CELL_WIDTH) for col in range(scene["cols"])), style=DIM)


def _append_centred(text: Text, part: Text, background: str) -> None:
    room = CELL_WIDTH - part.cell_len
    part = Text.assemble(" " * (room // 2), part, " " * (room - room // 2))
    part.stylize_before(background)
    text.append_text(part)


def _cell(cell: scenes.Cell) -> tuple[tuple[Text, Text], str]:
    """The two lines of a cell and its background: who is there above what lies there."""
    checker = CHECKER[(cell["row"] + cell["col"]) % 2]
    here = _things([thing for thing in cell["things"] if not thing.get("lies")], "")
    lying = _things([thing for thing in cell["things"] if thing.get("lies")], " ")
    ground = cell["ground"]
    name, _, detail = cell.get("label", "").partition(" ")
    if ground in OPEN_GROUNDS:
        label = Text(name, GROUNDS.get(ground, "")) if name else lying
        return (here, label if label or here else Text("·", DIM)), checker
    if here:
        return (here, Text(f"▒{name}"[:CELL_WIDTH])), GROUNDS.get(ground, checker)
    return (Text(name[:CELL_WIDTH], "bold"), Text(f"▒▒{detail}"[:CELL_WIDTH] if detail else "▒▒▒▒")), GROUNDS.get(
        ground, checker
    )


def _things(things: Sequence[Any], gap: str) -> Text:
    """Things side by side; where there is no room for all, + stands for more."""
    labels = [Text(thing["label"], TONES.get(thing["tone"], "")) for thing in things]
    roomy = Text(gap).join(labels)
    if roomy.cell_len <= CELL_WIDTH:
        return roomy
    while sum(label.cell_len for label in labels) > CELL_WIDTH:
        labels = [*labels[:-2], Text("+", DIM)] if labels[-1].plain == "+" else [*labels[:-1], Text("+", DIM)]
    return Text("").join(labels)


# --- two sides ---


def _headline(scene: scenes.BattleScene) -> str:
    return " · ".join(
        f"{one['name']} {one['value']}" if one["value"].isdigit() else one["value"] for one in scene["stats"]
    )


def _battle(scene: scenes.BattleScene) -> RenderableType:
    tables: list[RenderableType] = []
    for side in scene["sides"]:
        table = Table.grid(padding=(0, 1))
        notes = f" ({', '.join(side['notes'])})" if side["notes"] else ""
        table.add_row("", Text(side["title"] + notes, style="bold underline"))
        for member in side["members"]:
            moves = " · ".join(member["moves"]) if member["out"] and member["health"] > 0 else ""
            held = f"[{member['item']}]" if member.get("item") else ""
            table.add_row(*_member(member), Text.assemble((f"{moves} ", "cyan"), (held, "" if moves else DIM)))
        tables.append(table)
    return Panel(Group(*tables), title=Text(_headline(scene)), expand=False)


def _small_battle(scene: scenes.BattleScene) -> RenderableType:
    """Every Pokémon that is out has a line, those that wait share one."""
    out = [(side["title"], member) for side in scene["sides"] for member in side["members"] if member["out"]]
    rows = Table.grid(padding=(0, 1))
    for _ in range(5):
        rows.add_column(no_wrap=True)
    for title, member in out:
        slot, *rest = _member(member)
        rows.add_row(Text.assemble((f"{title:<8} ", DIM), slot), *rest)
    fighters = [Wide(rows, Group(*(_fighter(*one) for one in out)))] if out else []
    return Group(Text(_headline(scene), style=DIM), *fighters, *map(_bench, scene["sides"]))


def _fighter(title: str, member: scenes.Member) -> Flow:
    """One who is out, without a bar."""
    slot, name, _, *rest = _member(member)
    pieces = [Text.assemble((f"{title} ", DIM), slot), name, Text(f"{member['health']:.0%}"), *rest]
    return Flow([piece for piece in pieces if piece], " ")


def _bench(side: scenes.Side) -> Flow:
    """Those who wait with what is left of them, and what lasts on their side."""
    names = [
        Text(f"{one['name']} {one['health']:.0%}", style="" if one["health"] else "dim strike")
        for one in side["members"]
        if not one["out"]
    ]
    lasting = f" ({', '.join(side['notes'])})" if side["notes"] else ""
    return Flow([Text(f"{side['title']} waiting{lasting}:", style=DIM), *names], "  ")


def _member(member: scenes.Member) -> tuple[Text, ...]:
    style = "dim strike" if not member["health"] else "bold" if member["out"] else DIM
    return (
        Text(member.get("slot", " "), style="bold yellow"),
        Text(member["name"], style=style),
        health(member["health"]),
        Text("/").join([Text(tag, style=WORDS.get(tag, "")) for tag in member["tags"]]),
        Text(" ".join(member["notes"]), style="yellow"),
    )


def health(share: float) -> Text:
    """A bar of health, green to red."""
    filled = max(round(share * HEALTH_BAR), 1 if share > 0 else 0)
    colour = "green" if share > 0.5 else "yellow" if share > 0.2 else "red"
    return Text.assemble(("█" * filled, colour), ("░" * (HEALTH_BAR - filled), DIM), f" {share:4.0%}")
