"""`jimbot graph`: what works together, measured; to look at, to ask, to carry away."""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds_family
from jimbot.cli.shared.common import (
    HostOption,
    JsonOption,
    OptionOption,
    Playing,
    RunsDirOption,
    TokenFileOption,
    evaluate_both,
    showing_progress,
)
from jimbot.cli.shared.stopping import until_stopped
from jimbot.errors import UnknownNameError, UsageError
from jimbot.foreign_text import marked

if TYPE_CHECKING:
    from jimbot.knowledge import KnowledgeGraphClient
    from jimbot.knowledge.effects import Effect
    from jimbot.knowledge.played import PlayedRun
    from jimbot.knowledge.records import Graph as Held
    from jimbot.policies.players import Player


FORMATS = ("json", "graphml", "csv", "parquet")
TABLES = ("csv", "parquet")
"""Formats of the data set of effects, not of the graph."""
EXAMPLES = """jimbot graph show Blueprint   (what it works with, and how to check each claim)
jimbot graph show Baron --to "Hanging Chad"   (why these two belong together)
jimbot graph query "MATCH (j:Joker)-[s:FAVOURS]->(h:HandType) RETURN j.name, h.name, s.strength LIMIT 5"
jimbot graph build   (measures every pair; Ctrl+C keeps what there is, the same command goes on)
jimbot graph trial --games 1536 --option stake=gold   (what parts are worth in games won; Ctrl+C, then go on)
jimbot graph discover --minutes 5   (strategies of played games, and new ones tried)
jimbot graph draw --core --output core.svg
jimbot graph export --format graphml --output graph.graphml
jimbot graph serve   (GraphQL for other programs)
The graph is a file in your data directory; --graph or JIMBOT_GRAPH name another one, or a server: bolt://HOST:PORT."""


@dataclass(frozen=True)
class Graph:
    """Which graph a command is about."""

    graph: Annotated[str | None, "A file, or a server: bolt://HOST:PORT; yours.", "ADDRESS"] = None
    game: Annotated[str | None, "Whose graph; the game that ships one."] = None

    @contextmanager
    def opened(self) -> Generator[KnowledgeGraphClient]:
        """A client for one command."""
        from jimbot.knowledge import KnowledgeGraphClient

        with closing(KnowledgeGraphClient(self.graph, self.game)) as client:
            yield client


def complete_part(incomplete: str) -> list[str]:
    """Names of jokers, bosses, hand types and strategies of the user's graph."""
    from jimbot.errors import JimbotError

    try:
        with Graph().opened() as client:
            if not client.store.exists():
                return []
            names = [name for label in ("Joker", "Boss", "HandType", "Strategy") for name in client.names.all(label)]
    except JimbotError:
        return []
    return [name for name in names if name.casefold().startswith(incomplete.casefold())]


HEADINGS = {
    "synergies": "works with", "conflicts": "works against", "counters": "against bosses", "favours": "favours",
    "strategies": "belongs to",
}  # fmt: skip


def show(
    part: Annotated[
        str, typer.Argument(help="A joker, boss, hand type or strategy, by name or key.", autocompletion=complete_part)
    ],
    to: Annotated[
        str | None, typer.Option(help="Another joker: show what joins the two.", autocompletion=complete_part)
    ] = None,
    channel: Annotated[str | None, "Only score, money, growth, retrigger or copying."] = None,
    most: Annotated[int, "Claims of each kind."] = 8,
    of: Graph = Graph(),
    as_json: JsonOption = False,
) -> None:
    """Show what is known about something; every claim with the command that measures it again."""
    terminal.require_positive(most=most)
    with of.opened() as client:
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
    cypher: Annotated[str, "A question in Cypher: MATCH … RETURN …; it can only read."],
    parameter: Annotated[
        list[str] | None, "--parameter", "-p", "name=value for $name; may be given several times."
    ] = None,
    limit: Annotated[int, "Rows at most."] = 100,
    seconds: Annotated[float, "How long it may take."] = 10.0,
    of: Graph = Graph(),
    as_json: JsonOption = False,
) -> None:
    """Ask a question of your own."""
    from jimbot.knowledge.store import Limits

    terminal.require_positive(limit=limit, seconds=seconds)
    values = terminal.pairs(parameter or [], "--parameter")
    with of.opened() as client:
        answer = client.ask(cypher, values, Limits(limit, seconds))
    if as_json:
        terminal.print_json({"columns": answer.columns, "rows": answer.values, "cut": answer.cut})
        return
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
    output: Annotated[Path, "--output", "-o", "The file to write."],
    kind: Annotated[
        str, "--format", "json (can be imported), graphml; csv or parquet: what trials say, with a card."
    ] = "json",
    overwrite: Annotated[bool, "Replace the file if it exists."] = False,
    of: Graph = Graph(),
) -> None:
    """Write the whole graph to a file; .gz compresses it."""
    import gzip

    from jimbot.knowledge.documents import document_of, graphml_of
    from jimbot.runs.files import write_atomically

    if kind not in FORMATS:
        raise UnknownNameError("format of a graph", kind, FORMATS)
    terminal.check_output(output, overwrite)
    with of.opened() as client:
        held = client.whole()
    if kind in TABLES:
        _export_effects(held, output, kind, overwrite)
        return
    if kind == "json":
        data = json.dumps(document_of(held), ensure_ascii=False, indent=1, allow_nan=False).encode()
    else:
        data = graphml_of(held)
    write_atomically(output, gzip.compress(data, mtime=0) if output.suffix == ".gz" else data)
    terminal.say(f"Wrote {output}: {len(held.nodes):,} nodes, {len(held.edges):,} edges.")


