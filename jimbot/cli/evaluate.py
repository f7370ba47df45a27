"""`jimbot evaluate`: how good a policy is, with how much certainty, on games it never saw."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli import terminal
from jimbot.cli.start import keep_compiled
from jimbot.errors import UsageError

EPILOG = """Examples:

jimbot evaluate my-run

jimbot evaluate runs/my-run/checkpoints/000000032768 --games 2000 --json

jimbot evaluate hackmatrix --stochastic   (the policy that comes with JimBot)

jimbot evaluate random --game hackmatrix --seeds validation

jimbot evaluate policy.onnx --seeds-file seeds.txt   (one seed per line)

jimbot evaluate random --game balatro --option deck=blue --option stake=gold

jimbot evaluate my-run --games 1000 --against 2.35%   (is it better than that?)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(evaluate)


def evaluate(
    policy: Annotated[
        str, typer.Argument(help="A run, checkpoint, .npz, .onnx, scripted player, or a game for its shipped policy.")
    ],
    game: Annotated[str | None, typer.Option(help="The game, for random and scripted players.")] = None,
    seeds: Annotated[
        str, typer.Option(help="Seed bank: held-out (never trained on), validation or train.")
    ] = "held-out",
    seeds_file: Annotated[Path | None, typer.Option(help="Play the seeds in this file instead.")] = None,
    games: Annotated[int | None, typer.Option(help="Games to play; 256, or all seeds of the file.")] = None,
    stochastic: Annotated[bool, typer.Option("--stochastic", help="Draw actions instead of taking the best.")] = False,
    option: Annotated[list[str] | None, typer.Option(help="name=value; an option of the game.")] = None,
    against: Annotated[
        str | None, typer.Option(help="A win rate to be told from this one: 2.35% or 0.0235.", metavar="RATE")
    ] = None,
    num_envs: Annotated[int, typer.Option(help="Games played at the same time.")] = 256,
    best: Annotated[bool, typer.Option("--best", help="Of a run, the best checkpoint instead of the newest.")] = False,
    runs_dir: Annotated[Path, typer.Option(help="Where runs live.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Judge a policy on games it never saw.

    Shows the mean return, win rate and how far games came with their 95 % intervals, the distribution of results,
    illegal actions, and how many games a surer statement would take.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    from jimbot.cli.choice import choose
    from jimbot.evaluation import choose_seeds
    from jimbot.evaluation import evaluate as judge

    claimed = None if against is None else share(against)
    choose_seeds(seeds, games, seeds_file)  # wrong seeds are told before anything is loaded
    choice = choose(policy, game, terminal.pairs(option or []), runs_dir, "best" if best else "latest")
    keep_compiled(choice.entry)
    with showing_progress(f"Playing {choice.name}", quiet=as_json) as progress:
        evaluation = judge(
            choice.policy,
            choice.game,
            games,
            bank=seeds,
            seeds_file=seeds_file,
            options=choice.options,
            deterministic=not stochastic,
            num_envs=num_envs,
            against=claimed,
            progress=progress,
        )
    if as_json:
        terminal.print_json(evaluation.to_dict())
    else:
        terminal.console().print(evaluation)


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
