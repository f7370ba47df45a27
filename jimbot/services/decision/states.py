"""What a request shows of a game, in any of its forms, as an observation and a mask.

(a) the observation itself, as the game's spec lays it out; (b) a snapshot, or the state by the game's own keys; (c) a
state in the words of another program, for which a program registered a reader:

    register_state_form("my-mod/1", "balatro", read)      # read(body: bytes, options) → Sight

or which its game brings along (`GameEntry.foreign_states`).

Everything that arrives here is hostile until checked.
"""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct

from jimbot.errors import JimbotError, UnknownNameError
from jimbot.games.contract import GameEntry
from jimbot.games.hooks.programs import ReadForeign, Sight, Situation
from jimbot.games.spec import GameSpec
from jimbot.proto.events_pb2 import GameState, LearningDecisionRequest, Observation
from jimbot.runs.arrays import read_npz, write_npz
from jimbot.services.decision.refusal import RefusedError, invalid

OBSERVATION, SNAPSHOT, BY_KEYS, FOREIGN = "observation", "snapshot", "by_keys", "foreign"
_IN_WORDS = {SNAPSHOT: "snapshot", BY_KEYS: "state by keys", FOREIGN: "foreign state"}
DEEPEST, MOST_VALUES = 32, 20_000  # of a state by keys

_log = logging.getLogger("jimbot.services")
_foreign: dict[str, tuple[str, ReadForeign]] = {}


def register_state_form(form: str, game: str, read: ReadForeign) -> None:
    """Lets requests for `game` carry states of the form `form`; the last registration counts."""
    _foreign[form] = (game, read)


def state_forms(entry: GameEntry) -> list[str]:
    """What requests for a game may carry."""
    by_keys = [BY_KEYS] if entry.states is not None else []
    return [OBSERVATION, SNAPSHOT, *by_keys, *_foreign_forms(entry)]


def _foreign_forms(entry: GameEntry) -> dict[str, ReadForeign]:
    """Dialects of other programs: those the game brings along, and those registered for it, which come first."""
    registered = {form: read for form, (game, read) in _foreign.items() if game == entry.spec.id}
    return {**entry.foreign_states, **registered}


