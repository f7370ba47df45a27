"""Randomised trials: what coins decided is found again, a stopped call goes on; what is known acts within bounds."""

import csv
from itertools import pairwise

import numpy as np
import pytest

from jimbot.games.contract import game_entry, make
from jimbot.knowledge import trials
from jimbot.knowledge.acting import ActingPolicy, prior_of
from jimbot.knowledge.effects import COLUMNS, WINS, Effect, csv_of, effects, together, with_effects
from jimbot.knowledge.records import Edge, Graph, Node
from jimbot.knowledge.trials import Game, Plan, read_games, run_trials
from jimbot.policies.contract import Decision
from jimbot.policies.players import find_player


def _told(seeds: int, worth: dict[str, float], rng: np.random.Generator) -> list[Game]:
    """Games in which seeds differ, and what a run was given adds to its chance."""
    games = []
    for seed in range(seeds):
        level = rng.uniform(0.1, 0.6)
        for _ in range(trials.ARMS):
            given = {at: (f"j_{rng.integers(8)}",) for at in trials.TIMES if rng.random() < trials.CHANCE}
            won = rng.random() < level + sum(worth.get(keys[0], 0.0) for keys in given.values())
            games.append(Game(0, "h", {}, str(seed), given, (), bool(won), 8 if won else int(rng.integers(1, 9)), 3.0))
    return games


def test_what_a_part_is_worth_is_found_within_its_interval():
    found = {one.part: one for one in effects(_told(600, {"j_7": 0.25, "j_3": -0.15}, np.random.default_rng(0)))
             if one.at == 1}  # fmt: skip
    assert found["j_7"].wins_low > 0 > found["j_3"].wins_high
    assert abs(found["j_7"].wins - 0.25) < 0.1
    nothing = [one for part, one in found.items() if part not in ("j_7", "j_3")]
    assert sum(one.wins_low <= 0 <= one.wins_high for one in nothing) >= len(nothing) - 3


def test_what_two_do_beyond_their_parts_is_apart_from_the_parts():
    rng, group, games = np.random.default_rng(1), ("a", "b", "c"), []
    for seed in range(400):
        for keys in [(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), group]:
            chance = 0.1 + 0.15 * len(keys) + 0.3 * ({"a", "b"} <= set(keys))
            games.append(Game(0, "h", {}, str(seed), {1: keys} if keys else {}, group, bool(rng.random() < chance)))
    found = {(edge.a, edge.b, *edge.others): edge for edge in together(games)}
    assert found["a", "b"].low > 0.1
    assert found["a", "c"].low < 0 < found["a", "c"].high
    assert found["b", "c"].low < 0 < found["b", "c"].high


