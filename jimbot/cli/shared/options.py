"""Options that several commands have, each described once."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.completion import complete_game, complete_policy
from jimbot.errors import UsageError
from jimbot.logs import setup_logging

RUNS = Path("runs")

PolicyArgument = Annotated[
    str,
    typer.Argument(
        help="A run, checkpoint, .npz, .onnx, scripted player, or a game for its shipped policy.",
        autocompletion=complete_policy,
    ),
]
GameOption = Annotated[
    str | None, typer.Option(help="The game, for random and scripted players.", autocompletion=complete_game)
]
GamesOption = Annotated[int | None, typer.Option(help="Games each policy plays; 256, or all seeds of the file.")]
SeedsOption = Annotated[str, typer.Option(help="Seed bank: held-out (never trained on), validation or train.")]
SeedsFileOption = Annotated[Path | None, typer.Option(help="Play the seeds in this file instead, one per line.")]
SeedOption = Annotated[str | None, typer.Option("--seed", help="The seed to play, a number or as the game writes it.")]
SeedListOption = Annotated[
    list[str] | None, typer.Option("--seed", help="Play this seed instead of a bank; may be given several times.")
]
StochasticOption = Annotated[bool, typer.Option("--stochastic", help="Draw actions instead of taking the best.")]
OPTION_HELP = "name=value; an option of the game. --name value does the same."
OptionOption = Annotated[list[str] | None, typer.Option(help=OPTION_HELP)]
OpponentOption = Annotated[
    list[str] | None,
    typer.Option(
        help="In games of two players: a scripted player, run, checkpoint or file; may be given several times. Without "
        "it every scripted player of the game."
    ),
]
AgainstOption = Annotated[
    str | None, typer.Option(help="A win rate to be told from this one: 2.35% or 0.0235.", metavar="RATE")
]
PlanOption = Annotated[
    int | None,
    typer.Option("--plan", help="Look ahead: so many tries per decision in copies of the game.", metavar="N"),
]
PlanWithOption = Annotated[
    str | None,
    typer.Option(
        "--plan-with",
        metavar="PLAYER",
        help="Who plays the tries out, and whose move is improved: a scripted player, a run, a file, or itself. "
        "Default: what the game's table names (balatro: its script; hackmatrix: its script's search), else itself.",
    ),
]
PlanSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--plan-set",
        metavar="NAME=VALUE",
        help="A setting of the plan in place of the game's own: candidates, depth, certain, margin, prior, seconds.",
    ),
]
FullOption = Annotated[bool, typer.Option("--full", help="Every figure and distribution, not only the headline.")]
NumEnvsOption = Annotated[int, typer.Option(help="Games played at the same time.")]
BestOption = Annotated[bool, typer.Option("--best", help="Of a run, the best checkpoint instead of the newest.")]
BusOption = Annotated[
    str | None,
    typer.Option("--bus", metavar="ADDRESS", help="Publish what happens: embedded, embedded:FILE or nats://HOST:PORT."),
]
RunsDirOption = Annotated[Path, typer.Option("--runs-dir", help="Where runs live.")]
TokenFileOption = Annotated[
    Path | None,
    typer.Option("--token-file", help="Good tokens, one per line; read anew when it changes."),
]


def show_log(level: str | None) -> None:
    """Takes effect where `--log-level` is read: no command has to do anything about it."""
    if level is not None:
        setup_logging(level)


LogLevelOption = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        help="Also show log lines: debug, info, warning or error.",
        metavar="LEVEL",
        callback=show_log,
        expose_value=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def share(text: str) -> float:
    """A rate as people write it.

    >>> share("2.35%"), share("0.25")
    (0.0235, 0.25)
    """
    number, percent, rest = text.replace(" ", "").partition("%")
    try:
        rate = float(number) / 100 if percent else float(number)
    except ValueError:
        rate = math.nan
    if rest or not 0 < rate < 1:
        raise UsageError(f"--against is '{text}'; expected a win rate between 0 and 1, as 2.35% or 0.0235.")
    return rate


@contextmanager
def showing_progress(what: str, quiet: bool) -> Generator[Callable[[int, int], None]]:
    """A bar on stderr while games are played; gives the function to call with (games over, games in all)."""
    with terminal.progress(quiet) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
