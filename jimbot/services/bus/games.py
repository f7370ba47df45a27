"""Games put together again from the events of the bus: states, actions, results.

Events may come twice; a game of which something is missing, or that does not fit the game as it is here, is left out
and its reason counted. Games whose end has not come yet wait, up to `MOST_OPEN` of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from jimbot.errors import UsageError
from jimbot.games.contract import GameEntry
from jimbot.games.hooks.programs import PlayedGame
from jimbot.proto.events_pb2 import Event, GameActionEvent, GameResultEvent, GameStateEvent
from jimbot.proto.topics import check_event
from jimbot.services.decision.refusal import RefusedError
from jimbot.services.decision.states import StateReader

TOPICS = ("game.*",)
KINDS = {"game.state": GameStateEvent, "game.event": GameActionEvent, "game.result": GameResultEvent}
MOST_OPEN = 10_000
MOST_STEPS = 100_000  # of one game; a longer one is nobody's
NO_END = "their end never came"


@dataclass
class _OpenGame:
    first: int  # place in the log of its first event
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
        self._ended: OrderedDict[int, None] = OrderedDict()

    @property
    def unfinished(self) -> int:
        return len(self._open)

    @property
    def first_open(self) -> int | None:
        """Place in the log of the first event of the games whose end has not come."""
        return min((game.first for game in self._open.values()), default=None)

    @property
    def ended(self) -> Iterable[int]:
        """Which games are over, the newest ones: what comes of them again is passed over."""
        return self._ended

    def remember(self, ended: Iterable[int]) -> None:
        """These games are over."""
        self._ended.update(dict.fromkeys(ended))

    def forget_open(self) -> None:
        self._open.clear()

    def give_up_before(self, place: int) -> None:
        """Leaves out games that began before a place in the log and have not ended."""
        for key in [key for key, game in self._open.items() if game.first < place]:
            del self._open[key]
            self._leave(NO_END)

    def take(self, event: Event, place: int = 0, known: bool = False) -> PlayedGame | None:
        """The game that this event ends, if it does and the game is whole. `known`: whatever ends here was taken in an
        earlier life, and only games that go on matter."""
        try:
            check_event(event)
            message: Any = KINDS[event.topic]()
            event.payload.Unpack(message)
        except (UsageError, KeyError, DecodeError):
            return self._leave("an event is none of its topic")
        key = (message.game_id, message.player)
        if message.game != self.spec.id or (number := _number(key)) in self._ended:
            return None
        game = self._open.setdefault(key, _OpenGame(place))
        if isinstance(message, GameStateEvent):
            game.states.setdefault(message.step, message.state)
        elif isinstance(message, GameActionEvent):
            game.actions.setdefault(message.step, message)
        else:
            del self._open[key]
            self._end(number)
            return None if known else self._whole(game, message)
        if max(len(game.states), len(game.actions)) > MOST_STEPS:
            del self._open[key]
            self._end(number)
            return self._leave("they are too long")
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
            self._leave(NO_END)
        return None

    def close(self) -> None:
        self._reader.close()

    def _end(self, number: int) -> None:
        self._ended[number] = None
        while len(self._ended) > MOST_OPEN:
            self._ended.popitem(last=False)

    def _whole(self, game: _OpenGame, result: GameResultEvent) -> PlayedGame | None:
        if result.game_version not in (0, self.spec.version):
            return self._leave(f"they are of version {result.game_version}, here it is {self.spec.version}")
        steps = sorted(game.actions)
        whole = steps == list(range(len(steps))) and len(steps) == (result.steps or len(steps))
        if not steps or not whole or set(game.states) != set(steps):
            return self._leave("states or actions are missing")
        try:
            sights = [self._reader.read(game.states[step]) for step in steps]
        except RefusedError as refusal:
            return self._leave(str(refusal))
        actions = np.array([game.actions[step].action.number for step in steps], np.int32)
        legal = np.stack([sight.legal_mask for sight in sights])
        if (actions >= self.spec.actions.size).any() or not legal[np.arange(len(steps)), actions].all():
            return self._leave("they hold an action that was not legal")
        reward = np.array([game.actions[step].reward for step in steps], np.float32)
        stats = np.array([result.stats.get(name, 0.0) for name in self.spec.episode_stats], np.float32)
        told = [[game.actions[step].reward_terms.get(name, 0.0) for name in self.spec.reward_terms] for step in steps]
        terms = np.array(told, np.float64).sum(axis=0)
        if not all(np.isfinite(values).all() for values in (reward, stats, terms, result.total_return)):
            return self._leave("their rewards or statistics are no finite numbers")
        self.policies[game.actions[steps[0]].policy.name or "unnamed"] += 1
        return PlayedGame(
            observation=np.stack([sight.observation for sight in sights]).astype(np.float32),
            legal_mask=legal,
            action=actions,
            reward=reward,
            stats=stats,
            total_return=result.total_return,
            terminated=result.terminated,
            seed=int(result.seed[:20]) % 2**64 if result.seed[:20].isdecimal() else 0,
            reward_terms=np.asarray(terms),
        )

    def _leave(self, reason: str) -> None:
        self.left_out[reason] += 1


def _number(key: tuple[str, int]) -> int:
    """A game in 64 bits: so many may be remembered, whatever they are called."""
    return int.from_bytes(hashlib.blake2b(f"{key[1]} {key[0]}".encode(), digest_size=8).digest(), "big")
