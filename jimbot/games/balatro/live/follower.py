"""A live game followed state by state: what its player sees and may do, as our simulator's own games show it.

**Memory.** Beside the states runs a simulator that started with the run's seed and makes the same moves. While it
agrees with every state, it knows all that states do not show: what jokers have grown to, tags held, picks left, the
round's targets. It never decides anything: what is played, planned and described is a copy in which everything hidden
is dealt anew (`rules/hidden.py`), so nothing in it depends on what a fair player cannot know.

**Joined half-way**, or when the game goes another way than the simulator (locked cards, debug methods), the record is
put together from the state (`rebuild.py`), and what the moves since then tell is carried along. What is still assumed
is listed in `unknown`.

    follower = Follower()
    follower.see(state)
    call = follower.request(action)         # None: a choice that only grows; look again and go on
    follower.see(answer, call)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jimbot.errors import JimbotError, UnreadableError, UsageError
from jimbot.games.balatro.encoding import action_table, rewards
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.live.calls import call_of, moves_of
from jimbot.games.balatro.live.memory import UNKNOWN, carry, forget, still_unknown
from jimbot.games.balatro.live.reading import read_shown
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.content import CHALLENGES, DECKS
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import GAME_OVER, GRABBED_JOKER, NOTHING, WON, new_games
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.states.rebuild import rebuild, require_sound
from jimbot.games.balatro.states.shown import Shown, differences, essence, shown_of
from jimbot.games.balatro.view.move_text import Move
from jimbot.games.hooks.programs import LiveCall, LiveResult, Sight
from jimbot.reading.plain import json_value

_NONE = np.uint64(0)
_REORDERS = (decisions.SORT, decisions.MOVE_JOKER, decisions.MOVE_CONSUMABLE, decisions.MOVE_HAND)
_ROW = np.zeros(1, np.int64)
_ALWAYS = np.isin(action_table.KIND, (decisions.PLAY, decisions.DISCARD))  # hundreds, and every dialect has them


class Follower:
    """One live game."""

    def __init__(self, dialect: str | d.Dialect | None = None, options: Options = Options()) -> None:
        self._dialect = d.find_dialect(dialect) if isinstance(dialect, str) else dialect
        self._options = options  # what a policy wants to be shown; deck, stake and challenge are the state's
        self._truth: Any = None
        self._s: Any = new_scratch()[0]
        self._game: BalatroGame | None = None
        self._foreseen: tuple[Any, Shown, list[Move], Any] | None = None
        self._weights = np.array(rewards.PRESETS[options.reward])
        self._first: Any = None
        self._points = self._score = 0.0
        self.exact = False
        """Whether everything is known, from the run's first state on."""
        self.unknown: set[str] = set()
        """What is assumed, by the names of `unknown.UNKNOWN`."""
        self.happened: bool | None = None
        """Whether the call that the last state came after was made; None: unknown."""

    @property
    def game(self) -> BalatroGame:
        """A batch of one game that stands where the live one stands, with everything hidden dealt anew."""
        if self._game is None:
            raise UsageError("The follower has not seen a state yet; call see(state) first.")
        return self._game

    @property
    def assumed(self) -> list[str]:
        """What is unknown, in words."""
        return [UNKNOWN[name].words for name in sorted(self.unknown)]

    @property
    def dialect(self) -> d.Dialect:
        return self._dialect or d.ONE

    # --- reading ---

    def see(self, state: Any, after: LiveCall | Sequence[Move] | None = None) -> None:
        """The live game as it stands now, and the call (or the engine's moves) that led to it."""
        foreseen, self._foreseen = self._foreseen, None
        if foreseen is not None and foreseen[0] is state:
            _, shown, moves, self._truth = foreseen
            self.happened, self.unknown = True, forget(self.unknown, moves)
            self._publish(shown)
            return
        shown = read_shown(state, self._dialect)
        self._dialect = shown.dialect
        moves = self._moves(after)
        following = self._followed(shown, moves)
        if following is not None:
            self._truth = following
        else:
            self._put_together(shown, moves)
        self._publish(shown)

    def expects(self, state: Any, after: LiveCall) -> bool:
        """Whether the memory, moved on by a call, shows exactly this state. What is foreseen is read once only."""
        self._foreseen = None
        try:
            shown = read_shown(state, self._dialect)
        except UsageError:  # the game is busy
            return False
        moves = self._moves(after)
        moved = self._moved(moves) if moves else None
        if moves is None or moved is None or not self._agrees(moved, shown):
            return False
        self._foreseen = state, shown, moves, moved
        return True

    def _moves(self, after: LiveCall | Sequence[Move] | None) -> list[Move] | None:
        if self._truth is None or after is None:
            return None
        return moves_of(self._truth, after.method, after.params) if isinstance(after, LiveCall) else list(after)

    def _followed(self, shown: Shown, moves: list[Move] | None) -> Any:
        """The memory moved on, if it agrees with the state; None if it does not."""
        self.happened = None
        if self._truth is not None and moves:
            moved = self._moved(moves)
            if moved is not None and self._agrees(moved, shown):
                self.happened = True
                self.unknown = forget(self.unknown, moves)
                return moved
        if self._truth is not None and self._agrees(self._truth, shown):
            self.happened = False if moves else None
            return self._truth
        start = self._start(shown) if begins(shown) else None
        if start is not None and self._agrees(start, shown):
            self.exact, self.unknown = True, set()
            return start
        return None

    def _put_together(self, shown: Shown, moves: list[Move] | None) -> None:
        record, assumed = rebuild(shown, self._options.endless)
        known = self._moved(moves) if moves else self._truth
        if known is not None:
            carry(known, record, shown)
            require_sound(record)
            assumed = still_unknown(assumed, forget(self.unknown, moves or ()))
        self._truth, self.unknown, self.exact = record, assumed, False

    def _start(self, shown: Shown) -> Any:
        g = new_games(1)[0]
        try:
            g.seed, g.seed_length = seed_bytes(shown.seed)
        except JimbotError:  # a seed of the game's that the simulator does not write
            return None
        g.deck, g.stake, g.challenge, g.endless = shown.deck, shown.stake, shown.challenge, self._options.endless
        decisions.apply(g, self._s, decisions.START, 0, _NONE)
        return g

    def _moved(self, moves: Sequence[Move]) -> Any:
        """The memory after some moves; None where the rules do not have one of them."""
        games = new_games(1)
        games[0] = self._truth
        g: Any = games[0]
        for move in moves:
            g.selected, g.grabbed = 0, NOTHING
            g.reorderings = g.reorderings + 1 if move.kind in _REORDERS else 0
            if not decisions.apply(g, self._s, *move.encoded()):
                return None
        return g

    def _agrees(self, g: Any, shown: Shown) -> bool:
        return not differences(essence(shown), essence(shown_of(g, shown.dialect)))

    def _publish(self, shown: Shown) -> None:
        if self._game is None:
            self._game = BalatroGame(1, options=_options(shown, self._options))
            self._game.reset(np.zeros(1, np.uint64))
        self._game.games[0] = self._truth
        self._game.redraw_hidden(_ROW, np.zeros(1, np.uint64))
        g: Any = self._game.games[0]
        if self._first is None:
            self._first = self._game.games.copy()[0]
        self._points += max(0.0, float(g.score) - self._score)  # a new round starts at 0
        self._score = float(g.score)

    def result(self) -> LiveResult | None:
        """What the run came to: every term is paid for what a measure gained, so first and last state have it all."""
        if self._first is None:
            return None
        g: Any = self.game.games[0]
        memory, terms = np.zeros(rewards.MEMORY), np.zeros(len(SPEC.reward_terms), np.float32)
        stats = np.zeros(len(SPEC.episode_stats), np.float32)
        rewards.remember(self._first, memory)
        rewards.write(g, memory, g.phase in (GAME_OVER, WON), self._weights, 1.0, terms)
        rewards.write_stats(g, self._points, stats)
        return LiveResult(float(terms.sum()), terms, stats)

    # --- moving ---

    def playable_mask(self) -> np.ndarray:
        """(A,) bool: the legal actions that the dialect has a call for, or that lead to one."""
        game = self.game
        mask = game.legal_mask[0].copy()
        for action in np.flatnonzero(mask & ~_ALWAYS):
            kind, index, targets = (int(part) for part in action_table.engine_move(game.games[0], action))
            if kind == action_table.NO_MOVE:
                mask[action] = action_table.KIND[action] == action_table.CHOOSE or self._can_reorder(int(action))
            else:
                mask[action] = call_of(game.games[0], Move(kind, index, targets), self.dialect) is not None
        return mask

    def _can_reorder(self, action: int) -> bool:
        """Whether a card that is taken up can be put down again."""
        kind = int(action_table.KIND[action]) - action_table.GRAB_JOKER + decisions.MOVE_JOKER
        return call_of(self.game.games[0], Move(kind, 0, 1), self.dialect) is not None

    def request(self, action: int) -> LiveCall | None:
        """The call an action makes. Choosing and taking up a card make none: they are done here and now."""
        g = self.game.games[0]
        if not self.game.legal_mask[0, action]:
            raise UsageError(f"Action {action} is not legal now; choose one of the mask.")
        kind, index, targets = (int(part) for part in action_table.engine_move(g, action))
        if kind == action_table.NO_MOVE:
            self._choose(action)
            return None
        call = call_of(g, Move(kind, index, targets), self.dialect)
        if call is None:
            label = action_table.ACTIONS.labels[action]
            raise UsageError(f"'{label}' has no call in dialect {self.dialect.name}; choose one of playable_mask().")
        return call

    def _choose(self, action: int) -> None:
        """A choice that is ours alone: the live game learns of it when it is made use of."""
        kind, index = int(action_table.KIND[action]), int(action_table.INDEX[action])
        for g in (self._truth, self.game.games[0]):
            g.steps += 1
            if kind == action_table.CHOOSE:
                g.selected = np.uint64(int(g.selected) | 1 << index)
            else:
                g.selected, g.grabbed = 0, GRABBED_JOKER + kind - action_table.GRAB_JOKER
                g.grabbed_index = index
        self.game.look()


def begins(shown: Shown) -> bool:
    """Whether this is the first state of a run."""
    fresh = shown.state == d.BLIND_SELECT and shown.round == 0 and not any(shown.played)
    return fresh and [d.STATUS[blind.status] for blind in shown.blinds] == ["SELECT", "UPCOMING", "UPCOMING"]


def _options(shown: Shown, wanted: Options) -> Options:
    if shown.challenge:
        return replace(wanted, deck="red", stake="white", challenge=CHALLENGES.key(shown.challenge))
    return replace(wanted, deck=DECKS.key(shown.deck), stake=int(shown.stake), challenge="")


def sight_of(body: bytes, dialect: str, options: Options) -> Sight:
    """What the player of one live state sees and can do by calls: a gamestate, or the answer that carries one."""
    try:
        state = json_value(body)
    except UnreadableError as problem:
        raise UsageError(f"The live state is damaged: {problem}; expected a gamestate as JSON.") from problem
    if isinstance(state, dict) and isinstance(state.get("result"), dict):
        state = state["result"]
    follower = Follower(dialect, options)
    follower.see(state)
    game = follower.game
    mask = follower.playable_mask()
    return Sight(game.observation[0].copy(), mask, lambda action: game.describe_action(0, action), game)
