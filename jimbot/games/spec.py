"""What a game declares about itself: observation fields, action blocks, reward terms, episode statistics.

No number is written twice: widths, offsets and counts all derive from the spec, and so do the fingerprints that tie a
checkpoint to the exact observation and action tables it was trained on.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError

DISCOUNT = "discount"
"""The option of a game that shapes rewards; see GameSpec.shaping."""


@dataclass(frozen=True)
class BoardView:
    """What the channels of a board mean to a player standing on it; networks may build on it."""

    row: tuple[str, int]
    """(field, index) of the viewer's own row, scaled to 0..1."""
    col: tuple[str, int]
    """The same for the column."""
    one_hot: tuple[tuple[int, int], ...] = ()
    """Ranges (start, stop) of channels that hold a one-hot id or nothing; networks may recode them tighter."""
    opaque: tuple[int, ...] = ()
    """Channels that end a line of sight where they are above 0."""
    walls: tuple[int, ...] = ()
    """Channels that bar the way where they are above 0."""
    goals: tuple[int, ...] = ()
    """Channels that mark cells worth walking to."""


@dataclass(frozen=True)
class Field:
    """One named piece of the flat observation vector."""

    name: str
    shape: tuple[int, ...]
    meaning: str
    ids: int = 0
    """0 for numbers; otherwise the field holds integer ids below this, to be embedded rather than scaled."""
    vocabulary: str = ""
    """Fields of one vocabulary mean the same by the same id."""
    items: str = ""
    """The things on the table this field tells about, one per entry of its first axis: the name of their main field."""
    board: BoardView | None = None
    """For a board (rows, columns, channels) seen by a player standing on it."""
    columns: tuple[str, ...] = ()
    """What the entries of the last axis are called, where they have names."""

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class ObservationSpec:
    """Ordered fields, laid out one after another in a flat float32 vector."""

    fields: tuple[Field, ...]

    @cached_property
    def offsets(self) -> dict[str, int]:
        starts = np.cumsum([0] + [field.size for field in self.fields]).tolist()
        return {field.name: start for field, start in zip(self.fields, starts, strict=False)}

    @cached_property
    def size(self) -> int:
        return sum(field.size for field in self.fields)

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise UnknownNameError("observation field", name, self.offsets)

    def span(self, name: str) -> slice:
        """Where a field lies in the flat vector."""
        size = self[name].size
        return slice(self.offsets[name], self.offsets[name] + size)

    @cached_property
    def id_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Where ids lie in the flat vector, and what each is below: (K,) and (K,) int64."""
        spans = [(self.span(field.name), field.ids) for field in self.fields if field.ids]
        places = [np.arange(span.start, span.stop) for span, _ in spans]
        limits = [np.full(span.stop - span.start, ids) for span, ids in spans]
        return (np.concatenate(places), np.concatenate(limits)) if spans else (np.zeros(0, int), np.zeros(0, int))

    def opens_with(self, fingerprint: str) -> bool:
        """Whether the first fields of this table, or all of them, are the table of a fingerprint."""
        sizes = range(len(self.fields), 0, -1)
        return any(ObservationSpec(self.fields[:size]).fingerprint == fingerprint for size in sizes)

    def view(self, observation: np.ndarray, name: str) -> np.ndarray:
        """A field of a (…, D) observation in its own shape."""
        return observation[..., self.span(name)].reshape(*observation.shape[:-1], *self[name].shape)

    @cached_property
    def fingerprint(self) -> str:
        return _fingerprint([[f.name, list(f.shape), f.ids] for f in self.fields])


@dataclass(frozen=True)
class ActionBlock:
    """A run of actions of one kind; every action has a readable label, unique in its game.

    `field` and `rows` say what actions are about, for networks that build the logit of "play cards 1, 4 and 5" from
    what they know of those cards. They are hints: the fingerprint does not depend on them.
    """

    name: str
    labels: tuple[str, ...]
    field: str = ""
    """An observation field whose first axis holds items (cards, offers), or nothing."""
    rows: tuple[tuple[int, ...], ...] = ()
    """For each action the rows of that field it is about; () where it is about none that is shown."""

    def __post_init__(self) -> None:
        if self.rows and len(self.rows) != len(self.labels):
            raise ValueError(f"Action block '{self.name}' has rows for {len(self.rows)} of {len(self.labels)} actions.")


@dataclass(frozen=True)
class ActionSpec:
    """Ordered blocks of actions, numbered through."""

    blocks: tuple[ActionBlock, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for block in self.blocks for label in block.labels)

    @cached_property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def block_of(self) -> np.ndarray:
        """(A,) int32: the block number of every action."""
        return np.repeat(np.arange(len(self.blocks), dtype=np.int32), [len(block.labels) for block in self.blocks])

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: action for action, label in enumerate(self.labels)}

    def label(self, action: int) -> str:
        return self.labels[action]

    def index(self, label: str) -> int:
        """The action with this label; the inverse of `label`."""
        if label not in self._index:
            raise UnknownNameError("action", label, self._index)
        return self._index[label]

    @cached_property
    def fingerprint(self) -> str:
        return _fingerprint([[block.name, list(block.labels)] for block in self.blocks])


@dataclass(frozen=True)
class GameOption:
    """One thing that can be chosen about a game from outside."""

    name: str
    default: Any
    meaning: str
    internal: bool = False
    """Set by programs, of no use to people (declared with repr=False)."""

    @property
    def flag(self) -> str:
        """As it is typed, without its dashes."""
        return self.name.replace("_", "-")

    @property
    def kind(self) -> str:
        return "text" if isinstance(self.default, str) else type(self.default).__name__

    @property
    def shown_default(self) -> str:
        return {True: "on", False: "off"}[self.default] if self.kind == "bool" else str(self.default) or "none"


@dataclass(frozen=True)
class GameSpec:
    """Everything about a game that does not change while it is played."""

    id: str
    version: int
    """Changes when behaviour changes (rules, rewards, observation), not when code is tidied."""
    players: int
    observation: ObservationSpec
    actions: ActionSpec
    reward_terms: tuple[str, ...]
    episode_stats: tuple[str, ...]
    """Measured when an episode ends; reported as means, names that start with `highest_` as maxima."""
    options: Any
    """A frozen dataclass of game options, all with defaults."""
    shaping: tuple[str, ...] = ()
    """Reward terms that only point the way: γΦ' − Φ of a potential Φ that is 0 once the rules ended a game, so their
    discounted sum over a game is the same whatever was played. γ is the game's option `discount`; training sets it."""
    ladder: str = ""
    """The episode statistic that counts how far a game came, rung by rung; nothing where there is none."""
    observed_with: Callable[[Any], ObservationSpec] | None = None
    """options → what is observed with them, where they decide that; `observation` is for the default ones."""

    def __post_init__(self) -> None:
        if self.ladder and self.ladder not in self.episode_stats:
            raise ValueError(f"The ladder '{self.ladder}' of game '{self.id}' is none of its episode statistics.")
        if set(self.shaping) - set(self.reward_terms):
            raise ValueError(f"Game '{self.id}' shapes by {self.shaping}; its reward terms are {self.reward_terms}.")
        if self.shaping and DISCOUNT not in [field.name for field in dataclasses.fields(self.options)]:
            raise ValueError(f"Game '{self.id}' shapes rewards, so it needs the option '{DISCOUNT}'.")

    @cached_property
    def option_list(self) -> tuple[GameOption, ...]:
        """What can be chosen about the game, with what its record says of each in the line below it."""
        meanings = _attribute_docs(self.options)
        return tuple(
            GameOption(one.name, one.default, meanings.get(one.name, ""), internal=not one.repr)
            for one in dataclasses.fields(self.options)
        )

    def under(self, options: Any) -> GameSpec:
        """The spec of a game with these options (a record of them, or plain values)."""
        if self.observed_with is None:
            return self
        record = options if isinstance(options, self.options) else self.parse_options(dict(options or {}))
        return dataclasses.replace(self, observation=self.observed_with(record))

    def has_option(self, name: str) -> bool:
        return any(one.name == name for one in dataclasses.fields(self.options))

    def parse_options(self, values: dict | None) -> Any:
        """Options from plain values, checked by name and by the record's own validation."""
        values = values or {}
        known = [field.name for field in dataclasses.fields(self.options)]
        for name in values:
            if name not in known:
                raise UnknownNameError(f"option of game {self.id}", name, known)
        try:
            return self.options(**values)
        except (TypeError, ValueError) as problem:
            raise UsageError(f"Options {values} do not fit game '{self.id}': {problem}") from problem


def check_discount(value: float) -> None:
    """Refuses what cannot discount, for options records."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
        raise ValueError(f"{DISCOUNT} is {value!r}; expected a number above 0, up to 1.")


def _attribute_docs(record: Any) -> dict[str, str]:
    """The texts below the fields of a record, which Python itself does not keep."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(record))).body[0]
    except (OSError, TypeError, SyntaxError):  # made in a notebook, or shipped without its source
        return {}
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for one, after in pairwise(body.body):
        match one, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


def _fingerprint(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:16]
