"""Reads battles that are played elsewhere, on a server or in a log, into rows like the simulator's own.

A simulator process does the reading (node/shadow.js) with the code that writes the rows of live battles, so a policy
sees on a server exactly what it was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jimbot.games.vgc import fields, orders
from jimbot.games.vgc import teams as team_files
from jimbot.games.vgc.options import Options
from jimbot.games.vgc.pool import Pool, settings_of


class Asked(NamedTuple):
    """What a request means."""

    observation: np.ndarray  # (D,) float32
    legal_mask: np.ndarray  # (A,) bool
    choices: dict[int, str]
    """Legal action → the words the server reads."""


class Reader:
    """Any number of battles by name. Not for several threads at once."""

    def __init__(self, options: Options = Options()) -> None:
        self.options = options
        self._scales = fields.scales()
        self.pool = Pool(settings_of(options), 1, options.deadline)

    def read(self, battle: str, lines: Sequence[str], request: Mapping[str, Any] | None = None) -> Asked | None:
        """Takes note of new lines; with a request that asks for a choice, what it means."""
        found = self.pool.ask({"what": "shadow", "id": battle, "lines": list(lines), "request": request})
        if found is None or not found["legal"]:
            return None
        legal = np.zeros(orders.ACTIONS, bool)
        legal[found["legal"]] = True
        observation = np.array(found["row"], np.float32) * self._scales
        return Asked(observation, legal, dict(zip(found["legal"], found["choices"], strict=True)))

    def forget(self, battle: str) -> None:
        self.pool.ask({"what": "shadow", "id": battle, "forget": True})

    def replay(self, inputs: Sequence[str], open_team_sheets: bool) -> list[str]:
        """Plays a battle again from a server's input log; its lines with the secrets of both sides.

        The input log does not tell whether team sheets were open.
        """
        question = {"what": "replay", "inputs": list(inputs), "sheets": open_team_sheets}
        return self.pool.ask(question)["lines"]

    def approved_teams(self, texts: list[str], source: str) -> list[str]:
        """Teams packed, each approved by the simulator's validator."""
        return team_files.check_teams(self.pool.ask, texts, source, self.options.format_id)

    def close(self) -> None:
        self.pool.close()
