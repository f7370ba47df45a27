"""What was legal, computed again from the observation: the rules of node/mask.js on columns of many rows.

A request's answer to every question of the mask is shown in the row: what a slot is asked, which moves are usable and
what they aim at, who has fainted, who is trapped. A choice refused by hidden trapping is shown anew with what is known
then. So stored experience need not hold the mask, which is as wide as a third of the row.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from jimbot.games.vgc import fields, orders

_FOE_COLUMNS = (3, 4)
_NO_TARGET = 2
_BENCH = (2, 3)
_GIMMICK = 5
_PLACES = 4


def legal_masks(observation: np.ndarray) -> np.ndarray:
    """(B, A) bool of (B, D) observations as the game gives them; a row that waits has no legal action."""
    row = _Columns(np.asarray(observation))
    mask = np.zeros((len(observation), orders.ACTIONS), bool)
    preview, turn, forced = (row.of("phase", name) > 0 for name in ("preview", "turn", "force_switch"))
    mask[:, : orders.ORDERS] = np.where(turn[:, None], _pairs(_turn_codes(row, 0), _turn_codes(row, 1)), False)
    mask[:, : orders.ORDERS] |= np.where(forced[:, None], _switches(row), False)
    team = row.of("pokemon", "present")[:, : fields.SIDE_ROWS].sum(axis=1)
    mask[:, orders.FIRST_PREVIEW :] = preview[:, None] & (_largest_place()[None] < team[:, None])
    return mask


class _Columns:
    """Named columns of a batch of rows; all that a mask needs are flags and ids."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows

    def field(self, name: str) -> np.ndarray:
        """(B, …) one field in its shape."""
        return self.rows[:, fields.OBSERVATION.span(name)].reshape(-1, *fields.OBSERVATION[name].shape)

    def of(self, name: str, column: str) -> np.ndarray:
        """(B, …) one column of a field."""
        table = "move" if name.startswith("move_") else name
        return self.field(name)[..., fields.column(table, column)]

    def standing(self) -> np.ndarray:
        """(B, 12) bool: there and not fainted."""
        return (self.of("pokemon", "present") > 0) & (self.of("pokemon", "fainted") == 0)


def _turn_codes(row: _Columns, slot: int) -> np.ndarray:
    """(B, 45) bool: the codes of one slot in a turn."""
    chooses, trapped, gimmick = (row.of("slot", name)[:, slot] > 0 for name in ("chooses", "trapped", "gimmick"))
    # A move that goes on (its second turn) is offered without a target, whatever it aims at by its nature.
    goes_on = (row.of("slot", "locked")[:, slot] > 0) & (row.of("pokemon", "twoturnmove")[:, slot] > 0)
    standing = row.standing()
    codes = np.zeros((len(chooses), orders.SLOT_CODES), bool)
    for number in range(orders.MOVES):
        name = f"move_{number + 1}"
        offered = chooses & (row.of(name, "known")[:, slot] > 0) & (row.of(name, "usable")[:, slot] > 0)
        target = np.where(goes_on, 0, row.field(f"{name}_target")[:, slot].astype(np.int64))
        aims = _aims(target, slot, standing) & offered[:, None]
        first = 2 * len(orders.TARGETS) * number
        codes[:, first : first + len(orders.TARGETS)] = aims
        codes[:, first + _GIMMICK : first + _GIMMICK + len(orders.TARGETS)] = aims & gimmick[:, None]
    for place in _BENCH:
        codes[:, orders.FIRST_SWITCH + place] = chooses & ~trapped & standing[:, place]
    codes[:, orders.PASS] = ~codes.any(axis=1)
    return codes


def _aims(target: np.ndarray, slot: int, standing: np.ndarray) -> np.ndarray:
    """(B, 5) bool: the columns moves of these kinds of target may be aimed at."""
    names = fields.vocabulary()["targets"]
    partner, myself = slot, 1 - slot  # columns of the places -2 and -1
    mate = standing[:, 1 - slot]
    foes = standing[:, fields.FOE : fields.FOE + 2]

    def aimed(*wanted: str) -> np.ndarray:
        return np.isin(target, [names.index(name) for name in wanted])

    found = np.zeros((len(target), len(orders.TARGETS)), bool)
    anyone, foe, own = aimed("normal", "any"), aimed("adjacentFoe"), aimed("adjacentAllyOrSelf")
    found[:, partner] = (anyone & mate) | aimed("adjacentAlly") | (own & mate)
    found[:, myself] = own
    for place, column in enumerate(_FOE_COLUMNS):
        found[:, column] = (anyone | foe) & foes[:, place]
    found[:, _FOE_COLUMNS[0]] |= (anyone | foe) & ~found.any(axis=1)
    found[:, _NO_TARGET] = ~found.any(axis=1)
    return found


def _switches(row: _Columns) -> np.ndarray:
    """(B, 2025) bool: who may come in where a switch is forced."""
    forced, reviving = row.of("slot", "forced") > 0, row.of("slot", "reviving") > 0
    standing = row.standing()
    fainted = row.of("pokemon", "fainted")[:, :_PLACES] > 0
    bench = standing[:, :_PLACES].copy()
    bench[:, : _BENCH[0]] = False
    codes = np.zeros((len(forced), 2, orders.SLOT_CODES), bool)
    places = slice(orders.FIRST_SWITCH, orders.FIRST_SWITCH + _PLACES)
    for slot in range(2):
        come = np.where(reviving[:, slot, None], fainted, bench) & forced[:, slot, None]
        codes[:, slot, places] = come
        codes[:, slot, orders.PASS] = ~come.any(axis=1) & ~(forced & reviving)[:, slot]
    # With one left for two places either slot may get it; who does not passes.
    short = forced.all(axis=1) & ~reviving.any(axis=1) & (bench.sum(axis=1) == 1)
    codes[short, :, orders.PASS] = True
    return _pairs(codes[:, 0], codes[:, 1])


def _pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(B, 2025) bool of the codes of two slots; where no pair is left, both pass."""
    pairs = (first[:, :, None] & second[:, None, :] & _possible_pairs()).reshape(len(first), -1)
    pairs[:, orders.join(orders.PASS, orders.PASS)] |= ~pairs.any(axis=1)
    return pairs


@cache
def _possible_pairs() -> np.ndarray:
    """(45, 45) bool: not one Pokémon twice, not two passes, not two gimmicks."""
    codes = np.arange(orders.SLOT_CODES)
    gimmick = (codes < orders.FIRST_SWITCH) & (codes % (2 * len(orders.TARGETS)) >= _GIMMICK)
    twice = (codes[:, None] == codes) & (codes >= orders.FIRST_SWITCH)
    return ~twice & ~(gimmick[:, None] & gimmick)


@cache
def _largest_place() -> np.ndarray:
    """(90,) the last place of the team each preview brings."""
    return np.array([max(chosen) for chosen in orders.PREVIEW_ORDERS])
