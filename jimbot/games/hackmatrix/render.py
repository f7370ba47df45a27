"""HackMatrix as a picture for the terminal: the board with row 5 on top, the player's numbers, programs, a legend.

Shows what the player may know and no more: no cryptog out of sight, no content of question blocks, no type of a
transmission. A cell is two lines of six characters, so that the whole board is 38 columns wide and leaves room beside
it on a terminal of 80; blocks, enemies and transmissions can be told apart without colour, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from jimbot.games.contract import BatchGame
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.build import to_dict
from jimbot.games.hackmatrix.state import State

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

CELL_WIDTH = 6
WIDTH = 2 + CELL_WIDTH * spec.SIDE  # a row label, then the cells
MOST_SHOWN = 999  # larger numbers would push others off the line

_ENEMY_STYLES = {
    "virus": "bold bright_red",
    "daemon": "bold dark_orange",
    "glitch": "bold hot_pink",
    "cryptog": "bold green3",
}
_BLOCK_STYLES = {"data": "on navy_blue", "program": "on purple4", "question": "on orange4"}
_SIPHONED_STYLE = "dim on grey23"
_CHECKER = ("on grey7", "on grey11")
_SHORT = {"ANTI-V": "ANTI"}

Part = tuple[str, str]  # text, style
Facts = Mapping[str, Any]


def render(game: BatchGame, row: int) -> RenderableType:
    """One game of a batch as the player sees it, 38 columns wide."""
    return picture(cast(FunctionalBatchGame, game).row_state(row))


def render_small(game: BatchGame, row: int) -> RenderableType:
    """The same in thirteen rows: everything else stands beside the board."""
    from rich.console import Group
    from rich.table import Table

    facts = to_dict(cast(FunctionalBatchGame, game).row_state(row))
    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_column(width=WIDTH)
    grid.add_column(width=WIDTH)
    grid.add_row(_board(facts), Group(_stats(facts), _programs(facts), _legend()))
    return grid


def picture(state: State) -> RenderableType:
    """One state as the player sees it."""
    from rich.table import Table

    facts = to_dict(state)
    grid = Table.grid()
    grid.add_column(width=WIDTH)
    for part in (_board(facts), _stats(facts), _programs(facts), _legend()):
        grid.add_row(part)
    return grid


def visible_enemies(facts: Facts) -> list[Facts]:
    """The enemies the player sees, in list order: cryptogs only in their row or column, or under SHOW."""
    player = facts["player"]
    return [
        enemy
        for enemy in facts["enemies"]
        if enemy["type"] != spec.ENEMY_NAMES[spec.CRYPTOG]
        or facts["show"]
        or enemy["row"] == player["row"]
        or enemy["col"] == player["col"]
    ]


def _board(facts: Facts) -> Text:
    from rich.text import Text

    enemies = visible_enemies(facts)
    text = Text(no_wrap=True)
    for row in reversed(range(spec.SIDE)):
        cells = [_cell(facts, enemies, row, col) for col in range(spec.SIDE)]
        for line in range(2):
            text.append(f"{row} " if line == 0 else "  ", style="dim")
            for upper, lower, background in cells:
                _append_centred(text, lower if line else upper, background)
            text.append("\n")
    text.append("  " + "".join(str(col).center(CELL_WIDTH) for col in range(spec.SIDE)), style="dim")
    return text


def _append_centred(text: Text, parts: list[Part], background: str) -> None:
    room = CELL_WIDTH - sum(len(words) for words, _ in parts)
    text.append(" " * (room // 2), style=background)
    for words, style in parts:
        text.append(words, style=f"{background} {style}".strip())  # a background of its own comes later and wins
    text.append(" " * (room - room // 2), style=background)


def _cell(facts: Facts, enemies: list[Facts], row: int, col: int) -> tuple[list[Part], list[Part], str]:
    """The two lines of a cell and its background: who is there above what lies there."""

    def here(name: str) -> list[Facts]:
        return [item for item in facts[name] if (item["row"], item["col"]) == (row, col)]

    block = next(iter(here("blocks")), None)
    entities = _entities(facts, [item for item in enemies if (item["row"], item["col"]) == (row, col)], row, col)
    background = _CHECKER[(row + col) % 2]
    if block is None:
        ground = _ground(facts, here("resources"), row, col)
        return entities, ground if entities or ground else [("·", "dim")], background
    background = _SIPHONED_STYLE if block["siphoned"] else _BLOCK_STYLES[block["type"]]
    name = block_name(block)
    if entities:
        return entities, [(f"▒{name}", "")], background
    # What a question block calls is as hidden as what it holds.
    calls = "" if block["type"] == "question" or not block["spawn_count"] else f"×{min(block['spawn_count'], 99)}"
    return [(name, "bold")], [(f"▒▒{calls}" if calls else "▒▒▒▒", "")], background


def _entities(facts: Facts, enemies: list[Facts], row: int, col: int) -> list[Part]:
    """Who is on a cell: the player, a transmission, the first enemy and a + for more of them; six characters fit."""
    parts: list[Part] = []
    if (facts["player"]["row"], facts["player"]["col"]) == (row, col):
        parts.append(("@", "bold black on bright_white"))
    for item in facts["transmissions"]:
        if (item["row"], item["col"]) == (row, col):
            turns = item["turns"]
            parts.append((f"!{turns if turns <= 9 else '*'}", "bold yellow"))
    if enemies:
        enemy = enemies[0]
        stunned = "z" if enemy["stunned"] else ""
        more = "+" if len(enemies) > 1 and len(parts) < 2 else ""
        letter = enemy["type"][0].upper()
        parts.append((f"{letter}{enemy['hp']}{stunned}{more}", _ENEMY_STYLES[enemy["type"]]))
    return parts


def _ground(facts: Facts, resources: list[Facts], row: int, col: int) -> list[Part]:
    """What lies on a cell without a block."""
    if facts["exit_tile"] == (row, col):
        return [("EXIT", "bold bright_white on green4")]
    parts: list[Part] = []
    if (row, col) in facts["pickups"]:
        parts.append(("◆", "bold bright_cyan"))
    for item in resources:
        if item["credits"]:
            parts.append((f"{item['credits']}c", "gold3"))
        if item["energy"]:
            parts.append((f"{item['energy']}e", "deep_sky_blue1"))
    if (row, col) in facts["siphon_centres"]:
        parts.append(("○", "dim"))
    roomy = sum(len(words) for words, _ in parts) + len(parts) - 1 <= CELL_WIDTH
    return [part for pair in parts for part in (pair, (" ", ""))][:-1] if roomy else parts


def block_name(block: Facts) -> str:
    if block["type"] == "question":
        return "?"
    if block["type"] == "data":
        return f"{block['points']}p"
    return _SHORT.get(block["program"], block["program"])


def _stats(facts: Facts) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    player = facts["player"]
    hp = player["hp"]
    rows: tuple[tuple[Part, ...], ...] = (
        (
            (f"stage {facts['stage']}/{spec.STAGES}", ""),
            ("HP " + "♥" * hp + "·" * (spec.MAX_HP - hp), "bold red"),
            (f"turn {_short(facts['turn'])}", "dim"),
        ),
        (
            (f"credits {_short(player['credits'])}", "gold3"),
            (f"energy {_short(player['energy'])}", "deep_sky_blue1"),
            (f"siphons {_short(player['data_siphons'])}", "bright_cyan"),
        ),
        (
            (f"attack {_short(player['attack_damage'])}", ""),
            (f"score {_short(player['score'])}", ""),
        ),
    )
    table = Table.grid(padding=(0, 1))
    for row in rows:
        table.add_row(*(Text(words, style=style, no_wrap=True) for words, style in row))
    states = [name for name, on in (("SHOW", "show"), ("CALM", "calm"), ("STEP", "step_active")) if facts[on]]
    return Group(table, Text("active  " + "  ".join(states), style="bold green")) if states else table


def _short(number: int) -> str:
    return str(number) if number <= MOST_SHOWN else f"{MOST_SHOWN}+"


def _programs(facts: Facts) -> Text:
    """Owned programs with what they cost, those one can pay for bright; no line breaks between name and cost."""
    from rich.text import Text

    purse = facts["player"]
    text = Text("programs", style="dim")
    column = len(text)
    for program in spec.PROGRAMS:
        if program.name not in facts["owned_programs"]:
            continue
        cost = (f"{program.credits}c" if program.credits else "") + (f"{program.energy}e" if program.energy else "")
        words = f"{program.name} {cost}"
        fits = column + 2 + len(words) <= WIDTH
        column = column + 2 + len(words) if fits else len(words)
        payable = purse["credits"] >= program.credits and purse["energy"] >= program.energy
        text.append("  " if fits else "\n").append(words, "not dim bold" if payable else "dim")
    return text if facts["owned_programs"] else text.append("  none")


def _legend() -> Text:
    from rich.text import Text

    text = Text("@ you  ◆ data siphon  !n arrives in n\n", style="dim")
    for name in spec.ENEMY_NAMES:
        text.append(name[0].upper(), style=f"not dim {_ENEMY_STYLES[name]}").append(f" {name} ")
    return text.append("\nz stunned  ▒ block  ×n calls n enemies")
