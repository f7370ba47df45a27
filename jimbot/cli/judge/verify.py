"""`jimbot verify`: checks a simulator against recorded games, numbers and hands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.errors import UnknownNameError

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from jimbot.games.entry import GameEntry
    from jimbot.games.verification import Difference, FileReport

DIFFERENT = 1
_LONGEST_VALUE = 160  # characters of a value in the list of differences
EPILOG = """Examples:

jimbot verify balatro tests/golden/balatro

jimbot verify balatro my-recordings --differences 20

jimbot verify balatro traces.jsonl --json   (one file)

jimbot verify balatro live/balatro-20261117-034512.jsonl   (a game of jimbot play --live, or of any bot)

Exit code 0 when everything agrees, 1 when anything differs, 2 when something cannot be read."""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(verify)


def verify(
    game: Annotated[str, typer.Argument(help="The game, for instance balatro.")],
    recordings: Annotated[Path, typer.Argument(help="A directory of recordings, or one file.")],
    differences: Annotated[int, typer.Option(help="Differences shown per file.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a simulator against recordings.

    Files are recognised by name (pools, rng_units, seeds, scoring, traces, real_game, each with any ending); any other
    one given by itself is a recording of live games. Shows how many entries were compared, how many agree, the first
    differences with seed, step (or line) and both values, and why entries that prove nothing are undecided.
    """
    terminal.require_positive(differences=differences)
    from jimbot.games.contract import available_games, game_entry, games_with

    if game not in available_games() or game_entry(game).verify is None:
        raise UnknownNameError("game to verify", game, games_with("verify"))
    reports = _check(game_entry(game), recordings, quiet=as_json)
    if as_json:
        terminal.print_json(
            {
                "game": game,
                "agrees": not any(report.differing for report in reports),
                "entries": sum(report.entries for report in reports),
                "agreeing": sum(report.agreeing for report in reports),
                "differing": sum(report.differing for report in reports),
                "undecided": sum(report.undecided for report in reports),
                "files": [report.as_dict(differences) for report in reports],
            }
        )
    else:
        _show(reports, differences)
    if any(report.differing for report in reports):
        raise typer.Exit(DIFFERENT)


def _check(entry: GameEntry, recordings: Path, quiet: bool) -> list[FileReport]:
    from jimbot.foreign_text import Terminal

    assert entry.verify is not None
    reports = []
    with Terminal(stderr=True, quiet=quiet).status("Reading…") as status:
        for report in entry.verify(recordings):
            reports.append(report)
            status.update(f"{report.file} done (the first check on a machine compiles the game)…")
    return reports


def _show(reports: list[FileReport], most: int) -> None:
    console = terminal.console()
    console.print(_table(reports))
    for report in reports:
        for difference in report.differences[:most]:
            console.print(_sentence(report, difference), soft_wrap=True)
        if report.difference_count > most:
            rest = report.difference_count - most
            console.print(f"{report.file}: {rest:,} more; see them with --differences {report.difference_count}.")
        for doubt in report.doubts[:most]:
            console.print(_sentence(report, doubt, "undecided: "), soft_wrap=True)


def _table(reports: list[FileReport]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("file")
    for name in ("compared", "agree", "differ", "undecided", "values"):
        table.add_column(name, justify="right")
    table.add_column("")
    for report in reports:
        good = not report.differing
        table.add_row(
            report.file,
            f"{report.entries:,} {report.unit}",
            f"{report.agreeing:,}",
            Text(f"{report.differing:,}", style="" if good else "bold red"),
            f"{report.undecided:,}" if report.undecided else "",
            f"{report.values:,}",
            Text("✓ agrees", style="green") if good else Text("✗ differs", style="bold red"),
        )
    return table


def _sentence(report: FileReport, difference: Difference, verdict: str = "") -> Text:
    from rich.text import Text

    seed = f", seed {difference.seed}" if difference.seed else ""
    step = f", step {difference.step}" if difference.step is not None else ""
    return Text.assemble(
        (f"{report.file}: {difference.entry}{seed}{step}: {verdict}", "dim"),
        (difference.field, "bold"),
        " recorded ",
        (_short(difference.recorded), "green"),
        ", simulator ",
        (_short(difference.simulated), "red"),
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
