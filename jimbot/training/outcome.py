"""What a call of training (`run`, `population.run`) gives back: what it left behind, and the verdict on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jimbot.training.session.session import Session
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.evaluation import Evaluation


class Outcome(NamedTuple):
    """What a call of `run_training` leaves behind."""

    run: str
    step: int
    checkpoint: Path | None
    """None: its learner has no policy that could be written down."""
    metrics: dict[str, float]
    evaluation: Evaluation | None


def judge(settings: TrainSettings, checkpoint: Path, session: Session) -> Evaluation:
    """The finished policy on held-out seeds, from its checkpoint, as any user would judge it."""
    from jimbot.evaluation import evaluate

    games, options = settings.judging.eval_games, settings.game_options
    with session.view.counting("judging") as progress:
        return evaluate(str(checkpoint), games=games, options=options, progress=progress)
