"""How a joker's rule is written down: one `define` per joker, holding everything it does.

The regular majority is data. A row says when a joker acts, on what condition, and by how much; rows become arrays that
the scoring loops read by joker id. The rest are small functions, named by the phase they run in; they are gathered into
one kernel per phase (`compiling/choosing.py`).

Amounts are paths into the joker's `config` in the table (`"extra.s_mult"`), so no number is written twice.

A function gets `(g, s, i, copied)`: the game, the scratch of the hand, the place of the joker whose rule runs, and
whether Blueprint or Brainstorm runs it. Copies repeat what a joker gives, not how it grows, so growth asks
`if not copied`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jimbot.games.balatro.compiling.choosing import chooser
from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.content import JOKERS

# --- conditions and quantities the rows may use (evaluated in evaluate.py) ---
(
    ALWAYS, CONTAINS, PLAYED_AT_MOST, NO_DISCARDS_LEFT, LAST_HAND, PLAYED_THIS_ROUND, ENHANCED_AT_LEAST, HELD_ALL_BLACK,
    ALL_FOUR_SUITS, CLUB_AND_OTHER, EVERY_SIXTH_HAND,
) = range(11)  # fmt: skip
(
    ONE, VALUE, DISCARDS_LEFT, JOKERS_HELD, PILE, STONE_CARDS, STEEL_CARDS, TAROTS_USED, TIMES_PLAYED, SKIPS,
    CARDS_LOST, MONEY, MONEY_FIVES, OTHER_SELL_VALUES, EMPTY_SLOTS,
) = range(15)  # fmt: skip
# --- conditions of rows about single cards ---
NEVER, ANY_CARD, SUIT, RANKS, FACE, FIRST_FACE, FIRST_CARD, ENHANCEMENT, IDOL, ANCIENT_SUIT = range(10)
# --- what a main row changes ---
CHIPS, MULT, X_MULT = 1, 2, 3

PHASES = (
    "before", "score_card", "held_card", "main", "other_joker", "destroy_check", "cards_removed", "debuffed_hand",
    "after",
    "pre_discard", "discard", "end_of_round", "round_payout", "setting_blind", "first_hand_drawn", "selling_self",
    "selling_card", "using_consumable", "card_added", "skip_booster", "open_booster", "reroll_shop", "end_shop",
)  # fmt: skip


@dataclass(frozen=True)
class MainRow:
    """An effect in the main pass: offset + factor × quantity, on a condition."""

    effect: int
    factor: str | float
    quantity: int = ONE
    offset: float = 0.0
    condition: int = ALWAYS
    argument: int = 0


@dataclass(frozen=True)
class CardRow:
    """An effect on every scored (or held) card that meets a condition, certain or by chance."""

    condition: int
    argument: int = 0
    chips: str | float = 0
    mult: str | float = 0
    x_mult: str | float = 0
    dollars: str | float = 0
    stream: int = -1
    odds: str | float = 0


@dataclass(frozen=True)
class RetriggerRow:
    """Extra triggers of scored cards that meet a condition."""

    condition: int
    argument: int = 0
    times: str | float = "extra"
    only_last_hand: bool = False


_COUNT = len(JOKERS)
MAIN_EFFECT = np.zeros(_COUNT, np.int64)
MAIN_FACTOR, MAIN_OFFSET = np.zeros(_COUNT), np.zeros(_COUNT)
MAIN_QUANTITY, MAIN_CONDITION, MAIN_ARGUMENT = (np.zeros(_COUNT, np.int64) for _ in range(3))


class CardTable:
    """The columns of card rows for one phase."""

    def __init__(self) -> None:
        self.condition, self.argument, self.dollars = (np.zeros(_COUNT, np.int64) for _ in range(3))
        self.chips, self.mult, self.x_mult, self.odds = (np.zeros(_COUNT) for _ in range(4))
        self.stream = np.full(_COUNT, -1, np.int64)


SCORED, HELD = CardTable(), CardTable()
RETRIGGER_CONDITION, RETRIGGER_ARGUMENT, RETRIGGER_TIMES = (np.zeros(_COUNT, np.int64) for _ in range(3))
RETRIGGER_LAST_HAND = np.zeros(_COUNT, np.bool_)

_functions: dict[str, dict[int, Callable[..., Any]]] = {phase: {} for phase in PHASES}
_defined: dict[str, set[str]] = {}


def amount(key: str, path: str | float) -> float:
    """A number from a joker's config: a path such as `extra.mult`, or the number itself."""
    if not isinstance(path, str):
        return float(path)
    value: Any = JOKERS.row(key)["config"]
    for part in path.split("."):
        value = value[part]
    return float(value)