class StateReader:
    """Reads the states of one game; keeps one game to restore snapshots into."""

    def __init__(self, entry: GameEntry, options: Mapping[str, Any]) -> None:
        self.entry, self.options = entry, dict(options)
        self.spec = entry.spec.under(self.options)
        self.describes = False
        """Whether an adviser or a planner needs the situation itself, too."""
        self.warmed: set[str] = set()
        """Forms that one state was read in already."""
        self._game: Any = None
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Reads one state in each form, so that no request has to wait for what the first one loads and compiles."""
        try:
            for state in self._samples():
                self.read(state)
                self.warmed.add(str(state.WhichOneof("form")))
            if self.entry.warm_states is not None:
                self.entry.warm_states(self.entry.spec.parse_options(self.options))
                self.warmed |= set(self.entry.foreign_states)
        except Exception as problem:  # its simulator may be missing here; observations can be asked about all the same
            _log.warning("States of game '%s' could not be read beforehand: %s", self.entry.spec.id, problem)

    def _samples(self) -> list[GameState]:
        """The first state of a game in each form that is its own."""
        game = self.entry.make(1, options=self.entry.spec.parse_options(self.options))
        try:
            game.reset()
            observation, legal = game.observation, np.packbits(game.legal_mask, axis=1, bitorder="little")
            seen = Observation(values=observation.astype("<f4").tobytes(), legal_mask=legal.tobytes(), rows=1)
            snapshot = io.BytesIO()
            write_npz(snapshot, game.snapshot(np.arange(1)))
            samples = [GameState(observation=seen), GameState(snapshot=snapshot.getvalue())]
            if self.entry.states is not None:
                by_keys = Struct()
                by_keys.update(json.loads(json.dumps(self.entry.states.write(game, 0))))
                samples.append(GameState(by_keys=by_keys))
            return samples
        finally:
            game.close()

    def read(self, state: GameState) -> Sight:
        """One state. Bad ones are refused in one sentence."""
        form = state.WhichOneof("form")
        if form is None:
            raise invalid(f"The request carries no state; expected one of {', '.join(state_forms(self.entry))}.")
        if form == OBSERVATION:
            observation, legal = read_observations(state.observation, self.spec, most_rows=1)
            check_rows(observation, legal, self.spec)
            return Sight(observation[0], legal[0])
        try:
            sight = self._read_slowly(form, state)
        except RefusedError:
            raise
        except JimbotError as problem:
            raise invalid(f"The {_IN_WORDS[form]} does not fit game '{self.entry.spec.id}': {problem}") from problem
        except Exception as problem:  # a reader met something it was not made for; the request is at fault, not we
            raise invalid(
                f"The {_IN_WORDS[form]} is no state of game '{self.entry.spec.id}' "
                f"({type(problem).__name__}: {str(problem)[:200]})."
            ) from problem
        check_rows(sight.observation[None], sight.legal_mask[None], self.spec)
        return sight

    def _read_slowly(self, form: str, state: GameState) -> Sight:
        with self._lock:
            if form == SNAPSHOT:
                return self._described(self._restored(state.snapshot))
            options = self.entry.spec.parse_options(self.options)
            if form == BY_KEYS:
                if self.entry.states is None:
                    known = ", ".join(state_forms(self.entry))
                    raise invalid(f"Game '{self.entry.spec.id}' has no states by keys; expected one of {known}.")
                values = plain(MessageToDict(state.by_keys))
                sight = self._described(self.entry.states.read(values, options))
                if sight.table is None and self.describes and self.entry.states.tell is not None:
                    return sight._replace(table=Situation(self.entry.states.tell(values, options)))
                return sight
            name, forms = state.foreign.form, _foreign_forms(self.entry)
            if name not in forms:
                raise invalid(str(UnknownNameError("state form", name[:80], state_forms(self.entry))))
            return self._described(forms[name](state.foreign.body, options))

    def _described(self, sight: Sight) -> Sight:
        """With the situation in words while the game still stands there."""
        game, knowledge = sight.game, self.entry.knowledge
        if game is None or not self.describes:
            return sight._replace(game=None)
        parts = knowledge.read_state(game, 0) if knowledge is not None else None
        return sight._replace(game=None, table=Situation(game.describe(0), parts, game.snapshot(np.arange(1))))

    def _restored(self, snapshot: bytes) -> Sight:
        if self._game is None:
            game = self.entry.make(1, options=self.entry.spec.parse_options(self.options))
            game.reset()
            self._game = game
        game = self._game
        game.restore(read_npz(io.BytesIO(snapshot)), rows=np.arange(1))
        words = [game.describe_action(0, int(action)) for action in np.flatnonzero(game.legal_mask[0])]
        by_action = dict(zip(np.flatnonzero(game.legal_mask[0]).tolist(), words, strict=True))
        return Sight(game.observation[0].copy(), game.legal_mask[0].copy(), by_action.get, game)

    def close(self) -> None:
        with self._lock:
            if self._game is not None:
                self._game.close()
                self._game = None


def read_observations(message: Observation, spec: GameSpec, most_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, D) and (n, A) of a message, of the right sizes; `check_rows` looks at what is in them, best at those of many
    messages at once."""
    rows = message.rows or 1
    if rows > most_rows:
        raise invalid(f"The message carries {rows} observations; at most {most_rows} are taken. Send several.")
    width, actions = spec.observation.size, spec.actions.size
    bits = -(-actions // 8)
    values, mask = message.values, message.legal_mask
    for what, found, needed in ("values", len(values), rows * width * 4), ("legal_mask", len(mask), rows * bits):
        if found != needed:
            raise invalid(
                f"The observation has {found:,} bytes of {what}; game '{spec.id}' needs {needed:,} for {rows} "
                f"row{'s' if rows > 1 else ''} ({width} float32 values, {actions} actions of one bit)."
            )
    packed = np.frombuffer(mask, np.uint8).reshape(rows, bits)
    legal = np.unpackbits(packed, axis=1, count=actions, bitorder="little").view(bool)
    return np.frombuffer(values, "<f4").reshape(rows, width), legal


def check_rows(observation: np.ndarray, legal: np.ndarray, spec: GameSpec) -> None:
    """Refuses what no policy should ever see."""
    expected = (len(legal), spec.observation.size), (len(legal), spec.actions.size)
    if (observation.shape, legal.shape) != expected:
        raise invalid(
            f"Observation {observation.shape[1:]} and mask {legal.shape[1:]} do not fit game '{spec.id}'; "
            f"expected {expected[0][1:]} and {expected[1][1:]}."
        )
    if not np.isfinite(observation).all():
        row = int(np.flatnonzero(~np.isfinite(observation).all(axis=1))[0])
        raise invalid(f"Row {row} of the observation holds values that are not finite numbers; send finite ones.")
    places, limits = spec.observation.id_limits
    if len(places):
        _check_ids(observation, spec, places, limits)
    if not legal.any(axis=1).all():
        row = int(np.flatnonzero(~legal.any(axis=1))[0])
        raise invalid(f"Row {row} has no legal action; a state in which nothing can be done needs no decision.")


def _check_ids(observation: np.ndarray, spec: GameSpec, places: np.ndarray, limits: np.ndarray) -> None:
    """A network looks ids up in a table; one beyond it would count as the policy's fault."""
    ids = np.rint(observation[:, places])
    wrong = (ids < 0) | (ids >= limits)
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        field = next(f for f in spec.observation.fields if places[place] < spec.observation.span(f.name).stop)
        raise invalid(
            f"Row {row} of the observation has {ids[row, place]:g} in '{field.name}'; expected an id of 0 to "
            f"{limits[place] - 1}."
        )


def limited(legal: np.ndarray, request: LearningDecisionRequest, spec: GameSpec) -> np.ndarray:
    """(A,) what is legal and available, if the request says what is available."""
    wanted = list(request.available_actions)
    for label in request.available_labels:
        try:
            wanted.append(spec.actions.index(label))
        except UnknownNameError as problem:
            raise invalid(str(problem)) from problem
    if not wanted:
        return legal
    outside = [action for action in wanted if action >= spec.actions.size]
    if outside:
        raise invalid(f"Action {outside[0]} is not one of the {spec.actions.size} actions of game '{spec.id}'.")
    available = np.zeros_like(legal)
    available[wanted] = True
    available &= legal
    if not available.any():
        raise invalid(
            f"None of the {len(set(wanted))} available actions is legal in this state; legal are "
            f"{np.flatnonzero(legal)[:20].tolist()}. Leave available_actions out to choose among those."
        )
    return available


def plain(values: Any, depth: int = 0, count: list[int] | None = None) -> Any:
    """Values of a Struct as Python means them: whole numbers as int; refused where they nest or number too much."""
    count = [0] if count is None else count
    count[0] += 1
    if depth > DEEPEST or count[0] > MOST_VALUES:
        raise invalid(f"The state has more than {MOST_VALUES:,} values or nests deeper than {DEEPEST}; send less.")
    if isinstance(values, dict):
        return {name: plain(value, depth + 1, count) for name, value in values.items()}
    if isinstance(values, list):
        return [plain(value, depth + 1, count) for value in values]
    return int(values) if isinstance(values, float) and values.is_integer() and abs(values) < 2**53 else values
