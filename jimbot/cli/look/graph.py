"""`jimbot graph`: what works together, measured; to look at, to ask, to carry away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.look import graph_build, graph_discover, graph_draw, graph_serve
from jimbot.cli.look.graph_options import GraphGameOption, GraphOption, complete_part, opened
from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import JsonOption
from jimbot.errors import UnknownNameError, UsageError
from jimbot.foreign_text import marked

if TYPE_CHECKING:
    from rich.text import Text

    from jimbot.knowledge import KnowledgeGraphClient

FORMATS = ("json", "graphml")
EPILOG = """Examples:

jimbot graph show Blueprint   (what it works with, and how to check each claim)

jimbot graph show Baron --to "Hanging Chad"   (why these two belong together)

jimbot graph query "MATCH (j:Joker)-[s:FAVOURS]->(h:HandType) RETURN j.name, h.name, s.strength LIMIT 5"

jimbot graph build   (measures every pair; Ctrl+C keeps what there is, the same command goes on)

jimbot graph discover --minutes 5   (strategies of played games, and new ones tried)

jimbot graph draw --core --output core.svg

jimbot graph export --format graphml --output graph.graphml

jimbot graph serve   (GraphQL for other programs)

The graph is a file in your data directory; --graph or JIMBOT_GRAPH name another one, or a server: bolt://HOST:PORT."""

HEADINGS = {
    "synergies": "works with", "conflicts": "works against", "counters": "against bosses", "favours": "favours",
    "strategies": "belongs to",
}  # fmt: skip


def register(app: typer.Typer) -> None:
    graph_app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        help="What works together, measured by the simulator: look, ask, draw, carry away.",
        epilog=EPILOG,
    )
    for command in (show, query, graph_build.build, graph_discover.discover, graph_draw.draw, export):
        graph_app.command()(command)
    graph_app.command("import")(import_graph)
    graph_app.command()(graph_serve.serve)
    app.add_typer(graph_app, name="graph")


