"""MDBO: the pair of choices of a doubles turn as one number, and the table of all actions.

A slot has 45 codes, and a joint order is `45 * a + b` for the left slot `a` and the right slot `b`:

- 0-39 moves: `10 * move + 5 * gimmick + column`, with the move's place in the request (0..3), 1 for terastallising, and
  the column of its target: partner's or own places -2, -1, no target, foes 1, 2;
- 40-43 switches to a place of the request's list of Pokémon;
- 44 pass.

Team preview has a table of its own: 90 ways to choose two leads and two behind them. The action table of the game is
the 2,025 orders followed by the 90 previews; the label of an action is the choice the simulator understands.
"""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

from jimbot.errors import UsageError
from jimbot.games.spec import ActionBlock, ActionSpec

_SIZES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "node" / "orders.json").read_text()
)  # node/mask.js reads it as well
MOVES: int = _SIZES["moves"]
TARGETS: tuple[int, ...] = tuple(_SIZES["targets"])
SLOTS: int = _SIZES["slots"]
PLACES: int = _SIZES["places"]
TEAM: int = _SIZES["team"]
FIRST_SWITCH = MOVES * 2 * len(TARGETS)
PASS = FIRST_SWITCH + PLACES
SLOT_CODES = PASS + 1
ORDERS = SLOT_CODES * SLOT_CODES
DEFAULT = -1
"""Stands for "the simulator chooses"; no action of the game."""

GIMMICK_WORD = "terastallize"
GIMMICKS = (GIMMICK_WORD, "mega", "dynamax")
"""Words that set the gimmick bit; a format has at most one of them."""
PASS_WORD = "pass"


def move_code(move: int, target: int = 0, gimmick: bool = False) -> int:
    """The slot code of a move (place 0..3) aimed at -2, -1, 0 (no target), 1 or 2."""
    if not 0 <= move < MOVES or target not in TARGETS:
        raise UsageError(f"Move {move} aimed at {target} has no code; expected a move 0 to 3 and a target -2 to 2.")
    return 10 * move + 5 * gimmick + TARGETS.index(target)


def switch_code(place: int) -> int:
    """The slot code of a switch to a place 0..3 of the request's list."""
    if not 0 <= place < PLACES:
        raise UsageError(f"Place {place} has no switch code; expected 0 to {PLACES - 1}.")
    return FIRST_SWITCH + place


def slot_text(code: int, gimmick_word: str = GIMMICK_WORD) -> str:
    """One slot's clause of a choice.

    >>> slot_text(3), slot_text(19), slot_text(22), slot_text(43), slot_text(44)
    ('move 1 1', 'move 2 2 terastallize', 'move 3', 'switch 4', 'pass')
    """
    if not 0 <= code < SLOT_CODES:
        raise UsageError(f"{code} is no slot code; expected 0 to {SLOT_CODES - 1}.")
    if code == PASS:
        return PASS_WORD
    if code >= FIRST_SWITCH:
        return f"switch {code - FIRST_SWITCH + 1}"
    move, rest = divmod(code, 10)
    gimmick, column = divmod(rest, len(TARGETS))
    target = f" {TARGETS[column]}" if TARGETS[column] else ""
    return f"move {move + 1}{target}{' ' + gimmick_word if gimmick else ''}"


_CLAUSE = re.compile(r"(move|switch)\s+(\d+)((?:\s+\S+)*)")


def slot_code(text: str) -> int:
    """The inverse of `slot_text`; target and gimmick may come in either order.

    >>> slot_code("move 2 terastallize 2"), slot_code("switch 3")
    (19, 42)
    """
    words = text.strip().lower()
    if words == PASS_WORD:
        return PASS
    match = _CLAUSE.fullmatch(words)
    if match is None:
        raise UsageError(f"'{text}' is no choice of a slot; expected 'move 1-4 [target]', 'switch 1-4' or 'pass'.")
    number, rest = int(match[2]) - 1, match[3].split()
    if match[1] == "switch":
        if rest:
            raise UsageError(f"'{text}' says too much after its switch; expected 'switch 1-4'.")
        return switch_code(number)
    target, gimmick = 0, False
    for word in rest:
        if word in GIMMICKS:
            gimmick = True
        elif re.fullmatch(r"[+-]?\d", word):
            target = int(word)
        else:
            raise UsageError(f"'{word}' in '{text}' is neither a target -2 to 2 nor {' or '.join(GIMMICKS)}.")
    return move_code(number, target, gimmick)


