"""`jimbot evaluate`: how good a policy is, with how much certainty, on games it never saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import (
    RUNS,
    AgainstOption,
    BestOption,
    BusOption,
    FullOption,
    GameOption,
    GamesOption,
    JsonOption,
    NumEnvsOption,
    OpponentOption,
    OptionOption,
    PlanOption,
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

if TYPE_CHECKING:
    from jimbot.evaluation import DuelEvaluation, Evaluation

EPILOG = """Examples:

jimbot evaluate my-run

jimbot evaluate my-run --full   (every figure, how far games come, distributions)

jimbot evaluate runs/my-run/checkpoints/000000032768 --games 2000 --json

jimbot evaluate hackmatrix --stochastic   (the policy that comes with JimBot)

jimbot evaluate random --game hackmatrix --seeds validation

jimbot evaluate policy.onnx --seeds-file seeds.txt   (one seed per line)

jimbot evaluate balatro --seed 7LB2WVPK --deck blue --stake gold

jimbot evaluate my-run --games 1000 --against 2.35%   (is it better than that?)

jimbot evaluate my-run --games 1000   (of a game of two players: against every scripted player, from both sides)

jimbot evaluate vgc my-run --opponent heuristic --opponent other-run"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(evaluate)


def evaluate(
    policy: PolicyArgument,
    second: Annotated[str | None, typer.Argument(metavar="", help="The policy, if a game was named first.")] = None,
    game: GameOption = None,
    opponent: OpponentOption = None,
    seed: SeedListOption = None,
    seeds: SeedsOption = "held-out",
    seeds_file: SeedsFileOption = None,
    games: GamesOption = None,
    stochastic: StochasticOption = False,
    option: OptionOption = None,
    against: AgainstOption = None,
    plan: PlanOption = None,
    num_envs: NumEnvsOption = 256,
    best: BestOption = False,
    full: FullOption = False,
    bus: BusOption = None,
    runs_dir: RunsDirOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Judge a policy on games it never saw.

    Shows the win rate, how far games came and the mean return with their 95 % intervals, and how many games a surer
    statement would take; with --full every figure and its distribution. In games of two players: the share of games
    won against each opponent, every seed played from both sides.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    from jimbot.cli.shared.choice import game_first
    from jimbot.errors import UsageError
    from jimbot.evaluation import choose_seeds, evaluate_duels
    from jimbot.evaluation import evaluate as judge
    from jimbot.planning import planning
    from jimbot.policies.players import find_player

    claimed = None if against is None else share(against)
    reference, game = game_first(policy, second, game)
    which, options = "best" if best else "latest", terminal.pairs(option or [])
    choice = planning(find_player(reference, game, options, runs_dir, which), plan)
    bank = seed or seeds
    choose_seeds(bank, games, seeds_file, game_id=choice.game)  # wrong seeds are told before anything is played
    if choice.entry.two_sides is not None:
        if bus is not None:
            raise UsageError(f"--bus tells of games with one player; '{choice.game}' has two. Leave it out.")
        with showing_progress(f"Playing {choice.name}", quiet=as_json) as progress:
            duels = evaluate_duels(
                choice.policy,
                choice.game,
                opponent or (),
                games,
                bank=bank,
                seeds_file=seeds_file,
                options=options,
                against=claimed,
                deterministic=not stochastic,
                num_envs=num_envs,
                progress=progress,
                runs_root=runs_dir,
                which=which,
                manifest=choice.manifest,
            )
        _show(duels, full, as_json)
        return
    if opponent:
        raise UsageError(f"Game '{choice.game}' is for one player; leave --opponent out.")
    keep_compiled(choice.entry)
    with showing_progress(f"Playing {choice.name}", quiet=as_json) as progress:
        evaluation = judge(
            choice.policy,
            choice.game,
            games,
            bank=bank,
            seeds_file=seeds_file,
            options=choice.options,
            deterministic=not stochastic,
            num_envs=num_envs,
            against=claimed,
            progress=progress,
        )
    if bus is not None:
        _tell(bus, evaluation, choice.name)
    _show(evaluation, full, as_json)
    if plan is not None and not as_json:
        terminal.note(f"The plan: {getattr(choice.policy, 'report', '')}.")


def _tell(bus: str, evaluation: Evaluation, policy: str) -> None:
    from jimbot.evaluation.telling import tell_results
    from jimbot.runs.sinks.publishing import open_publisher

    publisher = open_publisher(bus)
    tell_results(publisher, evaluation, policy)
    publisher.close()


def _show(judged: Evaluation | DuelEvaluation, full: bool, as_json: bool) -> None:
    if as_json:
        terminal.print_json(judged.to_dict())
    else:
        terminal.console().print(judged if full else judged.headline())
