"""A plan tries moves out in copies of the game: it finds better ones, breaks no rule and reads nothing hidden."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import UnknownNameError, UsageError
from jimbot.evaluation.play import play_games
from jimbot.games import make
from jimbot.games.contract import available_games, game_entry
from jimbot.games.hooks.learners import Plans
from jimbot.games.probe import COLOURS
from jimbot.games.seeds import VALIDATION, bank_seeds
from jimbot.planning import ITSELF, Planner, PlanSettings, PlanTable, planning
from jimbot.planning.planner import MOST_SIMULATIONS
from jimbot.planning.rollouts import Rollouts, Simulations
from jimbot.policies import masking
from jimbot.policies.contract import Decision, decide, looks_at_game
from jimbot.policies.heuristics import RandomPolicy
from jimbot.policies.players import find_player
from jimbot.runs.manifest import Manifest

ROWS = 8
SETTINGS = PlanSettings(rollouts=24, candidates=4, depth=0)


class Stubborn:
    """Finds the first door of four a little more likely than the others, whatever its colour."""

    name = "stubborn"

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        logits = -0.1 * np.cumsum(legal_mask, axis=1, dtype=np.float32)
        logs = masking.log_probabilities(logits, legal_mask)
        actions = masking.best(logs, legal_mask).astype(np.int64)
        return Decision(actions, masking.probabilities(logs, legal_mask), np.zeros(len(legal_mask), np.float32))


@pytest.fixture
def game():
    game = make("probe", ROWS, seed=3, checked=True)
    game.reset(bank_seeds(VALIDATION, ROWS))
    yield game
    game.close()


def planner(**changes) -> Planner:
    return Planner(Stubborn(), settings=PlanSettings(**{**SETTINGS.__dict__, **changes}), copies=32)


def everyone(game) -> np.ndarray:
    return np.ones(game.num_rows, bool)


def test_a_plan_finds_what_its_policy_does_not_know():
    seeds = bank_seeds(VALIDATION, ROWS)
    alone = play_games(Stubborn(), "probe", seeds, num_envs=ROWS)
    player = planner()
    planned = play_games(player, "probe", seeds, num_envs=ROWS)
    assert planned.returns.min() == 8  # the optimum
    assert alone.returns.mean() < 4
    assert planned.illegal_actions == 0
    assert player.report.decisions == player.report.planned == 8 * ROWS
    assert 0 < player.report.changed < player.report.planned
    assert "changed" in str(player.report)


def test_planning_leaves_the_real_game_as_it_was(game):
    before = game.snapshot()
    decide(planner(), game, everyone(game))
    after = game.snapshot()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_what_is_hidden_cannot_be_read(game):
    player = planner(depth=4)
    first = decide(player, game, everyone(game))
    game.redraw_hidden(np.arange(ROWS), np.arange(100, 100 + ROWS, dtype=np.uint64))
    second = decide(player, game, everyone(game))
    assert np.array_equal(first.actions, second.actions)
    assert np.array_equal(first.values, second.values)


def test_a_certain_policy_is_not_asked_twice(game):
    player = planner(certain=0.1)
    decision = decide(player, game, everyone(game))
    assert np.array_equal(decision.actions, Stubborn().act(game.observation, game.legal_mask).actions)
    assert (player.report.planned, player.report.rollouts) == (0, 0)


def test_rows_that_are_over_cost_nothing(game):
    live = np.zeros(ROWS, bool)
    live[2] = True
    player = planner()
    decide(player, game, live)
    assert player.report.planned == 1
    assert 0 < player.report.rollouts <= SETTINGS.rollouts


def test_time_that_is_up_ends_the_tries_after_the_round_under_way(game):
    player = planner(seconds=0.0)
    decide(player, game, everyone(game))
    assert 0 < player.report.rollouts < ROWS * SETTINGS.rollouts


def test_a_values_unit_is_the_one_it_was_learned_in(game):
    manifest = Manifest.for_game(
        game.spec, learner="jax", algorithm="PPO", step=1, config={"reward_transform": "symlog", "gamma": 0.5}
    )
    player = Planner(Stubborn(), manifest, SETTINGS, copies=32)
    decision = decide(player, game, everyone(game))
    assert decision.values == pytest.approx(np.log(2), abs=1e-6)  # the right colour pays 1
    right = game.observation[:, : len(COLOURS)].argmax(axis=1)
    assert np.array_equal(decision.actions % len(COLOURS), right)


def test_values_in_an_unknown_unit_are_refused(game):
    manifest = Manifest.for_game(
        game.spec, learner="jax", algorithm="PPO", step=1, config={"reward_transform": "normalize"}
    )
    with pytest.raises(UsageError, match="reward_transform normalize"):
        Planner(Stubborn(), manifest)


class Right:
    """Opens the door of the right colour, and has no opinion of anything else."""

    name = "right"

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        wanted = observation[:, : len(COLOURS)].argmax(axis=1)
        right = legal_mask & (np.arange(legal_mask.shape[1])[None] % len(COLOURS) == wanted[:, None])
        actions = np.where(right.any(axis=1), right.argmax(axis=1), legal_mask.argmax(axis=1)).astype(np.int64)
        chances = np.eye(legal_mask.shape[1], dtype=np.float32)[actions]
        return Decision(actions, chances, np.zeros(len(actions), np.float32))


def test_another_player_plays_the_tries_out_and_its_move_is_the_one_improved(game):
    player = Planner(Stubborn(), settings=PlanSettings(rollouts=24, depth=3), copies=32, player=Right())
    decision = decide(player, game, everyone(game))
    assert np.array_equal(decision.actions, Right().act(game.observation, game.legal_mask).actions)
    assert decision.values == pytest.approx(1 + 0.99 + 0.99**2 + 0.99**3)  # played on without a mistake
    assert player.report.changed == 0


def test_the_improved_policy_leans_to_what_paid(game):
    own = Stubborn().act(game.observation, game.legal_mask)
    plan = planner().plan(game, everyone(game), own)
    right = Right().act(game.observation, game.legal_mask).actions
    rows = np.arange(ROWS)
    assert plan.improved.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (plan.improved[rows, right] > 0.9).all()
    assert not plan.improved[~game.legal_mask].any()
    assert np.array_equal(plan.decision.probabilities, own.probabilities)
    assert (plan.planned == (plan.simulations > 0)).all()
    assert plan.planned.all()


def test_exploring_plans_draw_their_moves(game):
    def actions(seed: int) -> list[int]:
        player = Planner(
            Stubborn(),
            settings=PlanSettings(rollouts=8, candidates=2, depth=0),
            copies=32,
            exploring=np.random.default_rng(seed),
        )
        return decide(player, game, everyone(game)).actions.tolist()

    assert actions(1) == actions(1)
    assert any(actions(1) != actions(seed) for seed in range(2, 6))


def test_a_game_says_which_decisions_are_worth_a_plan(game):
    def first_of_two(observation, legal_mask):
        return np.arange(len(observation)) % 2

    entry = replace(game_entry("probe"), plans=Plans(("a", "b"), first_of_two, ({"depth": 0}, {"share": 0.0})))
    table = PlanTable(entry, asked={"rollouts": 24, "candidates": 4})
    assert [kind.simulations for kind in table.kinds] == [24, 0]
    plan = Planner(Stubborn(), settings=table, copies=32).plan(
        game, everyone(game), Stubborn().act(game.observation, game.legal_mask)
    )
    assert plan.planned.tolist() == [True, False] * (ROWS // 2)


def test_a_plan_spends_the_time_it_is_given(game):
    player = planner()
    own = Stubborn().act(game.observation, game.legal_mask)
    full = player.plan(game, everyone(game), own).simulations.sum()
    assert player.plan(game, everyone(game), own, until=time.monotonic() + 3600).simulations.sum() == full
    late = player.plan(game, everyone(game), own, until=time.monotonic() - 1)
    assert late.simulations.sum() == 0
    assert np.array_equal(late.decision.actions, own.actions)


def test_every_games_own_table_makes_a_plan():
    for name in available_games():
        entry = game_entry(name)
        if entry.plans is not None:
            table = PlanTable(entry, asked={"rollouts": 16})
            assert len(table.kinds) == len(entry.plans.kinds)
            sight = np.zeros((3, entry.spec.observation.size), np.float32)
            kinds = table.kind_of(sight, np.ones((3, entry.spec.actions.size), bool))
            assert ((kinds >= 0) & (kinds < len(table.kinds))).all()


def test_settings_are_asked_for_by_name():
    with pytest.raises(UnknownNameError, match="depth"):
        PlanTable(game_entry("probe"), asked={"dept": 3})
    with pytest.raises(UsageError, match="expected a number"):
        PlanTable(game_entry("probe"), asked={"depth": "deep"})
    with pytest.raises(UsageError, match="add --plan N"):
        planning(find_player("random", "probe"), None, "random")


@pytest.mark.parametrize(
    ("change", "said"),
    [({"rollouts": 1}, "rollouts 1"), ({"candidates": 1}, "candidates 1"), ({"certain": 0.0}, "certain"),
     ({"margin": -1.0}, "margin"), ({"depth": -1}, "depth")],
)  # fmt: skip
def test_settings_that_make_no_plan_are_refused(change: dict[str, float], said: str):
    with pytest.raises(UsageError, match=said):
        PlanSettings(**change)


def test_a_player_plans_where_it_is_asked_to():
    player = find_player("random", "probe")
    assert planning(player, None) is player
    planned = planning(player, 16)
    assert (planned.name, planned.game) == ("random +16", "probe")
    assert looks_at_game(planned.policy)
    assert planning(player, 16, "random").name == "random +16 with random"


def test_tries_are_played_out_by_whom_the_game_names_unless_told_otherwise():
    player = find_player("random", "balatro", {"helpers": True})
    assert planning(player, 16).name == "random +16 with heuristic"
    assert planning(player, 16, ITSELF).name == "random +16"
    without_helpers = find_player("random", "balatro", {"helpers": False})
    assert planning(without_helpers, 16).name == "random +16"


def test_the_command_judges_a_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["evaluate", "random", "--game", "probe", "--games", "4", "--plan", "8"]) == 0
    told = capsys.readouterr()
    assert "random +8" in told.out
    assert "planned" in told.out + told.err


class Knowing(RandomPolicy):
    """Plays at random, and finds every position worth a quarter."""

    def appraise(self, observation: np.ndarray) -> np.ndarray:
        return np.full(len(observation), 0.25, np.float32)


def test_who_can_tell_how_likely_it_is_to_win_judges_its_own_tries():
    game = make("balatro", ROWS, options={"helpers": True})
    game.reset(bank_seeds(VALIDATION, ROWS))
    select, policy = game.legal_mask.argmax(axis=1), RandomPolicy()
    tries = Simulations(
        np.arange(ROWS), select, np.arange(ROWS, dtype=np.uint64), np.zeros(ROWS, np.int64), np.ones(ROWS, np.int64)
    )
    judged = Rollouts(game, policy, 0.9, copies=ROWS, player=Knowing())
    # At random most lose the first blind, the others come to the second.
    brought = judged.returns(game, tries)
    assert set(brought) <= {0.0, 0.25}
    assert (brought == 0).any()
    paid = Rollouts(game, policy, 0.9, copies=ROWS, player=policy)
    assert (paid.returns(game, tries) != 0.25).all()  # rewards, and no opinion
    for player in (judged, paid):
        player.close()
    game.close()


def test_balatro_tries_go_on_to_the_next_blind():
    plans = game_entry("balatro").plans
    assert plans is not None
    assert plans.settled is not None
    game = make("balatro", 4, options={"helpers": True})
    game.reset(bank_seeds(VALIDATION, 4))
    assert plans.settled(game.observation).all()
    assert (plans.find(game.observation, game.legal_mask) == plans.kinds.index("blind")).all()
    game.close()


@pytest.mark.parametrize("game", ["balatro", "hackmatrix"])
def test_a_plan_of_some_time_makes_what_simulations_there_is_time_for(game):
    """No clock is asserted: the first decision gets a few simulations, the next as many as the rate it saw allows."""
    player = planning(find_player(game), None, seconds=0.2)
    assert player.name.endswith(("+0.2 s with heuristic", "by heuristic"))
    table, spent, policy = make(game, 1, options=player.options), [], cast(Any, player.policy)
    table.reset(bank_seeds(VALIDATION, 1))
    for _ in range(12):
        decision = decide(player.policy, table, np.ones(1, bool))
        spent.append(policy.report.rollouts)
        table.step(decision.actions)
    assert 0 < max(np.diff(spent)) <= MOST_SIMULATIONS + 4
    with pytest.raises(UsageError, match="cannot be made"):
        planning(find_player(game), None, seconds=-1.0)
