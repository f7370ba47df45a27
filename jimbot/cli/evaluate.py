"""`jimbot evaluate`: how good a policy is, with how much certainty, on games it never saw."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli import terminal
from jimbot.cli.start import keep_compiled

EPILOG = """Examples:

jimbot evaluate my-run

jimbot evaluate runs/my-run/checkpoints/000000032768 --games 2000 --json

jimbot evaluate hackmatrix --stochastic   (the policy that comes with JimBot)

jimbot evaluate random --game hackmatrix --seeds validation

jimbot evaluate policy.onnx --seeds-file seeds.txt   (one seed per line)"""


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
    num_envs: Annotated[int, typer.Option(help="Games played at the same time.")] = 256,
    best: Annotated[bool, typer.Option("--best", help="Of a run, the best checkpoint instead of the newest.")] = False,
    runs_dir: Annotated[Path, typer.Option(help="Where runs live.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Judge a policy on games it never saw.

    Shows the mean return with its 95 % interval, the distribution of results, the win rate and illegal actions.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    from jimbot.cli.choice import choose
    from jimbot.evaluation import choose_seeds
    from jimbot.evaluation import evaluate as judge

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
            progress=progress,
        )
    if as_json:
        terminal.print_json(evaluation.to_dict())
    else:
        terminal.console().print(evaluation)


@contextmanager
def showing_progress(what: str, quiet: bool) -> Generator[Callable[[int, int], None]]:
    """A bar on stderr while games are played; gives the function to call with (games over, games in all)."""
    with terminal.progress(quiet) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
