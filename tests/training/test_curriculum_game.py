from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.games import make
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.checker import random_legal
from jimbot.training.curriculum import AnteCurriculum, CurriculumGame, DifficultySchedule
from jimbot.training.framework import create_trainer


def build(**settings: int | float) -> CurriculumGame:
    return CurriculumGame(make("balatro", 4, seed=3, checked=True), AnteCurriculum(**settings))


def advance(game: CurriculumGame, rng: np.random.Generator) -> None:
    game.step(random_legal(rng, game.legal_mask))


def antes(game: CurriculumGame) -> np.ndarray:
    return cast(BalatroGame, game.game).games["ante"]


def beat(game: CurriculumGame, rows: list[int]) -> None:
    """As if the boss of the curriculum's ante had been beaten in these rows."""
    antes(game)[rows] = game.curriculum.max_ante + 1


def test_a_game_that_beats_the_ante_is_cut_off_and_another_begins() -> None:
    game = build()
    plain: Any = make("balatro", 4, seed=3)
    game.reset()
    plain.reset()
    beat(game, [1, 2])
    plain.games["ante"][[1, 2]] = 3
    seeds = game.seeds.copy()
    actions = random_legal(np.random.default_rng(1), game.legal_mask)
    game.step(actions)
    plain.step(actions)
    assert game.truncated.tolist() == [False, True, True, False]
    assert not game.terminated.any()
    assert np.array_equal(game.reward, plain.reward)  # the step is paid as without a curriculum
    assert np.array_equal(game.reward_terms, plain.reward_terms)
    assert np.array_equal(game.final_observation[1:3], plain.observation[1:3])
    ante = game.spec.episode_stats.index("ante")
    assert game.final_stats[1:3, ante].tolist() == [3, 3]
    assert (game.seeds != seeds).tolist() == [False, True, True, False]
    assert (antes(game) == 1).all()
    assert list(game.curriculum.outcomes) == [True, True]


def test_success_raises_the_level_for_the_whole_batch() -> None:
    game = build(window=4, success_threshold=1.0)
    game.reset()
    beat(game, [0, 1, 2, 3])
    rng = np.random.default_rng(1)
    advance(game, rng)
    assert game.curriculum.max_ante == 3
    antes(game)[:] = 3
    advance(game, rng)
    assert not game.truncated.any()


def test_a_lost_game_counts_as_no_success() -> None:
    game = build()
    game.reset()
    rng = np.random.default_rng(1)
    while not game.terminated.any():
        advance(game, rng)
    assert len(game.curriculum.outcomes) == game.terminated.sum()
    assert not any(game.curriculum.outcomes)


def test_held_rows_are_left_alone() -> None:
    game = build()
    game.reset()
    beat(game, [0])
    game.step(random_legal(np.random.default_rng(1), game.legal_mask), hold=np.array([True, False, False, False]))
    assert not game.truncated.any()
    assert not game.curriculum.outcomes


def test_a_schedule_by_the_clock_counts_the_rows_that_moved() -> None:
    """The jax learner steps half the rows at a time: a step of all rows is one, however it was cut."""
    schedule = DifficultySchedule({0: "easy", 8: "medium"})
    game = CurriculumGame(make("balatro", 4, seed=3), schedule)
    game.reset()
    rng = np.random.default_rng(1)
    half = np.array([True, False, True, False])
    for hold in (half, ~half, half):
        game.step(random_legal(rng, game.legal_mask), hold=hold)
    assert (schedule.steps, schedule.max_ante) == (6, 2)
    game.step(random_legal(rng, game.legal_mask), hold=~half)
    assert (schedule.steps, schedule.max_ante) == (8, 4)
    advance(game, rng)
    assert schedule.steps == 12


def test_a_restored_batch_continues_at_its_level_and_identically() -> None:
    game, other = build(window=2), build(window=2)
    game.reset()
    rng = np.random.default_rng(1)
    for _ in range(3):
        beat(game, [0])
        advance(game, rng)
    assert game.curriculum.max_ante == 3
    other.restore(game.snapshot())
    assert other.curriculum == game.curriculum
    for _ in range(50):
        actions = random_legal(rng, game.legal_mask)
        game.step(actions)
        other.step(actions)
        assert np.array_equal(game.observation, other.observation)
        assert np.array_equal(game.seeds, other.seeds)


def test_a_game_without_antes_is_refused() -> None:
    with pytest.raises(UsageError, match="'probe' has no antes"):
        CurriculumGame(make("probe", 2))


def test_the_level_is_a_metric_and_its_rise_an_event(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    values: dict[str, Any] = {
        "learner": "sb3",
        "num_envs": 4,
        "num_steps": 16,
        "num_minibatches": 1,
        "update_epochs": 1,
    }
    values |= {"total_timesteps": 192, "network": "towers", "policy_layers": [8], "value_layers": [8]}
    schedule = {"difficulty_schedule": {0: "easy", 100: "medium"}, "log_interval": 1}
    trainer = create_trainer("balatro", values | schedule, root=tmp_path)
    rows: list[dict[str, float]] = []
    trainer.train(callback=lambda step, metrics: rows.append(metrics))
    events = trainer.session.run.events_path.read_text()
    trainer.close()
    assert [row["curriculum/level"] for row in rows] == [2, 4, 4]
    assert all(0 <= row["curriculum/success_rate"] <= 1 for row in rows)
    assert "curriculum: games are played up to level 2" in events
    assert "curriculum: games are played up to level 4 instead of 2" in events
