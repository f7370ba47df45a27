"""Records that somebody set to break the rules: every field in turn at its ends, at -1, and just beyond each range.

Compiled code looks up arrays by what is in a record, so each of these must be refused or be harmless. All fields of the
record take part, also those that will be added. Run as a program it plays them with bounds checks on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jimbot.games.balatro.encoding import batch_kernel
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.chance.streams import RESAMPLE_CAPACITY, TEMPLATES
from tests.games.balatro.roaming import new_game, roam

TABLES = (c.JOKERS, c.CONSUMABLES, c.VOUCHERS, c.TAGS, c.BLINDS, c.DECKS, c.STAKES, c.PACKS, c.HANDS, c.ENHANCEMENTS,
          c.EDITIONS, c.SEALS, c.CHALLENGES)  # fmt: skip
SIZES = {table.size for table in TABLES} | {len(TEMPLATES), RESAMPLE_CAPACITY, len(state.PHASE_NAMES)}
SIZES |= {value for name, value in vars(state).items() if name.startswith("MAX_")}
BEYOND = sorted({size + more for size in SIZES for more in (0, 1)})


def hostile_records(states: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """(records, what was done to each): one thing each, to states by turns."""
    deeds = [(name, value, whole) for name in state.GAME_DTYPE.names or () for value, whole in _values(name)]
    records = states[np.arange(len(deeds)) % len(states)].copy()
    for record, (name, value, whole) in zip(records, deeds, strict=True):
        if whole:
            record[name] = value
        else:
            record[name].flat[0] = value
    return records, [f"{name} = {value}{'' if whole else ' at its first place'}" for name, value, whole in deeds]


def _values(name: str) -> Iterator[tuple[int, bool]]:
    kind, shape = state.GAME_DTYPE[name].subdtype or (state.GAME_DTYPE[name], ())
    if kind.kind not in "iu":
        return
    ends = np.iinfo(kind)
    for value in (int(ends.min), -1, *BEYOND, int(ends.max)):
        if ends.min <= value <= ends.max:
            yield value, True
            if shape:
                yield value, False


def some_states(count: int = 96) -> np.ndarray:
    """Games in every phase that asks for something, with jokers and a choice half made among them."""
    game, seen = new_game(count, seed=21), []
    for step, _ in enumerate(roam(game, 120, seed=21)):
        if step % 17 == 16:
            seen.append(game.games.copy())
    states = np.concatenate(seen)
    np.random.default_rng(21).shuffle(states)
    return states


def complaints(turns: int = 6) -> tuple[list[str], int]:
    """(what went wrong with records that were taken, how many were refused)."""
    records, deeds = hostile_records(some_states())
    found = np.zeros(len(records), np.int64)
    game = new_game(1)
    batch_kernel.work(batch_kernel.CHECK, game.arrays._replace(games=records, faults=found), 0, 0, len(records))
    taken = np.flatnonzero(found == 0)
    playing = new_game(len(taken), helpers=True)
    playing.games[:] = records[taken]
    playing.look()
    wrong = [f"{deeds[taken[row]]}: sees nonsense" for row in np.flatnonzero(~_sees_sense(playing))]
    for turn in range(turns):
        _step_randomly(playing, turn)
    wrong += [f"{deeds[taken[int(fault.split()[1])]]}: {fault}" for fault in playing.faults()]
    return wrong, len(records) - len(taken)


def _sees_sense(game: BalatroGame) -> np.ndarray:
    """(N,) bool: the observation is finite, and every id in it exists."""
    good = np.ones(game.num_envs, bool)
    good &= np.isfinite(game.observation).all(axis=1)
    for field in SPEC.observation.fields:
        if field.ids:
            shown = game.observation[:, SPEC.observation.span(field.name)]
            good &= ((shown >= 0) & (shown < field.ids)).all(axis=1)
    return good


def _step_randomly(game: BalatroGame, turn: int) -> None:
    """One random legal move in every game that has one."""
    chances = np.where(game.legal_mask, np.random.default_rng(turn).random(game.legal_mask.shape), -1.0)
    game.step(chances.argmax(axis=1), hold=~game.legal_mask.any(axis=1))


if __name__ == "__main__":
    wrong, _ = complaints()
    print("\n".join(wrong) or "harmless")
