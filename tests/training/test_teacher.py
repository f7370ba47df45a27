"""A teacher is asked about the learner's own positions, for a share of them and for as long as it weighs anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry, make
from jimbot.games.probe import COLOURS
from jimbot.policies.contract import Decision
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.extensions import extensions_of
from jimbot.training.jax_ppo.extensions.teacher import (
    NOT_ASKED,
    PLAYED,
    TeacherLabels,
    TeacherPlay,
    TeacherShaping,
    teacher_policy,
)
from jimbot.training.jax_ppo.program import HostUpdate, initial_state, network_for
from jimbot.training.jax_ppo.records import Rollout
from jimbot.training.settings.record import TrainSettings, load_settings
from tests.training.small import SMALL, rollout_of

KEY = jax.random.key(7)


class Against:
    """Goes through the open door of the colour after the one that pays: what no reward would ever teach."""

    name = "against"

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        colour = (observation[:, : len(COLOURS)].argmax(axis=1) + 1) % len(COLOURS)
        actions = legal_mask.argmax(axis=1) + colour  # the first legal action is the open door's first colour
        return Decision(actions, np.zeros(legal_mask.shape, np.float32), np.zeros(len(actions), np.float32))


def taught(**wanted: Any) -> TrainSettings:
    asked = {f"teacher_{name}": value for name, value in wanted.items()}
    return load_settings(SMALL, {"stepping": "host", "teacher": "against", **asked})


def parts_of(settings: TrainSettings, policy: Any) -> list[Extension]:
    """The parts that have to do with a teacher, who is this policy."""
    kinds = (TeacherPlay, TeacherLabels, TeacherShaping)
    parts = [part for part in extensions_of(settings, game_entry("probe").spec) if isinstance(part, kinds)]
    for part in parts:
        setattr(part, *(("appraise", policy.appraise) if isinstance(part, TeacherShaping) else ("policy", policy)))
    return [*parts]


def labelling(**wanted: Any) -> TeacherLabels:
    [part] = [part for part in parts_of(taught(**wanted), Against()) if isinstance(part, TeacherLabels)]
    return part


def rollout(turns: int = 50, rows: int = 20, **parts: Any) -> Rollout:
    """Positions with two legal actions each; the rest does not matter to a teacher."""
    legal = np.zeros((turns, rows, 48), bool)
    legal[..., 4:8] = True
    observation = np.zeros((turns, rows, 5), np.float32)
    return rollout_of(np.zeros((turns, rows), np.int32), features=observation, legal_mask=legal, **parts)


def test_a_share_of_the_positions_is_asked_about_and_always_the_same():
    teacher = labelling(share=0.25, updates=10)
    labels = teacher.labels(rollout(), 0, KEY)
    assert 0.18 < (labels != NOT_ASKED).mean() < 0.32
    assert set(np.unique(labels)) == {NOT_ASKED, 5}  # the second colour of the open door
    assert np.array_equal(labels, teacher.labels(rollout(), 0, KEY))
    assert not np.array_equal(labels, teacher.labels(rollout(), 0, jax.random.key(8)))


def test_nobody_is_asked_where_there_is_nothing_to_decide():
    teacher, positions = labelling(share=1.0, updates=10), rollout()
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
    labels = labelling(share=1.0, updates=10).labels(rollout(), 10, KEY)
    assert (labels == NOT_ASKED).all()
    teacher = labelling(coef=2.0, updates=10)
    assert [float(teacher.weight(update)) for update in (0, 5, 10, 20)] == [2.0, 1.0, 0.0, 0.0]


def test_games_are_handed_over_one_after_the_other():
    teacher = TeacherPlay(taught(play=0.5, play_updates=10), game_entry("probe").spec)
    assert [teacher.rows(update, 40) for update in (0, 5, 9, 10, 99)] == [20, 10, 2, 0, 0]


def test_what_the_teacher_plays_is_labelled_and_has_no_gradient_of_its_own():
    settings = taught(play=0.5, play_updates=4, share=0.1)
    game = make("probe", settings.num_envs, seed=1)
    game.reset()
    network, parts = network_for(settings, game.spec), parts_of(settings, Against())
    state, update = initial_state(settings, network, game), HostUpdate(settings, network, game, parts)
    [teacher] = [part for part in parts if isinstance(part, TeacherPlay)]
    found: list[Rollout] = []
    update._learn = lambda state, rollout, *_: (found.append(rollout), (state._replace(update=state.update + 2), {}))[1]
    for _ in range(3):
        state, _, measured = update(state, 0.1)
        guest, labels = found[-1].extras[PLAYED], found[-1].extras[TeacherLabels.name]
        rows = teacher.rows(int(state.update) - 2, game.num_rows)
        assert guest[:, :rows].all()
        assert not guest[:, rows:].any()
        assert np.array_equal(labels[guest], np.asarray(found[-1].action)[guest])
        assert np.array_equal(found[-1].weight, ~guest)
        ended = update.collector.terminated | update.collector.truncated
        assert float(measured.episodes) == ended[~guest].sum()  # its own games are not the learner's
    assert rows == 0
    game.close()


def learned(many: int, gradient_accumulation: int = 1, **wanted: Any) -> tuple[Any, dict[str, float]]:
    settings = taught(**wanted).model_copy(update={"gradient_accumulation": gradient_accumulation})
    game = make("probe", settings.num_envs, seed=1)
    game.reset()
    network = network_for(settings, game.spec)
    update = HostUpdate(settings, network, game, parts_of(settings, Against()))
    state = initial_state(settings, network, game)
    losses: dict[str, Any] = {}
    for _ in range(many):
        state, losses, _ = update(state, settings.ppo.lr)
    game.close()
    return state.params, {name: float(value) for name, value in losses.items()}


def test_answers_are_learned_against_what_pays():
    params, losses = learned(12, share=0.5, coef=20.0, updates=1000)
    assert losses["train/teacher_agreement"] > 0.9
    again, _ = learned(12, share=0.5, coef=20.0, updates=1000)
    assert all(np.array_equal(params[name], again[name]) for name in params)


def test_a_teacher_that_plays_at_first_is_learned_too():
    _, losses = learned(12, share=0.2, updates=1000, play=1.0, play_updates=8, coef=20.0)
    assert losses["train/teacher_agreement"] > 0.9


def test_without_weight_the_teacher_is_watched_and_not_followed():
    _, losses = learned(12, share=0.5, updates=1000, coef=1e-6)
    assert losses["train/teacher_agreement"] < 0.3  # what pays is another colour


def test_answers_in_pieces_are_the_same_step():
    whole, _ = learned(1, share=0.5, updates=1000)
    pieces, _ = learned(1, gradient_accumulation=4, share=0.5, updates=1000)
    for name in whole:
        np.testing.assert_allclose(whole[name], pieces[name], rtol=1e-4, atol=1e-5)


def test_a_teacher_needs_its_game_options():
    settings = load_settings({"game": "balatro", "teacher": "heuristic"})
    with pytest.raises(SettingsError, match="--option helpers=true"):
        teacher_policy(settings, "runs")
    assert not TeacherLabels.wanted(load_settings({"game": "balatro", "teacher": "none"}))


# --- its judgement ---


class Judges(Against):
    """Thinks a position is worth the first number of its observation."""

    def appraise(self, observation: np.ndarray) -> np.ndarray:
        return observation[:, 0].astype(np.float32)


def test_its_judgement_pays_what_a_step_gained_and_nothing_is_left_of_a_game_that_is_over():
    settings = taught(coef=0.0, shaping=2.0).model_copy(update={"gamma": 0.5})
    [teacher] = parts_of(settings, Judges())
    assert isinstance(teacher, TeacherShaping)
    worth = np.array([[1.0, 5.0], [3.0, 6.0], [4.0, 8.0], [9.0, 0.5]], np.float32)
    shown = worth[..., None]
    over, cut = np.zeros((3, 2), bool), np.zeros((3, 2), bool)
    over[1, 0], cut[1, 1] = True, True
    last = shown[2].copy()
    last[1] = 7.0  # where the second game was cut off; 8 is how the next one begins
    steps = [(shown[0], shown[1]), (shown[1], last), (shown[2], shown[3])]
    got = teacher.gained(steps, over, cut)
    assert got[0] == pytest.approx([2 * (0.5 * 3 - 1), 2 * (0.5 * 6 - 5)])
    assert got[1] == pytest.approx([2 * (0 - 3), 2 * (0.5 * 7 - 6)])
    assert got[2] == pytest.approx([2 * (0.5 * 9 - 4), 2 * (0.5 * 0.5 - 8)])


def test_judgement_reaches_the_rewards_and_answers_of_no_weight_are_not_asked_for():
    settings = taught(coef=0.0, share=1.0, shaping=1.0).model_copy(update={"reward_transform": "none"})
    [teacher] = parts_of(settings, Judges())  # and nobody who would ask for answers
    assert isinstance(teacher, TeacherShaping)
    game = make("probe", settings.num_envs, seed=1)
    game.reset()
    network = network_for(settings, game.spec)
    update = HostUpdate(settings, network, game, [teacher])
    found: list[Rollout] = []
    update._learn = lambda state, rollout, *_: (found.append(rollout), (state, {}))[1]
    update(initial_state(settings, network, game), 0.1)
    collected = update.collector
    gained = teacher.gained(collected.steps(), collected.terminated, collected.truncated)
    assert np.abs(gained).max() > 0
    assert np.asarray(found[0].reward) == pytest.approx(collected.reward_terms.sum(axis=-1) + gained, abs=1e-5)
    assert not found[0].extras
    game.close()


def test_a_teacher_without_an_opinion_cannot_shape():
    nowhere: Any = SimpleNamespace(session=SimpleNamespace(run=SimpleNamespace(root="runs")))
    settings = load_settings(SMALL, {"stepping": "host", "teacher": "random", "teacher_shaping": 1.0})
    with pytest.raises(SettingsError, match="has no opinion of what positions are worth"):
        TeacherShaping(settings, game_entry("probe").spec).open(nowhere)
