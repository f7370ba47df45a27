"""`jimbot settings`: finds a setting of training by its name, by what it does, or by its name in another library."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import JsonOption
from jimbot.errors import UsageError

EPILOG = """Examples:

jimbot settings   (all of them)

jimbot settings entropy

jimbot settings learning_rate   (what Stable-Baselines3 calls it)

jimbot settings checkpoint --json"""


class Setting(NamedTuple):
    """One setting as people look for it."""

    name: str
    group: str
    default: Any
    help: str
    other_names: tuple[str, ...]

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def mentions(self, word: str) -> bool:
        told = (self.name, self.flag, self.group, self.help, *self.other_names)
        return any(word in text.lower().replace("-", "_") for text in told)


def register(app: typer.Typer) -> None:
    app.command("settings", epilog=EPILOG)(show_settings)


def show_settings(
    word: Annotated[str | None, typer.Argument(help="A part of a name, a group or a description.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Find settings of training: every flag of jimbot train, and what other libraries call it."""
    wanted = (word or "").strip().lower().replace("-", "_").removeprefix("__")
    found = [one for one in all_settings() if one.mentions(wanted)]
    if not found:
        raise UsageError(f"No setting has '{word}' in its name or description; jimbot settings lists all of them.")
    if as_json:
        terminal.print_json([one._asdict() for one in found])
    else:
        _print(found)


def all_settings() -> list[Setting]:
    """Every setting, in the order of the groups."""
    from jimbot.training.settings.names import group_of, paths
    from jimbot.training.settings.other_names import RENAMED
    from jimbot.training.settings.record import TrainSettings
    from jimbot.training.settings.rllib_names import RLLIB_NAMES

    elsewhere = [*RENAMED.items(), *((name, meaning.ours) for name, meaning in RLLIB_NAMES.items())]
    found = []
    for name, path in paths(TrainSettings).items():
        group = group_of(TrainSettings, path[0])
        field = (group or TrainSettings).model_fields[path[-1]]
        others = tuple(dict.fromkeys(other for other, ours in elsewhere if ours == name != other))
        default = field.get_default(call_default_factory=True)
        found.append(Setting(name, path[0] if group else "", default, field.description or "", others))
    return sorted(found, key=lambda one: one.group)


def _print(found: list[Setting]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = terminal.console()
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(overflow="fold")
    group = ""
    for one in found:
        if one.group != group:
            group = one.group
            table.add_row("", "")
            table.add_row(Text(group, style="bold"), "")
        default = "" if one.default is None or one.default in ([], {}) else f" Default: {one.default}."
        also = f" Elsewhere: {', '.join(one.other_names)}." if one.other_names else ""
        table.add_row(one.flag, Text.assemble(one.help, (default, "dim"), (also, "dim italic")))
    console.print(table)
