"""Notifying the world: metrics, checkpoints and games as events, through whoever publishes them.

This room knows messages and the shape of a publisher, nothing of buses. A publisher takes what it is offered at once or
drops it, and never raises: whether a bus is there, slow or dead makes no difference to who trains or plays.
"""

from __future__ import annotations

import importlib
import math
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jimbot.games.batch_game import BatchGame
from jimbot.runs.sinks.contract import Sink

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from jimbot.runs.alerts.rules import Alert

OPENER = "jimbot.services.bus.publisher:open_publisher"
"""Who opens a publisher for the address of a bus; loaded when one is used."""
TRAIN = "metrics.train"
ALERT = "alert"
"""The kind of run.event that carries one; `path` is its runbook entry."""


class Publisher(Protocol):
    def offer(self, topic: str, message: Message, order_key: str = "") -> object:
        """Publishes soon, or never; returns at once."""
        ...

    def close(self) -> None:
        """Gives what waits a moment, then gives it up."""
        ...


def open_publisher(address: str) -> Publisher:
    """A publisher to a bus; wrong addresses are told here, absent buses never."""
    module, _, name = OPENER.partition(":")
    return getattr(importlib.import_module(module), name)(address)


class BusSink(Sink):
    """A run's rows, sentences and checkpoints on a bus."""

    name = "bus"

    def __init__(self, publisher: Publisher, run: str, game: str) -> None:
        self._publisher, self._run, self._game = publisher, run, game

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        from jimbot.proto.events_pb2 import MetricEvent

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
        from jimbot.proto.events_pb2 import RunEvent

        event = RunEvent(run=self._run, kind=kind, step=step, game=self._game, **rest)
        self._publisher.offer("run.event", event, self._run)


class GamePublisher:
    """One game of one row, published as it is played: the state before each action, the action, the result."""

    def __init__(self, publisher: Publisher, game: BatchGame, seed: str, policy: str, row: int = 0) -> None:
        self._publisher, self._game, self._seed, self._policy, self._row = publisher, game, seed, policy, row
        self.game_id = uuid.uuid4().hex
        self._step, self._return = 0, 0.0

    def before(self, action: int) -> None:
        """What is seen, and what will be done in it."""
        from jimbot.proto.events_pb2 import GameStateEvent

        game, row = self._game, self._row
        state = GameStateEvent(step=self._step, seed=self._seed, **self._common())
        state.state.observation.values = np.asarray(game.observation[row], "<f4").tobytes()
        state.state.observation.legal_mask = np.packbits(game.legal_mask[row], bitorder="little").tobytes()
        self._publisher.offer("game.state", state, self.game_id)
        self._action = action

    def after(self) -> None:
        """What it brought; the result, if the game is over."""
        from jimbot.proto.events_pb2 import GameActionEvent, GameResultEvent

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
