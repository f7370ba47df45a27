"""Simulator processes die and hang without harm: noticed, counted by name, replaced; none is ever left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from jimbot.errors import SimulatorError, UsageError
from jimbot.games.checker import random_legal
from jimbot.games.contract import make
from jimbot.games.vgc import pool as pools
from jimbot.games.vgc import wire
from jimbot.games.vgc.game import MOST_STARTS, VgcGame
from tests.conftest import REPOSITORY


def build(num_envs: int = 8, **options: object) -> VgcGame:
    game = make("vgc", num_envs, seed=3, options={"opponent": "random", "workers": 2, **options})
    assert isinstance(game, VgcGame)
    return game


def held_by(game: VgcGame, seat: int) -> np.ndarray:
    return np.array([battle for battle in range(game.num_envs) if game.pool.seat_of(battle) == seat])


def gone(pid: int) -> bool:
    """Neither running nor a zombie."""
    return not psutil.pid_exists(pid)


@pytest.fixture(autouse=True)
def nothing_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIMBOT_IDLE_SIMULATORS", "0")


def test_all_processes_work_on_any_half_of_the_battles() -> None:
    game = build(16)
    try:
        for half in (range(0, 16, 2), range(1, 16, 2), range(8), range(8, 16)):
            seats = [game.pool.seat_of(battle) for battle in half]
            assert seats.count(0) == seats.count(1) == 4
    finally:
        game.close()


def play(game: VgcGame, steps: int, rng: np.random.Generator) -> None:
    for _ in range(steps):
        game.step(random_legal(rng, game.legal_mask))


def test_a_killed_worker_truncates_its_battles_and_is_replaced() -> None:
    game = build(16)
    rng = np.random.default_rng(0)
    try:
        game.reset()
        play(game, 3, rng)
        before = game.observation.copy()
        victim = game.pool.pids[0]
        mine = held_by(game, 0)
        os.kill(victim, signal.SIGKILL)
        time.sleep(0.2)
        game.step(random_legal(rng, game.legal_mask))
        assert game.truncated[mine].all()
        assert not game.terminated[mine].any()
        np.testing.assert_array_equal(game.final_observation[mine], before[mine])
        assert not game.reward[mine].any(), "never learned from as losses"
        assert game.events["worker_died"] == game.events["worker_replaced"] == 1
        assert game.events["battles_truncated"] == len(mine)
        assert gone(victim)
        play(game, 5, rng)
        assert game.illegal_actions == 0
    finally:
        game.close()


def test_a_hung_worker_is_replaced_at_its_deadline() -> None:
    game = build(16, deadline=4.0)
    try:
        game.reset()
        victim = game.pool.pids[1]
        os.kill(victim, signal.SIGSTOP)
        game.step(random_legal(np.random.default_rng(0), game.legal_mask))
        assert game.events["worker_hung"] >= 1
        assert game.truncated[held_by(game, 1)].all()
        assert gone(victim)
    finally:
        game.close()


def test_nobody_is_late_while_nobody_listens() -> None:
    game = build(64, deadline=2.0)  # more than a pipe holds
    battles = np.arange(64)
    try:
        game.reset()
        game.send(random_legal(np.random.default_rng(0), game.legal_mask), battles)
        time.sleep(3.0)
        game.receive(battles)
        assert game.events["worker_hung"] == 0
        assert not game.truncated.any()
    finally:
        game.close()


def test_closing_ends_every_process() -> None:
    game = build(16)
    game.reset()
    pids = game.pool.pids
    assert len(pids) == 2
    game.close()
    assert all(gone(pid) for pid in pids)
    with pytest.raises(UsageError, match="closed"):
        game.step(np.zeros(16, int))
    game.close()


def test_a_forgotten_game_ends_its_processes_too() -> None:
    game = build(2)
    pids = game.pool.pids
    del game
    assert all(gone(pid) for pid in pids)


def test_battles_do_not_depend_on_the_number_of_processes() -> None:
    seen = []
    for workers in (1, 2):
        game = build(16, workers=workers)
        rng = np.random.default_rng(7)
        try:
            game.reset()
            play(game, 15, rng)
            seen.append((game.observation.copy(), game.seeds.copy()))
        finally:
            game.close()
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    np.testing.assert_array_equal(seen[0][1], seen[1][1])


def test_groups_can_be_sent_and_received_apart() -> None:
    whole, apart = build(8), build(8)
    rng = np.random.default_rng(5)
    try:
        whole.reset()
        apart.reset()
        for _ in range(12):
            actions = random_legal(rng, whole.legal_mask)
            whole.step(actions)
            for group in apart.groups:
                apart.send(actions, group)
            for group in reversed(apart.groups):
                apart.receive(group)
            for name in ("observation", "legal_mask", "reward", "terminated", "truncated", "seeds"):
                np.testing.assert_array_equal(getattr(whole, name), getattr(apart, name), name)
        with pytest.raises(UsageError, match="call send first"):
            apart.receive(apart.groups[0])
    finally:
        whole.close()
        apart.close()


def test_a_worker_that_never_starts_is_an_error_with_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    broken = tmp_path / "node"
    broken.mkdir()
    (broken / "worker.js").write_text("process.stderr.write('no such luck'); process.exit(3);\n")
    monkeypatch.setattr("jimbot.games.vgc.simulator.NODE_FILES", broken)
    with pytest.raises(
        SimulatorError, match=f"failed to start {pools.MOST_FAILED_STARTS} times in a row: no such luck"
    ):
        build(2)


def test_battles_that_cannot_be_started_are_given_up_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    game = build(2)
    try:
        game.reset()
        attempts = []

        def lost(tickets: object) -> tuple[np.ndarray, list[int]]:
            attempts.append(tickets)
            return np.empty(0, wire.row_type(1)), [1]

        monkeypatch.setattr(game.pool, "receive", lost)
        monkeypatch.setattr(game.pool, "last_failure", "its process died (out of memory)")
        with pytest.raises(SimulatorError, match=r"Battle 1 .* could not be started .* died \(out of memory\)"):
            game.reset()
        assert len(attempts) == MOST_STARTS
    finally:
        game.close()


LOOP = """
import numpy as np
from jimbot.games.contract import make
from jimbot.games.checker import random_legal
game = make("vgc", 16, options={"opponent": "random", "workers": 2})
game.reset()
print(*game.pool.pids, flush=True)
rng = np.random.default_rng(0)
while True:
    game.step(random_legal(rng, game.legal_mask))
