"""`jimbot adviser`: what advice has cost, and what can be set about it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds_family
from jimbot.cli.shared.common import AdviserSetOption, JsonOption, Playing

if TYPE_CHECKING:
    from jimbot.adviser.advised_policy import AdvisedPolicy
    from jimbot.adviser.adviser import Adviser
    from jimbot.adviser.ledger import Books, Limits, Spent
    from jimbot.adviser.settings import AdviserSettings
    from jimbot.policies.players import Player


def adviser_settings(given: list[str] | None) -> AdviserSettings:
    """What `--adviser-set` says."""
    from jimbot.adviser.settings import AdviserSettings

    return AdviserSettings().with_values(terminal.pairs(given or [], "--adviser-set"))


def adviser_for(player: Player, given: list[str] | None, what: str) -> Adviser:
    """The adviser of a player. `what` is done with it, which names the run that its limits are charged to."""
    from jimbot.adviser.adviser import open_adviser
    from jimbot.adviser.question import graph_hints
    from jimbot.errors import UsageError

    if player.entry.two_sides is not None:
        raise UsageError(f"An adviser is for games with one player; '{player.game}' has two. Leave it out.")
    settings = adviser_settings(given)
    run = f"{what} {player.game} {time.strftime('%Y-%m-%d %H:%M:%S')}"
    hints = graph_hints(player.entry)
    return open_adviser(settings, player.policy, player.manifest, run, hints, terminal.note)


def advised(player: Player, given: list[str] | None, what: str) -> tuple[Player, AdvisedPolicy]:
    """The player with an adviser at its side."""
    policy = _with_adviser(player, adviser_for(player, given, what), follow=True)
    return replace(player, policy=policy, name=f"{player.name} advised"), policy


def second_opinion(load: Callable[[], Player], given: list[str] | None) -> tuple[Callable[[], Player], Adviser]:
    """What loads players that hear an adviser and play their own moves; and the adviser, one for all of them."""
    first = load()
    adviser = adviser_for(first, given, "watch")

    def load_listening() -> Player:
        player = load()
        return replace(player, policy=_with_adviser(player, adviser, follow=False))

    return load_listening, adviser


def _with_adviser(player: Player, adviser: Adviser, follow: bool) -> AdvisedPolicy:
    from jimbot.adviser.advised_policy import AdvisedPolicy

    return AdvisedPolicy(player.policy, adviser, follow)


def evaluate_advised(player: Player, settings: list[str] | None, full: bool, playing: Playing) -> None:
    """Plays every seed without and with advice, and shows the difference."""
    from jimbot.evaluation import compare_evaluations

    helped, policy = advised(player, settings, "evaluate")
    alone, evaluation = common.evaluate_both(player, helped, playing)
    policy.close()
    compared = compare_evaluations([evaluation, alone])
    metrics = policy.adviser.metrics
    if playing.as_json:
        differences = [one.to_dict() for one in compared.all_differences]
        about = {"source": policy.adviser.source.name, **metrics.to_dict(), "differences": differences}
        terminal.print_json({**evaluation.to_dict(), "adviser": {**about, "alone": alone.to_dict()}})
        return
    console = terminal.console()
    console.print(evaluation if full else evaluation.headline())
    console.print(f"The adviser ({policy.adviser.source.name}): {metrics}.", soft_wrap=True)
    for difference in compared.all_differences:
        console.print(difference.sentence, soft_wrap=True)


EXAMPLES = """jimbot adviser budget   (this hour, every run, and whether the books balance)
jimbot adviser budget --adviser-set dollars_per_hour=2 --json
jimbot adviser settings   (what --adviser-set can set, and what each model costs)"""

LedgerOption = Annotated[Path | None, "The file of the books; else the user's own."]


def budget(
    ledger: LedgerOption = None, adviser_set: AdviserSetOption = None, as_json: JsonOption = False
) -> None:  # fmt: skip
    """Show the books: this hour, every run, what is reserved, and whether they balance.

    Limits are those of this command line; every process keeps to its own.
    """
    from jimbot.adviser.ledger import Ledger, Limits

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


def settings(as_json: JsonOption = False) -> None:
    """List what --adviser-set can set, and what each model costs."""
    from dataclasses import asdict

    from jimbot.adviser.prices import MODELS
    from jimbot.adviser.settings import AdviserSettings

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


register = adds_family("adviser", "What advice has cost, and what can be set about it.", EXAMPLES, budget, settings)


def _plain(books: Books, limits: Limits) -> dict[str, Any]:
    def shown(spent: Spent) -> dict[str, float]:
        return {"calls": spent.calls, "tokens": spent.tokens, "dollars": spent.dollars}

    return {
        "hour": shown(books.hour), "limits_per_hour": shown(limits.hour), "limits_per_run": shown(limits.run),
        "runs": {run: shown(spent) for run, spent in books.runs.items()}, "all": shown(books.all),
        "reserved": shown(books.open), "outcomes": books.outcomes, "balanced": books.balanced,
    }  # fmt: skip


def _table(books: Books, limits: Limits) -> Any:
    table = Table("", "calls", "tokens", "dollars", box=None)
    rows = [("this hour", books.hour), ("limit of an hour", limits.hour), ("limit of a run", limits.run)]
    for name, spent in [*rows, *books.runs.items(), ("reserved, not settled", books.open), ("all", books.all)]:
        table.add_row(Text(name), f"{spent.calls:,}", f"{spent.tokens:,}", f"{spent.dollars:.4f}")
    return table
