"""Recordings of live games: the simulator starts from the seed, does the same, and is held to what each state shows.

A game is compared up to the first state that differs. States in which the game was busy are passed over. What `select`
and `reroll` answer may come before all cards lie there; the next state decides. Where a recording misses something
(polled ones do), the simulator looks for the one or two moves that lead to the next state; several different ways,
debug methods and games whose beginning is not there are undecided: they prove nothing either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.live import dialects as d
from jimbot.games.balatro.live.calls import moves_of
from jimbot.games.balatro.live.follower import begins
from jimbot.games.balatro.live.shown import Shown, differences, essence, read_shown
from jimbot.games.balatro.live.writer import Writer
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import SELECTING_HAND, new_games
from jimbot.games.balatro.verify.live_lines import Seen, read_lines
from jimbot.games.balatro.view.move_text import Move, write_move
from jimbot.games.verification import Entry, FileReport

_NONE = np.uint64(0)
_EARLY = ("select", "reroll")  # answered before all cards lie there
_DEALT = {"hand", "unseen", "shop"}
_DEBUG = ("add", "set", "load")
_CARDS = (decisions.PLAY, decisions.DISCARD)
_ORDER = (action_table.NO_MOVE, decisions.SORT, decisions.MOVE_HAND, decisions.MOVE_JOKER, decisions.MOVE_CONSUMABLE)
_UNSHOWN = ("steps", "selected", "grabbed", "grabbed_index", "reorderings")


def check_live(lines: list[tuple[int, Any]], report: FileReport) -> None:
    """Each run is an entry."""
    report.unit = "runs"
    for number, run in enumerate(_runs(read_lines(lines)), 1):
        with report.entry(f"run {number}", _seed(run)) as entry:
            _Replay(entry).go_through(run)


def _runs(seen: list[Seen]) -> Iterator[list[Seen]]:
    """A recording cut where runs begin; what lies between runs belongs to none."""
    run: list[Seen] = []
    for one in seen:
        name = one.state.get("state") if one.state is not None else None
        starts = one.call is not None and one.call.method == "start"
        leaves = (one.call is not None and one.call.method == "menu") or name == d.MENU
        seed = _seed([one])
        another = bool(seed) and _seed(run) not in ("", seed)
        if (starts or leaves or another) and run:
            yield run
            run = []
        if not leaves:
            run.append(one)
    if any(one.state is not None for one in run):
        yield run


def _seed(run: list[Seen]) -> str:
    return next((str(one.state["seed"]) for one in run if one.state is not None and "seed" in one.state), "")


class _Replay:
    """One run, played again beside its recording."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._g: Any = None
        self._s: Any = new_scratch()[0]
        self._writer: Writer | None = None
        self._doubt: list[tuple[str, Any, Any]] = []
        """What an early answer showed otherwise, and in which line."""
        self._doubtful = 0

    def go_through(self, run: list[Seen]) -> None:
        for one in run:
            self._entry.step = one.place
            shown = _read(one.state)
            if self._g is None:
                if shown is not None and not self._begin(shown):
                    return
            elif not self._follow(one, shown):
                return
        self._tell_doubt()

    def _begin(self, shown: Shown) -> bool:
        if not begins(shown):
            return self._undecided("beginning of the run", shown.state, "needs the run from its start")
        self._g = new_games(1)[0]
        self._g.seed, self._g.seed_length = seed_bytes(shown.seed)
        self._g.deck, self._g.stake, self._g.challenge, self._g.endless = shown.deck, shown.stake, shown.challenge, True
        decisions.apply(self._g, self._s, decisions.START, 0, _NONE)
        return self._agrees(shown)

    def _follow(self, one: Seen, shown: Shown | None) -> bool:
        if one.call is not None and one.call.method == "start":
            return True  # the answer that began this run, told twice
        if one.call is not None:
            if one.call.method in _DEBUG:
                return self._undecided("action", one.call.method, "has no rule for a debug method")
            if not self._do(one):
                return False
        if shown is None:
            return True
        different = self._different(shown)
        if not different:
            self._doubt, self._doubtful = [], 0
            return self._agrees(shown)
        early = one.call.method in _EARLY if one.call is not None else bool(self._doubt)
        if early and {name for name, _, _ in different} <= _DEALT:
            self._doubt, self._doubtful = self._doubt or different, self._doubtful or one.place
            return True
        if self._doubt:
            self._tell_doubt()
            return False
        return self._aligned(shown) if one.call is None else self._agrees(shown)

    # --- moving ---

    def _do(self, one: Seen) -> bool:
        assert one.call is not None
        try:
            moves = moves_of(self._g, one.call.method, one.call.params)
        except (UsageError, KeyError, IndexError, TypeError, ValueError) as problem:
            self._entry.differ("action", f"{one.call.method} {one.call.params}", str(problem))
            return False
        for move in moves:
            if not decisions.apply(self._g, self._s, *move.encoded()):
                state = d.STATE_OF_PHASE[self._g.phase]
                self._entry.differ("legal", f"{one.call.method} {one.call.params}", f"not legal in {state}")
                return False
        return True

    def _aligned(self, shown: Shown) -> bool:
        """Finds what happened between two looks: one move, else two."""
        for ways in (_one_move, _two_moves):
            found: dict[bytes, tuple[str, Any]] = {}
            for words, g in ways(self._g, self._s):
                if _could_be(g, shown) and not self._different(shown, g):
                    found.setdefault(_identity(g), (words, g))
            if len(found) > 1:
                told = " or ".join(sorted(words for words, _ in found.values())[:3])
                return self._undecided("action", "none", f"knows {len(found)} ways to get there: {told}")
            if found:
                ((_, self._g),) = found.values()
                break
        return self._agrees(shown)

    # --- comparing ---

    def _different(self, shown: Shown, g: Any = None) -> list[tuple[str, Any, Any]]:
        return differences(essence(shown), self._own(shown, self._g if g is None else g))

    def _own(self, shown: Shown, g: Any) -> dict[str, Any]:
        if self._writer is None or self._writer.dialect is not shown.dialect:
            self._writer = Writer(shown.dialect)
        return essence(self._writer.state(g), shown.dialect)

    def _agrees(self, shown: Shown) -> bool:
        """Compares value by value; True while nothing differs."""
        recorded, own = essence(shown), self._own(shown, self._g)
        self._entry.values += len(recorded)
        for name, first, second in differences(recorded, own):
            self._entry.compare(name, _listed(first), _listed(second))
        return not self._entry.differences

    def _tell_doubt(self) -> None:
        if self._doubt:
            self._entry.step = self._doubtful
        for name, first, second in self._doubt:
            self._entry.compare(name, _listed(first), _listed(second))
        self._doubt = []

    def _undecided(self, field: str, recorded: Any, why: str) -> bool:
        self._entry.differ(field, recorded, why)
        self._entry.undecidable = True
        return False


