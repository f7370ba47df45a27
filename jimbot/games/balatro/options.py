"""What can be chosen about a game of Balatro from outside, checked when it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.encoding.insight import PARTS as INSIGHT_PARTS
from jimbot.games.balatro.encoding.rewards import PRESETS
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.content import CHALLENGES, DECKS, STAKES, ContentTable
from jimbot.games.spec import check_discount

STEP_LIMIT = 3000
ALL = "all"


def _short_names(table: ContentTable, prefix: str, suffix: str = "") -> dict[str, int]:
    """Ids by key without its prefix: `b_red` is "red"."""
    return {key.removeprefix(prefix).removesuffix(suffix): table.id(key) for key in table.keys}


DECK_NAMES = _short_names(DECKS, "b_")
STAKE_NAMES = _short_names(STAKES, "stake_")
CHALLENGE_NAMES = _short_names(CHALLENGES, "c_", "_1")


def _find(kind: str, name: object, names: dict[str, int], table: ContentTable) -> int:
    """The id of a short name or full key."""
    if isinstance(name, str) and name in names:
        return names[name]
    if isinstance(name, str) and name in table:
        return table.id(name)
    raise UnknownNameError(kind, str(name), names)


def _stake_level(name: str) -> int:
    return int(name) if name.isdigit() and 1 <= int(name) <= len(STAKES) else _find("stake", name, STAKE_NAMES, STAKES)


def _several(given: object, find: Callable[[str], int], names: Mapping[str, int]) -> tuple[int, ...]:
    """The ids of one name, of several with commas between them, or of all."""
    text = str(given)
    return tuple(names.values()) if text == ALL else tuple(find(name.strip()) for name in text.split(","))


VERSION = 1
"""Of the rules. It changes when the same seed and moves give another game, not when code is tidied."""


@dataclass(frozen=True)
class Options:
    """Game options."""

    deck: str = "red"
    """The deck by name: red, blue, … or its key (b_red); several with commas, or all, of which a game draws one."""
    stake: str | int = "white"
    """The stake by name (white, red, green, black, blue, purple, orange, gold) or number 1 to 8; several as decks."""
    challenge: str = ""
    """A challenge by name (omelette, city, …) or key; it brings its own deck. Nothing for an ordinary run."""
    endless: bool = False
    """Play on after the boss of ante 8 instead of ending with the win."""
    reward: str = "progress"
    """A preset of reward weights."""
    discount: float = field(default=1.0, repr=False)
    """The learner's discount, by which shaping cannot change what is best; training sets it to gamma."""
    helpers: bool = False
    """Fill in the observation's helper fields, which the engine computes (costs time)."""
    insight: str = ""
    """More fields for a learner, worked out like a good player would: all, or some of cards,prices,build,draws."""
    step_limit: int = STEP_LIMIT
    """Actions after which a game is cut off (truncated)."""
    seed_text: str = ""
    """Play this seed of the real game, 1 to 8 characters, in every game instead of numbered ones."""

    def __post_init__(self) -> None:
        _ = self.decks, self.stakes, self.challenge_id
        for name in ("endless", "helpers"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected true or false.")
        if isinstance(self.step_limit, bool) or not isinstance(self.step_limit, int) or self.step_limit < 1:
            raise ValueError(f"step_limit is {self.step_limit!r}; expected a whole number of at least 1.")
        if self.challenge and self.decks != (DECK_NAMES["red"],):
            raise ValueError(f"challenge '{self.challenge}' brings its own deck; leave out deck '{self.deck}'.")
        if self.insight_bits and not self.helpers:
            raise ValueError(f"insight is '{self.insight}', which builds on helpers; add helpers=true.")
        if self.reward not in PRESETS:
            raise UnknownNameError("reward preset", str(self.reward), PRESETS)
        check_discount(self.discount)
        if self.seed_text:
            seed_bytes(str(self.seed_text))

    @property
    def insight_bits(self) -> int:
        """Which parts of the insight are filled in; 0: the observation has none."""
        parts = [part.strip() for part in self.insight.split(",") if part.strip()]
        for part in parts:
            if part not in (*INSIGHT_PARTS, ALL):
                raise UnknownNameError("part of the insight", part, (*INSIGHT_PARTS, ALL))
        return sum(1 << bit for bit, part in enumerate(INSIGHT_PARTS) if part in parts or ALL in parts)

    @property
    def decks(self) -> tuple[int, ...]:
        """The ids of the decks that games draw from."""
        return _several(self.deck, lambda name: _find("deck", name, DECK_NAMES, DECKS), DECK_NAMES)

    @property
    def stakes(self) -> tuple[int, ...]:
        """The levels, 1 to 8, that games draw from."""
        return _several(self.stake, _stake_level, STAKE_NAMES)

    @property
    def deck_id(self) -> int:
        """The deck of a game that is told no other; the first of several."""
        return self.decks[0]

    @property
    def stake_level(self) -> int:
        """The stake of a game that is told no other; the first of several."""
        return self.stakes[0]

    @property
    def challenge_id(self) -> int:
        return _find("challenge", self.challenge, CHALLENGE_NAMES, CHALLENGES) if self.challenge else 0
