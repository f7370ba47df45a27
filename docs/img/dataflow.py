"""Draws dataflow.svg: what flows where in one step, one update, one decision and one checkpoint.

python docs/img/dataflow.py    (each box names the file in which it happens; tests/docs looks that they exist)
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

Box = tuple[str, str]  # what happens, the file below jimbot/ in which it does
LANES: dict[str, list[Box]] = {
    "one step": [
        ("N games: observation\nand legal mask", "games/batch_game.py"),
        ("network: logits, value", "policies/forward.py"),
        ("masked draw:\nN legal actions", "policies/masking.py"),
        ("rules: reward,\nterminated, truncated", "games/functional.py"),
        ("what ended restarts\non a seed to train on", "games/seeds.py"),
    ],
    "one update": [
        ("rollout of T steps", "training/jax_ppo/ppo.py"),
        ("advantages", "training/jax_ppo/ppo.py"),
        ("what counts\nas a flat batch", "training/jax_ppo/records.py"),
        ("terms of the loss,\nepochs of minibatches", "training/jax_ppo/extension.py"),
        ("new parameters,\nlog row, health", "training/session/session.py"),
    ],
    "one decision": [
        ("a name: run, file,\ngame, player", "policies/players.py"),
        ("policy.onnx,\nread guardedly", "reading/models.py"),
        ("log-probabilities\nand value", "policies/portable.py"),
        ("best legal action,\nor a plan", "planning/planner.py"),
        ("the action in words", "games/spec.py"),
    ],
    "one checkpoint": [
        ("parameters, optimiser,\ngames, generators", "training/jax_ppo/program.py"),
        ("plain named arrays\nand a manifest", "runs/manifest.py"),
        ("the network as ONNX", "policies/onnx_form.py"),
        ("temporary name,\nsync, rename", "runs/files.py"),
        ("latest, best,\nold ones pruned", "runs/checkpoint.py"),
    ],
}
WIDTH, HEIGHT, GAP, LANE = 2.5, 0.95, 0.55, 1.45
COLOURS = ["#dbeafe", "#dcfce7", "#fef3c7", "#fae8ff"]


def draw(path: Path) -> None:
    columns = max(map(len, LANES.values()))
    figure, axes = plt.subplots(figsize=(1.6 + columns * (WIDTH + GAP) * 0.8, len(LANES) * LANE * 0.85))
    for row, ((title, boxes), colour) in enumerate(zip(LANES.items(), COLOURS, strict=True)):
        middle = -row * LANE
        axes.text(-0.25, middle, title, ha="right", va="center", fontsize=12, fontweight="bold")
        for column, (text, file) in enumerate(boxes):
            left = column * (WIDTH + GAP)
            shape = FancyBboxPatch(
                (left, middle - HEIGHT / 2),
                WIDTH,
                HEIGHT,
                boxstyle="round,pad=0.04",
                facecolor=colour,
                edgecolor="#475569",
            )
            axes.add_patch(shape)
            axes.text(left + WIDTH / 2, middle + 0.13, text, ha="center", va="center", fontsize=9.5)
            axes.text(left + WIDTH / 2, middle - 0.35, file, ha="center", va="center", fontsize=7, color="#334155")
            if column:
                start, end = (left - GAP + 0.06, middle), (left - 0.06, middle)
                axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=13, color="#475569"))
    axes.set_xlim(-2.1, columns * (WIDTH + GAP) - GAP + 0.15)
    axes.set_ylim(-(len(LANES) - 1) * LANE - HEIGHT * 0.7, HEIGHT * 0.7)
    axes.axis("off")
    plt.rcParams["svg.hashsalt"] = "jimbot"  # the same picture is the same file
    figure.savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
