"""Measuring a game's parts into a graph: resumable, and every claim with the command that measures it again."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from jimbot.errors import UsageError
from jimbot.games.hooks.learners import Interaction, Knowledge
from jimbot.knowledge import records
from jimbot.knowledge.first_use import first_graph, knowledge_of, nodes_of
from jimbot.knowledge.queries import Names
from jimbot.knowledge.records import MEASURED, PROFILE, Edge, Graph
from jimbot.knowledge.store import GraphStore

ALL = "all"
"""The channel pairs are ranked by."""
FLUSH_SECONDS = 20.0
"""How long measurements wait until they are written together."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """What to measure, and how well."""

    game: str
    groups: tuple[tuple[str, ...], ...] = ()
    """Keys of two or more parts each; none: every pair of jokers that was not measured like this before."""
    channels: tuple[str, ...] = ()
    """Only these; none: all."""
    effort: float = 1.0
    seed: int = 0

    @property
    def _how(self) -> str:
        return f"--effort {self.effort:g} --seed {self.seed}"

    def command(self, found: Interaction) -> str:
        """Measures this again, to the same numbers."""
        parts = shlex.quote(",".join((found.a, found.b, *found.others)))
        return f"jimbot graph build --pairs {parts} --channels {found.channel} {self._how}"

    def made(self, edge: Edge) -> bool:
        """Whether an edge comes from a measurement of this kind."""
        return edge.evidence == MEASURED and edge.command.endswith(self._how)


@dataclass
class Built:
    """What a build has done so far."""

    known: int = 0
    """Pairs that were measured before."""
    measured: int = 0
    """Claims that are new or anew."""
    stopped: bool = False
    edges: list[Edge] = field(default_factory=list)
    """Of the groups that were named."""


def build(store: GraphStore, plan: Plan, progress: Progress = lambda done, of: None, overwrite: bool = False) -> Built:
    """Measures what the plan asks for into the store. Ctrl+C keeps what was measured; the same call goes on."""
    knowledge, built = knowledge_of(plan.game), Built()
    known = _prepared(store, plan.game, overwrite)
    waiting: list[Edge] = []
    written = time.monotonic()
    try:
        if not plan.groups:
            _add_profiles(store, knowledge, plan, known)
        for found in _measured(knowledge, plan, known, built, progress):
            waiting.append(edge_of(found, plan))
            built.measured += 1
            if plan.groups:
                built.edges.append(waiting[-1])
            if time.monotonic() - written > FLUSH_SECONDS:
                store.add(edges=waiting)
                waiting, written = [], time.monotonic()
    except KeyboardInterrupt:
        built.stopped = True
    if waiting:
        store.add(edges=waiting)
    return built


def strengths_of(edges: Iterable[Edge]) -> dict[tuple[str, str], float]:
    """What edges say about pairs of jokers, in the one number they are ranked by."""
    return {
        (min(edge.a, edge.b), max(edge.a, edge.b)): edge.strength
        for edge in edges
        if edge.type == records.RELATIONS["synergizes"] and edge.channel == ALL and not edge.others
    }


def groups_of(texts: Sequence[str], names: Names, option: str = "--pairs") -> tuple[tuple[str, ...], ...]:
    """`["Baron,Mime", "j_a,j_b,j_c"]` → keys; `option` is what a complaint calls them."""
    labels = ("Joker", "Boss", "HandType")
    groups = []
    for text in texts:
        keys = tuple(names.key(name.strip(), *labels) for name in text.split(",") if name.strip())
        if len(set(keys)) < 2 or len(set(keys)) < len(keys):
            raise UsageError(f"{option} is '{text}'; expected two or more different names with commas, like a,b.")
        groups.append(keys)
    return tuple(groups)


def edge_of(found: Interaction, plan: Plan) -> Edge:
    """A measurement as a claim of the graph."""
    return Edge(
        records.RELATIONS[found.relation], found.a, found.b, found.strength, min(found.low, found.strength),
        max(found.high, found.strength), found.channel, MEASURED, found.samples, found.order, tuple(found.others),
        plan.command(found), dict(found.details),
    )  # fmt: skip


def _prepared(store: GraphStore, game: str, overwrite: bool) -> Graph:
    """The graph as it is, with the parts of this version of the game."""
    if overwrite:
        store.replace(Graph(game, tuple(nodes_of(game))))
    elif not store.exists():
        store.replace(first_graph(game))
    else:
        known = {node.key: node.details for node in store.graph().nodes}
        store.add([replace(node, details={**known.get(node.key, {}), **node.details}) for node in nodes_of(game)])
    return store.graph()


def _add_profiles(store: GraphStore, knowledge: Knowledge, plan: Plan, known: Graph) -> None:
    """What every joker does by itself, where that is not known yet."""
    lacking = {node.key: node for node in known.nodes if node.label == "Joker" and PROFILE not in node.details}
    if knowledge.profiles is not None and lacking:
        found = knowledge.profiles(seed=plan.seed, effort=plan.effort)
        store.add([
            replace(lacking[key], details={**lacking[key].details, PROFILE: list(profile)})
            for key, profile in found.items() if key in lacking
        ])  # fmt: skip


def _measured(
    knowledge: Knowledge, plan: Plan, known: Graph, built: Built, progress: Progress
) -> Iterator[Interaction]:
    if knowledge.measure is None:
        raise UsageError(f"Game '{plan.game}' has parts but no measurement.")
    how = {"seed": plan.seed, "effort": plan.effort}
    channels = plan.channels or None
    if not plan.groups:
        jokers = [node.key for node in known.nodes if node.label == "Joker"]
        pairs = list(combinations(sorted(jokers), 2))
        left = list(_unmeasured(pairs, plan, known.edges))
        built.known = len(pairs) - len(left)
        if len(left) == len(pairs):
            yield from knowledge.measure(pairs=None, channels=channels, progress=progress, **how)
            return
        strengths = strengths_of(edge for edge in known.edges if plan.made(edge))
        for found in knowledge.measure(pairs=left, channels=channels, progress=progress, **how) if left else ():
            if found.relation == "synergizes" and found.channel == ALL and not found.others:
                strengths[found.a, found.b] = found.strength
            yield found
        grouped = any(edge.others and plan.made(edge) for edge in known.edges)
        if knowledge.measure_top is not None and not plan.channels and strengths and (left or not grouped):
            yield from knowledge.measure_top(strengths, **how)
        return
    pairs = [group for group in plan.groups if len(group) == 2]
    if pairs:
        yield from knowledge.measure(pairs=pairs, channels=channels, progress=progress, **how)
    for group in plan.groups:
        if len(group) > 2:
            if knowledge.measure_group is None:
                raise UsageError(f"Game '{plan.game}' measures pairs only; name two parts.")
            yield knowledge.measure_group(group, **how)


def _unmeasured(pairs: Iterable[tuple[str, str]], plan: Plan, edges: Iterable[Edge]) -> Iterator[tuple[str, str]]:
    """The pairs that were not measured like this before."""
    found: dict[tuple[str, str], set[str]] = {}
    for edge in edges:
        if edge.type == records.RELATIONS["synergizes"] and not edge.others and plan.made(edge):
            found.setdefault((min(edge.a, edge.b), max(edge.a, edge.b)), set()).add(edge.channel)
    for pair in pairs:
        channels = found.get(pair, set())
        if not channels or not channels >= set(plan.channels):
            yield pair
