"""Gymnasium's own asynchronous vector environment: every game in processes of its own, or a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jimbot.envs import env_id
from jimbot.games.contract import available_games
from tests.conftest import REPOSITORY

PLAYING = """
import sys, gymnasium, numpy as np, jimbot.envs
if __name__ == "__main__":
    name, first, context = sys.argv[1:]
    if first == "jax":
        import jax.numpy
        jax.numpy.zeros(3)
    more = {"vector_kwargs": {"context": context}} if context else {}
    envs = gymnasium.make_vec(name, num_envs=2, vectorization_mode="async", **more)
    try:
        observation, info = envs.reset(seed=1)
    except Exception as problem:
        print(type(problem).__name__, problem)
        envs.close(terminate=True)
        sys.exit(2)
    for _ in range(3):
        legal = np.array([np.flatnonzero(mask)[0] for mask in info["action_mask"]])
        observation, reward, terminated, truncated, info = envs.step(legal)
    envs.close()
    print("played", observation.shape)
"""


def played(tmp_path: Path, *words: str) -> tuple[int, str]:
    script = tmp_path / "play.py"
    script.write_text(PLAYING)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, script, *words], env=environment, stdout=subprocess.PIPE, text=True, timeout=300, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("game", available_games())
def test_every_game_plays_in_processes_of_its_own(game: str, tmp_path: Path) -> None:
    code, said = played(tmp_path, env_id(game), "nothing", "")
    assert (code, said.split()[:2]) == (0, ["played", "(2,"]), said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_game_of_jax_in_a_fork_of_a_process_with_jax_is_a_sentence_and_spawn_works(tmp_path: Path) -> None:
    code, said = played(tmp_path, env_id("probe"), "jax", "fork")
    assert (code, said.split()[0]) == (2, "UsageError"), said
    assert 'vector_kwargs={"context": "spawn"}' in said
    assert played(tmp_path, env_id("probe"), "jax", "spawn")[0] == 0
