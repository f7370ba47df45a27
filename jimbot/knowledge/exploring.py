"""One round of discovery: runs → strategies and played synergies → proposals → trials, all written into the graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.games.entry import GameEntry
from jimbot.games.seeds import bank_seeds
from jimbot.knowledge import discovery, played, strategies
from jimbot.knowledge.client import KnowledgeGraphClient
from jimbot.knowledge.played import PlayedRun
from jimbot.knowledge.records import MEASURED, SYNERGY, Graph
from jimbot.knowledge.synergy_network import held_out

ALL = "all"
"""The channel pairs are ranked by where a game has one; else their strongest."""
_LEAST_MEASURED = 300
"""Pairs from which a network is worth training."""
_TRIAL_GAMES = 48


def measured_strengths(graph: Graph) -> dict[tuple[str, str], float]:
    """What the simulator says about every pair, in one number."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for edge in graph.edges:
        if edge.type == SYNERGY and edge.evidence == MEASURED and not edge.others:
            found.setdefault((min(edge.a, edge.b), max(edge.a, edge.b)), {})[edge.channel] = edge.strength
    return {pair: by.get(ALL, max(by.values(), key=abs)) for pair, by in found.items()}


def _chooser(entry: GameEntry) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The game's first scripted player."""
    if not entry.scripted:
        raise UsageError(f"'{entry.spec.id}' has no scripted player; give recorded games with --data.")
    player = next(iter(entry.scripted.values()))()
    return lambda observation, legal_mask: player.act(observation, legal_mask)[0]


def explore(
    client: KnowledgeGraphClient,
    minutes: float,
    games: int = 64,
    seed: int = 0,
    recorded: Sequence[PlayedRun] = (),
    tell: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Plays or takes the recorded runs, and fills the graph with what they and the trials show."""
    began = time.monotonic()
    end = began + 60 * minutes
    entry, graph = game_entry(client.game), client.whole()
    choose, runs = _chooser(entry), list(recorded)
    if not runs:
        tell("Playing")
        runs = _play(entry, choose, games, seed, began + 30 * minutes)
    command = f"jimbot graph discover --minutes {minutes:g} --seed {seed}"
    names = {node.key: node.name for node in graph.nodes}
    features = {node.key: node.features for node in graph.nodes if node.features}
    strengths = {
        pair: value for pair, value in measured_strengths(graph).items() if all(key in features for key in pair)
    }
    lifts = played.pair_lifts(runs)
    found = strategies.strategies_of(runs, names, command)
    tell("Learning")
    network = held_out(features, strengths, seed=seed) if len(strengths) >= _LEAST_MEASURED else None
    tell("Trying")
    proposed = discovery.proposals(strengths, runs)
    trials = [
        discovery.strategy_of(trial, names, command)
        for trial in discovery.try_all(entry, choose, proposed, min(games, _TRIAL_GAMES), end, seed)
    ]
    everything = [*found, *trials]
    client.store.add(
        [one.node() for one in everything],
        [*played.edges_of(lifts, command), *(edge for one in everything for edge in one.edges())],
    )
    return {
        "runs": len(runs),
        "won": sum(run.won for run in runs),
        "strategies": [_told(one) for one in found],
        "agreement": played.agreement(lifts, strengths),
        "network": network,
        "trials": [_told(one) for one in trials],
    }


def _play(
    entry: GameEntry, choose: Callable[[np.ndarray, np.ndarray], np.ndarray], games: int, seed: int, until: float
) -> list[PlayedRun]:
    """Batches of train seeds until the time is over; the first batch is finished in any case."""
    runs: list[PlayedRun] = []
    number = 0
    while number == 0 or time.monotonic() < until:
        seeds = bank_seeds("train", games, seed + number * games)
        first = number == 0
        runs += played.play_runs(entry, choose, seeds, go_on=lambda first=first: first or time.monotonic() < until)
        number += 1
    return runs


def _told(one: Any) -> dict[str, Any]:
    return {"key": one.key, "name": one.name, "words": one.words, "uses": dict(one.uses), "games": one.games,
            "share": one.share, "low": one.low, "high": one.high, "verdict": one.verdict}  # fmt: skip
