"""A turn: one run trained up to a step, judged on validation games, and put away again.

Members of a population and trials of a search are ordinary run directories that take turns. A turn opens its run,
continues exactly where its newest checkpoint is, and leaves nothing in memory, so any number of them share the memory
of one. What a turn achieved is a line in the run's `turns.jsonl`; asked for the same turn again (after a kill, or when
a whole search is replayed), that line is the answer.
"""

from __future__ import annotations

import gc
import json
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jimbot.errors import TrainingError, UnreadableError
from jimbot.games.contract import game_entry
from jimbot.reading.plain import json_value
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import make_directory, read_text, write_atomically
from jimbot.training.framework import RLTrainer, learner_class, open_trainer
from jimbot.training.session.session import Session
from jimbot.training.settings.record import TrainSettings, load_settings
from jimbot.training.trials.order import Order

TURNS = "turns.jsonl"


@dataclass(frozen=True)
class Turn:
    """What came of it. `score` is the mean return on validation games; None: learning failed, or was interrupted."""

    until: int
    step: int
    score: float | None
    seconds: float
    failure: str = ""
    interrupted: bool = False


class TurnSession(Session):
    """A session that also ends at the end of its turn, and when everybody is asked to stop."""

    until: int
    stop_file: Path

    def stop_reason(self, step: int, total_timesteps: int) -> str | None:
        if step >= self.until:
            return f"the turn to step {self.until:,} is over"
        if (asked := read_text(self.stop_file)) is not None:
            return asked or "everybody was asked to stop"
        return super().stop_reason(step, total_timesteps)


def check_settings(settings: TrainSettings) -> None:
    """Raises what the first turn would raise, before anything is started."""
    learner_class(settings)
    game_entry(settings.game).spec.parse_options(dict(settings.game_options))


def take_turn(order: Order) -> Turn:
    """Trains the run up to `order.until` and judges it."""
    if done := finished_turn(order.root / order.name, order.until):
        return done
    began = time.monotonic()
    if order.stop_file.exists():
        return Turn(order.until, 0, None, 0.0, interrupted=True)
    try:
        step, score = _train(load_settings(order.settings), order)
        failure = ""
    except TrainingError as problem:
        step, score, failure = order.until, None, str(problem)
    finally:
        gc.collect()  # the trainer's arrays go before the next turn's come
    interrupted = score is None and not failure
    turn = Turn(order.until, step, score, round(time.monotonic() - began, 3), failure, interrupted)
    if not interrupted:
        lines = [*turns_of(order.root / order.name), turn]
        write_atomically(
            order.root / order.name / TURNS, "".join(json.dumps(asdict(line)) + "\n" for line in lines).encode()
        )
    return turn


def finished_turn(folder: Path, until: int) -> Turn | None:
    """The turn to step `until`, if it was taken to its end."""
    return next((turn for turn in reversed(turns_of(folder)) if turn.until == until), None)


def turns_of(folder: Path) -> list[Turn]:
    """The finished turns of a run, in order."""
    turns = []
    for line in (read_text(folder / TURNS) or "").splitlines():
        try:
            turns.append(Turn(**json_value(line, constants=True)))
        except (UnreadableError, TypeError):
            continue
    return turns


def _train(settings: TrainSettings, order: Order) -> tuple[int, float | None]:
    """(step reached, score); no score when everybody was asked to stop before the turn was over."""
    run = RunDirectory(order.root, order.name)
    make_directory(run.path)
    # A mutation changes what a run is learning with; from here on these are its settings.
    run.write_config(settings.flat())

    def open_turn(*given: Any, **named: Any) -> TurnSession:
        session = TurnSession.open(*given, **named)
        session.until, session.stop_file = order.until, order.stop_file
        return session

    while True:
        with closing(open_trainer(settings, order.root, quiet=True, open_session=open_turn)) as trainer:
            step, score = _train_once(trainer, order)
            if not trainer.session.memory.restart_wanted:
                return step, score
            trainer.session.memory.count_restart(step)
        gc.collect()  # near the memory limit: once more from the checkpoint, with less held


def _train_once(trainer: RLTrainer, order: Order) -> tuple[int, float | None]:
    trainer.train()
    if trainer.step < min(order.until, trainer.settings.total_timesteps):
        return trainer.step, None
    return trainer.step, trainer.validate(order.games)[0]
