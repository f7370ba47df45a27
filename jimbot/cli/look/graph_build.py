"""`jimbot graph build`: measures what works together."""

from __future__ import annotations

from typing import Annotated

import typer

from jimbot.cli.look.graph_options import GraphGameOption, GraphOption, opened
from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import JsonOption, showing_progress
from jimbot.errors import UsageError


def build(
    pairs: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Only these, measured anew; several times, or three and more for a group."),
    ] = None,
    channels: Annotated[str, typer.Option(help="Only these, with commas: score, money, growth, …")] = "",
    effort: Annotated[float, typer.Option(help="More is slower and surer: 2 takes twice as many samples.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of the hands and decks that are tried.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Forget what is known and begin anew.")] = False,
    graph: GraphOption = None,
    game: GraphGameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure every pair with the simulator, or those that are named.

    What was measured with the same effort and seed is kept, so Ctrl+C loses nothing and the same command goes on.
    """
    from jimbot.knowledge.build import Plan, groups_of
    from jimbot.knowledge.build import build as measure
    from jimbot.knowledge.first_use import part_names

    terminal.require_positive(effort=effort)
    if pairs and overwrite:
        raise UsageError("--overwrite forgets every pair; leave it out to measure some of them anew.")
    wanted = tuple(channel.strip() for channel in channels.split(",") if channel.strip())
    with opened(graph, game) as client, showing_progress("Measuring", as_json) as progress:
        groups = groups_of(pairs or [], part_names(client.game))
        built = measure(client.store, Plan(client.game, groups, wanted, effort, seed), progress, overwrite)
        where = client.store.address
    if as_json:
        claims = [vars(edge) for edge in built.edges]
        terminal.print_json({"measured": built.measured, "known": built.known, "stopped": built.stopped, "graph": where,
                             "claims": claims})  # fmt: skip
        return
    if built.stopped:
        terminal.note("Stopped; what was measured is kept. The same command goes on.")
    for edge in built.edges:
        beside = f" with {', '.join(edge.others)}" if edge.others else ""
        interval = f"{edge.strength:+.3f} [{edge.low:+.3f}, {edge.high:+.3f}]"
        terminal.say(f"{edge.a} and {edge.b}{beside}, {edge.channel}: {interval}, {edge.samples:,} samples")
    known = f" {built.known:,} pairs were known." if built.known else ""
    terminal.say(f"{where}: {built.measured:,} claims measured.{known}")
    if not built.edges and not built.stopped:
        terminal.print_next(
            [
                ("jimbot graph draw --core --output core.svg", "the strongest of them as a picture"),
                ("jimbot graph show NAME", "what one of them works with"),
            ]
        )
