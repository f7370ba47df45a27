"""What the tests of documents share: commands that say what they would train instead of training it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jimbot.training import run as training_run
from jimbot.training.settings.record import TrainSettings

STOP = training_run.Outcome("run", 0, Path(), {}, None)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[TrainSettings]:
    """What `jimbot train` would have trained."""
    monkeypatch.chdir(tmp_path)
    found: list[TrainSettings] = []
    monkeypatch.setattr(training_run, "run_training", lambda settings, *_, **__: found.append(settings) or STOP)
    return found