def _export_effects(held: Held, output: Path, kind: str, overwrite: bool) -> None:
    from jimbot.knowledge import effects
    from jimbot.runs.files import write_atomically

    card, found = output.with_suffix(".md"), effects.effects_of(held.nodes)
    if not found:
        raise UsageError("No trial is in this graph; play some: jimbot graph trial")
    terminal.check_output(card, overwrite)
    write_atomically(output, effects.csv_of(found) if kind == "csv" else effects.parquet_of(found))
    write_atomically(card, effects.card_of(held.game, found, held.edges).encode())
    terminal.say(f"Wrote {output}: {len(found):,} effects; {card} says what they are.")


def import_(
    file: Annotated[Path, "What graph export wrote as json, gzipped or not."],
    overwrite: Annotated[bool, "Replace the graph; without, what is there stays and is added to."] = False,
    of: Graph = Graph(),
) -> None:
    """Take what a file knows into the graph; of the same claim the file's counts."""
    from jimbot.knowledge.documents import read_document

    read = read_document(file)
    with replace(of, game=of.game or read.game).opened() as client:
        if read.game != client.game:
            raise UsageError(f"{file} is the graph of '{read.game}', not of '{client.game}'.")
        if overwrite or not client.store.exists():
            client.store.replace(read)
        else:
            client.store.add(read.nodes, read.edges)
        terminal.say(f"{client.store.address}: {len(read.nodes):,} nodes and {len(read.edges):,} edges taken in.")


# --- `jimbot graph build` ---


