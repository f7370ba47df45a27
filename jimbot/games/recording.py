"""Games written down: one file per game, which plays again exactly, since all randomness is in the seed.

Any game that restarts from a seed is written down as the list of its actions (`Recording`); a game whose entry has a
form of its own (`GameEntry.recording`) is written in that one. `begin_recording` and `read_recording` choose.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from jimbot.errors import TranscriptError, UnreadableError
from jimbot.games.contract import BatchGame, available_games, game_entry, make
from jimbot.games.drawing import picture
from jimbot.games.hooks.people import Moment, RecordedGame, Recorder
from jimbot.games.narration import ended_in_words
from jimbot.reading.plain import json_value

FORMAT = "jimbot-game-recording"
FORMAT_VERSION = 1
_KINDS = {"game": str, "game_version": int, "seed": int, "options": dict, "actions": list, "total_return": int | float}


def begin_recording(game: BatchGame, seed: int, options: Mapping[str, Any]) -> Recorder:
    """What writes a batch of one game down; made at its first move."""
    form = game_entry(game.spec.id).recording
    return ActionRecorder(game, seed, options) if form is None else form.begin(game)


def read_recording(text: str, name: str = "The recording") -> RecordedGame:
    """A recorded game of any form; `name` is what a complaint calls it."""
    try:
        document = json_value(text)
    except UnreadableError as problem:
        raise TranscriptError(f"{name} is damaged: {problem}; expected JSON.") from problem
    document = document if isinstance(document, dict) else {}
    if document.get("format") == FORMAT:
        return Recording.from_document(document, name)
    form = game_entry(document["game"]).recording if document.get("game") in available_games() else None
    if form is None:
        raise TranscriptError(f"{name} is no recorded game; expected a file that --record of play or watch wrote.")
    return form.read(text, name)


@dataclass
class Recording:
    """One game of one player from its first move on, as the names of its actions."""

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
            if not isinstance(document.get(what), kind) or isinstance(document[what], bool):
                raise TranscriptError(f"{name} is damaged: '{what}' is {document.get(what)!r}.")
        if not 0 <= document["seed"] < 2**64 or not math.isfinite(document["total_return"]):
            raise TranscriptError(
                f"{name} is damaged: seed {document['seed']} and total_return {document['total_return']}; expected an "
                "unsigned 64-bit number and a finite one."
            )
        if not all(isinstance(label, str) for label in document["actions"]):
            raise TranscriptError(f"{name} is damaged: 'actions' must be texts.")
        spec = game_entry(document["game"]).spec
        if document["game_version"] != spec.version:
            raise TranscriptError(
                f"{name} is of version {document['game_version']} of {spec.id}; this JimBot plays {spec.version}. "
                "Use the one that wrote it."
            )
        return cls(**{what: document[what] for what in _KINDS})

    def opened(self, options: Mapping[str, Any] = MappingProxyType({})) -> BatchGame:
        game = make(self.game, 1, options={**options, **self.options})
        game.reset(np.array([self.seed], np.uint64))
        return game

    def moves(self) -> Iterator[list[int]]:
        labels = game_entry(self.game).spec.actions
        yield from ([labels.index(label)] for label in self.actions)

    def replay(self) -> Iterator[tuple[BatchGame, int | None]]:
        """Plays the game again: (the game, the action about to be taken), before every action and, with None, at its
        end; after an action that ended the game, the game is a new one."""
        game = self.opened()
        labels, total = game.spec.actions, 0.0
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
            if not abs(total - self.total_return) <= 1e-3 * max(1.0, abs(total)):  # so put, NaN never passes
                raise TranscriptError(
                    f"The recording of seed {self.seed} does not end as recorded (return {total:g} instead of "
                    f"{self.total_return:g}); it was changed, or written by other rules."
                )
            yield game, None
        finally:
            game.close()

    # --- for people ---

    @property
    def count(self) -> int:
        return len(self.actions)

    def title(self) -> str:
        return f"{self.game}, seed {self.seed}, {self.count} moves"

    def lines(self) -> Iterator[str]:
        ended = ""
        for move in self._moves():
            gained = ", ".join(f"{name} {amount:+.2f}" for name, amount in move["reward"].items())
            yield f"{move['number']:4}  {move['words']}{': ' + gained if gained else ''}"
            ended = move.get("ended", "")
        total = f"{self.total_return:+.2f}"
        yield f"{ended} (return {total})." if ended else f"The game is not over, with a return of {total}."

    def picture(self, step: int) -> Iterator[Any]:
        entry = game_entry(self.game)
        shown: list[Any] = []
        for number, (game, action) in enumerate(self.replay()):
            if number == step:
                over = bool(number) and bool(game.terminated[0] or game.truncated[0])
                board = game.final_board(0) if over else game
                shown = [] if board is None else [picture(entry, board)]
                shown.append(
                    "the end of the recording" if action is None else f"next: {game.describe_action(0, action)}"
                )
        yield from shown

    def moments(self) -> Iterator[Moment]:
        gained: tuple[str, ...] = ()
        for number, (game, action) in enumerate(self.replay()):
            over = bool(number) and bool(game.terminated[0] or game.truncated[0])
            if number:
                terms = zip(game.spec.reward_terms, map(float, game.reward_terms[0]), strict=True)
                gained = tuple(f"{name} {amount:+.2f}" for name, amount in terms if amount)
            if over:
                board = game.final_board(0)
                ended = ended_in_words(game_entry(self.game), game)
                yield Moment(board or game, None, gained, board is None, ended)
            else:
                yield Moment(game, None if action is None else game.describe_action(0, action), gained)

    def document(self, step: int | None) -> dict[str, Any]:
        moves = self._moves()
        return {**asdict(self), "moves": moves if step is None else moves[step - 1 : step] if step else []}

    def _moves(self) -> list[dict[str, Any]]:
        """Every move with its words, what it paid and whether it ended the game."""
        moves: list[dict[str, Any]] = []
        for number, (game, action) in enumerate(self.replay(), 1):
            if moves:
                terms = zip(game.spec.reward_terms, map(float, game.reward_terms[0]), strict=True)
                moves[-1]["reward"] = {name: amount for name, amount in terms if amount}
                moves[-1]["over"] = bool(game.terminated[0] or game.truncated[0])
                if moves[-1]["over"]:
                    moves[-1]["ended"] = ended_in_words(game_entry(self.game), game)
            if action is not None:
                words = game.describe_action(0, action)
                moves.append({"number": number, "action": self.actions[number - 1], "words": words})
        return moves


class ActionRecorder:
    """Writes a game down as its actions."""

    def __init__(self, game: BatchGame, seed: int, options: Mapping[str, Any]) -> None:
        self._labels = game.spec.actions
        self._recording = Recording(game.spec.id, game.spec.version, seed, dict(options))

    def note(self, action: int) -> None:
        self._recording.actions.append(self._labels.label(action))

    def finish(self, total_return: float) -> Recording:
        self._recording.total_return = total_return
        return self._recording
