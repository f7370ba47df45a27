"""Recording: exactly the teacher's decisions, exactly the games asked for, whole files only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from jimbot.games.contract import register_game
from jimbot.games.probe import SPEC
from jimbot.games.seeds import TRAIN, bank_of
from jimbot.policies.heuristics import RandomPolicy
from jimbot.training.imitation import record as recording
from jimbot.training.imitation.dataset import TERMINATED, Dataset
from jimbot.training.imitation.record import record
from tests.training.imitation.teachers import FirstLegal, record_perfect


def test_the_teachers_decisions_and_returns_are_what_is_read_back(tmp_path: Path) -> None:
    path, info = record_perfect(tmp_path, games=24, probabilities=True)
    assert (info.games, info.rows, info.mean_return, info.mean_length) == (24, 24 * 8, 8.0, 8.0)
    with Dataset.open(path) as dataset:
        chunk = dataset.chunk(0)
        colour = chunk.observation[:, :4].argmax(axis=1)
        np.testing.assert_array_equal(chunk.action % 4, colour)  # the perfect answer
        assert (chunk.legal_mask.sum(axis=1) == 4).all()
        assert chunk.legal_mask[np.arange(len(chunk.action)), chunk.action].all()
        assert chunk.probabilities is not None
        np.testing.assert_allclose(chunk.probabilities.sum(axis=1), 1, atol=1e-2)
        returns = dataset.discounted_returns(0.5, dataset.reward)
        step = np.round(chunk.observation[:, 4] * 8)
        np.testing.assert_allclose(returns[chunk.rows], 2 - 0.5 ** (7 - step), rtol=1e-6)


def test_every_game_begun_is_played_to_its_end_on_its_own_train_seed(tmp_path: Path) -> None:
    """More games than rows, in a number that does not divide: rows run dry one by one."""
    path, _ = record_perfect(tmp_path, games=21)
    with Dataset.open(path) as dataset:
        assert (dataset.ended == TERMINATED).all()
        assert np.bincount(dataset.trajectory).tolist() == [8] * 21
        assert len(set(dataset.seeds.tolist())) == 21
        assert {bank_of(int(seed)) for seed in dataset.seeds} == {TRAIN}


def test_the_same_seed_records_the_same_games_and_another_one_others(tmp_path: Path) -> None:
    def actions(seed: int) -> np.ndarray:
        path = tmp_path / f"{seed}.npz"
        record(RandomPolicy(), "probe", 10, path, seed=seed, num_envs=4)
        with Dataset.open(path) as dataset:
            return dataset.action

    np.testing.assert_array_equal(actions(3), actions(3))
    assert (actions(3) != actions(4)).any()


def test_truncated_games_are_told_apart(tmp_path: Path) -> None:
    _, info = record_perfect(tmp_path, games=8, options={"step_limit": 3})
    assert (info.truncated, info.mean_length) == (8, 3.0)


def test_noise_disturbs_the_game_but_not_the_lesson(tmp_path: Path) -> None:
    path, info = record_perfect(tmp_path, games=64, noise=0.5)
    assert info.mean_return is not None
    assert 3 < info.mean_return < 7  # half the moves are random; a quarter of those pay
    with Dataset.open(path) as dataset:
        chunk = dataset.chunk(0)
        np.testing.assert_array_equal(chunk.action % 4, chunk.observation[:, :4].argmax(axis=1))


def test_only_rows_that_act_are_written_and_keep_what_they_earn_while_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunk is so short that a reward falls into the chunk after its decision."""
    register_game("turns", "tests.training.imitation.teachers")
    monkeypatch.setattr(recording, "CHUNK_ROWS", 8)
    path = tmp_path / "turns.npz"
    info = record(FirstLegal(), "turns", 5, path, num_envs=2)
    assert (info.games, info.rows, info.players) == (5, 30, 2)
    with Dataset.open(path) as dataset:
        assert (dataset.action == 1).all()
        rewards: dict[int, list[float]] = {}
        for trajectory, reward in zip(dataset.trajectory.tolist(), dataset.reward.tolist(), strict=True):
            rewards.setdefault(trajectory, []).append(reward)
        # The first player decides in turns 0, 2 and 4, the second in 1, 3 and 5 (turn 0 came before its decisions).
        assert rewards == {t: [3.0, 7.0, 11.0] if t % 2 == 0 else [5.0, 9.0, 6.0] for t in range(10)}
        assert dataset.game_of_row.max() == 4


def test_the_file_is_plain_numpy_and_much_smaller_than_memory(tmp_path: Path) -> None:
    path, info = record_perfect(tmp_path, games=64)
    with np.load(path) as arrays:
        assert arrays["chunk_00000/observation"].shape == (512, SPEC.observation.size)
    assert info.observation_ratio is not None
    assert info.observation_ratio > 4
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("info.json"))["policy"] == info.policy


def start_recording(folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "jimbot", "record", "probe", "--policy", "random", "--games", "10000000"]
    child = subprocess.Popen(
        [*command, "--num-envs", "4096", "--output", "out.npz"], cwd=folder, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 240
    while (
        not (grown := list(folder.glob(".tmp-*"))) or grown[0].stat().st_size < 400_000
    ):  # many steps, so that games have ended
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return child


def test_killed_half_way_no_dataset_is_seen_and_the_next_recording_clears_up(tmp_path: Path) -> None:
    child = start_recording(tmp_path)
    child.kill()
    child.communicate()
    assert not (tmp_path / "out.npz").exists()
    record(RandomPolicy(), "probe", 4, tmp_path / "out.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["out.npz"]


def test_ctrl_c_keeps_the_games_that_are_complete(tmp_path: Path) -> None:
    child = start_recording(tmp_path)
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=240)
    assert child.returncode == 0, said
    with Dataset.open(tmp_path / "out.npz") as dataset:
        assert 0 < dataset.info.games < 10_000_000
        assert dataset.info.stopped == "stopped by Ctrl+C"
        assert np.bincount(dataset.trajectory[dataset.usable]).max() == 8
        assert int(dataset.usable.sum()) == dataset.info.rows
