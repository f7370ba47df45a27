"""One round of discovery: runs → strategies and played synergies → proposals → trials, all written into the graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.intervals import Interval, paired_interval, wilson_interval
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.games.hooks.learners import Part
from jimbot.games.seeds import bank_seeds
from jimbot.knowledge import played, strategies
from jimbot.knowledge.client import KnowledgeGraphClient
from jimbot.knowledge.played import PlayedRun, play_runs
from jimbot.knowledge.records import MEASURED, PROFILE, SYNERGY, Graph, Strategy
from jimbot.knowledge.synergy_network import Blocks, Pair, held_out, train
from jimbot.policies.players import Player, find_player
from jimbot.runs.checkpoint import shipped_games

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
    """Who plays, in turns; none: the game's heuristic player and the policy that ships."""
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
    """Who plays: those named, else the first heuristic player and the policy that ships, as far as there are any."""
    heuristics = list(game_entry(game).heuristics)[:1]
    found = list(names) or [*heuristics, *(name for name in shipped_games() if name == game)]
    if not found:
        raise UsageError(f"'{game}' has no heuristic player and no policy that ships; name one with --policy.")
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
        tried = [try_out(players[0], Proposal(tuple(sorted(keys))), TRIAL_GAMES, search.seed) for keys in search.trials]
        return _written(client, [], [_trial_strategy(trial, names, search) for trial in tried])
    runs = list(search.recorded)
    if not runs:
        tell("Playing")
        runs = _play(players, search, began + 30 * search.minutes)
    lifts = played.pair_lifts(runs)
    command = _command(search, runs)
    found = strategies.strategies_of(runs, names, command)
    tell("Learning")
    known, judged = _judged_strengths(graph, search.seed)
    tell("Trying")
    proposed = proposals(known, runs, PROPOSALS)
    games = max(2, min(TRIAL_GAMES, 3 * search.games))
    trials = list(try_all(players[0], proposed, games, end, search.seed))
    written = _written(client, found, [_trial_strategy(trial, names, search) for trial in trials], lifts, command)
    measured = {pair: value for pair, value in measured_strengths(graph).items() if pair in known}
    return {
        "runs": len(runs),
        "won": sum(run.won for run in runs),
        "players": dict(Counter(run.player for run in runs)),
        "synergies": [vars(lift) for lift in lifts if lift.found],
        "agreement": played.agreement(lifts, measured),
        "network": judged,
        **written,
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


def _judged_strengths(graph: Graph, seed: int) -> tuple[dict[tuple[str, str], float], dict[str, Any] | None]:
    """(the strength of every pair of jokers, how well the network does on unseen ones): measured where it was, else the
    network's word, as far as there is enough to learn from."""
    blocks = blocks_of(graph)
    jokers = set.intersection(*(set(block) for block in blocks))
    measured = {pair: value for pair, value in measured_strengths(graph).items() if jokers >= set(pair)}
    if len(measured) < _LEAST_MEASURED:
        return measured, None
    return _filled_in(blocks, jokers, measured), held_out(blocks, measured, seed=seed)


def _filled_in(blocks: Blocks, jokers: Iterable[str], measured: Mapping[Pair, float]) -> dict[Pair, float]:
    left = [pair for pair in combinations(sorted(jokers), 2) if pair not in measured]
    said = train(blocks, measured).predict(left).tolist() if left else []
    return {**measured, **dict(zip(left, said, strict=True))}


def strengths(graph: Graph) -> dict[Pair, float]:
    """Of every pair of jokers: as it was measured, else the network's word where there is enough to learn from."""
    blocks, measured = blocks_of(graph), measured_strengths(graph)
    jokers = set.intersection(*(set(block) for block in blocks))
    enough = len(measured) >= _LEAST_MEASURED and all(jokers >= set(pair) for pair in measured)
    return _filled_in(blocks, jokers, measured) if enough else measured


def blocks_of(graph: Graph) -> list[dict[str, Sequence[float]]]:
    """What the network may know of jokers: their features, and what they do alone where that was measured."""
    found: list[dict[str, Sequence[float]]] = [{node.key: node.features for node in graph.nodes if node.features}]
    profiles = {node.key: node.details[PROFILE] for node in graph.nodes if PROFILE in node.details}
    return [*found, profiles] if profiles.keys() >= found[0].keys() and profiles else found


def _written(
    client: KnowledgeGraphClient, found: Sequence[Strategy], trials: Sequence[Strategy],
    lifts: Sequence[played.Lift] = (), command: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Puts everything into the graph, and publishes it."""
    everything = [*found, *trials]
    client.store.add(
        [one.node() for one in everything],
        [*played.edges_of(lifts, command), *(edge for one in everything for edge in one.edges())],
    )
    return {"strategies": [_described(one) for one in found], "trials": [_described(one) for one in trials]}


def _command(search: Search, runs: Sequence[PlayedRun]) -> str:
    """Finds the same runs again, or plays them again."""
    who = "".join(f" --policy {name}" for name in search.players)
    again = search.sources or f"--runs {len(runs)} --games {search.games}{who}"
    return f"jimbot graph discover {again} --seed {search.seed}"


def _trial_strategy(trial: Trial, names: Mapping[str, str], search: Search) -> Strategy:
    who = f" --policy {search.players[0]}" if search.players else ""
    command = f"jimbot graph discover --try {','.join(trial.proposal.keys)}{who} --seed {search.seed}"
    return strategy_of(trial, names, command)


def _described(one: Strategy) -> dict[str, Any]:
    return {"key": one.key, "name": one.name, "words": one.words, "uses": dict(one.uses), "games": one.games,
            "share": one.share, "low": one.low, "high": one.high, "verdict": one.verdict}  # fmt: skip


# Strategies nobody plays yet: proposed by what is known of pairs, then tried in whole runs against matched controls.


VALIDATION = "validation"
STAGES = (1, 4)
"""Milestones at which jokers are handed over, turn by turn."""
FIRST_LOOK = 0.25
"""Share of the games of a trial that a first look takes."""
TRIED_AGAIN = 0.5
"""Share of the proposals that get all games after it."""
_ALIKE = 20
"""Controls are drawn from so many jokers that look most alike by price and rarity."""
_THIRDS = 5


@dataclass(frozen=True)
class Proposal:
    """Jokers to try together."""

    keys: tuple[str, ...]
    strength: float = 0.0
    played: int = 0
    """Runs that held them all."""


@dataclass(frozen=True)
class Trial:
    """A proposal after its runs."""

    proposal: Proposal
    gained: Interval
    """Milestones reached beyond the control's; a win counts as one."""
    won: int
    won_by_control: int
    games: int
    """Of each of the two that came to the stage."""
    seeds: tuple[str, ...]
    whole: bool = True
    """False: a first look only."""

    @property
    def verdict(self) -> str:
        gained = f"{self.gained.mean:+.2f} [{self.gained.low:+.2f}, {self.gained.high:+.2f}] milestones"
        if not self.whole:
            return f"not tried further after a first look: {gained}"
        if self.gained.low > 0:
            return f"better than matched jokers: {gained}"
        return f"worse than matched jokers: {gained}" if self.gained.high < 0 else f"no clear difference: {gained}"


# --- proposing ---


def proposals(strengths: Mapping[tuple[str, str], float], runs: Iterable[PlayedRun], most: int = 10) -> list[Proposal]:
    """Strong pairs, and threes around them, that were played least; no joker carries more than two.

    `strengths` of all pairs: measured, or predicted where nobody measured them.
    """
    held = _held_together(runs)
    known = {frozenset(pair): value for pair, value in strengths.items()}
    jokers = sorted({key for pair in known for key in pair})
    groups = {pair: value for pair, value in known.items() if value > 0}
    for pair in sorted(groups, key=lambda pair: -groups[pair])[: 4 * most]:
        thirds = {one: sum(known.get(frozenset((one, key)), 0.0) for key in pair) for one in jokers if one not in pair}
        for one in sorted(thirds, key=lambda one: -thirds[one])[:_THIRDS]:
            groups[pair | {one}] = (known[pair] + thirds[one]) / 2
    ranked = sorted(groups, key=lambda group: (-groups[group] / (1 + held[group]), sorted(group)))
    chosen: list[Proposal] = []
    used: Counter[str] = Counter()
    for group in ranked:
        if len(chosen) < most and all(used[key] < 2 for key in group):
            used.update(group)
            chosen.append(Proposal(tuple(sorted(group)), groups[group], held[group]))
    return chosen


def _held_together(runs: Iterable[PlayedRun]) -> Counter[frozenset[str]]:
    """In how many runs two or three jokers were held at the same milestone."""
    held: Counter[frozenset[str]] = Counter()
    for run in runs:
        rows = {tuple(sorted(set(state.get("jokers", ())))) for state in run.at.values()}
        held.update({frozenset(group) for row in rows for size in (2, 3) for group in combinations(row, size)})
    return held


# --- trying ---


def _controls(parts: Mapping[str, Part], keys: Sequence[str], rng: np.random.Generator) -> list[str]:
    """As many other jokers, each alike to one of the keys by its first features (rarity and price lead them)."""
    chosen: list[str] = []
    for key in keys:
        others = [one for one in parts if one not in keys and one not in chosen]
        near = sorted(
            others, key=lambda one: float(np.abs(np.subtract(parts[one].features, parts[key].features)[:5]).sum())
        )
        chosen.append(near[int(rng.integers(min(_ALIKE, len(near))))])
    return chosen


def try_out(player: Player, proposal: Proposal, games: int, seed: int = 0, whole: bool = True) -> Trial:
    """Plays validation seeds from `seed` on with the proposal and with its controls."""
    knowledge = player.entry.knowledge
    if knowledge is None or knowledge.give is None:
        raise UsageError(f"Runs of '{player.game}' cannot be given anything at their start, so nothing can be tried.")
    give = knowledge.give
    parts = {part.key: part for part in knowledge.parts() if part.features}
    if unknown := [key for key in proposal.keys if key not in parts]:
        raise UsageError(f"{unknown[0]} cannot be handed to a run; name jokers.")
    seeds = bank_seeds(VALIDATION, games, seed)
    rng = np.random.default_rng(seed)
    stages = [STAGES[row % len(STAGES)] for row in range(games)]

    def with_jokers(rows: Sequence[Sequence[str]]) -> list[PlayedRun]:
        def arrive(game: BatchGame, row: int, reached: int) -> None:
            if reached == stages[row]:
                give(game, row, rows[row])

        return play_runs(player, seeds, arrive)

    tried = with_jokers([proposal.keys] * games)
    control = with_jokers([_controls(parts, proposal.keys, rng) for _ in range(games)])
    there = [row for row in range(games) if stages[row] in tried[row].at and stages[row] in control[row].at]
    came = [[runs[row] for row in there] for runs in (tried, control)]
    one, other = (np.array([run.reached + run.won for run in runs], float) for runs in came)
    best = sorted(came[0], key=lambda run: (not run.won, -run.reached))[:5]
    won = [sum(run.won for run in runs) for runs in came]
    return Trial(proposal, paired_interval(one, other), *won, len(there), tuple(run.seed for run in best), whole)


def try_all(player: Player, found: Sequence[Proposal], games: int, until: float, seed: int = 0) -> Iterator[Trial]:
    """Trials while there is time (`time.monotonic`): a look at each, then all games for those that did best."""
    first = max(2, round(FIRST_LOOK * games))
    looks: list[Trial] = []
    share = until - 0.7 * max(0.0, until - time.monotonic())
    for proposal in found:
        if time.monotonic() >= share:
            break
        looks.append(try_out(player, proposal, first, seed, whole=False))
    looks.sort(key=lambda trial: -trial.gained.mean)
    kept = max(1, round(TRIED_AGAIN * len(looks)))
    for number, look in enumerate(looks):
        again = number < kept and time.monotonic() < until
        yield try_out(player, look.proposal, games, seed + first) if again else look


def strategy_of(trial: Trial, names: Mapping[str, str], command: str) -> Strategy:
    """A tried proposal as a strategy of the graph, with its verdict."""
    keys = trial.proposal.keys
    share = wilson_interval(trial.won, trial.games)
    core = [names.get(key, key) for key in keys]
    control = f"matched jokers won {trial.won_by_control} of {trial.games} games, these {trial.won}"
    return Strategy(
        "s_new_" + "_".join(key.removeprefix("j_") for key in keys), f"New: {' and '.join(core)}",
        f"Proposed: strong together, held by {trial.proposal.played} of the runs that were looked at; {control}.",
        dict.fromkeys(keys, 1.0), MEASURED, trial.games, share.mean, share.low, share.high, trial.verdict, command,
        {"examples": list(trial.seeds), "strength": trial.proposal.strength, "core": list(keys)},
    )  # fmt: skip
