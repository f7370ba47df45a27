"""`jimbot analyze`: one page about a policy, to be opened in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli import terminal
from jimbot.cli.evaluate import share, showing_progress
from jimbot.cli.start import keep_compiled

EPILOG = """Examples:

jimbot analyze my-run   (writes runs/my-run/report.html)

jimbot analyze runs/my-run/checkpoints/000000032768 --games 1000

jimbot analyze random --game balatro --option deck=blue --output random.html"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(analyze)


def analyze(
    policy: Annotated[
        str, typer.Argument(help="A run, checkpoint, .npz, .onnx, scripted player, or a game for its shipped policy.")
    ],
    game: Annotated[str | None, typer.Option(help="The game, for random and scripted players.")] = None,
    games: Annotated[int | None, typer.Option(help="Games to play; 256, or all seeds of the file.")] = None,
    output: Annotated[Path | None, typer.Option(help="The file to write; without it report.html of the run.")] = None,
    examples: Annotated[int, typer.Option(help="Games told in words.", min=0)] = 3,
    seeds: Annotated[
        str, typer.Option(help="Seed bank: held-out (never trained on), validation or train.")
    ] = "held-out",
    seeds_file: Annotated[Path | None, typer.Option(help="Play the seeds in this file instead.")] = None,
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
    """Write a report about a policy: one HTML page that needs nothing else.

    How it learned, how far it comes, what it does and takes, where its games end, and some of them in words.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    from jimbot.cli.choice import choose, shipped
    from jimbot.evaluation import choose_seeds
    from jimbot.evaluation.report import analyze as write
    from jimbot.games import available_games

    claimed = None if against is None else share(against)
    choose_seeds(seeds, games, seeds_file)  # wrong seeds are told before anything is loaded
    which = "best" if best else "latest"
    choice = choose(policy, game, terminal.pairs(option or []), runs_dir, which)
    keep_compiled(choice.entry)
    with showing_progress(f"Playing {choice.name}", quiet=as_json) as progress:
        report = write(
            str(shipped(policy)) if policy in available_games() else policy,
            choice.game,
            games,
            output=output,
            examples=examples,
            bank=seeds,
            seeds_file=seeds_file,
            options=choice.options,
            deterministic=not stochastic,
            against=claimed,
            num_envs=num_envs,
            progress=progress,
            runs_root=runs_dir,
            which=which,
        )
    if as_json:
        terminal.print_json({"report": str(report.path), **report.evaluation.to_dict()})
    else:
        typer.echo(f"The report is {report.path}; open it in a browser.")
