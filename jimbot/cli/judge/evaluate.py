"""`jimbot evaluate`: how good a policy is, with how much certainty, on games it never saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.advising import AdviserOption, AdviserSetOption
from jimbot.cli.shared.options import (
    AgainstOption,
    BusOption,
    FullOption,
    GameOption,
    OpponentOption,
    PlanOption,
    PlanSetOption,
    PlanWithOption,
    PolicyArgument,
    share,
)
from jimbot.cli.shared.playing import Playing, with_playing
from jimbot.cli.shared.start import keep_compiled

if TYPE_CHECKING:
    from pathlib import Path

    from jimbot.evaluation import DuelEvaluation, Evaluation
    from jimbot.evaluation.win_chances import Measuring
    from jimbot.policies.players import Player

EPILOG = """Examples:

jimbot evaluate my-run

jimbot evaluate my-run --full   (every figure, how far games come, distributions)

jimbot evaluate runs/my-run/checkpoints/000000032768 --games 2000 --json

jimbot evaluate hackmatrix --stochastic   (the policy that comes with JimBot)

jimbot evaluate random --game hackmatrix --seeds validation

jimbot evaluate policy.onnx --seeds-file seeds.txt   (one seed per line)

jimbot evaluate balatro --seed 7LB2WVPK --deck blue --stake gold

jimbot evaluate my-run --games 1000 --against 2.35%   (is it better than that?)

jimbot evaluate balatro --plan 24 --games 100   (tries moves out in copies of the game; the script plays them on)

jimbot evaluate balatro --adviser --games 64   (with and without advice, on the same seeds)

jimbot evaluate my-run --games 1000   (of a game of two players: against every scripted player, from both sides)

jimbot evaluate vgc my-run --opponent heuristic --opponent other-run"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(with_playing(evaluate))


def evaluate(
    policy: PolicyArgument,
    second: Annotated[str | None, typer.Argument(metavar="policy", help="The policy, if a game came first.")] = None,
    game: GameOption = None,
    opponent: OpponentOption = None,
    against: AgainstOption = None,
    plan: PlanOption = None,
    plan_with: PlanWithOption = None,
    plan_set: PlanSetOption = None,
    adviser: AdviserOption = False,
    adviser_set: AdviserSetOption = None,
    full: FullOption = False,
    bus: BusOption = None,
    *,
    playing: Playing,
) -> None:
    """Judge a policy on games it never saw.

    Shows the win rate, how far games came and the mean return with their 95 % intervals, and how many games a surer
    statement would take; with --full every figure and its distribution. In games of two players: the share of games
    won against each opponent, every seed played from both sides. With --adviser every seed is played twice, with and
    without advice, and the difference is shown with its interval, how often was asked, what changed and what it cost.
    From 100 games on a run keeps how often it wins from where it stands, which `watch` shows.
    """
    from jimbot.cli.shared.choice import game_first
    from jimbot.errors import UsageError
    from jimbot.evaluation import choose_seeds, evaluate_duels
    from jimbot.evaluation import evaluate as judge
    from jimbot.evaluation.win_chances import measuring_of
    from jimbot.planning import planning
    from jimbot.policies.players import find_player

    claimed = None if against is None else share(against)
    reference, game = game_first(policy, second, game)
    found = find_player(reference, game, playing.options, playing.runs_dir, playing.which)
    choice = planning(found, plan, plan_with, terminal.pairs(plan_set or [], "--plan-set"))
    # Wrong seeds are told before anything is played.
    choose_seeds(playing.bank, playing.games, playing.seeds_file, game_id=choice.game)
    if choice.entry.two_sides is not None:
        if adviser or adviser_set:
            raise UsageError(f"--adviser is for games with one player; '{choice.game}' has two. Leave it out.")
        if bus is not None:
            raise UsageError(f"--bus tells of games with one player; '{choice.game}' has two. Leave it out.")
        with playing.shown(f"Playing {choice.name}") as how:
            duels = evaluate_duels(
                choice.policy,
                choice.game,
                opponent or (),
                options=playing.options,
                against=claimed,
                runs_root=playing.runs_dir,
                which=playing.which,
                manifest=choice.manifest,
                **how,
            )
        _show(duels, full, playing.as_json)
        _show_plan(choice, plan, playing.as_json)
        return
    if opponent:
        raise UsageError(f"Game '{choice.game}' is for one player; leave --opponent out.")
    keep_compiled(choice.entry)
    if adviser or adviser_set:
        from jimbot.cli.judge.evaluate_advised import evaluate_advised

        if bus is not None or claimed is not None:
            raise UsageError("--adviser compares with and without advice; leave --bus and --against out.")
        evaluate_advised(choice, adviser_set, full, playing)
        return
    from_bank = playing.seed is None and playing.seeds_file is None  # seeds somebody picked are no fair sample
    notes = measuring_of(choice, not playing.stochastic) if from_bank else None
    player = choice.policy if notes is None else notes.policy
    with playing.shown(f"Playing {choice.name}") as how:
        evaluation = judge(player, choice.game, options=choice.options, against=claimed, witness=notes, **how)
    if bus is not None:
        _tell(bus, evaluation, choice.name)
    _show(evaluation, full, playing.as_json)
    _show_plan(choice, plan, playing.as_json)
    if notes is not None and choice.run is not None:
        _keep_chances(notes, choice.run, evaluation)


def _keep_chances(notes: Measuring, run: Path, evaluation: Evaluation) -> None:
    from jimbot.evaluation.win_chances import keep_table

    kept = keep_table(notes, run, evaluation.games, evaluation.bank)
    if kept is not None:
        terminal.note(f"{kept.name} of this run now holds this checkpoint's chances to win; watch shows them.")


def _tell(bus: str, evaluation: Evaluation, policy: str) -> None:
    from jimbot.evaluation.telling import tell_results
    from jimbot.runs.sinks.publishing import open_publisher

    publisher = open_publisher(bus)
    tell_results(publisher, evaluation, policy)
    publisher.close()


def _show_plan(choice: Player, plan: int | None, as_json: bool) -> None:
    if plan is not None and not as_json:
        terminal.note(f"The plan: {getattr(choice.policy, 'report', '')}.")


def _show(judged: Evaluation | DuelEvaluation, full: bool, as_json: bool) -> None:
    if as_json:
        terminal.print_json(judged.to_dict())
    else:
        terminal.console().print(judged if full else judged.headline())
