"""What a report tells about HackMatrix: programs taken and used, siphons, what stages cost, and what games die of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from jimbot.games.contract import BatchGame
from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.sight import MANHATTAN, BoardSight
from jimbot.games.narration import Event

TOPICS = {
    "taken": "Programs taken from blocks",
    "used": "Programs used",
    "siphons": "Siphons used, by stage",
    "steps": "Steps, by stage",
    "owned": "Programs owned when a stage begins",
    "deaths": "What games die of",
    "killers": "Enemies beside the player at the end",
}


class HackMatrixDiary:
    """The diary of a batch; all of it is read from what the player sees."""

    topics: Mapping[str, str] = TOPICS

    def __init__(self, game: BatchGame) -> None:
        self._game = game
        self.begin()

    def begin(self) -> None:
        self._before: BoardSight | None = None

    def before(self, actions: np.ndarray, live: np.ndarray) -> list[Event]:
        now, last = BoardSight(self._game.observation), self._before
        events = []
        for row in np.flatnonzero(live).tolist():
            stage, action = int(now.stage[row]), int(actions[row])
            events.append(Event(row, "steps", f"stage {stage}"))
            if last is None or now.stage[row] != last.stage[row]:
                events.append(Event(row, "owned", f"stage {stage}: {int(now.owned[row].sum())}"))
            if last is not None:
                taken = now.owned[row] & ~last.owned[row]
                events += [Event(row, "taken", spec.PROGRAM_NAMES[i], stage) for i in np.flatnonzero(taken)]
            if action >= spec.FIRST_PROGRAM:
                events.append(Event(row, "used", spec.PROGRAM_NAMES[action - spec.FIRST_PROGRAM], stage))
            elif action == spec.SIPHON:
                events.append(Event(row, "siphons", f"stage {stage}"))
        self._before = now
        return events

    def ended(self, rows: np.ndarray) -> list[Event]:
        before, last = cast(BoardSight, self._before), BoardSight(self._game.final_observation)
        events = []
        for row in rows.tolist():
            if last.hp[row] > 0:
                continue
            stage, lost = float(last.stage[row]), int(before.hp[row])
            events.append(Event(row, "deaths", f"{lost} HP lost in one turn", stage))
            beside = MANHATTAN[last.player[row]] == 1
            for number, name in enumerate(spec.ENEMY_NAMES):
                events += [Event(row, "killers", name, stage)] * int((last.kind(number)[row] & beside).sum())
        return events