def show(
    part: Annotated[
        str, typer.Argument(help="A joker, boss, hand type or strategy, by name or key.", autocompletion=complete_part)
    ],
    to: Annotated[
        str | None, typer.Option(help="Another joker: show what joins the two.", autocompletion=complete_part)
    ] = None,
    channel: Annotated[str | None, typer.Option(help="Only score, money, growth, retrigger or copying.")] = None,
    most: Annotated[int, typer.Option(help="Claims of each kind.")] = 8,
    graph: GraphOption = None,
    game: GraphGameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is known about something; every claim with the command that measures it again."""
    terminal.require_positive(most=most)
    with opened(graph, game) as client:
        found = {"chain": client.explain(part, to)} if to is not None else _about(client, part, channel, most)
    if as_json:
        terminal.print_json(found)
        return
    if to is not None:
        _print_chain(part, to, found["chain"])
        return
    console = terminal.console()
    console.print(marked("[bold]{}[/] ({})", found["name"], found["key"]))
    if found["words"]:
        console.print(found["words"])
    if parts := found.get("parts"):
        console.print("Uses " + ", ".join(f"{name} ({weight:.0%})" for name, weight in parts.items()))
    if seeds := found.get("seeds"):
        console.print(f"Seeds to look at: {', '.join(seeds)}")
    if not any(found.get(kind) for kind in HEADINGS):
        terminal.note("Nothing is known about it yet; measure it: jimbot graph build")
    for kind, heading in HEADINGS.items():
        if claims := found.get(kind):
            console.print(marked("\n[bold]{}[/]", heading))
            for claim in claims:
                for line in _lines(claim, found["key"]):
                    console.print(line, soft_wrap=True)


def _about(client: KnowledgeGraphClient, part: str, channel: str | None, most: int) -> dict[str, Any]:
    from jimbot.knowledge import queries

    key = client.names.key(part, "Joker", "Boss", "HandType", "Strategy")
    label, store = client.names.label(key), client.store
    words = store.ask(f"MATCH (n:{label}) WHERE n.key = $key RETURN n.words", {"key": key}).values[0][0]
    found: dict[str, Any] = {"key": key, "name": client.names.name(key), "label": label, "words": words}

    def chosen(claims: list[queries.Claim]) -> list[queries.Claim]:
        return [claim for claim in claims if channel in (None, claim["channel"])]

    if label == "Joker":
        claims = chosen(queries.partners(store, key))
        found["synergies"] = [claim for claim in claims if claim["strength"] > 0][:most]
        found["conflicts"] = [claim for claim in claims[::-1] if claim["strength"] < 0][:most]
        found["favours"] = chosen(queries.favours(store, key))[:most]
        found["counters"] = chosen(queries.counters_of(store, label, key))[:most]
    elif label == "HandType":
        found["favours"] = chosen(queries.favours(store, key, "b"))[:most]
        found["counters"] = chosen(queries.counters_of(store, label, key))[:most]
    elif label == "Boss":
        found["counters"] = chosen(queries.counters_to(store, key))[:most]
    strategies = client.strategies()
    if label == "Strategy":
        [one] = found["strategies"] = [one for one in strategies if one["key"] == key]
        found["parts"] = {client.names.name(part): weight for part, weight in one["uses"].items()}
        found["seeds"] = json.loads(one["details"] or "{}").get("examples", [])
    else:
        found["strategies"] = [one for one in strategies if key in one["uses"]][:most]
    return found


def _lines(claim: dict[str, Any], key: str) -> Iterator[Text]:
    """A claim in one line, and its command below."""
    from rich.text import Text

    if "uses" in claim:
        share = f"{claim['share']:.0%} [{claim['low']:.0%}, {claim['high']:.0%}] of {claim['games']:,} games won"
        verdict = f"; {claim['verdict']}" if claim["verdict"] else ""
        yield Text(f"  {claim['name']}: {share}, {claim['evidence']}{verdict}")
    else:
        other = claim["b_name"] if claim["a"] == key else claim["a_name"]
        beside = f" with {', '.join(claim['others'])}" if claim["others"] else ""
        left = {"a_left": claim["a_name"], "b_left": claim["b_name"]}.get(claim["order"])
        order = f", {left} on the left" if left else ""
        strength = f"{claim['strength']:+7.3f} [{claim['low']:+.3f}, {claim['high']:+.3f}]"
        evidence = f"{claim['evidence']}, {claim['samples']:,} samples"
        yield Text(f"  {strength}  {claim['channel']:9} {other}{beside}{order} ({evidence})")
    if claim.get("command"):
        yield Text(f"      {claim['command']}", style="dim")


def _print_chain(start: str, end: str, chain: list[dict[str, Any]]) -> None:
    console = terminal.console()
    if not chain:
        console.print(f"No chain of certain synergies joins '{start}' and '{end}'.")
    for claim in chain:
        console.print(marked("[bold]{} and {}[/]", claim["a_name"], claim["b_name"]))
        for line in _lines(claim, claim["a"]):
            console.print(line, soft_wrap=True)


def query(
    cypher: Annotated[str, typer.Argument(help="A question in Cypher: MATCH … RETURN …; it can only read.")],
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="name=value for $name; may be given several times.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows at most.")] = 100,
    seconds: Annotated[float, typer.Option(help="How long it may take.")] = 10.0,
    graph: GraphOption = None,
    game: GraphGameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a question of your own."""
    from jimbot.knowledge.store import Limits

    terminal.require_positive(limit=limit, seconds=seconds)
    values = terminal.pairs(parameter or [], "--parameter")
    with opened(graph, game) as client:
        answer = client.ask(cypher, values, Limits(limit, seconds))
    if as_json:
        terminal.print_json({"columns": answer.columns, "rows": answer.values, "cut": answer.cut})
        return
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    table = Table(*(escape(column) for column in answer.columns))
    for row in answer.values:
        table.add_row(*(Text(_shown(value)) for value in row))
    terminal.console().print(table)
    if answer.cut:
        terminal.note(f"Only the first {limit:,} rows; --limit shows more.")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(terminal.plain(value), ensure_ascii=False, default=str)


def export(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    kind: Annotated[str, typer.Option("--format", help="json (can be imported) or graphml.")] = "json",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    graph: GraphOption = None,
    game: GraphGameOption = None,
) -> None:
    """Write the whole graph to a file; .gz compresses it."""
    import gzip

    from jimbot.knowledge.documents import document_of
    from jimbot.knowledge.graphml import graphml_of
    from jimbot.runs.files import check_target, write_atomically

    if kind not in FORMATS:
        raise UnknownNameError("format of a graph", kind, FORMATS)
    check_target(output)
    if output.exists() and not overwrite:
        raise UsageError(f"{output} exists already; add --overwrite to replace it, or choose another --output.")
    with opened(graph, game) as client:
        held = client.whole()
    if kind == "json":
        data = json.dumps(document_of(held), ensure_ascii=False, indent=1, allow_nan=False).encode()
    else:
        data = graphml_of(held)
    write_atomically(output, gzip.compress(data, mtime=0) if output.suffix == ".gz" else data)
    terminal.say(f"Wrote {output}: {len(held.nodes):,} nodes, {len(held.edges):,} edges.")


def import_graph(
    file: Annotated[Path, typer.Argument(help="What graph export wrote as json, gzipped or not.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the graph; without, what is there stays and is added to.")
    ] = False,
    graph: GraphOption = None,
    game: GraphGameOption = None,
) -> None:
    """Take what a file knows into the graph; of the same claim the file's counts."""
    from jimbot.knowledge.documents import read_document

    read = read_document(file)
    with opened(graph, game or read.game) as client:
        if read.game != client.game:
            raise UsageError(f"{file} is the graph of '{read.game}', not of '{client.game}'.")
        if overwrite or not client.store.exists():
            client.store.replace(read)
        else:
            client.store.add(read.nodes, read.edges)
        terminal.say(f"{client.store.address}: {len(read.nodes):,} nodes and {len(read.edges):,} edges taken in.")
