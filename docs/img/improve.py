"""Draws improve.png: expert iteration and PPO on HackMatrix from the same start, by minutes of training.

python docs/img/improve.py PPO_RUN IMPROVE_RUN    (both with --eval-interval; commands: docs/learners/improve.md)
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

from jimbot.reading.plain import json_value

HERE = Path(__file__).parent
JUDGED = "eval/mean_return"


def curve(run: Path) -> tuple[list[float], list[float]]:
    """(minutes since the first row, return on validation games) wherever a run was judged anew."""
    rows = [json_value(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    began, minutes, returns = rows[0]["time"], [], []
    for row in rows:
        if JUDGED in row and (not returns or row[JUDGED] != returns[-1]):
            minutes.append((row["time"] - began) / 60)
            returns.append(row[JUDGED])
    return minutes, returns


def main(ppo: str, improve: str) -> None:
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for label, run in (("PPO", ppo), ("expert iteration", improve)):
        axes.plot(*curve(Path(run)), marker="o", markersize=3, label=label)
    axes.set_xlabel("minutes of training, beside other work")
    axes.set_ylabel("return on validation games (reward=wins)")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "improve.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
