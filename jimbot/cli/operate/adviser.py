"""`jimbot adviser`: what advice has cost, and what can be set about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.advising import AdviserSetOption, adviser_settings
from jimbot.cli.shared.options import JsonOption

if TYPE_CHECKING:
    from jimbot.advisor.ledger import Books, Limits, Spent

EPILOG = """Examples:

jimbot adviser budget   (this hour, every run, and whether the books balance)

jimbot adviser budget --adviser-set dollars_per_hour=2 --json

jimbot adviser settings   (what --adviser-set can set, and what each model costs)"""

app = typer.Typer(help="What advice has cost, and what can be set about it.", no_args_is_help=True, epilog=EPILOG)
LedgerOption = Annotated[Path | None, typer.Option(help="The file of the books; else the user's own.")]


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="adviser")


@app.command()
def budget(
    ledger: LedgerOption = None, adviser_set: AdviserSetOption = None, as_json: JsonOption = False
) -> None:  # fmt: skip
    """Show the books: this hour, every run, what is reserved, and whether they balance.

    Limits are those of this command line; every process keeps to its own.
    """
    from jimbot.advisor.ledger import Ledger, Limits

    settings = adviser_settings(adviser_set)
    path = ledger or settings.ledger_path
    if not path.exists():
        terminal.note(f"No books yet: nothing was ever asked ({path}).")
        return
    opened = Ledger(path)
    books, limits = opened.books(), Limits.of(settings)
    opened.close()
    if as_json:
        terminal.print_json({"ledger": str(path), **_plain(books, limits)})
        return
    terminal.console().print(_table(books, limits))
    answers = ", ".join(f"{count:,} {outcome}" for outcome, count in books.outcomes.items())
    balanced = "balance" if books.balanced else "do NOT balance; move the file away and begin new ones"
    terminal.console().print(f"{path}: {answers or 'no calls'}. The books {balanced}.", soft_wrap=True)


@app.command()
def settings(as_json: JsonOption = False) -> None:
    """List what --adviser-set can set, and what each model costs."""
    from dataclasses import asdict

    from rich.table import Table

    from jimbot.advisor.prices import MODELS
    from jimbot.advisor.settings import AdviserSettings

    usual = asdict(AdviserSettings())
    if as_json:
        prices = {model.name: [model.input_price, model.output_price] for model in MODELS.values()}
        terminal.print_json({"settings": usual, "dollars_per_million_tokens": prices})
        return
    table = Table("setting", "default", box=None)
    for name, value in usual.items():
        table.add_row(name, "" if value is None else str(value))
    models = Table("model", "$ per million tokens read", "written", box=None)
    for model in MODELS.values():
        models.add_row(model.name, f"{model.input_price:g}", f"{model.output_price:g}")
    terminal.console().print(table, "", models)


def _plain(books: Books, limits: Limits) -> dict[str, Any]:
    def shown(spent: Spent) -> dict[str, float]:
        return {"calls": spent.calls, "tokens": spent.tokens, "dollars": spent.dollars}

    return {
        "hour": shown(books.hour), "limits_per_hour": shown(limits.hour), "limits_per_run": shown(limits.run),
        "runs": {run: shown(spent) for run, spent in books.runs.items()}, "all": shown(books.all),
        "reserved": shown(books.open), "outcomes": books.outcomes, "balanced": books.balanced,
    }  # fmt: skip


def _table(books: Books, limits: Limits) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table("", "calls", "tokens", "dollars", box=None)
    rows = [("this hour", books.hour), ("limit of an hour", limits.hour), ("limit of a run", limits.run)]
    for name, spent in [*rows, *books.runs.items(), ("reserved, not settled", books.open), ("all", books.all)]:
        table.add_row(Text(name), f"{spent.calls:,}", f"{spent.tokens:,}", f"{spent.dollars:.4f}")
    return table
