"""How fast the simulator is: what `jimbot bench balatro` measures.

Random games end at the first blinds, where there is little to compute; so the same is measured again from games at
antes 4 to 8 with five jokers, which are put back before every round of random play. The baseline is
the same source run as plain Python in the same process group.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.rules.content import JOKERS
from jimbot.games.balatro.rules.inventory import START_COUNTER, START_VALUE
from jimbot.games.balatro.rules.state import BYTES_PER_GAME
from jimbot.games.balatro.seeds import finding
from jimbot.games.balatro.seeds.preview_kernel import look_at_many
from jimbot.games.threads import thread_count
from jimbot.machine import peak_memory_mb

TURNS = 64  # random actions per compiled call
PREVIEWED_ANTES = 8
MIDDLE_ANTES, MIDDLE_JOKERS = range(4, 9), 5

_COLD_START = """
import time; began = time.perf_counter()
import numpy as np
from jimbot.games.balatro.rules.content import JOKERS
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.threads import thread_count
game = BalatroGame(8); game.reset(); game.step(game.legal_mask.argmax(axis=1))
print(time.perf_counter() - began)
"""
_PLAIN_PYTHON = """
import sys, time, numpy as np
from jimbot.games.balatro.rules.content import JOKERS
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.threads import thread_count
game = BalatroGame(1); game.reset(); game.roam(20)
began, cpu, steps = time.perf_counter(), time.process_time(), 0
while time.perf_counter() - began < float(sys.argv[1]):
    game.roam(10); steps += 10
print(steps / (time.process_time() - cpu))
"""


def bench_balatro(num_envs: int = 1024, seconds: float = 5.0, cold: bool = False) -> dict[str, Any]:
    """Random legal play with and without looking, from the start and from the middle of games; previews; start-up."""
    game = BalatroGame(num_envs)
    game.reset()
    game.roam(TURNS)
    played = _roaming(game, seconds, lambda: None)
    middle = middle_of_games(num_envs)
    from_middle = _roaming(game, seconds / 2, lambda: game.restore({**game.snapshot(), **middle}))
    engine = _engine_alone(game, seconds / 2)
    baseline = float(_run(_PLAIN_PYTHON, str(seconds / 2), NUMBA_DISABLE_JIT="1"))
    return {
        "game": "balatro",
        "num_envs": num_envs,
        "threads": game.workers,
        **played,
        "engine_alone_steps_per_second": engine,
        **{f"middle_{name}": value for name, value in from_middle.items()},
        "baseline": "the same source as plain Python, per CPU-second",
        "baseline_steps_per_cpu_second": baseline,
        "ratio_to_baseline": played["steps_per_cpu_second"] / baseline,
        "preview_seeds_per_second": _previews(20_000, shop_cards=2, packs=(2, 2), contents=False),
        "full_preview_seeds_per_second": _previews(2_000, shop_cards=20, packs=(4, 6), contents=True),
        "warm_start_seconds": float(_run(_COLD_START)),
        **({"compile_seconds": _cold_start()} if cold else {}),
        "bytes_per_game": BYTES_PER_GAME,
        "rss_mb": peak_memory_mb(),
    }


def middle_of_games(count: int, seed: int = 7) -> dict[str, np.ndarray]:
    """Records of `count` games put at antes 4 to 8 with five random jokers each."""
    game = BalatroGame(count, seed)
    game.reset()
    rng = np.random.default_rng(seed)
    records = game.games
    records["ante"] = rng.integers(MIDDLE_ANTES[0], MIDDLE_ANTES[-1] + 1, count)
    records["joker_count"] = MIDDLE_JOKERS
    jokers = np.array([rng.permutation(len(JOKERS))[:MIDDLE_JOKERS] for _ in range(count)])
    for place in range(MIDDLE_JOKERS):
        held = jokers[:, place]
        records["joker_id"][:, place] = held
        records["joker_value"][:, place] = START_VALUE[held]
        records["joker_counter"][:, place] = START_COUNTER[held]
        records["joker_serial"][:, place] = records["next_serial"] + place
        records["used"][np.arange(count), held] = 1
    records["next_serial"] += MIDDLE_JOKERS
    return {"records": game.snapshot()["records"]}


def _roaming(game: BalatroGame, seconds: float, prepare: Callable[[], None]) -> dict[str, float]:
    """Random play in rounds of `TURNS`; what `prepare` takes is not counted."""
    wall = cpu = 0.0
    rounds = advanced = 0
    while wall < seconds:
        prepare()
        began, cpu_began = time.perf_counter(), time.process_time()
        advanced += game.roam(TURNS)
        wall += time.perf_counter() - began
        cpu += time.process_time() - cpu_began
        rounds += 1
    steps = rounds * TURNS * game.num_envs
    return {
        "steps_per_second": steps / wall,
        "steps_per_cpu_second": steps / cpu,
        "advancing_steps_per_second": advanced / wall,
    }


def _engine_alone(game: BalatroGame, seconds: float) -> float:
    """The rules without observation and mask: recorded random play, played again from the same states."""
    game.reset()
    before = game.snapshot()
    plan = np.zeros((game.num_envs, TURNS), np.int64)
    for turn in range(TURNS):
        game.roam(1)
        plan[:, turn] = game.arrays.actions
    wall, rounds = 0.0, 0
    while wall < seconds:
        game.restore(before)
        began = time.perf_counter()
        game.replay(plan, look=False)
        wall += time.perf_counter() - began
        rounds += 1
    return rounds * TURNS * game.num_envs / wall


def _previews(count: int, shop_cards: int, packs: tuple[int, int], contents: bool) -> float:
    """Seeds per second whose eight antes are looked at, on all threads."""
    workers = [finding.preview_records(shop_cards, *packs) for _ in range(thread_count())]

    def look(worker: int, first: int, number: int) -> None:
        look_at_many(*workers[worker], first, number, PREVIEWED_ANTES, contents)

    look(0, 0, 1)
    with ThreadPoolExecutor(len(workers)) as pool:
        began = time.perf_counter()
        list(pool.map(lambda worker: look(worker, 1 + worker * count, count), range(len(workers))))
        return len(workers) * count / (time.perf_counter() - began)


def _cold_start() -> float:
    """Seconds from nothing to the first step with an empty compile cache."""
    with tempfile.TemporaryDirectory() as empty:
        return float(_run(_COLD_START, JIMBOT_CACHE_DIR=empty))


def _run(code: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip().splitlines()[-1]
