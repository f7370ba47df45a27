"""A recorded game as its decisions: where each stood, which move was made, what could have been made.

A move may take several actions (in Balatro, more cards than the table of subsets knows are chosen first, then played).
It is one decision; its last action is taken where those before it led, so that simulations can begin there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jimbot.errors import IllegalActionError, TranscriptError
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.games.hooks.people import RecordedGame
from jimbot.games.narration import ended_in_words
from jimbot.games.scenes import Scene, scene_of
from jimbot.planning.planner import SnapshotGame

MOST_MOVES = 5_000


@dataclass(frozen=True)
class Move:
    """One decision of a game."""

    words: str
    actions: tuple[int, ...]
    kind: str
    """Of which kind the game's table of plans says it is."""
    legal: int
    """How many actions were possible."""


class GamePositions:
    """All decisions of a game, as a batch with one row each, and one more for each move of several actions.

    `rows[i]` is where move i was decided, `last_rows[i]` where its last action was taken.
    """

    def __init__(self, recorded: RecordedGame, options: Mapping[str, Any]) -> None:
        self.recorded = recorded
        self.game = recorded.game
        self.entry = game_entry(self.game)
        self.moves: list[Move] = []
        self.scenes: list[Scene | None] = []
        self.rows: list[int] = []
        self.last_rows: list[int] = []
        self.won: bool | None = None
        """None: the game is not over."""
        self.ending = ""
        self._snapshots: list[Mapping[str, np.ndarray]] = []
        self._observations: list[np.ndarray] = []
        self._masks: list[np.ndarray] = []
        table = recorded.opened(options)
        self.options = table.options
        try:
            self._play(table)
        finally:
            table.close()
        self.batch: BatchGame = SnapshotGame(self.game, self.options).stand(
            self._snapshots, np.stack(self._observations), np.stack(self._masks)
        )
        self.batch.num_envs = len(self._snapshots)

    def _play(self, table: BatchGame) -> None:
        plans = self.entry.plans
        for number, actions in enumerate(self.recorded.moves(), 1):
            if self.won is not None or number > MOST_MOVES:
                raise TranscriptError(f"The recorded game goes on after its end, at move {number}; it was changed.")
            kind = ""
            if plans is not None:
                kind = plans.kinds[int(plans.find(table.observation[:1], table.legal_mask[:1])[0])]
            legal = int(table.legal_mask[0].sum())
            self.rows.append(self._keep(table))
            self.scenes.append(scene_of(self.entry, table))
            words = ""
            for place, action in enumerate(actions):
                if not table.legal_mask[0, action]:
                    label = table.spec.actions.label(action)
                    raise IllegalActionError(f"Move {number} of the recording, '{label}', is not possible there.")
                if place and place == len(actions) - 1:
                    self.last_rows.append(self._keep(table))
                words = table.describe_action(0, action)
                table.step(np.array([action]))
            if len(actions) == 1:
                self.last_rows.append(self.rows[-1])
            self.moves.append(Move(words, tuple(actions), kind, legal))
            if table.terminated[0] or table.truncated[0]:
                stats = table.spec.episode_stats
                self.won = "won" in stats and bool(table.final_stats[0, stats.index("won")] > 0)
                self.ending = ended_in_words(self.entry, table)
                board = table.final_board(0)
                self.scenes.append(None if board is None else scene_of(self.entry, board))
        if not self.moves:
            raise TranscriptError("The recorded game has no moves; there is nothing to review.")
        if self.won is None:
            self.scenes.append(scene_of(self.entry, table))
            self.end_row: int | None = self._keep(table)
        else:
            self.end_row = None

    def _keep(self, table: BatchGame) -> int:
        self._snapshots.append(table.snapshot())
        self._observations.append(table.observation[0].copy())
        self._masks.append(table.legal_mask[0].copy())
        return len(self._snapshots) - 1

    def table(self, move: int) -> BatchGame:
        """A batch of one game where move `move` (from 0) is decided; the caller closes it."""
        table = self.entry.make(1, seed=0, options=self.options, checked=True)
        table.reset()
        table.restore(self._snapshots[self.rows[move]])
        return table
