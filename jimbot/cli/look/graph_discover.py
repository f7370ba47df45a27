"""`jimbot graph discover`: plays, sorts runs into strategies, compares with what was measured, tries new ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jimbot.cli.look.graph_options import GraphGameOption, GraphOption, opened
from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import JsonOption


def discover(
    minutes: Annotated[float, typer.Option(help="How long to play and try.")] = 5.0,
    data: Annotated[
        list[Path] | None, typer.Option(help="Recorded games to learn from (jimbot record), instead of playing.")
    ] = None,
    games: Annotated[int, typer.Option(help="Games at once.")] = 64,
    seed: Annotated[int, typer.Option(help="Which seeds are played.")] = 0,
    graph: GraphOption = None,
    game: GraphGameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find strategies in games, and try new ones that the graph proposes.

    Half of the time is for playing (none with --data), the rest for trying proposals against matched jokers.
    """
    from jimbot.knowledge.exploring import explore
    from jimbot.training.imitation.run_records import runs_of_dataset

    terminal.require_positive(minutes=minutes, games=games)
    recorded = [run for path in data or () for run in runs_of_dataset(path)]
    with opened(graph, game) as client, terminal.progress(as_json) as bar:
        task = bar.add_task("Playing and trying", total=None)
        found = explore(client, minutes, games, seed, recorded, lambda words: bar.update(task, description=words))
    if as_json:
        terminal.print_json(found)
        return
    _print(found)


def _print(found: dict[str, Any]) -> None:
    typer.echo(f"{found['runs']:,} runs, {found['won']:,} won; {len(found['strategies'])} strategies.")
    for one in found["strategies"]:
        typer.echo(
            f"  {one['name']}: {one['games']:,} runs, {one['share']:.0%} [{one['low']:.0%}, {one['high']:.0%}] won"
        )
    agreed = found["agreement"]
    if agreed["rank_correlation"] is not None:
        typer.echo(
            f"Played and measured: rank correlation {agreed['rank_correlation']:+.2f} over {agreed['pairs']:,} pairs; "
            f"of the sure ones {agreed['agree']} agree, {len(agreed['disagree'])} do not."
        )
    if found["network"]:
        network = found["network"]
        typer.echo(
            f"Network on unseen jokers: R² {network['r2']:.2f}, rank correlation {network['rank_correlation']:+.2f}, "
            f"{network['top_tenth_found']:.0%} of the strongest tenth found."
        )
    for one in found["trials"]:
        typer.echo(f"  {one['name']}: {one['verdict']} ({one['games']:,} games)")