def _read(state: Any) -> Shown | None:
    """A state in which something can be decided; None while the game is busy."""
    if state is None or state["state"] not in d.RUN_STATES:
        return None
    return read_shown(state)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


# --- what may have happened between two looks ---


def _one_move(g: Any, s: Any) -> Iterator[tuple[str, Any]]:
    for move, after in _each(BalatroGame(1), g, s):
        yield write_move(*move), after


def _two_moves(g: Any, s: Any) -> Iterator[tuple[str, Any]]:
    """Of two moves one at most plays or discards cards, and if it is the first, it ends the round."""
    batch = BalatroGame(1)
    for first, after in list(_each(batch, g, s)):
        if first.kind not in _CARDS or after.phase != SELECTING_HAND:
            for second, later in _each(batch, after, s):
                yield f"{write_move(*first)}, {write_move(*second)}", later


def _each(batch: BalatroGame, g: Any, s: Any) -> Iterator[tuple[Move, Any]]:
    """Every move of a situation but reordering, and where it leads."""
    batch.reset(np.zeros(1, np.uint64))
    batch.games[0] = g
    batch.look()
    for action in np.flatnonzero(batch.legal_mask[0]).tolist():
        kind, index, targets = (int(part) for part in action_table.engine_move(batch.games[0], action))
        if kind in _ORDER:
            continue
        after = new_games(1)
        after[0] = g
        if decisions.apply(after[0], s, kind, index, np.uint64(targets)):
            yield Move(kind, index, targets), after[0]


def _could_be(g: Any, shown: Shown) -> bool:
    """What can be told without writing a state, as there are hundreds: counters, and the faces in the hand."""
    if d.STATE_OF_PHASE[g.phase] != shown.state or int(g.ante) != shown.ante or int(g.money) != shown.money:
        return False
    held, jokers = shown.areas["hand"].cards, shown.areas["jokers"].cards
    if int(g.hand_count) != len(held) or int(g.joker_count) != len(jokers):
        return False
    if g.phase == SELECTING_HAND:
        counted = {"hands_left": int(g.hands_left), "discards_left": int(g.discards_left)}
        if any(shown.counters.get(name, value) != value for name, value in counted.items()):
            return False
    faces = g.card_rank[g.hand[: len(held)]].tolist()
    return all(card.rank in (0, face) for card, face in zip(held, faces, strict=True))


def _identity(g: Any) -> bytes:
    """A record without what only counts how it was reached."""
    games = new_games(1)
    games[0] = g
    for name in _UNSHOWN:
        games[name] = 0
    return games.tobytes()
