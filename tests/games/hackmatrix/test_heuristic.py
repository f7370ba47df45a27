"""The heuristic player: legal, repeatable, takes the obvious action, and lives far longer than chance."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.games import make
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.hackmatrix import make_state, spec
from jimbot.games.hackmatrix.heuristic import Heuristic
from jimbot.games.seeds import bank_seeds
from jimbot.planning import OwnSearch, own_search, planning
from jimbot.policies import masking
from jimbot.policies.contract import Decision, decide
from jimbot.policies.players import find_player

NUM_ENVS = 64
STEPS = 40

Player = Callable[[np.ndarray, np.ndarray], np.ndarray]

EXIT_FAR = {"exit": (5, 5)}
SITUATIONS = {
    "steps onto the exit": (dict(player=(5, 4), **EXIT_FAR), spec.RIGHT),
    "walks around a block": (
        {"player": (0, 0), "exit": (0, 5), "blocks": [{"row": 0, "col": 1, "type": "data", "points": 9}]},
        spec.UP,
    ),
    "shoots an enemy before it bites": (
        dict(player=(2, 2), enemies=[{"type": "virus", "row": 2, "col": 1, "hp": 1}], **EXIT_FAR),
        spec.LEFT,
    ),
    "shoots a transmission in its way": (
        dict(player=(5, 1), transmissions=[{"row": 5, "col": 3}], **EXIT_FAR),
        spec.RIGHT,
    ),
    "leaves rather than shoots when out of breath": (
        dict(
            player=(4, 5),
            hp=1,
            enemies=[{"type": "daemon", "row": 4, "col": 4}, {"type": "daemon", "row": 3, "col": 5}],
            **EXIT_FAR,
        ),
        spec.UP,
    ),
    "fetches a data siphon next to it": (dict(player=(0, 1), pickups=[(0, 0)], **EXIT_FAR), spec.LEFT),
    "heals at 1 HP": (dict(player=(2, 2), hp=1, energy=4, owned_programs=["RESET"], **EXIT_FAR), spec.RESET),
    "hits a full row": (
        dict(
            player=(2, 2),
            credits=3,
            energy=1,
            owned_programs=["ROW"],
            enemies=[{"type": "virus", "row": 2, "col": 0}, {"type": "daemon", "row": 2, "col": 5}],
            **EXIT_FAR,
        ),
        spec.ROW,
    ),
}


@pytest.fixture(scope="module")
def game() -> FunctionalBatchGame:
    batch = make("hackmatrix", NUM_ENVS, checked=True)
    assert isinstance(batch, FunctionalBatchGame)
    batch.reset(bank_seeds("validation", NUM_ENVS))
    return batch


@pytest.fixture(scope="module")
def answers(game: FunctionalBatchGame) -> dict[str, int]:
    """What the player does in every situation; all in one batch, since each look at a batch costs the same."""
    states = [make_state(**situation) for situation, _ in SITUATIONS.values()]
    put_states(game, states)
    actions, _, _ = Heuristic().act(game.observation, game.legal_mask)
    return dict(zip(SITUATIONS, actions.tolist(), strict=False))


def put_states(game: FunctionalBatchGame, states: list) -> None:
    """The states in the first rows of a batch, copies of the last one in the others."""
    rows = game.rows
    assert rows is not None
    states = states + [states[-1]] * (NUM_ENVS - len(states))
    stacked = jax.tree.map(lambda *leaves: jax.numpy.asarray(np.stack([np.asarray(leaf) for leaf in leaves])), *states)
    game.rows = rows._replace(state=stacked)
    game._refresh()


def play(game: FunctionalBatchGame, choose: Player, steps: int) -> np.ndarray:
    """(N,) bool: which games are over within some steps; these are held."""
    game.reset(bank_seeds("validation", NUM_ENVS))
    over = np.zeros(NUM_ENVS, bool)
    for _ in range(steps):
        game.step(choose(game.observation, game.legal_mask), hold=over)
        over |= game.terminated | game.truncated
    return over


@pytest.mark.parametrize("name", SITUATIONS)
def test_takes_the_obvious_action(name: str, answers: dict[str, int]) -> None:
    labels = spec.SPEC.actions.labels
    assert labels[answers[name]] == labels[SITUATIONS[name][1]]


def test_lives_where_chance_dies_and_is_always_legal(game: FunctionalBatchGame) -> None:
    luck = np.random.default_rng(5)
    player = Heuristic()
    by_chance = play(game, lambda _, legal: np.where(legal, luck.random(legal.shape), -1).argmax(axis=1), STEPS)
    by_plan = play(game, lambda observation, legal: player.act(observation, legal)[0], STEPS)  # illegal ones raise
    assert by_plan.mean() < 0.1
    assert by_chance.mean() > 0.3


def test_answers_are_repeatable_and_do_not_depend_on_the_rest_of_the_batch(game: FunctionalBatchGame) -> None:
    play(game, lambda observation, legal: Heuristic().act(observation, legal)[0], 12)
    observation, legal = game.observation.copy(), game.legal_mask.copy()
    actions, probabilities, values = Heuristic().act(observation, legal)
    again, _, _ = Heuristic().act(observation, legal)
    assert (actions == again).all()
    for row in range(0, NUM_ENVS, 7):
        alone, chances, _ = Heuristic().act(observation[row : row + 1], legal[row : row + 1])
        assert alone[0] == actions[row]
        np.testing.assert_allclose(chances[0], probabilities[row], atol=1e-6)
    assert actions.shape == values.shape == (NUM_ENVS,)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (probabilities[~legal] == 0).all()
    assert (probabilities.argmax(axis=1) == actions).all()


def test_draws_are_legal_and_follow_the_key(game: FunctionalBatchGame) -> None:
    legal = game.legal_mask
    first, again, other = (
        Heuristic().act(game.observation, legal, False, np.random.default_rng(seed))[0] for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()
    assert np.take_along_axis(legal, first[:, None], 1).all()


@pytest.mark.parametrize("action", [spec.UP, spec.SIPHON, spec.UNDO, spec.HACK])
def test_plays_the_only_legal_action_even_one_it_never_wants(game: FunctionalBatchGame, action: int) -> None:
    only = np.zeros_like(game.legal_mask)
    only[:, action] = True
    for deterministic in (True, False):
        actions, probabilities, _ = Heuristic().act(game.observation, only, deterministic)
        assert (actions == action).all()
        assert np.isfinite(probabilities).all()


def test_a_plan_is_more_of_its_own_search(game: FunctionalBatchGame) -> None:
    found = find_player("heuristic", "hackmatrix")
    player = planning(found, 8)
    assert player.name == "heuristic +8"
    answer, alone = player.policy.act(game.observation, game.legal_mask), Heuristic(8)
    np.testing.assert_array_equal(answer.actions, alone.act(game.observation, game.legal_mask)[0])
    choices = int((game.legal_mask.sum(axis=1) > 1).sum())
    assert isinstance(player.policy, OwnSearch)
    report = player.policy.report
    assert (report.decisions, report.planned, report.rollouts) == (NUM_ENVS, choices, 8 * choices)
    assert "changed" not in str(report)
    with pytest.raises(UsageError, match="--plan N is all there is to say"):
        planning(found, 8, asked={"depth": 3})


class Sure:
    """Finds one action as good as certain, wherever it is legal."""

    name = "sure"

    def __init__(self, action: int) -> None:
        self.action = action

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        logits = np.where(np.arange(legal_mask.shape[1]) == self.action, 8.0, 0.0).astype(np.float32)
        logs = masking.log_probabilities(np.tile(logits, (len(legal_mask), 1)), legal_mask)
        actions = masking.best(logs, legal_mask).astype(np.int64)
        return Decision(actions, masking.probabilities(logs, legal_mask), np.zeros(len(legal_mask), np.float32))


def test_a_policy_lends_the_search_its_judgement(game: FunctionalBatchGame) -> None:
    play(game, lambda observation, legal: Heuristic().act(observation, legal)[0], 6)
    everyone = np.ones(NUM_ENVS, bool)
    shares = {}
    for action in (spec.UP, spec.LEFT):
        policy = Sure(action)
        player = planning(replace(find_player("random", "hackmatrix"), policy=policy, name="sure"), 24)
        assert player.name == "sure +24 by heuristic"
        assert isinstance(player.policy, OwnSearch)
        own = player.policy.act(game.observation, game.legal_mask)
        plan = player.policy.plan(game, everyone, own)
        np.testing.assert_array_equal(plan.own, policy.act(game.observation, game.legal_mask).actions)
        assert np.take_along_axis(game.legal_mask, plan.decision.actions[:, None], 1).all()
        shares[action] = plan.improved[game.legal_mask[:, action], action].mean()
        changed = int((plan.decision.actions != plan.own).sum())
        assert player.policy.report.changed == changed > 0
    for action, share in shares.items():
        unguided = Heuristic(24).act(game.observation, game.legal_mask)[1]
        assert share > unguided[game.legal_mask[:, action], action].mean()


def test_who_explores_mostly_plays_what_was_tried_most_and_learns_more_than_the_shares(
    game: FunctionalBatchGame,
) -> None:
    play(game, lambda observation, legal: Heuristic().act(observation, legal)[0], 6)
    player = replace(find_player("random", "hackmatrix"), policy=Sure(spec.UP), name="sure")
    everyone, others = np.ones(NUM_ENVS, bool), 0
    for seed in range(12):
        search = own_search(player, 24, np.random.default_rng(seed))
        assert search is not None
        plan = search.plan(game, everyone, search.act(game.observation, game.legal_mask))
        best = plan.improved.argmax(axis=1)
        assert (np.take_along_axis(plan.improved, plan.decision.actions[:, None], 1) > 0).all()
        others += int((plan.decision.actions != best).sum())
    np.testing.assert_allclose(plan.improved.sum(axis=1), 1, atol=1e-5)
    assert 0 < others < 0.2 * 12 * NUM_ENVS


def test_a_search_tries_less_when_there_is_little_time(game: FunctionalBatchGame) -> None:
    policy = planning(find_player("heuristic", "hackmatrix"), 400).policy
    assert isinstance(policy, OwnSearch)
    own, everyone = Heuristic(16).act(game.observation, game.legal_mask), np.ones(NUM_ENVS, bool)
    first = policy.plan(game, everyone, Decision(*own), until=time.monotonic() + 60)
    assert set(first.simulations[first.planned]) == {16}  # nobody knows yet how long a try takes
    ample = policy.plan(game, everyone, Decision(*own), until=time.monotonic() + 600)
    assert set(ample.simulations[ample.planned]) == {400}
    late = policy.plan(game, everyone, Decision(*own), until=time.monotonic() - 1)
    assert set(late.simulations[late.planned]) == {16}


def test_a_plan_shows_the_search_more_than_the_policy_was_trained_on() -> None:
    player = planning(find_player("hackmatrix"), 8)
    assert player.options["helpers"] is True
    seeing = make("hackmatrix", 2, options={"helpers": True})
    seeing.reset(bank_seeds("validation", 2))
    own = player.policy.act(seeing.observation, seeing.legal_mask)
    found = decide(player.policy, seeing, np.ones(2, bool))
    seeing.close()
    np.testing.assert_array_equal(own.probabilities, found.probabilities)  # those of the policy
    plain = planning(find_player("hackmatrix", options={"helpers": False}), 8)
    assert plain.options["helpers"] is False
