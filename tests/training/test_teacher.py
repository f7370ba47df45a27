"""A teacher is asked about the learner's own positions, for a share of them and for as long as it weighs anything."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from jimbot.errors import SettingsError
from jimbot.games.contract import make
from jimbot.games.probe import COLOURS
from jimbot.policies.contract import Decision
from jimbot.training.jax_ppo.guidance import teacher_weight
from jimbot.training.jax_ppo.program import HostUpdate, initial_state, network_for
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.jax_ppo.samples import samples_of
from jimbot.training.jax_ppo.teacher import NOT_ASKED, Teacher
from jimbot.training.settings.groups import TeacherSettings
from jimbot.training.settings.record import load_settings
from tests.training.small import SMALL

KEY = jax.random.key(7)


class Against:
    """Goes through the open door of the colour after the one that pays: what no reward would ever teach."""

    name = "against"

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        colour = (observation[:, : len(COLOURS)].argmax(axis=1) + 1) % len(COLOURS)
        actions = legal_mask.argmax(axis=1) + colour  # the first legal action is the open door's first colour
        return Decision(actions, np.zeros(legal_mask.shape, np.float32), np.zeros(len(actions), np.float32))


def teaches(**wanted: Any) -> Teacher:
    return Teacher(TeacherSettings(policy="against", **wanted), Against())


def rollout(turns: int = 50, rows: int = 20, **parts: Any) -> Rollout:
    """Positions with two legal actions each; the rest does not matter to a teacher."""
    legal = np.zeros((turns, rows, 48), bool)
    legal[..., 4:8] = True
    empty = np.zeros((turns, rows), np.float32)
    observation = np.zeros((turns, rows, 5), np.float32)
    positions = Rollout(observation, legal, empty.astype(np.int32), *[empty] * 6, last_value=empty[0])
    return positions._replace(**parts)


def test_a_share_of_the_positions_is_asked_about_and_always_the_same():
    teacher = teaches(share=0.25, updates=10)
    labels = teacher.labels(rollout(), 0, KEY)
    assert 0.18 < (labels != NOT_ASKED).mean() < 0.32
    assert set(np.unique(labels)) == {NOT_ASKED, 5}  # the second colour of the open door
    assert np.array_equal(labels, teacher.labels(rollout(), 0, KEY))
    assert not np.array_equal(labels, teacher.labels(rollout(), 0, jax.random.key(8)))


def test_nobody_is_asked_where_there_is_nothing_to_decide():
    teacher, positions = teaches(share=1.0, updates=10), rollout()
    forced = positions.legal_mask.copy()
    forced[10:, :, 5:] = False
    acting = np.ones(positions.action.shape, bool)
    acting[:, 3] = False
    labels = teacher.labels(positions._replace(legal_mask=forced, acting=acting), 0, KEY)
    asked = labels != NOT_ASKED
    assert asked[:10, :3].all()
    assert not asked[10:].any()
    assert not asked[:, 3].any()


def test_a_teacher_whose_weight_is_gone_is_not_asked():
    labels = teaches(share=1.0, updates=10).labels(rollout(), 10, KEY)
    assert (labels == NOT_ASKED).all()
    settings = load_settings(SMALL, {"teacher": "random", "teacher_coef": 2.0, "teacher_updates": 10}).teacher
    assert [float(teacher_weight(settings, update)) for update in (0, 5, 10, 20)] == [2.0, 1.0, 0.0, 0.0]


def test_games_are_handed_over_one_after_the_other():
    teacher = teaches(play=0.5, play_updates=10)
    assert [teacher.rows(update, 40) for update in (0, 5, 9, 10, 99)] == [20, 10, 2, 0, 0]


def test_what_the_teacher_plays_is_labelled_and_has_no_gradient_of_its_own():
    settings = load_settings(SMALL, {"stepping": "host", "teacher": "against"})
    game = make("probe", settings.num_envs, seed=1)
    game.reset()
    network, teacher = network_for(settings, game.spec), teaches(play=0.5, play_updates=4, share=0.1)
    state, update = initial_state(settings, network, game), HostUpdate(settings, network, game, teacher=teacher)
    found: list[Rollout] = []
    update._learn = lambda state, rollout, *_: (found.append(rollout), (state._replace(update=state.update + 2), {}))[1]
    for _ in range(3):
        state, _, measured = update(state, 0.1)
        guest, labels = np.array(found[-1].guest), found[-1].label
        rows = teacher.rows(int(state.update) - 2, game.num_rows)
        assert guest[:, :rows].all()
        assert not guest[:, rows:].any()
        assert np.array_equal(labels[guest], np.asarray(found[-1].action)[guest])
        own = np.asarray(samples_of(found[-1], np.zeros(guest.shape, np.float32), keep_value=False).acts)
        assert np.array_equal(own.reshape(guest.shape), ~guest)
        ended = update.collector.terminated | update.collector.truncated
        assert float(measured.episodes) == ended[~guest].sum()  # its own games are not the learner's
    assert rows == 0
    game.close()


def learned(updates: int, teacher: Teacher | None, **changes: Any) -> tuple[Any, dict[str, float]]:
    settings = load_settings(SMALL, {"stepping": "host", "teacher": "against" if teacher else None, **changes})
    game = make("probe", settings.num_envs, seed=1)
    game.reset()
    network = network_for(settings, game.spec)
    state, update = initial_state(settings, network, game), HostUpdate(settings, network, game, teacher=teacher)
    losses: dict[str, Any] = {}
    for _ in range(updates):
        state, losses, _ = update(state, settings.ppo.lr)
    game.close()
    return state.params, {name: float(value) for name, value in losses.items()}


def test_answers_are_learned_against_what_pays():
    teacher = teaches(share=0.5, updates=1000)
    params, losses = learned(12, teacher, teacher_coef=20.0, teacher_updates=1000)
    assert losses["train/teacher_agreement"] > 0.9
    again, _ = learned(12, teacher, teacher_coef=20.0, teacher_updates=1000)
    assert all(np.array_equal(params[name], again[name]) for name in params)


def test_a_teacher_that_plays_at_first_is_learned_too():
    teacher = teaches(share=0.2, updates=1000, play=1.0, play_updates=8)
    _, losses = learned(12, teacher, teacher_coef=20.0, teacher_updates=1000)
    assert losses["train/teacher_agreement"] > 0.9


def test_without_weight_the_teacher_is_watched_and_not_followed():
    teacher = teaches(share=0.5, updates=1000)
    _, losses = learned(12, teacher, teacher_coef=0.0, teacher_updates=1000)
    assert losses["train/teacher_agreement"] < 0.3  # what pays is another colour


def test_answers_in_pieces_are_the_same_step():
    teacher = teaches(share=0.5, updates=1000)
    whole, _ = learned(1, teacher)
    pieces, _ = learned(1, teacher, gradient_pieces=4)
    for name in whole:
        np.testing.assert_allclose(whole[name], pieces[name], rtol=1e-4, atol=1e-5)


def test_a_teacher_needs_its_game_options():
    settings = load_settings({"game": "balatro", "teacher": "heuristic"})
    with pytest.raises(SettingsError, match="--option helpers=true"):
        Teacher.of(settings, "runs")
    assert Teacher.of(load_settings({"game": "balatro", "teacher": "none"}), "runs") is None


# --- its judgement ---


class Judges(Against):
    """Thinks a position is worth the first number of its observation."""

    def appraise(self, observation: np.ndarray) -> np.ndarray:
        return observation[:, 0].astype(np.float32)


def test_its_judgement_pays_what_a_step_gained_and_nothing_is_left_of_a_game_that_is_over():
    teacher = Teacher(TeacherSettings(policy="judges", shaping=2.0), Judges())
    worth = np.array([[1.0, 5.0], [3.0, 6.0], [4.0, 8.0], [9.0, 0.5]], np.float32)
    shown = worth[..., None]
    over, cut = np.zeros((3, 2), bool), np.zeros((3, 2), bool)
    over[1, 0], cut[1, 1] = True, True
    last = shown[2].copy()
    last[1] = 7.0  # where the second game was cut off; 8 is how the next one begins
    steps = [(shown[0], shown[1]), (shown[1], last), (shown[2], shown[3])]
    got = teacher.shaped(steps, over, cut, gamma=0.5)
    assert got[0] == pytest.approx([2 * (0.5 * 3 - 1), 2 * (0.5 * 6 - 5)])
    assert got[1] == pytest.approx([2 * (0 - 3), 2 * (0.5 * 7 - 6)])
    assert got[2] == pytest.approx([2 * (0.5 * 9 - 4), 2 * (0.5 * 0.5 - 8)])


def test_judgement_reaches_the_rewards_and_answers_of_no_weight_are_not_asked_for():
    wanted = TeacherSettings(policy="judges", coef=0.0, share=1.0, shaping=1.0)
    settings = load_settings(SMALL, {"stepping": "host", "teacher": "against", "reward_transform": "none"})
    game = make("probe", settings.num_envs, seed=1)
    game.reset()
    network = network_for(settings, game.spec)
    update = HostUpdate(settings, network, game, teacher=Teacher(wanted, Judges()))
    found: list[Rollout] = []
    update._learn = lambda state, rollout, *_: (found.append(rollout), (state, {}))[1]
    update(initial_state(settings, network, game), 0.1)
    collected = update.collector
    gained = update.teacher.shaped(collected.steps(), collected.terminated, collected.truncated, settings.gamma)
    assert np.abs(gained).max() > 0
    assert np.asarray(found[0].reward) == pytest.approx(collected.reward_terms.sum(axis=-1) + gained, abs=1e-5)
    assert (found[0].label == NOT_ASKED).all()
    game.close()


def test_a_teacher_without_an_opinion_cannot_shape():
    settings = load_settings(SMALL, {"stepping": "host", "teacher": "random", "teacher_shaping": 1.0})
    with pytest.raises(SettingsError, match="has no opinion of what positions are worth"):
        Teacher.of(settings, "runs")