def build(
    pairs: Annotated[
        list[str] | None, "Only these, measured anew; several times, or three and more for a group.", "A,B"
    ] = None,
    channels: Annotated[str, "Only these, with commas: score, money, growth, …"] = "",
    effort: Annotated[float, "More is slower and surer: 2 takes twice as many samples."] = 1.0,
    seed: Annotated[int, "Of the hands and decks that are tried."] = 0,
    overwrite: Annotated[bool, "Forget what is known and begin anew."] = False,
    of: Graph = Graph(),
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
    with of.opened() as client, showing_progress("Measuring", as_json) as progress:
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


# --- `jimbot graph trial` ---


def trial(
    games: Annotated[int, "Games in which coins give single parts, those of earlier calls included."] = 1536,
    group: Annotated[
        list[str] | None, "Parts whose ways to be had together are compared on the same seeds; several times.", "A,B,C"
    ] = None,
    groups: Annotated[int, "Beside them so many threes around the graph's strongest pairs."] = 0,
    policy: Annotated[str, "Who plays."] = "heuristic",
    option: OptionOption = None,
    seed: Annotated[int, "Of the coins and of the games."] = 0,
    output: Annotated[Path | None, "Where the games are kept; beside your graph."] = None,
    of: Graph = Graph(),
    as_json: JsonOption = False,
) -> None:
    """Play randomised trials: what jokers, vouchers and tags are worth in games won.

    Coins decide what runs are given at antes 1, 2, 4 and 6, every seed is played several times, and who was given
    something is compared with who was not. Every game is kept: Ctrl+C loses one batch, the same command goes on, with
    another --option it adds to what is known.
    """
    from jimbot.knowledge import trials
    from jimbot.knowledge.build import groups_of
    from jimbot.knowledge.effects import EVERY, effects_of, with_effects
    from jimbot.knowledge.exploring import strengths
    from jimbot.knowledge.first_use import own_file, part_names
    from jimbot.policies.players import find_player

    if games < 0 or groups < 0:
        raise UsageError(f"--games is {games} and --groups is {groups}; expected 0 or more.")
    with of.opened() as client:
        player = find_player(policy, client.game, terminal.pairs(option or []))
        graph, names = client.whole(), part_names(client.game)
        named = groups_of(group or [], names, "--group")
        wanted = named + tuple(trials.groups_worth_trying(strengths(graph), groups))
        path = output or Path(own_file(client.game)).with_suffix(".trials.jsonl")
        plan = trials.Plan(player, games, wanted, seed=seed)
        with showing_progress("Games", as_json) as progress:
            added = trials.run_trials(path, plan, progress)
        nodes, edges = with_effects(graph, trials.read_games(path))
        client.store.add(nodes, edges)
    found = [effect for effect in effects_of(nodes) if effect.at == EVERY and not effect.options] or [
        effect for effect in effects_of(nodes) if effect.at == EVERY
    ]
    found.sort(key=lambda effect: -effect.wins)
    if as_json:
        terminal.print_json({"added": added, "file": str(path), "effects": [vars(one) for one in found],
                             "together": [vars(edge) for edge in edges]})  # fmt: skip
        return
    terminal.say(f"{path}: {added:,} games added; {len(found)} parts can be told.")
    for one in found[:MOST_SHOWN] + found[-MOST_SHOWN:] if len(found) > 2 * MOST_SHOWN else found:
        terminal.say(f"  {names.name(one.part)}: {_effect_words(one)}")
    for edge in edges:
        beside = f" with {', '.join(names.name(key) for key in edge.others)}" if edge.others else ""
        interval = f"{100 * edge.strength:+.1f} [{100 * edge.low:+.1f}, {100 * edge.high:+.1f}]"
        terminal.say(f"  {names.name(edge.a)} and {names.name(edge.b)}{beside}: {interval} % beyond their parts")


def _effect_words(one: Effect) -> str:
    """An effect as people say it."""
    return (
        f"{100 * one.wins:+.1f} % of games won [{100 * one.wins_low:+.1f}, {100 * one.wins_high:+.1f}], "
        f"{one.further:+.2f} further [{one.further_low:+.2f}, {one.further_high:+.2f}], {one.games:,} games"
    )


MOST_SHOWN = 10


# --- `jimbot graph discover` ---


def discover(
    minutes: Annotated[float, "How long to play and try."] = 5.0,
    policy: Annotated[
        list[str] | None, "Who plays, in turns; the heuristic player and the policy that ships. The first one tries."
    ] = None,
    data: Annotated[list[Path] | None, "Learn from recorded games (jimbot record) instead of playing."] = None,
    from_run: Annotated[list[str] | None, "Learn from the games of a training run instead of playing."] = None,
    from_bus: Annotated[str | None, "Learn from games published on a bus: embedded[:FILE] or nats://HOST:PORT."] = None,
    runs: Annotated[int, "Play exactly so many; 0: as many as half of the time allows."] = 0,
    attempt: Annotated[
        list[str] | None, "--try", "Only try these jokers against matched ones; several times.", "A,B"
    ] = None,
    games: Annotated[int, "Games at once."] = 64,
    seed: Annotated[int, "Which seeds are played."] = 0,
    bus: Annotated[str | None, "Tell what was found there (knowledge.update), too.", "ADDRESS"] = None,
    of: Graph = Graph(),
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
    with of.opened() as client, terminal.progress(as_json) as bar:
        task = bar.add_task("Playing and trying", total=None)
        recorded, sources = _recorded(client.game, data or (), from_run or (), from_bus, runs_dir)
        trials = groups_of(attempt or (), part_names(client.game), "--try")
        search = Search(minutes, games, seed, runs, tuple(policy or ()), tuple(recorded), trials, sources)
        found = explore(client, search, lambda words: bar.update(task, description=words))
        if bus is not None:
            _tell(client, bus, found, ", ".join((*(from_run or ()), *(str(path) for path in data or ()))) or "discover")
    if as_json:
        terminal.print_json(found)
    else:
        _print(found)


def _tell(client: KnowledgeGraphClient, bus: str, found: dict[str, Any], learned_from: str) -> None:
    """The strategies that were found or tried, as the graph holds them now."""
    from jimbot.knowledge.records import Strategy
    from jimbot.services.graph_server import tell

    keys = {one["key"] for one in (*found["strategies"], *found["trials"])}
    graph = client.whole()
    strategies = [Strategy.of(node, graph.edges) for node in graph.nodes if node.key in keys]
    terminal.note(f"{tell(bus, client.game, strategies, learned_from):,} strategies told on {bus}.")


def _recorded(
    game: str, data: list[Path] | tuple[()], from_run: list[str] | tuple[()], from_bus: str | None, runs_dir: Path
) -> tuple[list[PlayedRun], str]:
    """(runs of all sources, the options that name them)"""
    from jimbot.knowledge.played import runs_of_dataset, runs_of_played, runs_of_training

    found = [run for path in data for run in runs_of_dataset(path)]
    found += [run for name in from_run for run in runs_of_training(name, runs_dir)]
    if from_bus is not None:
        from jimbot.cli.doors.bus import published_games

        found += runs_of_played(game, published_games(game, from_bus))
    options = [("--data", str(path)) for path in data] + [("--from-run", name) for name in from_run]
    options += [("--from-bus", from_bus)] if from_bus is not None else []
    if options and not found:
        raise UsageError(
            f"No game of {game} to learn from in {', '.join(value for _, value in options)}; expected games that were "
            "recorded (jimbot record), trained on, or published move by move on a bus (jimbot watch --bus)."
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


# --- `jimbot graph draw` ---


def draw(
    joker: Annotated[
        str | None, typer.Argument(help="The joker in the middle, by name or key.", autocompletion=complete_part)
    ] = None,
    core: Annotated[bool, "The strongest synergies of all instead."] = False,
    output: Annotated[Path | None, "--output", "-o", "The .svg to write; named after it."] = None,
    channel: Annotated[str | None, "Only score, money, growth, retrigger or copying."] = None,
    most: Annotated[int, "Lines at most."] = 30,
    overwrite: Annotated[bool, "Replace the file if it exists."] = False,
    of: Graph = Graph(),
) -> None:
    """Draw what a joker works with, or the strongest synergies of all, as SVG."""
    from jimbot.knowledge import drawing, queries
    from jimbot.runs.files import write_atomically

    terminal.require_positive(most=most)
    if core == (joker is not None):
        raise UsageError("Name a joker to draw what it works with, or --core for the strongest synergies of all.")
    with of.opened() as client:
        key = None if joker is None else client.names.key(joker, "Joker")
        output = output or Path(f"{key or 'core'}.svg")
        terminal.check_output(output, overwrite)
        found = queries.certain_synergies(client.store) if key is None else queries.partners(client.store, key)
        claims = [claim for claim in found if channel in (None, claim["channel"])]
        name = "" if key is None else client.names.name(key)
    picture = drawing.core(claims, most) if key is None else drawing.neighbourhood(key, name, claims, most)
    write_atomically(output, picture.encode())
    terminal.say(f"Wrote {output}.")


# --- `jimbot graph serve` ---


def serve(
    port: Annotated[int, "HTTP; 0: any free one."] = 8766,
    host: HostOption = "127.0.0.1",
    token_file: TokenFileOption = None,
    bus: Annotated[str | None, "Keep what is told on this bus, too (knowledge.update).", "ADDRESS"] = None,
    of: Graph = Graph(),
) -> None:
    """Answer GraphQL over HTTP: POST /graphql; GET /graphql is the schema. Only who shows a token may change it."""
    from jimbot.doors.listening import listener
    from jimbot.services.graph_server import UpdateStore, graph_server

    with of.opened() as client:
        server = graph_server(client, host, port, token_file)
        client.names  # noqa: B018  a graph that cannot be opened is a sentence now, not at the first query
        place = listener(host, port)
        terminal.note(f"GraphQL on http://{host}:{place.getsockname()[1]}/graphql; Ctrl+C ends it.")
        updates = UpdateStore(client, bus) if bus is not None else None
        try:
            until_stopped(server.run, sockets=[place])
        finally:
            if updates is not None:
                updates.close()
                terminal.note(f"{updates.kept:,} updates of the bus kept, {updates.refused:,} refused.")


# --- hints that act ---


def acting(player: Player, address: str | None, most: float) -> Player:
    """The player, leaning to what a graph says."""
    from jimbot.knowledge.acting import ActingPolicy, prior_of

    with Graph(address, player.game).opened() as client:
        prior = prior_of(client.whole(), most)
    policy = ActingPolicy(player.policy, prior)
    return replace(player, policy=policy, name=policy.name)


def evaluate_hinted(player: Player, helped: Player, full: bool, playing: Playing) -> None:
    """Plays every seed without and with hints that act, and shows the difference."""
    from jimbot.evaluation import compare_evaluations

    alone, evaluation = evaluate_both(player, helped, playing)
    compared = compare_evaluations([evaluation, alone])
    if playing.as_json:
        differences = [one.to_dict() for one in compared.all_differences]
        terminal.print_json({**evaluation.to_dict(), "hints": {"differences": differences, "alone": alone.to_dict()}})
        return
    console = terminal.console()
    console.print(evaluation if full else evaluation.headline())
    for difference in compared.all_differences:
        console.print(difference.sentence, soft_wrap=True)


WORDS = "What works together, measured by the simulator: look, ask, draw, carry away."
register = adds_family("graph", WORDS, EXAMPLES, show, query, build, trial, discover, draw, export, import_, serve)