def ranks(*letters: int) -> int:
    """A set of ranks as a bit set, for rows."""
    mask = 0
    for rank in letters:
        mask |= 1 << rank
    return mask


def _write_card_row(table: CardTable, key: str, row: CardRow) -> None:
    joker = JOKERS.id(key)
    table.condition[joker], table.argument[joker], table.stream[joker] = row.condition, row.argument, row.stream
    table.chips[joker], table.mult[joker] = amount(key, row.chips), amount(key, row.mult)
    table.x_mult[joker], table.odds[joker] = amount(key, row.x_mult), amount(key, row.odds)
    table.dollars[joker] = int(amount(key, row.dollars))


def define(
    key: str,
    *,
    scores: CardRow | None = None,
    held: CardRow | None = None,
    retriggers: RetriggerRow | None = None,
    gives: MainRow | None = None,
    passive: str = "",
    **functions: Callable[..., Any],
) -> None:
    """Writes down all a joker does.

    `scores`: on each scored card. `held`: on each card held in hand. `gives`: in the main pass. `passive`: where a
    rule that is asked for elsewhere lives. Functions are given by phase name.
    """
    joker = JOKERS.id(key)
    if key in _defined:
        raise ValueError(f"Joker {key} is defined twice; keep its rule in one place.")
    _defined[key] = set(functions) | {passive} - {""}
    if scores:
        _write_card_row(SCORED, key, scores)
        _defined[key].add("score_card")
    if held:
        _write_card_row(HELD, key, held)
        _defined[key].add("held_card")
    if retriggers:
        RETRIGGER_CONDITION[joker], RETRIGGER_ARGUMENT[joker] = retriggers.condition, retriggers.argument
        RETRIGGER_TIMES[joker] = int(amount(key, retriggers.times))
        RETRIGGER_LAST_HAND[joker] = retriggers.only_last_hand
        _defined[key].add("retrigger_played")
    if gives:
        MAIN_EFFECT[joker], MAIN_QUANTITY[joker] = gives.effect, gives.quantity
        MAIN_FACTOR[joker], MAIN_OFFSET[joker] = amount(key, gives.factor), gives.offset
        MAIN_CONDITION[joker], MAIN_ARGUMENT[joker] = gives.condition, gives.argument
        _defined[key].add("main")
    for phase, function in functions.items():
        _functions[phase][joker] = njit(function)


def defined() -> dict[str, set[str]]:
    """Joker keys with a rule, and the phases they act in."""
    return dict(_defined)


def has_function(phase: str) -> np.ndarray:
    """(joker,) bool: whether a joker has a function in a phase."""
    out = np.zeros(_COUNT, np.bool_)
    out[list(_functions[phase])] = True
    return out


def dispatcher(phase: str, extra: str = "") -> Callable[..., Any]:
    """A kernel `run(joker, g, s, i, copied[, extra])` that calls the joker's function of a phase, or does nothing."""
    passed = "g, s, i, copied" + (f", {extra}" if extra else "")
    return chooser(phase, f"joker, {passed}", "joker", _functions[phase], passed=passed)


# Jokers without a phase of their own: the rule they change asks for them, and this is the list of where.
define("j_four_fingers", passive="hands.read_jokers")
define("j_shortcut", passive="hands.read_jokers")
define("j_smeared", passive="hands.read_jokers")
define("j_splash", passive="hands.read_jokers")
define("j_pareidolia", passive="hands.read_jokers")
define("j_oops", passive="inventory.odds_numerator")
define("j_credit_card", passive="inventory.debt_floor")
define("j_juggler", passive="inventory")
define("j_troubadour", passive="inventory")
define("j_drunkard", passive="inventory")
define("j_merry_andy", passive="inventory")
define("j_to_the_moon", passive="inventory")
define("j_chaos", passive="inventory")
define("j_ring_master", passive="pools.exists")
define("j_astronomer", passive="prices")
