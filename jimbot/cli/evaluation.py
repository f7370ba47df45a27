"""Commands that say how good a policy, or how true a simulator, is: evaluate, compare, analyze, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds
from jimbot.errors import UnknownNameError, UsageError
from jimbot.plugins import provided

if TYPE_CHECKING:
    from jimbot.evaluation import Comparison, CrossPlay, DuelEvaluation, Evaluation
    from jimbot.evaluation.sequential import SequentialTest
    from jimbot.evaluation.win_chances import Measuring
    from jimbot.games.entry import GameEntry
    from jimbot.games.verification import Difference, FileReport
    from jimbot.policies.players import Player

EXAMPLES = """jimbot evaluate my-run
jimbot evaluate my-run --full   (every metric, how far games come, distributions)
jimbot evaluate runs/my-run/checkpoints/000000032768 --games 2000 --json
jimbot evaluate hackmatrix --stochastic   (the policy that comes with JimBot)
jimbot evaluate random --game hackmatrix --seeds validation
jimbot evaluate policy.onnx --seeds-file seeds.txt   (one seed per line)
jimbot evaluate balatro --seed 7LB2WVPK --deck blue --stake gold
jimbot evaluate my-run --games 1000 --against 2.7%   (is it better than that?)
jimbot evaluate balatro --plan 24 --games 100   (tries moves out in copies of the game; the heuristic plays them on)
jimbot evaluate balatro --adviser --games 64   (with and without advice, on the same seeds)
jimbot evaluate balatro --hints act --games 1000   (with and without what the knowledge graph says)
jimbot evaluate my-run --games 1000   (of a game of two players: against every heuristic player, from both sides)
jimbot evaluate vgc my-run --opponent heuristic --opponent other-run"""


def evaluate(
    policy: common.PolicyArgument,
    second: Annotated[str | None, typer.Argument(metavar="policy", help="The policy, if a game came first.")] = None,
    game: common.GameOption = None,
    opponent: Annotated[
        list[str] | None,
        "In games of two players: a heuristic, run, checkpoint or file; may be given several times. Without "
        "it every heuristic of the game.",
    ] = None,
    against: common.AgainstOption = None,
    full: Annotated[bool, "Every metric and distribution, not only the headline."] = False,
    bus: common.BusOption = None,
    plan: common.PlanInDetail = common.PlanInDetail(),
    advice: common.Advice = common.Advice(),
    hints: common.Hints = common.Hints(),
    playing: common.Playing = common.Playing(),
) -> None:
    """Evaluate a policy on games it never saw.

    Shows the win rate, how far games came and the mean return with their 95 % intervals, and how many games a surer
    statement would take; with --full every metric and its distribution. In games of two players: the share of games
    won against each opponent, every seed played from both sides. With --adviser every seed is played twice, with and
    without advice, and the difference is shown with its interval, how often was asked, what changed and what it cost;
    with --hints act in the same way with and without what the knowledge graph says.
    From 100 games on a run keeps how often it wins from where it stands, which `watch` shows.
    """
    from jimbot.evaluation import choose_seeds, evaluate, evaluate_duels
    from jimbot.evaluation.win_chances import measuring_of
    from jimbot.policies.players import find_player

    claimed = None if against is None else common.share(against)
    reference, game = common.game_first(policy, second, game)
    choice = plan.of(find_player(reference, game, playing.options, **playing.found))
    # Wrong seeds are refused before anything is played.
    choose_seeds(playing.bank, playing.games, playing.seeds_file, game_id=choice.game)
    if choice.entry.two_sides is not None:
        if advice.wanted or hints.hints is not None:
            what = "--adviser" if advice.wanted else "--hints"
            raise UsageError(f"{what} is for games with one player; '{choice.game}' has two. Leave it out.")
        if bus is not None:
            raise UsageError(f"--bus publishes games with one player; '{choice.game}' has two. Leave it out.")
        with playing.shown(f"Playing {choice.name}") as how:
            duels = evaluate_duels(
                choice.policy, choice.game, opponent or (), options=playing.options, against=claimed,
                manifest=choice.manifest, **playing.found, **how,
            )  # fmt: skip
        _show(duels, playing.as_json, None if full else duels.headline())
        _show_plan(choice, plan.plan, playing.as_json)
        return
    if opponent:
        raise UsageError(f"Game '{choice.game}' is for one player; leave --opponent out.")
    common.keep_compiled(choice.entry)
    if advice.wanted or hints.hints is not None:
        what = "--adviser" if advice.wanted else "--hints act"
        if bus is not None or claimed is not None or (advice.wanted and hints.hints is not None):
            raise UsageError(f"{what} compares with and without it; leave --bus, --against and the other one out.")
        if hints.hints is not None:
            provided("jimbot.flags", "evaluate_hinted")(choice, hints.of(choice), full, playing)
            return
        provided("jimbot.flags", "evaluate_advised")(choice, advice.adviser_set, full, playing)
        return
    from_bank = playing.seed is None and playing.seeds_file is None  # seeds that were picked are no fair sample
    notes = measuring_of(choice, not playing.stochastic) if from_bank else None
    player = choice.policy if notes is None else notes.policy
    with playing.shown(f"Playing {choice.name}") as how:
        evaluation = evaluate(player, choice.game, options=choice.options, against=claimed, witness=notes, **how)
    if bus is not None:
        provided("jimbot.flags", "evaluate_bus")(bus, evaluation, choice.name)
    _show(evaluation, playing.as_json, None if full else evaluation.headline())
    _show_plan(choice, plan.plan, playing.as_json)
    if notes is not None and choice.run is not None:
        _keep_chances(notes, choice.run, evaluation)


register_evaluate = adds(evaluate, EXAMPLES)


def _keep_chances(notes: Measuring, run: Path, evaluation: Evaluation) -> None:
    from jimbot.evaluation.win_chances import keep_table

    kept = keep_table(notes, run, evaluation.games, evaluation.bank)
    if kept is not None:
        terminal.note(f"{kept.name} of this run now holds this checkpoint's chances to win; watch shows them.")


def _show_plan(choice: Player, plan: int | None, as_json: bool) -> None:
    if plan is not None and not as_json:
        terminal.note(f"The plan: {getattr(choice.policy, 'report', '')}.")


COMPARE_EXAMPLES = """jimbot compare my-run other-run --games 1000
jimbot compare my-run heuristic random
jimbot compare runs/a/checkpoints/000000032768 runs/a/checkpoints/000000065536 --json
jimbot compare hackmatrix my-run --metric stage   (against the policy that comes with JimBot)
jimbot compare my-run random --games 1000 --metric blinds_cleared --stake gold
jimbot compare my-run other-run --picture table.png   (two players: all pairs meet)
jimbot compare balatro heuristic --sprt 0,3   (stops by itself: better by 3 points of win rate, or by none?)"""


def compare(
    policies: Annotated[list[str], "Two or more runs, checkpoints, .npz, .onnx, heuristic players or games."],
    game: Annotated[str | None, "The game, if none of the policies says it."] = None,
    metric: Annotated[str, "return, length, win_rate or a statistic of the game."] = "return",
    heuristics: Annotated[
        bool, "--heuristics/--no-heuristics", "In games of two players: the game's heuristics take part."
    ] = True,
    picture: Annotated[Path | None, "In games of two players: write the table as a picture (.png, .svg, .pdf)."] = None,
    sprt: Annotated[
        str | None,
        "Play until it is decided whether the first of two policies is better by LOW or by HIGH: points of win rate, "
        "in games of two players Elo. --games is the most that are played; the same command goes on.",
        "LOW,HIGH",
    ] = None,
    playing: common.Playing = common.Playing(),
) -> None:
    """Compare policies on the very same games.

    Shows the difference of each pair, seed by seed, with an interval that says whether it is chance. In games of two
    players all pairs meet: who beats whom, and ratings with intervals. With --sprt it stops by itself.
    """
    from jimbot.evaluation import common_game, compare, cross_play
    from jimbot.evaluation.duel_picture import check_picture
    from jimbot.games import game_entry
    from jimbot.training.session.compile_cache import use_compile_cache

    game = game or common_game(policies, **playing.found)
    if sprt is not None:
        if picture is not None:
            raise UsageError("--sprt decides between two policies and draws nothing; leave --picture out.")
        _compare_until_sure(policies, sprt, game, playing)
        return
    if game_entry(game).two_sides is not None:
        if picture is not None:
            check_picture(picture)
        with playing.shown(f"Playing {len(policies)} policies") as how:
            crossed = cross_play(policies, game, heuristics=heuristics, options=playing.options, **playing.found, **how)
        if picture is not None:
            terminal.note(f"The picture is in {crossed.save_picture(picture)}.")
        _show(crossed, playing.as_json)
        return
    if picture is not None:
        raise UsageError(f"Game '{game}' is for one player; --picture shows who beats whom. Leave it out.")
    use_compile_cache()
    with playing.shown(f"Playing {len(policies)} policies") as how:
        comparison = compare(policies, game, metric=metric, options=playing.options or None, **playing.found, **how)
    _show(comparison, playing.as_json)


def _compare_until_sure(policies: list[str], sprt: str, game: str, playing: common.Playing) -> None:
    from jimbot.evaluation.sequential import compare_until_sure
    from jimbot.games import game_entry

    common.keep_compiled(game_entry(game))
    bank = "" if playing.seed or playing.seeds_file else playing.seeds
    tests = compare_until_sure(
        policies, sprt, game, playing.games, bank=bank, options=playing.options or None,
        deterministic=not playing.stochastic, num_envs=playing.num_envs, **playing.found,
    )  # fmt: skip
    test = next(tests)
    if test.pairs and not playing.as_json:
        terminal.note(f"{test.pairs:,} pairs were played before; going on with them.")
    with terminal.standing(playing.as_json) as stand:
        stand(_standing_of(test))
        for test in tests:
            stand(_standing_of(test))
    if playing.as_json:
        terminal.print_json(test.to_dict())
    else:
        terminal.say(test.sentence)


def _standing_of(test: SequentialTest) -> str:
    lower, upper = test.hypotheses.bounds
    return (
        f"{test.pairs:,} pairs: {test.difference:+.1f} {test.hypotheses.unit}, log-likelihood ratio {test.ratio:+.2f} "
        f"(stops at {lower:.2f} and {upper:.2f})"
    )


register_compare = adds(compare, COMPARE_EXAMPLES)


def _show(
    evaluated: Evaluation | DuelEvaluation | Comparison | CrossPlay,
    as_json: bool,
    headline: RenderableType | None = None,
) -> None:
    if as_json:
        terminal.print_json(evaluated.to_dict())
    else:
        terminal.console().print(evaluated if headline is None else headline)


ANALYZE_EXAMPLES = """jimbot analyze my-run   (writes runs/my-run/report.html)
jimbot analyze runs/my-run/checkpoints/000000032768 --games 1000
jimbot analyze random --game balatro --option deck=blue --output random.html"""


def analyze(
    policy: common.PolicyArgument,
    game: common.GameOption = None,
    output: Annotated[Path | None, "The file to write; without it report.html of the run."] = None,
    examples: Annotated[int, typer.Option(help="Games described in words.", min=0)] = 3,
    against: common.AgainstOption = None,
    playing: common.Playing = common.Playing(),
) -> None:
    """Write a report about a policy: one HTML page that needs nothing else.

    How it learned, how far it comes, what it does and takes, where its games end, and some of them in words.
    """
    from jimbot.evaluation import choose_seeds
    from jimbot.evaluation.report import analyze as write
    from jimbot.policies.players import find_player

    claimed = None if against is None else common.share(against)
    # Wrong seeds are refused before anything is loaded.
    choose_seeds(playing.seeds, playing.games, playing.seeds_file)
    choice = find_player(policy, game, playing.options, **playing.found)
    common.keep_compiled(choice.entry)
    with playing.shown(f"Playing {choice.name}") as how:
        report = write(
            policy, choice.game, output=output, examples=examples, options=choice.options, against=claimed,
            **playing.found, **how,
        )  # fmt: skip
    if playing.as_json:
        terminal.print_json({"report": str(report.path), **report.evaluation.to_dict()})
    else:
        terminal.say(f"The report is {report.path}; open it in a browser.")


register_analyze = adds(analyze, ANALYZE_EXAMPLES)


DIFFERENT = 1
_LONGEST_VALUE = 160  # characters of a value in the list of differences
VERIFY_EXAMPLES = """jimbot verify balatro tests/golden/balatro
jimbot verify balatro my-recordings --differences 20
jimbot verify balatro traces.jsonl --json   (one file)
jimbot verify balatro live/balatro-20261117-034512.jsonl   (a game of jimbot play --live, or of any bot)
Exit code 0 when everything agrees, 1 when anything differs, 2 when something cannot be read."""


def verify(
    game: Annotated[str, "The game, for instance balatro."],
    recordings: Annotated[Path, "A directory of recordings, or one file."],
    differences: Annotated[int, "Differences shown per file."] = 5,
    as_json: common.JsonOption = False,
) -> None:
    """Check a simulator against recordings.

    Files are recognised by name (pools, rng_units, seeds, scoring, traces, real_game, each with any ending); any other
    one given by itself is a recording of live games. Shows how many entries were compared, how many agree, the first
    differences with seed, step (or line) and both values, and why entries that prove nothing are undecided.
    """
    terminal.require_positive(differences=differences)
    from jimbot.games.contract import available_games, game_entry, games_with

    if game not in available_games() or game_entry(game).verify is None:
        raise UnknownNameError("game to verify", game, games_with("verify"))
    reports = _check(game_entry(game), recordings, quiet=as_json)
    if as_json:
        terminal.print_json(
            {
                "game": game,
                "agrees": not any(report.differing for report in reports),
                "entries": sum(report.entries for report in reports),
                "agreeing": sum(report.agreeing for report in reports),
                "differing": sum(report.differing for report in reports),
                "undecided": sum(report.undecided for report in reports),
                "files": [report.as_dict(differences) for report in reports],
            }
        )
    else:
        _show_report(reports, differences)
    if any(report.differing for report in reports):
        raise typer.Exit(DIFFERENT)


register_verify = adds(verify, VERIFY_EXAMPLES)


def _check(entry: GameEntry, recordings: Path, quiet: bool) -> list[FileReport]:
    from jimbot.foreign_text import Terminal

    assert entry.verify is not None
    reports = []
    with Terminal(stderr=True, quiet=quiet).status("Reading…") as status:
        for report in entry.verify(recordings):
            reports.append(report)
            status.update(f"{report.file} done (the first check on a machine compiles the game)…")
    return reports


def _show_report(reports: list[FileReport], most: int) -> None:
    console = terminal.console()
    console.print(_table(reports))
    for report in reports:
        for difference in report.differences[:most]:
            console.print(_sentence(report, difference), soft_wrap=True)
        if report.difference_count > most:
            rest = report.difference_count - most
            console.print(f"{report.file}: {rest:,} more; see them with --differences {report.difference_count}.")
        for doubt in report.doubts[:most]:
            console.print(_sentence(report, doubt, "undecided: "), soft_wrap=True)


def _table(reports: list[FileReport]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("file")
    for name in ("compared", "agree", "differ", "undecided", "values"):
        table.add_column(name, justify="right")
    table.add_column("")
    for report in reports:
        good = not report.differing
        table.add_row(
            report.file,
            f"{report.entries:,} {report.unit}",
            f"{report.agreeing:,}",
            Text(f"{report.differing:,}", style="" if good else "bold red"),
            f"{report.undecided:,}" if report.undecided else "",
            f"{report.values:,}",
            Text("✓ agrees", style="green") if good else Text("✗ differs", style="bold red"),
        )
    return table


def _sentence(report: FileReport, difference: Difference, verdict: str = "") -> Text:
    seed = f", seed {difference.seed}" if difference.seed else ""
    step = f", step {difference.step}" if difference.step is not None else ""
    return Text.assemble(
        (f"{report.file}: {difference.entry}{seed}{step}: {verdict}", "dim"),
        (difference.field, "bold"),
        " recorded ",
        (_short(difference.recorded), "green"),
        ", simulator ",
        (_short(difference.simulated), "red"),
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
