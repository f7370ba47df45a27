"""Runs, evaluations and games as events on a bus.

A publisher takes what it is offered at once or drops it, and never raises: whether a bus is there, slow or dead makes
no difference to the process that trains or plays. Training and `jimbot evaluate` find this module as entry points.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.proto.events_pb2 import GameActionEvent, GameResultEvent, GameStateEvent, MetricEvent, RunEvent
from jimbot.runs.sinks.contract import Sink
from jimbot.services.bus.publisher import BackgroundPublisher, open_publisher

if TYPE_CHECKING:
    from jimbot.evaluation.summary import Evaluation
    from jimbot.runs.alerts import Alert

TRAIN = "metrics.train"
ALERT = "alert"
"""The kind of run.event that carries one; `path` is its runbook entry."""


def open_sink(address: str, run: str, game: str) -> BusSink:
    """The sink of a run that was given the address of a bus."""
    return BusSink(open_publisher(address), run, game)


def publish_results(address: str, evaluation: Evaluation, policy: str) -> None:
    """One `game.result` per game, and one `run.event` with the means."""
    publisher = open_publisher(address)
    games = evaluation.games
    spec = game_entry(games.game).spec
    for number, seed in enumerate(games.seeds.tolist()):
        result = GameResultEvent(
            game=games.game,
            game_version=spec.version,
            game_id=f"{policy} {seed}",
            steps=int(games.lengths[number]),
            total_return=float(games.returns[number]),
            terminated=not (games.truncated[number] or games.unfinished[number]),
            seed=str(seed),
        )
        if not games.unfinished[number]:
            result.stats.update(zip(spec.episode_stats, games.stats[number].tolist(), strict=True))
        publisher.offer("game.result", result, result.game_id)
    finished = games.stats[~games.unfinished]
    values = {"return": float(games.returns.mean()), "games": float(len(games.seeds))}
    if len(finished):
        values |= dict(zip(spec.episode_stats, np.mean(finished, axis=0).tolist(), strict=True))
    publisher.offer("run.event", RunEvent(run=policy, kind="evaluated", game=games.game, values=values), policy)
    publisher.close()


class BusSink(Sink):
    """A run's rows, sentences and checkpoints on a bus."""

    name = "bus"

    def __init__(self, publisher: BackgroundPublisher, run: str, game: str) -> None:
        self._publisher, self._run, self._game = publisher, run, game

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        values = {name: value for name, value in metrics.items() if math.isfinite(value)}
        self._publisher.offer(TRAIN, MetricEvent(run=self._run, step=step, values=values), self._run)
        self._notify("progress", step)

    def event(self, step: int, time: float, text: str) -> None:
        self._notify("event", step, message=text)

    def alert(self, step: int, time: float, alert: Alert) -> None:
        self._notify(ALERT, step, message=alert.text, path=alert.rule.runbook)

    def checkpoint(self, step: int, path: Path, is_best: bool) -> None:
        self._notify("best" if is_best else "checkpoint", step, path=str(path))

    def close(self) -> None:
        self._notify("closed", 0)
        self._publisher.close()

    def _notify(self, kind: str, step: int, **rest: Any) -> None:
        event = RunEvent(run=self._run, kind=kind, step=step, game=self._game, **rest)
        self._publisher.offer("run.event", event, self._run)


class WatchedGames:
    """Games that are published as they are played, one after the other."""

    def __init__(self, address: str) -> None:
        self._publisher = open_publisher(address)

    def game(self, game: BatchGame, seed: str, policy: str) -> GamePublisher:
        return GamePublisher(self._publisher, game, seed, policy)

    def close(self) -> None:
        self._publisher.close()


class GamePublisher:
    """One game of one row, published as it is played: the state before each action, the action, the result."""

    def __init__(self, publisher: BackgroundPublisher, game: BatchGame, seed: str, policy: str, row: int = 0) -> None:
        self._publisher, self._game, self._seed, self._policy, self._row = publisher, game, seed, policy, row
        self.game_id = uuid.uuid4().hex
        self._step, self._return = 0, 0.0

    def before(self, action: int) -> None:
        """What is seen, and what will be done in it."""
        game, row = self._game, self._row
        state = GameStateEvent(step=self._step, seed=self._seed, **self._common())
        state.state.observation.values = np.asarray(game.observation[row], "<f4").tobytes()
        state.state.observation.legal_mask = np.packbits(game.legal_mask[row], bitorder="little").tobytes()
        self._publisher.offer("game.state", state, self.game_id)
        self._action = action

    def after(self) -> None:
        """What it brought; the result, if the game is over."""
        game, row = self._game, self._row
        reward = float(game.reward[row])
        self._return += reward
        done = GameActionEvent(step=self._step, reward=reward, **self._common())
        done.action.number, done.action.label = self._action, game.spec.actions.label(self._action)
        done.policy.name = self._policy
        done.reward_terms.update(zip(game.spec.reward_terms, map(float, game.reward_terms[row]), strict=True))
        self._publisher.offer("game.event", done, self.game_id)
        self._step += 1
        if game.terminated[row] or game.truncated[row]:
            result = GameResultEvent(
                steps=self._step, total_return=self._return, terminated=bool(game.terminated[row]), seed=self._seed,
                **self._common(),
            )  # fmt: skip
            result.stats.update(zip(game.spec.episode_stats, map(float, game.final_stats[row]), strict=True))
            self._publisher.offer("game.result", result, self.game_id)

    def _common(self) -> dict[str, Any]:
        spec = self._game.spec
        return {"game": spec.id, "game_version": spec.version, "game_id": self.game_id}
