"""Recordings of live games: the simulator starts from the seed, does the same, and is held to what each state shows.

Understood are, line by line and mixed as they come (a JSON document with a list of them will do as well):

- requests and answers of the protocol, each on its own line and paired by their ids, or both in one line as `request`
  and `response`; of two files beside each other (`requests….jsonl`, `responses….jsonl`) either may be given
- states, alone or as `state` or `gamestate` beside the call that led to them: `action` (or `call`) with `method` and
  `params`, or these two directly
- what `jimbot play --live` writes

A game is compared up to the first state that differs. States in which the game was busy are passed over. What `select`
and `reroll` answer may come before all cards lie there; the next state decides. Where a recording misses something
(polled ones do), the simulator looks for the one or two moves that lead to the next state; several different ways,
debug methods and games whose beginning is not there are undecided: they prove nothing either way.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import TranscriptError, UsageError
from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.live.calls import moves_of
from jimbot.games.balatro.live.follower import begins
from jimbot.games.balatro.live.reading import read_shown
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.content import CHALLENGES, DECKS, STAKES
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import SELECTING_HAND, new_games
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.states.dialects import MENU
from jimbot.games.balatro.states.shown import Shown, differences, essence, shown_of
from jimbot.games.balatro.transcript import Transcript
from jimbot.games.balatro.verify.recordings import numbered_lines
from jimbot.games.balatro.view.move_text import Move, write_move
from jimbot.games.balatro.view.playback import Playback
from jimbot.games.hooks.people import LoggedGame
from jimbot.games.hooks.programs import LiveCall
from jimbot.games.verification import Entry, FileReport

_LOOKS = ("health", "gamestate", "rpc.discover", "save", "screenshot")


class Seen(NamedTuple):
    """One thing in a recording."""

    place: int
    """Its line, from 1."""
    call: LiveCall | None
    """What was done; None: the state was only polled."""
    state: Any
    """The game after it; None: it was not polled."""


def read_lines(lines: Iterable[tuple[int, Any]]) -> list[Seen]:
    """What the lines of a recording tell, in order."""
    found: list[Seen] = []
    asked: defaultdict[str, deque[tuple[int, LiveCall]]] = defaultdict(deque)  # by id, which some bots use again
    for place, line in lines:
        if not isinstance(line, Mapping):
            raise UsageError(f"Line {place} is no object; expected requests, answers or states of a live game.")
        if "request" in line and isinstance(line["request"], Mapping | None):
            found += _exchange(place, line)
        elif "method" in line and not _state_of(line):
            asked[str(line.get("id"))].append((place, _call(place, line)))
        elif "jsonrpc" in line and ("result" in line or "error" in line):
            found += _answered(place, line, asked)
        else:
            found += _seen_in(place, line)
    left = (one for waiting in asked.values() for one in waiting)
    found += [Seen(place, call, None) for place, call in left if call.method not in _LOOKS]
    return sorted(found, key=lambda seen: seen.place)


def _exchange(place: int, line: Mapping[str, Any]) -> list[Seen]:
    """A line with request and response; ours has the state once it stood still beside them."""
    request, response = line["request"], line.get("response")
    if request is None:  # a choice that went over no wire
        return []
    call, state = _call(place, request), line.get("state")
    refused = bool(line.get("refusal")) or (isinstance(response, Mapping) and "error" in response)
    if state is None and isinstance(response, Mapping):
        state = response.get("result", response if _is_state(response) else None)
    done = not refused and line.get("happened") is not False and call.method not in _LOOKS
    return [Seen(place, call if done else None, state if _is_state(state) else None)]


def _answered(place: int, line: Mapping[str, Any], asked: Mapping[str, deque[tuple[int, LiveCall]]]) -> list[Seen]:
    waiting = asked[str(line.get("id"))]
    first, call = waiting.popleft() if waiting else (place, None)
    state = line.get("result") if _is_state(line.get("result")) else None
    if call is None or call.method in _LOOKS or "error" in line:
        return [Seen(first, None, state)] if state is not None else []
    return [Seen(first, call, state)]


def _seen_in(place: int, line: Mapping[str, Any]) -> list[Seen]:
    if line.get("kind") == "end":
        return []
    state = _state_of(line)
    if state is None:
        keys = ", ".join(list(line)[:6])
        raise UsageError(f"Line {place} with the keys {keys} is nothing of a live game; expected requests or states.")
    if line.get("kind") == "run":
        return [Seen(place, LiveCall("start", {}), state)]
    done = line.get("action", line.get("call"))
    if isinstance(done, Mapping):
        return [Seen(place, _call(place, done), state)]
    return [Seen(place, _call(place, line) if "method" in line else None, state)]


def _state_of(line: Mapping[str, Any]) -> Any:
    candidates = (line, line.get("gamestate"), line.get("state"), line.get("result"))
    return next((one for one in candidates if _is_state(one)), None)


def _is_state(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("state"), str)
        and ("round_num" in value or value["state"] == MENU)
    )


def _call(place: int, value: Mapping[str, Any]) -> LiveCall:
    method, params = value.get("method"), value.get("params") or {}
    if not isinstance(method, str) or not isinstance(params, Mapping):
        raise UsageError(f"Line {place} has the method {method!r}; expected one of the protocol, with params.")
    return LiveCall(method, dict(params))


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


def logged_games(path: Path) -> list[LoggedGame]:
    """The runs of a log as games of ours, each up to where it can be followed exactly."""
    lines, report, found = numbered_lines(path), FileReport(path.name, "live"), []
    player = _player_of(path, lines)
    for number, run in enumerate(_runs(read_lines(lines)), 1):
        with report.entry(f"run {number}", _seed(run)) as entry:
            replay = _Replay(entry)
            replay.go_through(run)
        if replay.moves:
            found.append(LoggedGame(Playback(replay.transcript()), player, _why_it_ends(replay, entry)))
        elif entry.differences:
            raise TranscriptError(f"{path}, run {number}: {_why_it_ends(replay, entry)}")
    if not found:
        raise TranscriptError(f"{path} tells of no move of any run; expected a log of games as they were played.")
    return found


def _player_of(path: Path, lines: Sequence[tuple[int, Any]]) -> str:
    """Who played: what the first lines say, else the folder the log lies in, which programs name after their model."""
    for _, line in lines[:5]:
        for name in ("model", "player", "policy", "bot"):
            if isinstance(line, Mapping) and isinstance(line.get(name), str):
                return line[name]
    return path.resolve().parent.name


def _why_it_ends(replay: _Replay, entry: Entry) -> str:
    if not entry.differences:
        return ""
    first = entry.differences[0]
    where = f"from move {len(replay.moves) + 1} on (line {first.step})"
    has = "" if entry.undecidable else "has "
    return f"Undecided {where}: {first.field} is {first.recorded!r} there, and the simulator {has}{first.simulated}."


class _Replay:
    """One run, played again beside its recording."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.moves: list[str] = []
        """As far as they are certain, and up to the win."""
        self._won = False
        self._g: Any = None
        self._s: Any = new_scratch()[0]
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
            return True  # the answer that began this run, recorded twice
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

    def transcript(self) -> Transcript:
        """The run as it was followed."""
        g = self._g
        challenge = CHALLENGES.key(int(g.challenge)) if g.challenge else ""
        seed = bytes(g.seed[: g.seed_length]).decode()
        return Transcript(seed, DECKS.key(int(g.deck)), STAKES.key(int(g.stake)), challenge, False, self.moves)

    def _note(self, *moves: str) -> None:
        """Moves that were made; what is played on after the win belongs to no ordinary run."""
        if not self._won:
            self.moves += moves
        self._won = bool(self._g.won)

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
            self._note(write_move(*move))
        return True

    def _aligned(self, shown: Shown) -> bool:
        """Finds what happened between two looks: one move, else two."""
        for ways in (_one_move, _two_moves):
            found: dict[bytes, tuple[tuple[str, ...], Any]] = {}
            for moves, g in ways(self._g, self._s):
                if _could_be(g, shown) and not self._different(shown, g):
                    found.setdefault(_identity(g), (moves, g))
            if len(found) > 1:
                ways = " or ".join(sorted(", ".join(moves) for moves, _ in found.values())[:3])
                return self._undecided("action", "none", f"knows {len(found)} ways to get there: {ways}")
            if found:
                ((moves, self._g),) = found.values()
                self._note(*moves)
                break
        return self._agrees(shown)

    # --- comparing ---

    def _different(self, shown: Shown, g: Any = None) -> list[tuple[str, Any, Any]]:
        return differences(essence(shown), self._own(shown, self._g if g is None else g))

    def _own(self, shown: Shown, g: Any) -> dict[str, Any]:
        return essence(shown_of(g, shown.dialect))

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


def _one_move(g: Any, s: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    for move, after in _each(BalatroGame(1), g, s):
        yield (write_move(*move),), after


def _two_moves(g: Any, s: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Of two moves one at most plays or discards cards, and if it is the first, it ends the round."""
    batch = BalatroGame(1)
    for first, after in list(_each(batch, g, s)):
        if first.kind not in _CARDS or after.phase != SELECTING_HAND:
            for second, later in _each(batch, after, s):
                yield (write_move(*first), write_move(*second)), later


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
    """What can be compared without writing a state, as there are hundreds: counters, and the faces in the hand."""
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
