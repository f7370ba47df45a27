"""On a fresh machine games run as plain Python while another process compiles: the same games, only slower."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from jimbot.games.balatro.compiling import ahead, kernels, meanwhile
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.options import Options

pytestmark = pytest.mark.skipif(kernels.JIT_DISABLED or not kernels.FAST_LINKING, reason="nothing to take over")

PLAY = """
import hashlib, json, sys
import numpy as np
from jimbot import machine
from jimbot.games.balatro.compiling import kernels, meanwhile
from jimbot.games.balatro.encoding import batch_kernel
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.options import Options

machine.prefer_first_frame()
started, moves = [], json.loads(sys.argv[1])
meanwhile.compile_ahead = started.append
found, call, plain = kernels.in_cache, meanwhile.call, []


def counted(function, arguments):
    if not meanwhile.inside():
        plain.append(function.__name__)
    return call(function, arguments)


kernels.in_cache = lambda function: len(plain) >= int(sys.argv[2]) and found(function)
meanwhile.call = counted
game = BalatroGame(1, 0, Options(helpers=True))
game.reset(np.array([11], np.uint64))
digest = hashlib.sha256()
for move in moves:
    game.step(np.array([move]))
    batch_kernel.work._look_again = 0.0
    digest.update(game.observation.tobytes() + game.legal_mask.tobytes() + game.games.tobytes())
print(json.dumps([digest.hexdigest(), len(plain), bool(started)]))
"""


@pytest.fixture(scope="module")
def played() -> tuple[list[int], str]:
    """Some random moves and what they lead to in machine code."""
    game, rng, digest, moves = BalatroGame(1, 0, Options(helpers=True)), np.random.default_rng(3), hashlib.sha256(), []
    game.reset(np.array([11], np.uint64))
    for _ in range(40):
        moves.append(int(rng.choice(np.flatnonzero(game.legal_mask[0]))))
        game.step(np.array(moves[-1:]))
        digest.update(game.observation.tobytes() + game.legal_mask.tobytes() + game.games.tobytes())
    return moves, digest.hexdigest()


@pytest.mark.parametrize(("plain_calls", "seen"), [(10_000, 41), (15, 15)], ids=["all as Python", "taken over"])
def test_python_and_machine_code_play_the_same_game(played: tuple[list[int], str], plain_calls: int, seen: int) -> None:
    moves, expected = played
    done = subprocess.run(
        [sys.executable, "-c", PLAY, json.dumps(moves), str(plain_calls)],
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    assert json.loads(done.stdout) == [expected, seen, True]


def test_who_steps_many_games_waits_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jimbot.machine.first_frame_first", True)
    monkeypatch.setattr(meanwhile, "call", lambda *_: pytest.fail("hundreds of games as plain Python"))
    BalatroGame(kernels.FEW + 1).reset()


def test_one_process_at_a_time_fills_a_cache(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(ahead, "PROGRAMS", {"one": lambda: (done.append("one"), ahead.main(str(tmp_path)))})
    monkeypatch.setattr(os, "nice", lambda _: 0)
    ahead.main(str(tmp_path))
    assert done == ["one"]
