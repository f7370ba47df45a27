"""Label sets: what was not seen is learned from all the choices it may have been."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import DatasetError
from jimbot.games.contract import game_entry
from jimbot.training.imitation.clone import clone, clone_settings
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.imitation.played import write_replays
from tests.training.imitation.teachers import record_perfect

SPEC = game_entry("probe").spec
SMALL = {"hidden_dim": 32, "batch_size": 64, "lr": 1e-2, "epochs": 8, "run_name": "c", "save_interval_minutes": 60}


@dataclass(frozen=True)
class Side:
    observation: np.ndarray
    legal_mask: np.ndarray
    labels: np.ndarray
    result: int
    stats: np.ndarray


@dataclass(frozen=True)
class Game:
    sides: tuple[Side, Side]
    over: bool = True
    unexplained: int = 0


def games(recorded: Path, false_labels: int) -> Iterator[tuple[Path, Game | Exception]]:
    """The games of a recording in pairs, every choice among others that are drawn at random."""
    rng = np.random.default_rng(0)
    sides = []
    with Dataset.open(recorded) as dataset:
        for number in range(len(dataset.info.chunks)):
            chunk = dataset.chunk(number)
            for trajectory in np.unique(dataset.trajectory[chunk.rows]):
                mine = dataset.trajectory[chunk.rows] == trajectory
                legal = chunk.legal_mask[mine]
                labels = np.eye(SPEC.actions.size, dtype=bool)[chunk.action[mine]]
                for _ in range(false_labels):
                    labels |= np.eye(SPEC.actions.size, dtype=bool)[rng.integers(SPEC.actions.size, size=len(labels))]
                stats = np.zeros(len(SPEC.episode_stats), np.float32)
                sides.append(Side(chunk.observation[mine], legal, labels & legal, 1, stats))
    for one, two in zip(sides[::2], sides[1::2], strict=True):
        yield Path("game"), Game((one, two))


def test_a_clone_learns_from_sets_what_was_chosen(tmp_path: Path) -> None:
    recorded = record_perfect(tmp_path, games=128)[0]
    made = write_replays(SPEC, games(recorded, false_labels=1), tmp_path / "sets.npz")
    assert made.info.labels
    assert 0 < made.sure < made.info.rows
    with Dataset.open(tmp_path / "sets.npz") as dataset:
        chunk = dataset.chunk(0)
        assert chunk.labels is not None
        assert chunk.labels[np.arange(len(chunk.action)), chunk.action].all()
        assert not (chunk.labels & ~chunk.legal_mask).any()
    outcome = clone(clone_settings(tmp_path / "sets.npz", SMALL), tmp_path, quiet=True)
    assert outcome.metrics["clone/validation_accuracy"] > 0.99
    assert outcome.metrics["clone/validation_policy_loss"] < 0.1, "it found what the sets have in common"


def test_files_that_could_not_be_used_are_told(tmp_path: Path) -> None:
    recorded = record_perfect(tmp_path, games=8)[0]
    broken = [(Path("a"), DatasetError("no battle")), (Path("b"), DatasetError("no battle"))]
    made = write_replays(SPEC, [*games(recorded, 0), *broken], tmp_path / "some.npz")
    assert made.skipped == {"no battle": 2}
    with pytest.raises(DatasetError, match="no battle"):
        write_replays(SPEC, broken, tmp_path / "none.npz")
    assert not (tmp_path / "none.npz").exists()