def test_a_call_that_was_stopped_goes_on_to_the_same_games(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "SEEDS_AT_ONCE", 1)
    player = find_player("heuristic", "balatro", {"stake": "gold"})
    plan, whole, stopped = Plan(player, 16), tmp_path / "whole.jsonl", tmp_path / "stopped.jsonl"
    assert run_trials(whole, plan) == 16

    def stop_at_second(done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    assert run_trials(stopped, plan, stop_at_second) == 8
    with stopped.open("a") as file:
        file.write('{"batch": 1, "pla')  # of a process that was killed
    assert run_trials(stopped, plan) == 8
    assert stopped.read_text() == whole.read_text()
    assert run_trials(stopped, plan) == 0
    games = read_games(whole)
    assert not games[0].given
    assert any(len(game.given) > 1 for game in games)


@pytest.fixture
def shop():
    """A game in a shop that offers a joker it can pay."""
    game = make("balatro", 64, options={"helpers": True})
    game.reset(np.arange(64, dtype=np.uint64))
    offers, player = game_entry("balatro").knowledge.offers, find_player("heuristic", "balatro")
    for _ in range(400):
        rows, actions, keys = offers.find(game.observation, game.legal_mask)
        jokers = [one for one in zip(rows, actions, keys, strict=True) if offers.keys()[one[2]].startswith("j_")]
        if jokers:
            row, action, key = jokers[0]
            yield game.observation[[row]], game.legal_mask[[row]], int(action), offers.keys()[key]
            game.close()
            return
        game.step(player.policy.act(game.observation, game.legal_mask).actions)
    raise AssertionError("no shop")


class _Undecided:
    name = "undecided"

    def act(self, observation, legal_mask, deterministic=True, key=None):
        chances = (legal_mask / legal_mask.sum(axis=1, keepdims=True)).astype(np.float32)
        return Decision(legal_mask.argmax(axis=1), chances, np.zeros(len(legal_mask), np.float32))


def _graph(worth: dict[str, float]) -> Graph:
    parts = {part.key: part for part in game_entry("balatro").knowledge.parts() if part.kind == "joker"}
    nodes = []
    for key in parts:
        wins = worth.get(key, 0.0)
        effect = vars(Effect(key, "", 0, 500, 9000, 0.5, wins, wins - 0.01, wins + 0.01, 0.0, 0.0, 0.0)).copy()
        del effect["part"]
        nodes.append(Node("Joker", key, parts[key].name, details={WINS: [effect]}))
    return Graph("balatro", tuple(nodes))


def test_hints_move_what_takes_a_part_and_nothing_else_and_are_bounded(shop):
    observation, legal, action, key = shop
    before = _Undecided().act(observation, legal).probabilities[0]
    for worth in (0.9, -0.9):
        policy = ActingPolicy(_Undecided(), prior_of(_graph({key: worth}), most=0.7))
        after = policy.act(observation, legal)
        others = [one for one in np.flatnonzero(legal[0]) if one != action]
        odds = np.log(after.probabilities[0, action] / after.probabilities[0, others])
        odds -= np.log(before[action] / before[others])
        assert np.isclose(np.median(odds), np.sign(worth) * 0.7, atol=0.01)
        assert (after.actions[0] == action) == (worth > 0)
        assert np.isclose(after.probabilities.sum(), 1)
        assert not after.probabilities[0, ~legal[0]].any()


def test_what_is_held_counts_beside_it(shop):
    observation, legal, action, key = shop
    held = observation.copy()
    knowledge = game_entry("balatro").knowledge
    keys = knowledge.offers.keys()
    partner = next(one for one in keys if one.startswith("j_") and one != key)
    from jimbot.games.balatro.encoding.fields import OBSERVATION

    held[0, OBSERVATION.span("joker_id").start] = keys.index(partner)
    graph = _graph({})
    pair = sorted((key, partner))
    nodes = [node.key for node in graph.nodes]
    others = [Edge("SYNERGIZES_WITH", *sorted(two), 0.0, 0.0, 0.0, "all") for two in pairwise(nodes)]
    graph = graph.with_more(edges=[*others, Edge("SYNERGIZES_WITH", *pair, 1.0, 0.9, 1.1, "all")])
    prior = prior_of(graph)
    assert prior.shifts(held, legal)[0, action] > prior.shifts(observation, legal)[0, action] + 0.5


def test_the_data_set_says_what_its_columns_are(tmp_path):
    graph = Graph("balatro", tuple(Node("Joker", f"j_{number}", f"Joker {number}") for number in range(8)))
    nodes, _ = with_effects(graph, _told(300, {"j_7": 0.3}, np.random.default_rng(2)))
    from jimbot.knowledge.effects import card_of, effects_of

    found = effects_of(nodes)
    rows = list(csv.DictReader(csv_of(found).decode().splitlines()))
    assert len(rows) == len(found) == 8 * 5
    best = max((row for row in rows if row["at"] == "0"), key=lambda row: float(row["wins"]))
    assert best["part"] == "j_7"
    card = card_of("balatro", found, [])
    assert all(f"| {name} |" in card for name in COLUMNS)
