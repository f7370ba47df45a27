"""From runs to strategies, played synergies and trials of new ones."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from jimbot.evaluation.intervals import Interval
from jimbot.games.contract import game_entry
from jimbot.games.seeds import bank_seeds
from jimbot.knowledge import KnowledgeGraphClient, exploring, played, strategies
from jimbot.knowledge.exploring import Search, explore, measured_strengths, players_of
from jimbot.knowledge.played import PlayedRun
from jimbot.knowledge.records import Edge, Graph, Node
from jimbot.knowledge.synergy_network import held_out, train
from jimbot.policies.players import find_player


def run(number: int, jokers: list[str], won: bool, money: int = 10, hand: str = "Flush", reached: int = 5) -> PlayedRun:
    state = {"jokers": jokers, "money": money, "played": {hand: 9, "Pair": 2}, "cards": 52}
    return PlayedRun(f"SEED{number}", won, reached, dict.fromkeys(range(1, reached + 1), state))


def many_runs(lift: float, count: int = 600) -> list[PlayedRun]:
    """j_a and j_b win together beyond each; money helps whoever has it, and j_c goes with money."""
    rng = np.random.default_rng(1)
    runs = []
    for number in range(count):
        jokers = [key for key in ("j_a", "j_b", "j_d", "j_e") if rng.random() < 0.5]
        money = int(rng.integers(0, 60))
        if rng.random() < money / 60:
            jokers.append("j_c")
        odds = -1.0 + money / 30 + (lift if {"j_a", "j_b"} <= set(jokers) else 0.0)
        runs.append(run(number, jokers, rng.random() < 1 / (1 + np.exp(-odds)), money))
    return runs


def test_a_pair_that_wins_is_found_and_one_that_only_comes_with_money_is_not():
    lifts = {(lift.a, lift.b): lift for lift in played.pair_lifts(many_runs(2.0))}
    best = lifts["j_a", "j_b"]
    assert best.found
    assert best.low > 0
    assert not lifts["j_c", "j_d"].found
    assert [edge.a for edge in played.edges_of(lifts.values(), "again")] == [
        lift.a for lift in lifts.values() if lift.found
    ]


def test_without_any_effect_almost_nothing_is_called_found():
    assert sum(lift.found for lift in played.pair_lifts(many_runs(0.0))) <= 1


def test_agreement_names_the_pairs_that_contradict():
    lifts = played.pair_lifts(many_runs(2.0))
    told = played.agreement(
        lifts, {(lift.a, lift.b): -1.0 if (lift.a, lift.b) == ("j_a", "j_b") else 0.1 for lift in lifts}
    )
    assert ["j_a", "j_b"] in [pair[:2] for pair in told["disagree"]]
    assert told["rank_correlation"] < 0
    assert played.agreement([], {})["rank_correlation"] is None


def test_runs_fall_into_the_strategies_they_were_made_from():
    flushes = [run(n, ["j_droll", "j_tribe"], n % 3 == 0, hand="Flush") for n in range(30)]
    pairs = [run(100 + n, ["j_jolly", "j_duo"], n % 2 == 0, money=50, hand="Pair") for n in range(20)]
    found = strategies.strategies_of(flushes + pairs, {"j_droll": "Droll Joker"}, "again")
    hands = {one.details["main_hand"]: one for one in found}
    assert set(hands) == {"Flush", "Pair"}
    assert sum(one.games for one in found if one.details["main_hand"] == "Flush") == 30
    assert hands["Flush"].uses["j_droll"] == 1.0
    assert "Droll Joker" in hands["Flush"].name
    assert hands["Flush"].low < hands["Flush"].share < hands["Flush"].high
    assert hands["Pair"].details["economy"] == "rich"
    assert set(hands["Pair"].details["examples"]) <= {one.seed for one in pairs}
    assert strategies.strategies_of(flushes[:3], {}, "again") == []


def test_a_network_predicts_jokers_it_has_not_seen_from_their_features_and_noise_not():
    rng = np.random.default_rng(0)
    kinds = {f"j_{n:02}": np.eye(3)[n % 3] for n in range(24)}
    table = np.array([[0.9, 0.0, -0.3], [0.0, 0.1, 0.5], [-0.3, 0.5, 0.0]])
    keys = sorted(kinds)
    pairs = [(a, b) for index, a in enumerate(keys) for b in keys[index + 1 :]]
    real = {(a, b): float(kinds[a] @ table @ kinds[b]) for a, b in pairs}
    noise = {pair: float(rng.normal()) for pair in pairs}
    assert held_out([kinds], real)["r2"] > 0.8
    assert held_out([kinds], real)["rank_correlation"] > 0.8
    assert held_out([kinds], noise)["r2"] < 0.2
    profiled = {key: [*values, 7.0 * number] for number, (key, values) in enumerate(kinds.items())}
    lost = {key: [1.0] for key in kinds}
    assert held_out([lost], real)["r2"] < 0.2  # nothing is known of anyone
    assert held_out([lost, kinds], real)["r2"] > 0.7  # what tells them apart may come from anywhere
    assert np.isfinite(held_out([profiled], real)["r2"])
    network = train([kinds], real)
    assert network.predict([("j_00", "j_03")])[0] == pytest.approx(network.predict([("j_03", "j_00")])[0])
    half = {pair: value for number, (pair, value) in enumerate(real.items()) if number % 2}
    rest = [pair for pair in real if pair not in half]
    told = train([kinds], half).predict(rest)
    assert np.corrcoef(told, [real[pair] for pair in rest])[0, 1] > 0.9  # pairs nobody measured


def test_what_is_strong_and_rarely_played_is_proposed():
    strengths = {("j_a", "j_b"): 1.0, ("j_c", "j_d"): 0.9, ("j_a", "j_d"): -0.5}
    often = [run(n, ["j_a", "j_b"], True) for n in range(20)]
    first = exploring.proposals(strengths, often, most=3)[0]
    assert {"j_c", "j_d"} <= set(first.keys)
    assert first.played == 0


def test_given_jokers_are_held_and_tried_against_others_in_the_same_seeds():
    entry = game_entry("balatro")
    assert entry.knowledge is not None
    assert entry.knowledge.give is not None
    game = entry.make(2)
    game.reset(bank_seeds("validation", 2))
    entry.knowledge.give(game, 1, ["j_juggler", "j_baron"])
    assert entry.knowledge.read_state(game, 1)["jokers"] == ["j_juggler", "j_baron"]
    assert entry.knowledge.read_state(game, 0)["jokers"] == []
    assert game.faults() == []  # ty: ignore[missing-attribute]

    player = find_player("random", "balatro")
    trial = exploring.try_out(player, exploring.Proposal(("j_baron", "j_mime"), 1.0, 0), 4)
    assert trial.games == 2  # the other two should have been given them at a stage that random play does not see
    assert "matched jokers" in trial.verdict or "no clear difference" in trial.verdict
    told = exploring.strategy_of(trial, {"j_baron": "Baron"}, "again")
    assert told.name == "New: Baron and j_mime"
    assert "matched jokers won" in told.words
    assert told.verdict == trial.verdict


def test_a_round_of_discovery_fills_the_graph(tmp_path):
    client = KnowledgeGraphClient(str(tmp_path / "graph.lbug"), "balatro")
    nodes = [Node("Joker", key, key, features=(1.0,)) for key in ("j_baron", "j_mime", "j_joker")]
    nodes += [Node("HandType", hand, hand) for hand in ("Flush", "Pair")]
    edge = Edge("SYNERGIZES_WITH", "j_baron", "j_mime", 0.5, 0.4, 0.6, "all")
    client.store.replace(Graph("balatro", tuple(nodes), (edge,)))
    recorded = [run(n, ["j_baron", "j_mime"], n % 2 == 0) for n in range(12)]
    found = explore(client, Search(1e-6, 2, recorded=tuple(recorded), sources="--data a.npz"))
    assert json.loads(json.dumps(found))["runs"] == 12
    assert found["network"] is None
    assert [one["name"] for one in client.strategies()] == ["j_baron and j_mime: Flush"]
    assert client.strategies()[0]["command"] == "jimbot graph discover --data a.npz --seed 0"
    assert measured_strengths(client.whole()) == {("j_baron", "j_mime"): 0.5}
    client.close()


def test_players_play_with_the_options_they_cannot_do_without():
    scripted, shipped = players_of("balatro")
    assert (scripted.name, scripted.options) == ("heuristic", {"helpers": True})
    assert shipped.manifest is not None
    [run] = played.play_runs(scripted, bank_seeds("train", 1))
    assert run.player == "heuristic"
    assert run.reached > 1  # without its helpers it falls at once
    assert run.last["deck_shape"]


def test_runs_of_two_players_are_not_compared_with_each_other():
    weak = many_runs(0.0)
    strong = [replace(one, won=True, player="strong", at={4: {**one.at[4], "jokers": ["j_a", "j_b"]}}) for one in weak]
    assert not any(lift.found for lift in played.pair_lifts([*weak, *strong[:300]]))


def test_only_what_does_best_at_a_first_look_gets_all_games(monkeypatch):
    played_with: list[tuple[tuple[str, ...], int, int]] = []

    def tried(player, proposal, games, seed=0, whole=True):
        played_with.append((proposal.keys, games, seed))
        value = Interval(proposal.strength, proposal.strength - 1, proposal.strength + 1, 0.5, games)
        return exploring.Trial(proposal, value, 1, 1, games, (), whole)

    monkeypatch.setattr(exploring, "try_out", tried)
    found = [exploring.Proposal((name, "j_x"), strength) for name, strength in (("j_a", 0.5), ("j_b", 3.0))]
    first, second = exploring.try_all(find_player("random", "probe"), found, 40, time.monotonic() + 60)
    assert (first.proposal.keys[0], first.games, first.whole) == ("j_b", 40, True)
    assert (second.games, second.whole) == (10, False)
    assert "first look" in second.verdict
    assert played_with[-1] == (("j_b", "j_x"), 40, 10)  # in seeds that had no part in the choice