"""


def thread_states(pid: int) -> list[str]:
    """The state letter of every thread, as the kernel names them."""
    return [stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_an_interrupted_or_killed_python(sign: signal.Signals) -> None:
    """Nor one that was stopped and cannot notice."""
    child = subprocess.Popen(
        [sys.executable, "-c", LOOP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert child.stdout is not None
    pids = [int(word) for word in child.stdout.readline().split()]
    assert len(pids) == 2
    time.sleep(0.5)
    if sign == signal.SIGKILL:
        os.kill(pids[0], signal.SIGSTOP)
        while any(thread != "T" for thread in thread_states(pids[0])):
            time.sleep(0.01)  # the kernel ends only those of whom every thread stands still already
    os.kill(child.pid, sign)
    try:
        child.communicate(timeout=60)
    finally:
        child.kill()
    for _ in range(300):
        if all(gone(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in pids):
            break
        time.sleep(0.1)
    else:
        pytest.fail(f"simulator processes {pids} outlived their master")


@pytest.mark.long
def test_play_goes_on_while_workers_are_killed_again_and_again() -> None:
    game = build(32)
    rng = np.random.default_rng(0)
    seen: set[int] = set()
    kills = 8
    try:
        game.reset()
        for number in range(kills):
            seen.update(game.pool.pids)
            os.kill(game.pool.pids[number % 2], signal.SIGKILL)
            play(game, 4, rng)
            assert game.events["worker_died"] == game.events["worker_replaced"] == number + 1
        assert game.events["battles_truncated"] == 16 * kills
        assert game.illegal_actions == 0
    finally:
        seen.update(game.pool.pids)
        game.close()
    assert len(seen) == 2 + kills
    assert all(gone(pid) for pid in seen)
