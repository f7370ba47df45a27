"""`jimbot graph discover`: plays, sorts runs into strategies, compares with what was measured, tries new ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.look.graph_options import GraphGameOption, GraphOption, opened
from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import JsonOption, RunsDirOption
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from jimbot.knowledge.played import PlayedRun


def discover(
    minutes: Annotated[float, typer.Option(help="How long to play and try.")] = 5.0,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Who plays, in turns; the scripted player and the policy that ships. The first one tries."),
    ] = None,
    data: Annotated[
        list[Path] | None, typer.Option(help="Learn from recorded games (jimbot record) instead of playing.")
    ] = None,
    from_run: Annotated[
        list[str] | None, typer.Option(help="Learn from the games of a training run instead of playing.")
    ] = None,
    from_bus: Annotated[
        str | None, typer.Option(help="Learn from games told on a bus: embedded[:FILE] or nats://HOST:PORT.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Play exactly so many; 0: as many as half of the time allows.")] = 0,
    attempt: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="A,B", help="Only try these jokers against matched ones; several times."),
    ] = None,
    games: Annotated[int, typer.Option(help="Games at once.")] = 64,
    seed: Annotated[int, typer.Option(help="Which seeds are played.")] = 0,
    graph: GraphOption = None,
    game: GraphGameOption = None,
    runs_dir: RunsDirOption = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """Find strategies in games, and try new ones that the graph proposes.

    Half of the time is for playing (none with recorded games), the rest for trying proposals against matched jokers.
    """
    from jimbot.knowledge.build import groups_of
    from jimbot.knowledge.exploring import Search, explore
    from jimbot.knowledge.first_use import part_names

    terminal.require_positive(minutes=minutes, games=games)
    with opened(graph, game) as client, terminal.progress(as_json) as bar:
        task = bar.add_task("Playing and trying", total=None)
        recorded, sources = _recorded(client.game, data or (), from_run or (), from_bus, runs_dir)
        trials = groups_of(attempt or (), part_names(client.game), "--try")
        search = Search(minutes, games, seed, runs, tuple(policy or ()), tuple(recorded), trials, sources)
        found = explore(client, search, lambda words: bar.update(task, description=words))
    if as_json:
        terminal.print_json(found)
    else:
        _print(found)


def _recorded(
    game: str, data: list[Path] | tuple[()], from_run: list[str] | tuple[()], from_bus: str | None, runs_dir: Path
) -> tuple[list[PlayedRun], str]:
    """(runs of all sources, the options that name them)"""
    from jimbot.knowledge.recorded_runs import runs_of_dataset, runs_of_played, runs_of_training

    found = [run for path in data for run in runs_of_dataset(path)]
    found += [run for name in from_run for run in runs_of_training(name, runs_dir)]
    if from_bus is not None:
        from jimbot.cli.learn.record_bus import told_games

        found += runs_of_played(game, told_games(game, from_bus))
    options = [("--data", str(path)) for path in data] + [("--from-run", name) for name in from_run]
    options += [("--from-bus", from_bus)] if from_bus is not None else []
    if options and not found:
        raise UsageError(
            f"No game of {game} to learn from in {', '.join(value for _, value in options)}; expected games that were "
            "recorded (jimbot record), trained on, or told move by move on a bus (jimbot watch --bus)."
        )
    return found, " ".join(f"{option} {shlex.quote(value)}" for option, value in options)


def _print(found: dict[str, Any]) -> None:
    if "runs" in found:
        _print_runs(found)
    for one in found["trials"]:
        terminal.say(f"  {one['name']}: {one['verdict']} ({one['games']:,} games)")


def _print_runs(found: dict[str, Any]) -> None:
    terminal.say(f"{found['runs']:,} runs, {found['won']:,} won; {len(found['strategies'])} strategies.")
    for one in found["strategies"]:
        terminal.say(
            f"  {one['name']}: {one['games']:,} runs, {one['share']:.0%} [{one['low']:.0%}, {one['high']:.0%}] won"
        )
    agreed = found["agreement"]
    terminal.say(f"{len(found['synergies'])} pairs win more or less often together than each by itself would have it.")
    if agreed["rank_correlation"] is not None:
        terminal.say(
            f"Played and measured: rank correlation {agreed['rank_correlation']:+.2f} over {agreed['pairs']:,} pairs; "
            f"of the sure ones {agreed['agree']} agree, {len(agreed['disagree'])} do not."
        )
    if found["network"]:
        network = found["network"]
        terminal.say(
            f"Network on unseen jokers: R² {network['r2']:.2f}, rank correlation {network['rank_correlation']:+.2f}, "
            f"{network['top_tenth_found']:.0%} of the strongest tenth found."
        )
