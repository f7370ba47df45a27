"""Games that begin in the middle: where earlier games of the same batch came to an ante or a stage.

What happens late in a game is seen by the few games that come so far, and is learned last. Here a share of the new
games begins at such a place, with everything hidden dealt anew, so that no luck is played twice. Places are kept by
milestone, the newest of each, and all milestones are as likely: the last ones are the ones to learn. Whoever judges
play must not count such games (`BatchGame.whole`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.games.contract import BatchGame
from jimbot.training.curriculum.around import AroundGame
from jimbot.training.curriculum.game import milestones_of

KEPT = 16  # places per milestone
PREFIX, PLACE = "deep/", "deep/place/"
_SHARED = "game"  # the part of a snapshot that names the game, not its rows


class DeepStartGame(AroundGame):
    """A batch of games of which a share begins deep."""

    def __init__(self, game: BatchGame, share: float) -> None:
        super().__init__(game)
        self.share = share
        self.milestones = milestones_of(game)
        self.whole = np.ones(self.num_rows, bool)
        self._deep = np.zeros(self.num_rows, bool)  # whether the game a row plays now began deep
        self._at = np.ones(self.num_rows, np.int64)  # the milestone each row works on
        self._begun = 0  # games that were to begin; luck follows from it
        self._places: dict[int, list[dict[str, np.ndarray]]] = {}  # by milestone, the newest last

    def reset(self, seeds: np.ndarray | None = None) -> None:
        super().reset(seeds)
        self._deep[:] = False
        self._at[:] = self.milestones.reached(self.game)

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        super().step(actions, hold)
        moved = np.ones(self.num_rows, bool) if hold is None else ~np.asarray(hold, bool)
        ended = (self.terminated | self.truncated) & moved
        self.whole = ~self._deep
        reached = self.milestones.reached(self.game)
        for row in np.flatnonzero((reached > self._at) & moved & ~ended):
            self._keep(int(row), int(reached[row]))
        self._at = np.where(moved, reached, self._at)
        self._deep &= ~ended
        for row in np.flatnonzero(ended):
            self._begin(int(row))

    def _keep(self, row: int, milestone: int) -> None:
        places = self._places.setdefault(milestone, [])
        places.append(self.game.snapshot(np.array([row])))
        del places[:-KEPT]

    def _begin(self, row: int) -> None:
        """A game that has just begun goes on from a place instead, with the share's luck."""
        luck = np.random.default_rng([self.seed, self._begun])
        self._begun += 1
        if not self._places or luck.random() >= self.share:
            return
        milestones = sorted(self._places)
        places = self._places[milestones[luck.integers(len(milestones))]]
        chosen, rows = places[luck.integers(len(places))], np.array([row])
        own = self.game.snapshot(rows)
        self.game.restore(chosen | {name: own[name] for name in self.milestones.streams}, rows)
        self.game.redraw_hidden(rows, luck.integers(2**63, size=1, dtype=np.uint64))
        self._deep[row], self._at[row] = True, self.milestones.reached(self.game)[row]

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """All of it; of chosen rows only the games, as the places belong to the whole batch."""
        saved = self.game.snapshot(rows)
        if rows is not None:
            return saved
        kept = [(milestone, place) for milestone, places in self._places.items() for place in places]
        saved |= {PREFIX + "deep": self._deep.copy(), PREFIX + "at": self._at.copy()}
        saved |= {PREFIX + "begun": np.array(self._begun), PREFIX + "of": np.array([one for one, _ in kept], np.int64)}
        for name in kept[0][1] if kept else ():
            if name != _SHARED:
                saved[PLACE + name] = np.concatenate([place[name] for _, place in kept])
        return saved

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        self.game.restore({name: part for name, part in snapshot.items() if not name.startswith(PREFIX)}, rows)
        if rows is not None:
            return
        self._deep, self._at = snapshot[PREFIX + "deep"].copy(), snapshot[PREFIX + "at"].copy()
        self._begun, self._places = int(snapshot[PREFIX + "begun"]), {}
        parts = {name.removeprefix(PLACE): part for name, part in snapshot.items() if name.startswith(PLACE)}
        for number, milestone in enumerate(snapshot[PREFIX + "of"].tolist()):
            place: dict[str, Any] = {name: part[number : number + 1].copy() for name, part in parts.items()}
            self._places.setdefault(milestone, []).append({_SHARED: snapshot[_SHARED], **place})
