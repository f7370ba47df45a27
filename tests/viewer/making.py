"""Runs made by hand, as training would leave them: for tests of the page, and for its pictures."""

from __future__ import annotations

import json
import math
import os
import random
import time
from pathlib import Path
from typing import Any

import yaml

EVENT = "2026-11-17T03:11:29+00:00"
TERMS = ("win", "blind", "progress", "money")
BLOCKS = ("play", "discard", "choose", "buy", "open", "reroll", "next", "sell_joker", "select", "cash_out")
CONFIG = {
    "algorithm": "PPO", "learner": "jax", "seed": 42, "gamma": 0.997, "lr": 0.00025, "num_envs": 1024, "num_steps": 256,
    "total_timesteps": 40_000_000, "ent_coef": 0.004, "game_options": {"helpers": True},
}  # fmt: skip


def row(step: int, when: float, of: int, luck: random.Random) -> dict[str, float]:
    """One log row of a run that learns."""
    share = step / max(1, of)
    level = 1 - math.exp(-3 * share)
    shares = [luck.uniform(0.5, 1.5) * (1 + number * (0.5 - share)) ** 2 for number in range(len(BLOCKS))]
    found: dict[str, float] = {
        "step": step,
        "time": round(when, 3),
        "train/mean_episode_return": 0.1 + level + luck.gauss(0, 0.03),
        "train/mean_episode_length": 60 + 150 * level + luck.gauss(0, 4),
        "train/num_episodes": 1200.0,
        "train/entropy": 2.4 - 1.1 * level + luck.gauss(0, 0.02),
        "train/approx_kl": abs(luck.gauss(0.01, 0.004)),
        "train/value_loss": 0.5 * math.exp(-4 * share) + abs(luck.gauss(0, 0.01)),
        "stats/won": max(0.0, 0.22 * level**3 + luck.gauss(0, 0.01)),
        "stats/ante": 1 + 4.6 * level + luck.gauss(0, 0.08),
        "stats/blinds_cleared": 16.5 * level + luck.gauss(0, 0.3),
        "speed/steps_per_second": 5200 + luck.gauss(0, 160),
        "speed/simulate_share": 0.4,
        "speed/learn_share": 0.59,
        "health/rss_mb": 3900 + 200 * share,
        "health/illegal_actions": 0.0,
    }
    found |= {f"reward/{name}": luck.gauss(0.001 * (number + 1), 0.0002) for number, name in enumerate(TERMS)}
    return found | {f"actions/{name}_frac": one / sum(shares) for name, one in zip(BLOCKS, shares, strict=True)}


def make_run(
    root: Path,
    name: str,
    rows: int = 60,
    steps: int = 262_144,
    game: str = "balatro",
    age: float = 3600.0,
    judged: bool = False,
    **config: Any,
) -> Path:
    """One run's directory; `age` seconds ago it wrote last."""
    path, luck = root / name, random.Random(name)
    (path / "checkpoints").mkdir(parents=True)
    (path / "config.yaml").write_text(yaml.safe_dump({"game": game, **CONFIG, **config}, sort_keys=False))
    now = time.time() - age
    lines = [json.dumps(row(steps * (i + 1), now - 52.0 * (rows - i), steps * rows, luck)) for i in range(rows)]
    (path / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (path / "events.log").write_text(
        f"2026-11-17T02:40:42+00:00 step 0: started\n2026-11-17T03:11:29+00:00 step {steps}: saved\n"
    )
    if judged:
        (path / "evaluation.json").write_text(json.dumps(evaluation(rows * steps, luck)))
    for one in ("metrics.jsonl", "checkpoints", "."):
        os.utime(path / one, (now, now))
    return path


def evaluation(step: int, luck: random.Random) -> dict[str, Any]:
    """How its policy played, as `jimbot train` keeps it at its end."""
    won = luck.uniform(0.05, 0.25)

    def interval(mean: float, half: float) -> dict[str, float]:
        return {"mean": mean, "low": mean - half, "high": mean + half, "count": 256}

    reached = {str(rung): interval(math.exp(-((rung / 20) ** 3)), 0.03) for rung in range(1, 25)}
    return {
        "step": step, "game": "balatro", "policy": "latest", "games": 256, "seeds": "held-out",
        "win_rate": interval(won, 0.03), "mean_return": interval(0.9 + won, 0.05), "mean_length": interval(212, 6),
        "ladder": {"stat": "blinds_cleared", "reached": reached},
        "stats": {"blinds_cleared": interval(17.2 + 8 * won, 0.4), "ante": interval(6.1, 0.2)},
    }  # fmt: skip
