"""A player with an adviser: asked where the policy is unsure and about few decisions; the same games without advice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.adviser.advised_policy import AdvisedPolicy
from jimbot.adviser.adviser import Adviser, PlannerAdviser, When, open_adviser
from jimbot.adviser.metrics import AdviceMetrics
from jimbot.adviser.question import Question, question_in
from jimbot.adviser.reply import Advice, NoAdviceError
from jimbot.adviser.settings import AdviserSettings
from jimbot.evaluation import play_games
from jimbot.games.contract import game_entry, make
from jimbot.policies.contract import Decision, decide
from jimbot.policies.heuristics import heuristic_policy
from tests.adviser.messages_api import last_listed, playing_the_api

GAME, ROWS = "probe", 8
SEEDS = np.arange(16, dtype=np.uint64)


class Unsure:
    """Finds every legal move nearly equally good, and takes the first."""

    name = "unsure"

    def __init__(self, top: float = 0.4) -> None:
        self.top = top

    def act(self, observation: np.ndarray, legal_mask: np.ndarray, deterministic: bool = True, key: Any = None):
        first = legal_mask.argmax(axis=1)
        rest = legal_mask.copy()
        rest[np.arange(len(rest)), first] = False
        chances = rest * (1 - self.top) / np.maximum(1, rest.sum(axis=1, keepdims=True))
        chances[np.arange(len(rest)), first] = self.top
        return Decision(first, chances.astype(np.float32), np.zeros(len(first), np.float32))


class Oracle:
    """Knows which side of the door pays: the table says it."""

    name, edition, used_llm = "oracle", "oracle", True

    def __init__(self) -> None:
        self.questions: list[Question] = []

    def ask(self, question: Question, seconds: float) -> Advice:
        self.questions.append(question)
        colour = next(word for word in ("red", "green", "blue", "gold") if f"the {word} side" in question.state)
        move = next(move for move in question.moves if move.label.endswith(colour))
        return Advice(move.action, move.label, move.words, "It pays.", self.name, True)


def advised(source: Any, **settings: Any) -> AdvisedPolicy:
    return AdvisedPolicy(Unsure(), Adviser(source, AdviserSettings(**settings)))


def test_advice_replaces_the_move_where_the_policy_is_unsure() -> None:
    oracle = Oracle()
    policy = advised(oracle)
    without = play_games(Unsure(), GAME, SEEDS, num_envs=ROWS)
    with_advice = play_games(policy, GAME, SEEDS, num_envs=ROWS)
    metrics = policy.adviser.metrics
    assert metrics.decisions == int(with_advice.lengths.sum())
    assert metrics.asked == len(oracle.questions) == metrics.followed > 0
    assert metrics.asked <= 0.05 * metrics.decisions
    assert with_advice.returns.sum() == without.returns.sum() + metrics.changed  # every change pays, and nothing else
    assert with_advice.illegal_actions == 0
    assert f"asked about {metrics.asked}" in str(metrics)


def test_a_sure_policy_is_never_doubted() -> None:
    oracle = Oracle()
    policy = AdvisedPolicy(Unsure(0.75), Adviser(oracle, AdviserSettings()))
    play_games(policy, GAME, SEEDS, num_envs=ROWS)
    assert oracle.questions == []


class Silent:
    name, edition, used_llm = "silent", "silent", True

    def ask(self, question: Question, seconds: float) -> Advice:
        raise NoAdviceError("unreachable")


class Broken(Silent):
    def ask(self, question: Question, seconds: float) -> Advice:
        raise ZeroDivisionError


@pytest.mark.parametrize(("source", "outcome"), [(Silent(), "unreachable"), (Broken(), "fault")])
def test_without_an_answer_the_very_same_games_are_played(source: Any, outcome: str) -> None:
    policy = advised(source)
    alone = play_games(Unsure(), GAME, SEEDS, num_envs=ROWS)
    offline = play_games(policy, GAME, SEEDS, num_envs=ROWS)
    for name in ("returns", "lengths", "reward_terms", "stats"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(offline, name))
    assert policy.adviser.metrics.outcomes == {outcome: policy.adviser.metrics.asked}
    assert policy.adviser.metrics.changed == 0


@pytest.mark.parametrize("key", ["", "sk-test"])
def test_offline_is_the_same_minus_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Without a key, and with one and a dead server."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    settings = AdviserSettings(source="claude", ledger=tmp_path / "books.sqlite", attempts=1)
    policy = AdvisedPolicy(Unsure(), open_adviser(settings, run="offline"))
    luck = {"deterministic": False, "num_envs": ROWS}
    alone, offline = play_games(Unsure(), GAME, SEEDS, **luck), play_games(policy, GAME, SEEDS, **luck)
    np.testing.assert_array_equal(alone.returns, offline.returns)
    assert set(policy.adviser.metrics.outcomes) <= ({"unreachable", "resting"} if key else {"no_key"})
    assert policy.adviser.metrics.asked > 0
    policy.close()


def test_claude_advises_games_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with playing_the_api(last_listed) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address)
        settings = AdviserSettings(source="auto", ledger=tmp_path / "books.sqlite")
        policy = AdvisedPolicy(Unsure(), open_adviser(settings, run="http"))
        played = play_games(policy, GAME, SEEDS, num_envs=ROWS)
        policy.close()
    metrics = policy.adviser.metrics
    assert metrics.followed == metrics.changed == metrics.asked > 0
    assert len(api.requests) == metrics.outcomes["answered"]
    assert metrics.outcomes["answered"] + metrics.outcomes["cached"] == metrics.asked
    assert played.illegal_actions == 0


# --- when ---


def test_the_share_holds_for_any_number_of_threads() -> None:
    metrics = AdviceMetrics()
    when = When(AdviserSettings(), metrics)
    claims: list[bool] = []

    def decide_often() -> None:
        for _ in range(250):
            when.note(1)
            claims.append(when.claim())
            assert metrics.asked <= 0.05 * metrics.decisions

    threads = [threading.Thread(target=decide_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (metrics.decisions, metrics.asked, sum(claims)) == (2000, 100, 100)


def test_a_decision_with_little_at_stake_is_not_asked_about() -> None:
    from dataclasses import replace

    entry = replace(game_entry(GAME), decision_importance=lambda observation, legal: observation[:, 0])
    when = When(AdviserSettings(least_stake=0.5), AdviceMetrics())
    legal = np.ones((3, 2), bool)
    legal[2, 1] = False
    observation = np.array([[0.4], [0.6], [1.0]], np.float32)
    chances = np.array([[0.5, 0.5], [0.6, 0.4], [0.5, 0.0]], np.float32)
    assert when.unsure(entry, observation, legal, chances).tolist() == [False, True, False]
    assert when.unsure(entry, observation, legal, chances, 0.55).tolist() == [False, False, False]


# --- plans ---


class Shopper(Oracle):
    """Plans the moves of the next two turns, which are of other doors and so never legal by then."""

    def ask(self, question: Question, seconds: float) -> Advice:
        from dataclasses import replace

        return replace(super().ask(question, seconds), then=("door 99 red", "door 99 gold"))


def test_a_plan_ends_where_its_next_step_is_not_legal() -> None:
    policy = advised(Shopper())
    played = play_games(policy, GAME, SEEDS, num_envs=ROWS)
    assert played.illegal_actions == 0
    assert policy.adviser.metrics.followed == policy.adviser.metrics.asked


def test_a_plan_is_followed_as_long_as_its_steps_are_legal() -> None:
    game = make(GAME, 1)
    game.reset(np.zeros(1, np.uint64))
    policy = advised(Oracle())
    policy._plans[0] = (int(game.seeds[0]), [game.describe_action(0, int(np.flatnonzero(game.legal_mask[0])[2]))])
    decision = decide(policy, game, np.ones(1, bool))
    assert decision.actions[0] == np.flatnonzero(game.legal_mask[0])[2]
    assert (policy.adviser.metrics.asked, policy.adviser.metrics.followed) == (0, 1)
    policy._plans[0] = (int(game.seeds[0]) + 1, [game.describe_action(0, int(np.flatnonzero(game.legal_mask[0])[2]))])
    assert decide(policy, game, np.ones(1, bool)).actions[0] == np.flatnonzero(game.legal_mask[0])[0]  # another game's


# --- the planner stands in ---


def test_the_planner_finds_the_paying_side_without_a_key() -> None:
    policy = Unsure(0.26)
    adviser = open_adviser(AdviserSettings(rollouts=32, source="planner"), policy)
    game = make(GAME, ROWS)
    game.reset(SEEDS[:ROWS])
    decision = policy.act(game.observation, game.legal_mask)
    asked = [question_in(game_entry(GAME), game, row, decision) for row in range(ROWS)]
    before = game.observation.copy()
    answers = adviser.ask_all(asked)
    np.testing.assert_array_equal(before, game.observation)  # only copies were played
    actions = np.array([advice.action for advice in answers])
    game.step(actions)
    assert game.reward.sum() >= ROWS - 1
    assert not any(advice.used_llm for advice in answers)
    assert "32 simulations" in answers[0].reason
    adviser.close()


def test_positions_planned_together_are_planned_as_alone() -> None:
    policy = Unsure(0.26)
    game = make(GAME, ROWS)
    game.reset(SEEDS[:ROWS])
    decision = policy.act(game.observation, game.legal_mask)
    planner = PlannerAdviser(AdviserSettings(rollouts=32), policy)
    asked = [question_in(game_entry(GAME), game, row, decision) for row in range(ROWS)]
    together = planner.ask_together(asked)
    assert together == [planner.ask(question, 1) for question in asked]
    planner.close()


def test_the_planner_says_so_where_it_cannot_look_ahead() -> None:
    planner = PlannerAdviser(AdviserSettings(), heuristic_policy("random", GAME))
    game = make(GAME, 1)
    game.reset()
    decision = planner._planner.policy.act(game.observation, game.legal_mask)
    with pytest.raises(NoAdviceError, match="no position"):
        planner.ask(question_in(game_entry(GAME), game, 0, decision, copy=False), 1)
