"""`jimbot graph draw`: a part of the graph as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.look.graph_options import GraphGameOption, GraphOption, complete_part, opened
from jimbot.cli.shared import terminal
from jimbot.errors import UsageError


def draw(
    joker: Annotated[
        str | None, typer.Argument(help="The joker in the middle, by name or key.", autocompletion=complete_part)
    ] = None,
    core: Annotated[bool, typer.Option("--core", help="The strongest synergies of all instead.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .svg to write; named after it.")] = None,
    channel: Annotated[str | None, typer.Option(help="Only score, money, growth, retrigger or copying.")] = None,
    most: Annotated[int, typer.Option(help="Lines at most.")] = 30,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    graph: GraphOption = None,
    game: GraphGameOption = None,
) -> None:
    """Draw what a joker works with, or the strongest synergies of all, as SVG."""
    from jimbot.knowledge import drawing, queries
    from jimbot.runs.files import check_target, write_atomically

    terminal.require_positive(most=most)
    if core == (joker is not None):
        raise UsageError("Name a joker to draw what it works with, or --core for the strongest synergies of all.")
    with opened(graph, game) as client:
        key = None if joker is None else client.names.key(joker, "Joker")
        output = output or Path(f"{key or 'core'}.svg")
        check_target(output)
        if output.exists() and not overwrite:
            raise UsageError(f"{output} exists already; add --overwrite to replace it, or choose another --output.")
        found = queries.certain_synergies(client.store) if key is None else queries.partners(client.store, key)
        claims = [claim for claim in found if channel in (None, claim["channel"])]
        name = "" if key is None else client.names.name(key)
    picture = drawing.core(claims, most) if key is None else drawing.neighbourhood(key, name, claims, most)
    write_atomically(output, picture.encode())
    terminal.say(f"Wrote {output}.")
