"""A game written down as the list of its actions, by name: it plays again exactly, since all luck is in the seed.

For any game that restarts from a seed. Balatro has its own, richer form (`balatro/transcript.py`), which knows moves
instead of actions of a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from jimbot.errors import TranscriptError
from jimbot.games.contract import BatchGame, game_entry, make

FORMAT = "jimbot-game-recording"
FORMAT_VERSION = 1
_KINDS = {"game": str, "game_version": int, "seed": int, "options": dict, "actions": list, "total_return": int | float}


@dataclass
class Recording:
    """One game of one player from its first move on."""

    game: str
    game_version: int
    seed: int
    options: dict[str, Any] = field(default_factory=dict)
    actions: list[str] = field(default_factory=list)
    """Labels of the game's action table."""
    total_return: float = 0.0
    """Proves that a replay came where the game did."""

    def to_json(self) -> str:
        document = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_document(cls, document: Mapping[str, Any], name: str = "The recording") -> Recording:
        """Reads what `to_json` wrote; `name` is what a complaint calls it."""
        if document.get("format_version") != FORMAT_VERSION:
            raise TranscriptError(
                f"{name} has format_version {document.get('format_version')!r}; this JimBot replays {FORMAT_VERSION}."
            )
        for what, kind in _KINDS.items():
            if not isinstance(document.get(what), kind):
                raise TranscriptError(f"{name} is damaged: '{what}' is {document.get(what)!r}.")
        spec = game_entry(document["game"]).spec
        if document["game_version"] != spec.version:
            raise TranscriptError(
                f"{name} is of version {document['game_version']} of {spec.id}; this JimBot plays {spec.version}. "
                "Use the one that wrote it."
            )
        return cls(**{what: document[what] for what in _KINDS})

    def replay(self) -> Iterator[tuple[BatchGame, int | None]]:
        """Plays the game again: (the game, the action about to be taken), before every action and, with None, at its
        end; after an action that ended the game, the game is a new one."""
        game = make(self.game, 1, options=self.options)
        labels, total = game.spec.actions, 0.0
        game.reset(np.array([self.seed], np.uint64))
        try:
            for number, label in enumerate(self.actions, 1):
                if label not in labels.labels or not game.legal_mask[0, labels.index(label)]:
                    raise TranscriptError(f"Action {number} of the recording, '{label}', is not possible there.")
                if number > 1 and (game.terminated[0] or game.truncated[0]):
                    raise TranscriptError(f"The recorded game is over after {number - 1} actions, but more follow.")
                action = labels.index(label)
                yield game, action
                game.step(np.array([action]))
                total += float(game.reward[0])
            if abs(total - self.total_return) > 1e-3 * max(1.0, abs(total)):
                raise TranscriptError(
                    f"The recording of seed {self.seed} does not end as recorded (return {total:g} instead of "
                    f"{self.total_return:g}); it was changed, or written by other rules."
                )
            yield game, None
        finally:
            game.close()
