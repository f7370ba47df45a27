"""Games of the simulator seen through the protocol: written, read back, and compared at every decision."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.encoding.fields import COLUMNS, OBSERVATION
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.live.follower import Follower
from jimbot.games.balatro.live.memory import positions
from jimbot.games.balatro.live.reading import read_shown
from jimbot.games.balatro.live.writer import Writer
from jimbot.games.balatro.options import DECK_NAMES, Options
from jimbot.games.balatro.rules.state import NOTHING
from jimbot.games.balatro.states.dialects import find_dialect
from jimbot.games.balatro.states.rebuild import rebuild
from jimbot.games.balatro.view.move_text import Move

DECKS = tuple(DECK_NAMES)
Player = Callable[[BalatroGame, np.random.Generator], int]
_ROW, _SEED = np.zeros(1, np.int64), np.zeros(1, np.uint64)


@dataclass(frozen=True)
class Journey:
    """One game that is followed: its start, how it is written, who plays."""

    seed: int
    deck: str = "red"
    stake: int = 1
    dialect: str = "1.x"
    fair: bool = True
    helpers: bool = False


def journey(number: int, helpers: bool = False) -> Journey:
    """The n-th of a series that goes through all decks, stakes, dialects and both kinds of writing."""
    dialect = ("1.x", "dev")[number // 2 % 2]
    return Journey(7000 + number, DECKS[number % len(DECKS)], number % 8 + 1, dialect, number % 3 > 0, helpers)


def random_player(game: BalatroGame, luck: np.random.Generator) -> int:
    return int(luck.choice(np.flatnonzero(game.legal_mask[0])))


def column(place: int) -> str:
    """What a place of the observation is called."""
    for field in OBSERVATION.fields:
        span = OBSERVATION.span(field.name)
        if span.start <= place < span.stop:
            names = COLUMNS.get(field.name, ())
            return f"{field.name}.{names[(place - span.start) % len(names)]}" if names else field.name
    raise AssertionError(place)


def follow(way: Journey, player: Player, most: int = 10_000, joining: bool = True) -> Counter[str]:
    """Plays a game and reads every state of it; what differs from the simulator's own view, by name and count.

    `decisions` counts what was compared. With `joining`, every state is also read by itself.
    """
    options = Options(deck=way.deck, stake=way.stake, helpers=way.helpers)
    game, joined = BalatroGame(1, options=options), BalatroGame(1, options=options)
    game.reset(np.array([way.seed], np.uint64))
    joined.reset(_SEED)
    follower, writer = Follower(way.dialect, options), Writer(find_dialect(way.dialect), way.fair)
    found: Counter[str] = Counter()
    luck, after = np.random.default_rng(way.seed), None
    for _ in range(most):
        g = game.games[0]
        if g.selected == 0 and g.grabbed == NOTHING:
            state = json.loads(writer.text(g))
            follower.see(state, after)
            after = None
            found["not exact"] += not follower.exact
            if joining:
                _join(state, joined, game, found)
        _compare("", follower.game, game, np.zeros(game.observation.shape[1], bool), found)
        action = player(game, luck)
        move = Move(*(int(part) for part in action_table.engine_move(g, action)))
        if move.kind == action_table.NO_MOVE:
            assert follower.request(action) is None
        else:
            after = [move]
        game.step(np.array([action]))
        found["decisions"] += 1
        if game.terminated[0] or game.truncated[0]:
            break
    return +found


OPEN_ACTIONS = {
    "boss_reroll": ("reroll_boss",),
    "fool": ("use", "pick", "buy_and_use"),
    "counts": ("sort", "grab_joker", "grab_consumable", "grab_hand"),
}
"""Blocks of actions of which one may be legal or not by what a state does not tell."""


def open_actions(unknown: Iterable[str]) -> np.ndarray:
    """(A,) bool: the actions of which it is not certain whether they are legal."""
    blocks = {block for name in unknown for block in OPEN_ACTIONS.get(name, ())}
    uncertain = [number for number, block in enumerate(action_table.ACTIONS.blocks) if block.name in blocks]
    return np.isin(action_table.ACTIONS.block_of, uncertain)


def _join(state: object, joined: BalatroGame, game: BalatroGame, found: Counter[str]) -> None:
    record, unknown = rebuild(read_shown(state))
    joined.games[0] = record
    joined.redraw_hidden(_ROW, _SEED)
    _compare("joined: ", joined, game, positions(unknown), found, open_actions(unknown))


def _compare(
    prefix: str, read: BalatroGame, game: BalatroGame, unknown: np.ndarray, found: Counter[str],
    open_to_doubt: np.ndarray | None = None,
) -> None:  # fmt: skip
    for place in np.flatnonzero((read.observation[0] != game.observation[0]) & ~unknown):
        found[f"{prefix}{column(int(place))}"] += 1
    differing = read.legal_mask[0] != game.legal_mask[0]
    if open_to_doubt is not None:
        differing &= ~open_to_doubt
    for action in np.flatnonzero(differing):
        found[f"{prefix}legal: {action_table.ACTIONS.labels[action]}"] += 1
