"""Rows that wait: what they are given belongs to their last decision; they teach their value and nothing else."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.training.jax_ppo.ppo import advantages, gradient_of, learn, make_optimiser, ppo_loss
from jimbot.training.jax_ppo.program import HostUpdate, hyperparameters, initial_state, network_for, run_key
from jimbot.training.session.log_rows import Measures
from tests.envs.duel import HANDS, SPEC, Duel
from tests.training.small import first_update, probe_parts, samples_of_arrays, small_settings
from tests.training.test_update import ROWS, STEPS, made_up_rollout, reference_advantages


def test_advantages_of_a_row_that_waits_are_those_of_its_decisions_alone() -> None:
    rng = np.random.default_rng(0)
    rollout = made_up_rollout(rng)
    acting = rng.random((STEPS, ROWS)) < 0.6
    acting[0] = True
    found = np.asarray(
        advantages(jax.tree.map(jnp.asarray, rollout._replace(acting=acting, waiting=~acting)), 0.97, 0.9)
    )
    for row in range(ROWS):
        expected = advantages_by_decision(rollout, acting, row)
        np.testing.assert_allclose(found[acting[:, row], row], expected, atol=1e-5)


def test_a_row_that_waits_is_worth_what_makes_the_decision_before_it_right() -> None:
    """Cut the rollout where a row waits and value it there by its own target: the decision before it, which is valued
    from there, finds the very advantage it has in the whole rollout."""
    rollout = made_up_rollout(np.random.default_rng(7))
    nothing = np.zeros((STEPS, ROWS), bool)
    acting = np.ones((STEPS, ROWS), bool)
    acting[4:6] = False
    whole = rollout._replace(acting=acting, waiting=~acting, terminated=nothing, truncated=nothing)
    whole = whole._replace(final_value=0 * rollout.final_value)
    found = np.asarray(advantages(jax.tree.map(jnp.asarray, whole), 0.9, 0.8))
    target = found + whole.value
    for cut in (4, 5):
        parts = {name: value[:cut] for name, value in whole._asdict().items() if len(value) == STEPS}
        part = whole._replace(**parts, last_value=target[cut])
        again = np.asarray(advantages(jax.tree.map(jnp.asarray, part), 0.9, 0.8))
        np.testing.assert_allclose(again[3], found[3], atol=1e-5)


def advantages_by_decision(rollout, acting, row) -> list[float]:
    """The row's decisions as a list of (value, reward until the next one or the end, what follows), then plain GAE."""
    decisions: list[list] = []
    for step in range(STEPS):
        if acting[step, row]:
            if decisions and decisions[-1][2] is None:
                decisions[-1][2] = ("decision", float(rollout.value[step, row]))
            decisions.append([float(rollout.value[step, row]), 0.0, None])
        if decisions and decisions[-1][2] is None:
            decisions[-1][1] += float(rollout.reward[step, row])
            if rollout.terminated[step, row]:
                decisions[-1][2] = ("end", 0.0)
            elif rollout.truncated[step, row]:
                decisions[-1][2] = ("end", float(rollout.final_value[step, row]))
    if decisions[-1][2] is None:
        decisions[-1][2] = ("end", float(rollout.last_value[row]))
    answer, later = [], 0.0
    for value, reward, (kind, future) in reversed(decisions):
        later = reward + 0.97 * future - value + (0.97 * 0.9 * later if kind == "decision" else 0.0)
        answer.append(later)
    return answer[::-1]


def test_with_everybody_acting_the_advantages_are_the_usual_ones() -> None:
    rollout = made_up_rollout(np.random.default_rng(1))
    found = advantages(jax.tree.map(jnp.asarray, rollout), 0.97, 0.9)
    np.testing.assert_allclose(found, reference_advantages(rollout, 0.97, 0.9), atol=1e-5)


def test_the_loss_is_that_of_the_samples_that_count() -> None:
    settings, network, game = probe_parts()
    hyper = hyperparameters(settings)
    rng = np.random.default_rng(2)
    size = 64
    batch = samples_of_arrays(
        features=rng.normal(size=(size, game.spec.observation.size)).astype(np.float32),
        legal_mask=np.ones((size, game.spec.actions.size), bool),
        action=rng.integers(0, game.spec.actions.size, size).astype(np.int32),
        log_probability=np.log(rng.uniform(0.1, 1, size)).astype(np.float32),
        advantage=rng.normal(size=size).astype(np.float32),
        target=rng.normal(size=size).astype(np.float32),
    )
    weight = rng.random(size) < 0.7
    counted = jax.tree.map(lambda values: jnp.asarray(values[weight]), batch)
    counted = counted._replace(weights=dict.fromkeys(("policy", "value"), jnp.ones(weight.sum())))
    batch = jax.tree.map(jnp.asarray, batch)
    weighted = batch._replace(weights=dict.fromkeys(("policy", "value"), jnp.asarray(weight)))
    params, every = network.init(0), jnp.arange
    loss = partial(ppo_loss, hyper, (), first_update(network, params))
    few, few_parts = gradient_of(loss, counted, hyper)(params, every(weight.sum()))
    for pieces in (1, 4):
        all_, all_parts = gradient_of(loss, weighted, hyper._replace(gradient_accumulation=pieces))(params, every(size))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), few, all_)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), few_parts, all_parts)


