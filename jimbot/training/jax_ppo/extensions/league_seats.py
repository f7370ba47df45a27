"""A league: in games of several players some rows are played by others (`training.league`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from jimbot.games.contract import BatchGame
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Array
from jimbot.training.session.session import JUDGED_RETURN
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
    from jimbot.training.league import Seats

JUDGED_GAMES = 100  # after a checkpoint, which they may make the best


class LeagueSeats(Extension):
    """`league`, `league_members` and `past_interval`."""

    name, needs_host = "league", True

    seats: Seats | None = None
    """None where the game has one row after all."""

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.plays_league

    def open(self, trainer: JaxPPOTrainer) -> None:
        from jimbot.training.league import Seats, open_league

        league = open_league(self.settings, trainer.session.run.root)
        if isinstance(trainer.game, BatchGame) and trainer.spec.players > 1:
            self.seats = Seats(trainer.game, league, self.settings.seed)
            trainer.session.judge_by(JUDGED_RETURN)  # as the league gets stronger, a better policy may score less

    def before_acting(self, collector: HostCollector, turn: int, rows: np.ndarray) -> None:
        if self.seats is not None:
            collector.counts[turn, rows] = ~self.seats.others[rows]

    def override(self, collector: HostCollector, turn: int, rows: np.ndarray) -> None:
        if self.seats is not None:
            self.seats.act(rows, collector.action[turn])

    def after_step(self, collector: HostCollector, turn: int, rows: np.ndarray) -> None:
        if self.seats is not None:
            self.seats.after(rows)

    def updated(self, trainer: JaxPPOTrainer, update: int, losses: Mapping[str, Array]) -> None:
        if self.seats is not None and update % self.settings.league.past_interval == 0:
            from jimbot.training.league import past_self

            self.seats.league.add(past_self(update, trainer.policy_onnx()))

    def metrics(self) -> dict[str, float]:
        return {} if self.seats is None else self.seats.league.metrics()

    def arrays(self, games: int | None) -> dict[str, np.ndarray]:
        from jimbot.training.league import league_state

        return {} if self.seats is None else league_state(self.seats, games)

    def restore(self, arrays: Mapping[str, np.ndarray], update: int) -> None:
        from jimbot.training.league import restore_league

        if self.seats is not None:
            restore_league(self.seats, arrays, self.settings.game)

    def saved(self, trainer: JaxPPOTrainer) -> None:
        """What is saved is judged by games against the game's own opponents, unless it just was."""
        session = trainer.session
        if self.seats is not None and not session.judged(trainer.step):
            with session.evaluating():
                session.evaluated(trainer.step, *trainer.evaluate(JUDGED_GAMES, bank="validation"))
