"""`jimbot analyze`: one page about a policy, to be opened in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import (
    RUNS,
    AgainstOption,
    BestOption,
    GameOption,
    GamesOption,
    JsonOption,
    NumEnvsOption,
    OptionOption,
    PolicyArgument,
    RunsDirOption,
    SeedListOption,
    SeedsFileOption,
    SeedsOption,
    StochasticOption,
    share,
    showing_progress,
)
from jimbot.cli.shared.start import keep_compiled

EPILOG = """Examples:

jimbot analyze my-run   (writes runs/my-run/report.html)

jimbot analyze runs/my-run/checkpoints/000000032768 --games 1000

jimbot analyze random --game balatro --option deck=blue --output random.html"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(analyze)


def analyze(
    policy: PolicyArgument,
    game: GameOption = None,
    games: GamesOption = None,
    output: Annotated[Path | None, typer.Option(help="The file to write; without it report.html of the run.")] = None,
    examples: Annotated[int, typer.Option(help="Games told in words.", min=0)] = 3,
    seed: SeedListOption = None,
    seeds: SeedsOption = "held-out",
    seeds_file: SeedsFileOption = None,
    stochastic: StochasticOption = False,
    option: OptionOption = None,
    against: AgainstOption = None,
    num_envs: NumEnvsOption = 256,
    best: BestOption = False,
    runs_dir: RunsDirOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Write a report about a policy: one HTML page that needs nothing else.

    How it learned, how far it comes, what it does and takes, where its games end, and some of them in words.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    from jimbot.evaluation import choose_seeds
    from jimbot.evaluation.report import analyze as write
    from jimbot.policies.players import find_player

    claimed = None if against is None else share(against)
    choose_seeds(seeds, games, seeds_file)  # wrong seeds are told before anything is loaded
    which = "best" if best else "latest"
    choice = find_player(policy, game, terminal.pairs(option or []), runs_dir, which)
    keep_compiled(choice.entry)
    with showing_progress(f"Playing {choice.name}", quiet=as_json) as progress:
        report = write(
            policy,
            choice.game,
            games,
            output=output,
            examples=examples,
            bank=seed or seeds,
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
