"""What can be set about the adviser. The limits are small on purpose: a user who wants to spend more says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from jimbot.errors import SettingsError, UnknownNameError

SOURCES = ("auto", "claude", "planner")
"""Who is asked: Claude; the planner, which stands in; or Claude where there is a key and the planner where not."""
LEDGER_VARIABLE = "JIMBOT_ADVISER_LEDGER"


def default_ledger() -> Path:
    """One file for all processes of a user, so that the hour's limits hold for all of them together."""
    if given := os.environ.get(LEDGER_VARIABLE):
        return Path(given)
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "jimbot" / "adviser.sqlite"


@dataclass(frozen=True)
class AdviserSettings:
    """Who is asked, when, and what it may cost."""

    source: str = "auto"
    """auto, claude or planner; auto is Claude where ANTHROPIC_API_KEY is set, else the planner."""
    model: str = "claude-haiku-5-5"
    """Which Claude."""
    confidence_threshold: float = 0.7
    """A move the policy finds at least this probable is played without a question."""
    least_stake: float = 0.5
    """How much must depend on a decision, 0 to 1, as its game sees it."""
    share: float = 0.05
    """Of all decisions, at most so many are asked about; 0.05 is the most."""
    calls_per_hour: int = 60
    tokens_per_hour: int = 1_000_000
    dollars_per_hour: float = 0.25
    calls_per_run: int = 200
    tokens_per_run: int = 4_000_000
    dollars_per_run: float = 1.0
    seconds: float = 15.0
    """That one question may take, all attempts together."""
    attempts: int = 3
    """Of one question, where the service is busy or fails."""
    max_tokens: int = 1024
    """Of one answer, thinking included."""
    at_once: int = 4
    """Questions open at the same time."""
    moves: int = 80
    """Legal moves shown, likeliest first; others may be named by their label too."""
    rollouts: int = 64
    """Simulations of the planner, where it stands in."""
    weight: float = 1.0
    """Of an advised move among the demonstrations a learner reads."""
    input_price: float | None = None
    """Dollars per million tokens read; for models that are not in the table."""
    output_price: float | None = None
    """Dollars per million tokens written."""
    ledger: Path | None = None
    """The file of the books; else JIMBOT_ADVISER_LEDGER, else one in the user's data directory."""

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise UnknownNameError("adviser", self.source, SOURCES)
        bounds = {"confidence_threshold": (0, 1), "least_stake": (0, 1), "share": (0, 0.05), "seconds": (0.01, 600),
                  "attempts": (1, 10), "max_tokens": (64, 32_000), "at_once": (1, 64), "moves": (2, 500),
                  "rollouts": (2, 100_000), "weight": (0.001, 1000)}  # fmt: skip
        limits = [one.name for one in fields(self) if "_per_" in one.name]
        for name, (least, most) in bounds.items() | {(name, (0, 1e12)) for name in limits}:
            if not least <= getattr(self, name) <= most:
                raise SettingsError(f"The adviser's {name} is {getattr(self, name)}; expected {least} to {most:g}.")
        for name in ("input_price", "output_price"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1e6:
                raise SettingsError(f"The adviser's {name} is {value}; expected dollars per million tokens, 0 or more.")

    @property
    def ledger_path(self) -> Path:
        return self.ledger or default_ledger()

    def with_values(self, values: Mapping[str, Any]) -> AdviserSettings:
        """The same with other values by name; each is checked, unknown names are refused with the nearest.

        >>> AdviserSettings().with_values({"dollars_per_hour": 2}).dollars_per_hour
        2.0
        """
        kinds = get_type_hints(AdviserSettings)
        read: dict[str, Any] = {}
        for name, value in values.items():
            if name not in kinds:
                raise UnknownNameError("setting of the adviser", name, kinds)
            read[name] = _as(kinds[name], name, value)
        return replace(self, **read)


_KINDS = {int: "a whole number", float: "a number", str: "a word", Path: "a path"}


def _as(kind: Any, name: str, value: Any) -> Any:
    one = next(one for one in _KINDS if kind in (one, one | None))
    try:
        if one in (int, float) and isinstance(value, bool):
            raise ValueError
        if one is int and float(value) != int(value):
            raise ValueError
        return one(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise SettingsError(f"The adviser's {name} is {value!r}; expected {_KINDS[one]}.") from problem
