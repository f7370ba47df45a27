"""Training Balatro stays small and does not grow: some minutes of the real command, judged by its own records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MINUTES = 5
LIMIT_MB = 2048
GROWTH_MB_PER_MINUTE = 4.0  # far above noise, far below what a leak of one rollout per update would be


@pytest.mark.long
def test_training_balatro_stays_below_two_gigabytes_and_does_not_grow(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jimbot", "train", "balatro", f"--minutes={MINUTES}", "--log-interval=1"]
    command += ["--eval-games=0", "--save-interval-minutes=1", "--run-name=soak", "--runs-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 * (MINUTES + 15))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "soak/metrics.jsonl").read_text().splitlines()]
    rows = [row for row in rows if "health/rss_mb" in row]
    assert len(rows) >= 6, "too few updates to judge"
    memory = np.array([row["health/rss_mb"] for row in rows])
    assert memory.max() < LIMIT_MB
    # The first updates compile, and the first checkpoints allocate what later ones use again.
    settled = slice(len(rows) // 3, None)
    steps = np.array([row["step"] for row in rows])[settled]
    seconds = np.cumsum([32768 / row["speed/steps_per_second"] for row in rows])[settled]
    slope = np.polyfit(seconds / 60, memory[settled], 1)[0]
    assert slope < GROWTH_MB_PER_MINUTE, f"{slope:.1f} MB per minute over {steps[-1] - steps[0]:,} steps: {memory}"