def join(a: int, b: int) -> int:
    """The joint order of two slot codes.

    >>> join(3, 19), join(42, 43), join(44, 44)
    (154, 1933, 2024)
    """
    return SLOT_CODES * a + b


def split(order: int) -> tuple[int, int]:
    """The slot codes of a joint order; the inverse of `join`."""
    return divmod(order, SLOT_CODES)


def order_text(order: int, gimmick_word: str = GIMMICK_WORD) -> str:
    """A joint order as the simulator reads it; the sentinel -1 is its own choice.

    >>> order_text(154), order_text(-1)
    ('move 1 1, move 2 2 terastallize', 'default')
    """
    if order == DEFAULT:
        return "default"
    if not 0 <= order < ORDERS:
        raise UsageError(f"{order} is no joint order; expected 0 to {ORDERS - 1}, or {DEFAULT} for the default.")
    a, b = split(order)
    return f"{slot_text(a, gimmick_word)}, {slot_text(b, gimmick_word)}"


def order_number(text: str) -> int:
    """The inverse of `order_text`."""
    if text.strip().lower() == "default":
        return DEFAULT
    clauses = text.split(",")
    if len(clauses) != 2:
        raise UsageError(f"'{text}' has {len(clauses)} clauses; expected two, one per slot, separated by a comma.")
    return join(slot_code(clauses[0]), slot_code(clauses[1]))


# --- team preview ---

PREVIEW_ORDERS: tuple[tuple[int, ...], ...] = tuple(
    chosen for chosen in permutations(range(TEAM), PLACES) if chosen[0] < chosen[1] and chosen[2] < chosen[3]
)
"""Places 0..5 of the two leads, then of the two behind them; each pair ascending, for its order has no effect."""
_PREVIEW_NUMBER: dict[tuple[int, ...], int] = {chosen: number for number, chosen in enumerate(PREVIEW_ORDERS)}
FIRST_PREVIEW = ORDERS
ACTIONS = ORDERS + len(PREVIEW_ORDERS)


def preview_text(number: int) -> str:
    """A team preview as the simulator reads it.

    >>> preview_text(0), preview_text(6), preview_text(89)
    ('team 1234', 'team 1324', 'team 5634')
    """
    if not 0 <= number < len(PREVIEW_ORDERS):
        raise UsageError(f"{number} is no team preview; expected 0 to {len(PREVIEW_ORDERS) - 1}.")
    return "team " + "".join(str(place + 1) for place in PREVIEW_ORDERS[number])


def preview_number(text: str) -> int:
    """The preview a choice means, whatever its order inside a pair.

    >>> preview_number("team 2134") == preview_number("team 1243") == 0
    True
    """
    match = re.fullmatch(r"\s*team\s+([1-6])\s*,?\s*([1-6])\s*,?\s*([1-6])\s*,?\s*([1-6])\d*\s*", text.lower())
    places = tuple(int(digit) - 1 for digit in match.groups()) if match else ()
    if len(set(places)) != 4:
        raise UsageError(f"'{text}' is no team preview; expected 'team' and four different digits 1 to 6.")
    return _PREVIEW_NUMBER[(*sorted(places[:2]), *sorted(places[2:]))]


# --- the action table of the game ---

SPEC = ActionSpec((
    ActionBlock("order", tuple(order_text(order) for order in range(ORDERS))),
    ActionBlock(
        "preview",
        tuple(preview_text(number) for number in range(len(PREVIEW_ORDERS))),
        field="pokemon",
        rows=PREVIEW_ORDERS,
    ),
))  # fmt: skip


def action_text(action: int, gimmick_word: str = GIMMICK_WORD) -> str:
    """An action of the table as the simulator reads it."""
    return preview_text(action - FIRST_PREVIEW) if action >= FIRST_PREVIEW else order_text(action, gimmick_word)


def action_number(text: str) -> int:
    """The inverse of `action_text`.

    >>> action_number("team 1234"), action_number("pass, pass")
    (2025, 2024)
    """
    if text.strip().lower().startswith("team"):
        return FIRST_PREVIEW + preview_number(text)
    return order_number(text)
