"""`jimbot compare`: which of several policies is better, on the very same games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import (
    RUNS,
    BestOption,
    JsonOption,
    NumEnvsOption,
    OptionOption,
    RunsDirOption,
    SeedListOption,
    SeedsFileOption,
    SeedsOption,
    StochasticOption,
    showing_progress,
)

EPILOG = """Examples:

jimbot compare my-run other-run --games 1000

jimbot compare my-run heuristic random

jimbot compare runs/a/checkpoints/000000032768 runs/a/checkpoints/000000065536 --json

jimbot compare hackmatrix my-run --metric stage   (against the policy that comes with JimBot)

jimbot compare my-run random --games 1000 --metric blinds_cleared --stake gold

jimbot compare my-run other-run --picture table.png   (two players: everybody meets everybody)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(compare)


def compare(
    policies: Annotated[
        list[str], typer.Argument(help="Two or more runs, checkpoints, .npz, .onnx, scripted players or games.")
    ],
    game: Annotated[str | None, typer.Option(help="The game, if none of the policies says it.")] = None,
    games: Annotated[int | None, typer.Option(help="Games per policy; 256, or all seeds of the file.")] = None,
    metric: Annotated[str, typer.Option(help="return, length, win_rate or a statistic of the game.")] = "return",
    seed: SeedListOption = None,
    seeds: SeedsOption = "held-out",
    seeds_file: SeedsFileOption = None,
    stochastic: StochasticOption = False,
    option: OptionOption = None,
    scripted: Annotated[
        bool, typer.Option(help="In games of two players: the game's scripted players take part.")
    ] = True,
    picture: Annotated[
        Path | None, typer.Option(help="In games of two players: write the table as a picture (.png, .svg, .pdf).")
    ] = None,
    num_envs: NumEnvsOption = 256,
    best: BestOption = False,
    runs_dir: RunsDirOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Compare policies on the very same games.

    Shows the difference of each pair, seed by seed, with an interval that says whether it is luck. In games of two
    players everybody meets everybody: who beats whom, and ratings with intervals.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    from jimbot.errors import UsageError
    from jimbot.evaluation import common_game, cross_play
    from jimbot.evaluation import compare as judge
    from jimbot.evaluation.duel_picture import check_picture
    from jimbot.games import game_entry
    from jimbot.training.session.compile_cache import use_compile_cache

    which = "best" if best else "latest"
    game = game or common_game(policies, runs_dir, which)
    if game_entry(game).two_sides is not None:
        if picture is not None:
            check_picture(picture)
        with showing_progress(f"Playing {len(policies)} policies", quiet=as_json) as progress:
            crossed = cross_play(
                policies,
                game,
                games,
                scripted=scripted,
                bank=seed or seeds,
                seeds_file=seeds_file,
                options=terminal.pairs(option or []),
                deterministic=not stochastic,
                num_envs=num_envs,
                progress=progress,
                runs_root=runs_dir,
                which=which,
            )
        if picture is not None:
            terminal.note(f"The picture is in {crossed.save_picture(picture)}.")
        if as_json:
            terminal.print_json(crossed.to_dict())
        else:
            terminal.console().print(crossed)
        return
    if picture is not None:
        raise UsageError(f"Game '{game}' is for one player; --picture shows who beats whom. Leave it out.")
    use_compile_cache()
    with showing_progress(f"Playing {len(policies)} policies", quiet=as_json) as progress:
        comparison = judge(
            policies,
            game,
            games,
            metric=metric,
            bank=seed or seeds,
            seeds_file=seeds_file,
            options=terminal.pairs(option) if option else None,
            deterministic=not stochastic,
            num_envs=num_envs,
            progress=progress,
            runs_root=runs_dir,
            which=which,
        )
    if as_json:
        terminal.print_json(comparison.to_dict())
    else:
        terminal.console().print(comparison)
