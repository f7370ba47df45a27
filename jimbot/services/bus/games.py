"""Games put together again from the events of the bus: states, actions, results.

Events may come twice; a game of which something is missing, or that does not fit the game as it is here, is left out
and its reason counted. Games whose end has not come yet wait, up to `MOST_OPEN` of them.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jimbot.games.contract import GameEntry
from jimbot.games.hooks.programs import PlayedGame
from jimbot.proto.events_pb2 import Event, GameActionEvent, GameResultEvent, GameStateEvent
from jimbot.services.decision.refusal import RefusedError
from jimbot.services.decision.states import StateReader

TOPICS = ("game.*",)
MOST_OPEN = 10_000


@dataclass
class _OpenGame:
    states: dict[int, Any] = field(default_factory=dict)
    actions: dict[int, GameActionEvent] = field(default_factory=dict)


class PublishedGames:
    """Takes events one after another and gives whole games."""

    def __init__(self, entry: GameEntry, options: Mapping[str, Any]) -> None:
        self.spec = entry.spec
        self.left_out: Counter[str] = Counter()
        self.policies: Counter[str] = Counter()
        self._reader = StateReader(entry, options)
        self._open: OrderedDict[tuple[str, int], _OpenGame] = OrderedDict()
        self._over: OrderedDict[tuple[str, int], None] = OrderedDict()

    @property
    def unfinished(self) -> int:
        return len(self._open)

    def take(self, event: Event) -> PlayedGame | None:
        """The game that this event ends, if it does and the game is whole."""
        kind = {"game.state": GameStateEvent, "game.event": GameActionEvent, "game.result": GameResultEvent}
        message: Any = kind[event.topic]()
        event.payload.Unpack(message)
        key = (message.game_id, message.player)
        if message.game != self.spec.id or key in self._over:
            return None
        game = self._open.setdefault(key, _OpenGame())
        if isinstance(message, GameStateEvent):
            game.states.setdefault(message.step, message.state)
        elif isinstance(message, GameActionEvent):
            game.actions.setdefault(message.step, message)
        else:
            del self._open[key]
            self._remember(key)
            return self._whole(game, message)
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
            self.left_out["their end never came"] += 1
        return None

    def close(self) -> None:
        self._reader.close()

    def _remember(self, key: tuple[str, int]) -> None:
        self._over[key] = None
        while len(self._over) > MOST_OPEN:
            self._over.popitem(last=False)

    def _whole(self, game: _OpenGame, result: GameResultEvent) -> PlayedGame | None:
        if result.game_version not in (0, self.spec.version):
            return self._leave(f"they are of version {result.game_version}, here it is {self.spec.version}")
        steps = sorted(game.actions)
        if not steps or set(game.states) != set(steps) or len(steps) != (result.steps or len(steps)):
            return self._leave("states or actions are missing")
        try:
            sights = [self._reader.read(game.states[step]) for step in steps]
        except RefusedError as refusal:
            return self._leave(str(refusal))
        actions = np.array([game.actions[step].action.number for step in steps], np.int32)
        legal = np.stack([sight.legal_mask for sight in sights])
        if (actions >= self.spec.actions.size).any() or not legal[np.arange(len(steps)), actions].all():
            return self._leave("they hold an action that was not legal")
        self.policies[game.actions[steps[0]].policy.name or "unnamed"] += 1
        return PlayedGame(
            observation=np.stack([sight.observation for sight in sights]).astype(np.float32),
            legal_mask=legal,
            action=actions,
            reward=np.array([game.actions[step].reward for step in steps], np.float32),
            stats=np.array([result.stats.get(name, 0.0) for name in self.spec.episode_stats], np.float32),
            total_return=result.total_return,
            terminated=result.terminated,
            seed=int(result.seed) % 2**64 if result.seed.isdecimal() else 0,
        )

    def _leave(self, reason: str) -> None:
        self.left_out[reason] += 1
