"""One round of discovery: runs → strategies and played synergies → proposals → trials, all written into the graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.games.seeds import bank_seeds
from jimbot.knowledge import discovery, played, strategies
from jimbot.knowledge.client import KnowledgeGraphClient
from jimbot.knowledge.discovery import Proposal
from jimbot.knowledge.played import PlayedRun
from jimbot.knowledge.records import MEASURED, PROFILE, SYNERGY, Graph, Strategy
from jimbot.knowledge.synergy_network import held_out, train
from jimbot.policies.players import Player, find_player
from jimbot.runs.shipped import shipped_games

ALL = "all"
"""The channel pairs are ranked by where a game has one; else their strongest."""
_LEAST_MEASURED = 300
"""Pairs from which a network is worth training."""
TRIAL_GAMES = 192
PROPOSALS = 24


@dataclass(frozen=True)
class Search:
    """What a round of discovery is to do."""

    minutes: float = 5.0
    """Half of them for playing, the rest for trying."""
    games: int = 64
    """At once."""
    seed: int = 0
    runs: int = 0
    """Play exactly so many, however long it takes; 0: as many as there is time for."""
    players: tuple[str, ...] = ()
    """Who plays, in turns; none: the game's scripted player and the policy that ships."""
    recorded: tuple[PlayedRun, ...] = ()
    """Runs to learn from instead of playing."""
    trials: tuple[tuple[str, ...], ...] = ()
    """Groups to try instead of everything else."""
    sources: str = ""
    """The options that name where recorded runs come from, for the command that does it again."""


def measured_strengths(graph: Graph) -> dict[tuple[str, str], float]:
    """What the simulator says about every pair, in one number."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for edge in graph.edges:
        if edge.type == SYNERGY and edge.evidence == MEASURED and not edge.others:
            found.setdefault((min(edge.a, edge.b), max(edge.a, edge.b)), {})[edge.channel] = edge.strength
    return {pair: by.get(ALL, max(by.values(), key=abs)) for pair, by in found.items()}


def players_of(game: str, names: Sequence[str] = ()) -> list[Player]:
    """Who plays: those named, else the first scripted player and the policy that ships, as far as there are any."""
    scripted = list(game_entry(game).scripted)[:1]
    found = list(names) or [*scripted, *(name for name in shipped_games() if name == game)]
    if not found:
        raise UsageError(f"'{game}' has no scripted player and no policy that ships; name one with --policy.")
    return [find_player(name, game) for name in found]


def explore(
    client: KnowledgeGraphClient, search: Search = Search(), tell: Callable[[str], None] = lambda words: None
) -> dict[str, Any]:
    """Plays or takes the recorded runs, and fills the graph with what they and the trials show."""
    began = time.monotonic()
    end = began + 60 * search.minutes
    graph, players = client.whole(), players_of(client.game, search.players)
    names = {node.key: node.name for node in graph.nodes}
    if search.trials:
        tell("Trying")
        tried = [
            discovery.try_out(players[0], Proposal(tuple(sorted(keys))), TRIAL_GAMES, search.seed)
            for keys in search.trials
        ]
        return _written(client, [], [_told_trial(trial, names, search) for trial in tried])
    runs = list(search.recorded)
    if not runs:
        tell("Playing")
        runs = _play(players, search, began + 30 * search.minutes)
    lifts = played.pair_lifts(runs)
    command = _command(search, runs)
    found = strategies.strategies_of(runs, names, command)
    tell("Learning")
    strengths, judged = _strengths(graph, search.seed)
    tell("Trying")
    proposed = discovery.proposals(strengths, runs, PROPOSALS)
    games = max(2, min(TRIAL_GAMES, 3 * search.games))
    trials = list(discovery.try_all(players[0], proposed, games, end, search.seed))
    told = _written(client, found, [_told_trial(trial, names, search) for trial in trials], lifts, command)
    measured = {pair: value for pair, value in measured_strengths(graph).items() if pair in strengths}
    return {
        "runs": len(runs),
        "won": sum(run.won for run in runs),
        "players": dict(Counter(run.player for run in runs)),
        "synergies": [vars(lift) for lift in lifts if lift.found],
        "agreement": played.agreement(lifts, measured),
        "network": judged,
        **told,
    }


def _play(players: Sequence[Player], search: Search, until: float) -> list[PlayedRun]:
    """Batches of train seeds, the players in turns, until the time is over or enough runs are played. Every batch is
    finished, so that as many runs are the same runs again; every player plays the same seeds."""
    runs: list[PlayedRun] = []
    number = 0
    while number == 0 or (len(runs) < search.runs if search.runs else time.monotonic() < until):
        count = min(search.games, search.runs - len(runs)) if search.runs else search.games
        turn, place = divmod(number, len(players))
        seeds = bank_seeds("train", count, search.seed + turn * search.games)
        runs += played.play_runs(players[place], seeds)
        number += 1
    return runs


def _strengths(graph: Graph, seed: int) -> tuple[dict[tuple[str, str], float], dict[str, Any] | None]:
    """(the strength of every pair of jokers, how well the network does on unseen ones): measured where it was, else the
    network's word, as far as there is enough to learn from."""
    blocks = blocks_of(graph)
    jokers = set.intersection(*(set(block) for block in blocks))
    measured = {pair: value for pair, value in measured_strengths(graph).items() if jokers >= set(pair)}
    if len(measured) < _LEAST_MEASURED:
        return measured, None
    judged = held_out(blocks, measured, seed=seed)
    left = [pair for pair in combinations(sorted(jokers), 2) if pair not in measured]
    said = dict(zip(left, train(blocks, measured).predict(left).tolist(), strict=True))
    return measured | said, judged


def blocks_of(graph: Graph) -> list[dict[str, Sequence[float]]]:
    """What the network may know of jokers: their features, and what they do alone where that was measured."""
    found: list[dict[str, Sequence[float]]] = [{node.key: node.features for node in graph.nodes if node.features}]
    profiles = {node.key: node.details[PROFILE] for node in graph.nodes if PROFILE in node.details}
    return [*found, profiles] if profiles.keys() >= found[0].keys() and profiles else found


def _written(
    client: KnowledgeGraphClient, found: Sequence[Strategy], trials: Sequence[Strategy],
    lifts: Sequence[played.Lift] = (), command: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Puts everything into the graph, and tells it."""
    everything = [*found, *trials]
    client.store.add(
        [one.node() for one in everything],
        [*played.edges_of(lifts, command), *(edge for one in everything for edge in one.edges())],
    )
    return {"strategies": [_told(one) for one in found], "trials": [_told(one) for one in trials]}


def _command(search: Search, runs: Sequence[PlayedRun]) -> str:
    """Finds the same runs again, or plays them again."""
    who = "".join(f" --policy {name}" for name in search.players)
    again = search.sources or f"--runs {len(runs)} --games {search.games}{who}"
    return f"jimbot graph discover {again} --seed {search.seed}"


def _told_trial(trial: discovery.Trial, names: Mapping[str, str], search: Search) -> Strategy:
    who = f" --policy {search.players[0]}" if search.players else ""
    command = f"jimbot graph discover --try {','.join(trial.proposal.keys)}{who} --seed {search.seed}"
    return discovery.strategy_of(trial, names, command)


def _told(one: Strategy) -> dict[str, Any]:
    return {"key": one.key, "name": one.name, "words": one.words, "uses": dict(one.uses), "games": one.games,
            "share": one.share, "low": one.low, "high": one.high, "verdict": one.verdict}  # fmt: skip
