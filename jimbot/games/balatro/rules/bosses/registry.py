"""How a boss's rule is written down: one `define` per boss, holding everything it does.

A boss acts in phases, each a small function named by its phase. Functions of a phase are gathered into one kernel that
looks at the blind being played (a binary chain of comparisons, as for jokers). A disabled boss does nothing, so no rule
asks for that. What another rule wants to know about a boss without running it is a fact: a column by blind.

Amounts are read from the boss's `config` in the table, so no number is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jimbot.games.balatro.compiling.choosing import chooser
from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.content import BLINDS

# phase: (what a function gets, what comes back where no boss has a say)
PHASES = {
    "set_up": ("g, s", ""),  # the blind was selected
    "takes_cards": ("g, s", "np.uint64(0)"),  # held cards it discards when a hand is played, as a bit set
    "on_play": ("g, s", ""),  # cards are on the table and not looked at yet
    "vetoes": ("g, hand, count", "False"),  # whether this poker hand of so many cards scores nothing
    "before_scoring": ("g, s", ""),  # the poker hand is known and not vetoed
    "on_base": ("g, s", ""),  # chips and Mult are those of the poker hand
    "debuffs": ("g, slot", "False"),  # whether a card is debuffed
    "draws": ("g, missing", "missing"),  # how many cards are drawn to a hand that lacks so many
    "turns_down": ("g, slot", "False"),  # whether a card just drawn lies face down
    "lets_go": ("g", "0"),  # once cards are drawn: frees jokers; which of them it may seize now, as a bit set
    "seizes": ("g, jokers", ""),  # then: takes hold of a card or of one of these jokers
    "on_disable": ("g", ""),  # gives back what it took
}

FACTS = {
    "counts_cards": "the number of cards played matters",
    "turns_faces_down": "a face-down card is a face card, and every face-up one is not",
    "gives_up_at_sale": "a sold joker disables it",
}
FACT = {name: np.zeros(len(BLINDS), np.bool_) for name in FACTS}

_functions: dict[str, dict[int, Callable[..., Any]]] = {phase: {} for phase in PHASES}
_defined: dict[str, set[str]] = {}


def number(key: str, name: str) -> int:
    """A number from a boss's config."""
    return int(BLINDS.row(key)["config"][name])


def define(key: str, *facts: str, **functions: Callable[..., Any]) -> None:
    """Writes down all a boss does: functions by phase, and the facts that hold for it."""
    if key in _defined:
        raise ValueError(f"Boss {key} is defined twice; keep its rule in one place.")
    boss = BLINDS.id(key)
    for fact in facts:
        FACT[fact][boss] = True
    for phase, function in functions.items():
        _functions[phase][boss] = function if hasattr(function, "py_func") else njit(function)
    _defined[key] = {*facts, *functions}


def defined() -> dict[str, set[str]]:
    """Boss keys with a rule, and the phases and facts it has."""
    return dict(_defined)


def dispatcher(phase: str) -> Callable[..., Any]:
    """A kernel that runs the phase of the boss being played, or gives the phase's answer for no boss."""
    arguments, otherwise = PHASES[phase]
    rules = _functions[phase]
    return chooser(phase, arguments, "g.blind", rules, passed=arguments, otherwise=otherwise, unless="g.blind_disabled")
