"""`jimbot evaluate`: how good a policy is, with how much certainty, on games it never saw."""

from __future__ import annotations

import typer

from jimbot.cli import terminal
from jimbot.cli.options import (
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
    SeedsFileOption,
    SeedsOption,
    StochasticOption,
    share,
    showing_progress,
)
from jimbot.cli.start import keep_compiled

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
    policy: PolicyArgument,
    game: GameOption = None,
    seeds: SeedsOption = "held-out",
    seeds_file: SeedsFileOption = None,
    games: GamesOption = None,
    stochastic: StochasticOption = False,
    option: OptionOption = None,
    against: AgainstOption = None,
    num_envs: NumEnvsOption = 256,
    best: BestOption = False,
    runs_dir: RunsDirOption = RUNS,
    as_json: JsonOption = False,
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