def test_a_row_that_waits_teaches_its_value_and_one_that_others_play_teaches_nothing() -> None:
    settings = small_settings(num_envs=4, num_steps=8)
    network = network_for(settings, SPEC)
    collector = HostUpdate(settings, network, started(Duel(4, seed=3))).collector
    state = initial_state(settings, network, collector.game)
    _, rollout, _ = collector.collect(state.params, state.tally, run_key(0), 0)
    assert not rollout.acting.all()
    waiting = ~rollout.acting
    others = np.zeros_like(waiting)
    others[:, 1::4] = True  # the second seat of every other game

    def learned(blurred=()):
        optimiser = make_optimiser(settings.ppo.max_grad_norm).init(state.params)
        features = np.where(blurred[..., None], 7.0, rollout.features) if len(blurred) else rollout.features
        weight = np.where(others, 0, rollout.weight)
        played = rollout._replace(features=features, counts=~others, acting=rollout.acting & ~others, weight=weight)
        rolled, update = jax.tree.map(jnp.array, played), first_update(network, state.params)
        return learn(hyperparameters(settings), (), update, optimiser, rolled, 1e-3, jax.random.key(1))[0]

    plain = learned()
    jax.tree.map(np.testing.assert_array_equal, plain, learned(others))
    assert (waiting & ~others).any()
    moved = learned(waiting & ~others)
    assert (np.asarray(moved["value.weight"]) != np.asarray(plain["value.weight"])).any()


def test_two_halves_keep_the_players_of_a_game_together() -> None:
    settings = small_settings(num_envs=4, num_steps=4)  # no game ends: Duel's restarts share luck
    network = network_for(settings, SPEC)
    collected = []
    for buffers in (1, 2):
        collector = HostUpdate(settings, network, started(Duel(4, seed=3)), buffers=buffers).collector
        state = initial_state(settings, network, collector.game)
        collected.append(collector.collect(state.params, state.tally, run_key(0), 0)[1])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), *collected)


class Moody(Duel):
    """Refuses every choice once: no step is taken, and the row is asked again."""

    may_refuse = True
    turn = 0

    def step(self, actions, hold=None) -> None:
        self.turn += 1
        self.refused[:] = self.turn % 2 == 1
        super().step(actions, np.ones(self.num_rows, bool) if self.refused.all() else hold)


def test_a_refused_choice_teaches_nothing_and_the_next_one_takes_its_place() -> None:
    settings = small_settings(num_envs=4, num_steps=8)
    network = network_for(settings, SPEC)
    collector = HostUpdate(settings, network, started(Moody(4, seed=3)), buffers=1).collector
    state = initial_state(settings, network, collector.game)
    _, rollout, measured = collector.collect(state.params, state.tally, run_key(0), 0)
    assert not rollout.acting[::2].any()
    assert rollout.acting[1::2, ::2].all()
    np.testing.assert_array_equal(rollout.features[::2], rollout.features[1::2])  # asked about the same situation
    assert int(measured.decisions) == rollout.acting.sum()


def test_a_player_learns_to_beat_one_who_may_not_choose() -> None:
    """In every third round the second seat can only show rock: the first seat must find paper, at any prize."""
    settings = small_settings(num_envs=32, num_steps=30, gamma=0.5)
    game = started(Duel(32, seed=1))
    network = network_for(settings, SPEC)
    update = HostUpdate(settings, network, game)
    state = initial_state(settings, network, game)
    measures = Measures(SPEC)
    for _ in range(80):
        result = update(state, 3e-3)
        state = result.state
        measures.add(result.losses, result.measured, settings.num_steps * game.num_rows)
    paper, rng = [], np.random.default_rng(0)
    for _ in range(5):  # one whole game of every row
        logits, _ = network.apply(state.params, network.prepare(jnp.asarray(game.observation)))
        chances = np.asarray(jax.nn.softmax(jnp.where(game.legal_mask, logits, -jnp.inf)), np.float64)
        third = (game.observation[:, 0] == 0) & (game.observation[:, 1] == 2)
        paper += chances[third, HANDS.index("paper")].tolist()
        game.step(np.array([rng.choice(len(HANDS), p=row / row.sum()) for row in chances]))
    assert len(paper) == game.num_envs
    assert np.mean(paper) > 0.6
    metrics = measures.take()
    assert metrics["actions/hand_frac"] == 1.0
    assert metrics["health/illegal_actions"] == 0


def started(game: Duel) -> Duel:
    game.reset()
    return game
