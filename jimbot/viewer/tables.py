"""Games on the page: a policy that plays, a recording that is opened, a person who plays and may ask a policy.

A game becomes a list of frames, each what its player saw before a move: the scene, the moves a policy thought of and
how likely it would take them, what it expected, what it did and what came of it. A policy's game is played in the
background as fast as it goes, so that the viewer can play, pause, step and scrub through it.
"""

from __future__ import annotations

import itertools
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import JimbotError, UsageError
from jimbot.games.contract import BatchGame, GameEntry, game_entry, make
from jimbot.games.hooks.people import HumanInterface, Offer, RecordedGame, Recorder
from jimbot.games.narration import ended_in_words
from jimbot.games.recording import begin_recording
from jimbot.games.scenes import scene_of
from jimbot.games.seeds import HELD_OUT, bank_seeds, seed_name, seed_number
from jimbot.planning import OwnSearch, Planner
from jimbot.policies.contract import Decision, decide
from jimbot.policies.players import Player, decide_sides
from jimbot.policies.win_chances import WinChances, chances_against, win_chances
from jimbot.reading.plain import is_count
from jimbot.training.session.compile_cache import use_compile_cache

MOST_TABLES = 24
MOST_FRAMES = 5_000
MOST_MOVES = 6  # a policy's likeliest
MOST_LISTED = 200  # legal moves of a person
FORGOTTEN_SECONDS = 60.0

_log = logging.getLogger("jimbot.viewer")
Frame = dict[str, Any]


def think(game: BatchGame, decision: Decision, row: int = 0, table: WinChances | None = None) -> dict[str, Any]:
    """What a policy thought of a row: its likeliest moves, what it expects, and how often it wins from there."""
    shares = decision.probabilities[0]
    chosen = int(decision.actions[0])
    best = [int(action) for action in np.argsort(-shares, kind="stable")[:MOST_MOVES] if shares[action] > 0]
    if chosen not in best:
        best = [*best[: MOST_MOVES - 1], chosen]
    moves = [
        {"words": game.describe_action(row, action), "share": short(shares[action]), "chosen": action == chosen}
        for action in best
    ]
    value = short(decision.values[0])
    chance = None if table is None else round(table.of(game.observation[row], value), 3)
    wins = {"chance": chance, "facing": "" if table is None else table.facing}
    return {"moves": moves, "value": value, **wins, "legal": int(game.legal_mask[row].sum())}


class Notes:
    """A game of one player that is written down while it is played, so that it can be reviewed."""

    def __init__(self, recorded: RecordedGame | None = None) -> None:
        self._recorded, self._total = recorded, 0.0
        self._recorder: Recorder | None = None

    def begin(self, game: BatchGame, seed: int, options: Mapping[str, Any]) -> None:
        if game.num_rows == 1:
            self._recorder = begin_recording(game, seed, options)

    def note(self, action: int) -> None:
        if self._recorder is not None:
            self._recorder.note(action)

    def paid(self, reward: float) -> None:
        self._total += reward

    def recorded(self) -> RecordedGame:
        if self._recorded is not None:
            return self._recorded
        if self._recorder is None:
            raise UsageError("This game was not written down; games of one player that are played here are.")
        return self._recorder.finish(self._total)


@dataclass
class PageGame:
    """One game that a page shows."""

    about: dict[str, Any] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    done: bool = False
    complaint: str = ""
    notes: Notes = field(default_factory=lambda: Notes(), repr=False)

    def recorded(self) -> RecordedGame:
        """The game as far as it went, written down."""
        return self.notes.recorded()

    def document(self, first: int) -> dict[str, Any]:
        """The frames from one on, and how the game stands."""
        many = len(self.frames)
        found = {"about": self.about, "count": many, "done": self.done, "complaint": self.complaint}
        return {**found, "frames": self.frames[max(0, first) : many]}

    def close(self) -> None:
        """Nothing to be given back."""


class Played(PageGame):
    """A game that goes on in the background until it is over or nobody wants it any more."""

    def __init__(
        self, about: dict[str, Any], frames: Callable[[], Iterator[Frame | None]], notes: Notes | None = None
    ) -> None:
        """None among the frames: nothing is new. Such a game ends when nobody has looked at it for a while."""
        super().__init__(about=about, notes=notes or Notes())
        self._wanted, self._looked = True, time.monotonic()
        self._thread = threading.Thread(target=self._play, args=(frames,), name="table", daemon=True)
        self._thread.start()

    def document(self, first: int) -> dict[str, Any]:
        self._looked = time.monotonic()
        return super().document(first)

    def close(self) -> None:
        self._wanted = False

    def _play(self, frames: Callable[[], Iterator[Frame | None]]) -> None:
        try:
            for frame in frames():
                if frame is not None:
                    self.frames.append({"n": len(self.frames), **frame})
                forgotten = frame is None and time.monotonic() - self._looked > FORGOTTEN_SECONDS
                if not self._wanted or forgotten or len(self.frames) >= MOST_FRAMES:
                    break
        except JimbotError as problem:
            self.complaint = str(problem)
        except Exception as problem:  # a broken policy must not take the page with it
            _log.exception("A game on the page failed.")
            self.complaint = f"The game failed: {type(problem).__name__}: {problem}"
        self.done = True


# --- policies ---


def begin(entry: GameEntry, seed: int, options: Mapping[str, Any]) -> BatchGame:
    """One game at its first move."""
    if entry.functional is not None:  # games written in JAX find what an earlier start compiled
        use_compile_cache()
    game = make(entry.spec.id, 1, options=options)
    game.reset(np.array([seed], np.uint64))
    return game


def chosen_seed(entry: GameEntry, text: str) -> int:
    """The seed a person means; without one a held-out seed."""
    if text.strip():
        return seed_number(entry, text.strip())
    return int(bank_seeds(HELD_OUT, 1, start=secrets.randbelow(2**32))[0])


def policy_game(player: Player, seed_text: str, stochastic: bool, opponent: Player | None = None) -> Played:
    """A policy's game, alone or, in games of two, against another policy."""
    entry = player.entry
    player = _against(player, opponent)
    seed = chosen_seed(entry, seed_text)
    about = {
        "kind": "watch",
        "game": player.game,
        "policy": player.name,
        "opponent": opponent.name if opponent is not None else "",
        "seed": seed_name(entry, seed, player.options),
        "options": player.options,
        "thinks": player.manifest is not None,
    }
    notes = Notes()
    return Played(about, lambda: _policy_frames(player, opponent, seed, stochastic, notes), notes)


def _against(player: Player, opponent: Player | None) -> Player:
    """With the options under which both sides are played by policies."""
    if opponent is None:
        return player
    two_sides = player.entry.two_sides
    if two_sides is None:
        raise UsageError(f"Game '{player.game}' is for one player; leave the opponent out.")
    if opponent.game != player.game:
        raise UsageError(f"The opponent plays {opponent.game}, not {player.game}; choose another one.")
    return replace(player, options={**player.options, **two_sides.options})


def _policy_frames(
    player: Player, opponent: Player | None, seed: int, stochastic: bool, notes: Notes
) -> Iterator[Frame]:
    game, rng, total = begin(player.entry, seed, player.options), np.random.default_rng(0), 0.0
    notes.begin(game, seed, player.options)
    table = None if opponent is None else chances_against(player, opponent)
    table = None if stochastic else table or win_chances(player)
    try:
        while True:
            decision = decide(player.policy, game, game.acting, not stochastic, rng) if opponent is None else None
            decisions = [decision] if opponent is None else decide_sides((player, opponent), game, not stochastic, rng)
            mine = decisions[0]
            frame: Frame = {"scene": scene_of(player.entry, game), "total": short(total)}
            if mine is not None:
                frame |= think(game, mine, table=table)
                frame["move"] = game.describe_action(0, int(mine.actions[0]))
            else:
                frame |= {"moves": [], "value": None, "legal": 0, "move": "waits for the other side"}
            if len(decisions) > 1 and decisions[1] is not None:
                frame["opponent"] = think(game, decisions[1], 1)
            if mine is not None:
                notes.note(int(mine.actions[0]))
            game.step(np.array([0 if one is None else int(one.actions[0]) for one in decisions]))
            total += float(game.reward[0])
            notes.paid(float(game.reward[0]))
            over = bool(game.terminated[0] or game.truncated[0])
            yield {**frame, **_after(game), "over": False}
            if over:
                yield {"scene": frame["scene"], **_ending(player.entry, game, total)}
                return
    finally:
        _give_back(player)
        game.close()


def _give_back(player: Player) -> None:
    """The copies of the game in which a player that plans tried its moves."""
    if isinstance(player.policy, Planner | OwnSearch):
        player.policy.close()


def _after(game: BatchGame) -> Frame:
    """What the step that was just taken paid."""
    terms = zip(game.spec.reward_terms, game.reward_terms[0].tolist(), strict=True)
    return {"reward": short(game.reward[0]), "terms": {name: short(value) for name, value in terms if value}}


def _ending(entry: GameEntry, game: BatchGame, total: float) -> Frame:
    """The table after the last move, where the game keeps it, and how the game ended."""
    stats = dict(zip(game.spec.episode_stats, map(short, game.final_stats[0].tolist()), strict=True))
    ended = {"over": True, "outcome": f"{ended_in_words(entry, game)}.", "stats": stats, "total": short(total)}
    board = game.final_board(0)
    scene = {} if board is None else {"scene": scene_of(entry, board)}
    return {**ended, **scene, "moves": [], "value": None, "move": None, "legal": 0}


# --- recordings ---


def recorded_game(recorded: RecordedGame, adviser: Player | None) -> Played:
    """A recording played again; `adviser` says what it would have done at each move."""
    if adviser is not None and adviser.game != recorded.game:
        raise UsageError(f"The recording is of {recorded.game}, but the policy plays {adviser.game}.")
    about = {
        "kind": "recording",
        "game": recorded.game,
        "title": recorded.title(),
        "policy": adviser.name if adviser is not None else "",
        "thinks": adviser is not None and adviser.manifest is not None,
    }
    return Played(about, lambda: _recorded_frames(recorded, adviser), Notes(recorded))


def _recorded_frames(recorded: RecordedGame, adviser: Player | None) -> Iterator[Frame]:
    entry, scene = game_entry(recorded.game), None
    for moment in recorded.moments():
        frame: Frame = {"moves": [], "value": None, "legal": 0, "messages": list(moment.effects), "over": False}
        if not moment.over:
            scene = scene_of(entry, moment.game)
        if adviser is not None and moment.move is not None:
            decision = decide(adviser.policy, moment.game, moment.game.acting)
            frame |= think(moment.game, decision, table=win_chances(adviser))
        if moment.move is None:
            outcome = f"{moment.ended}." if moment.ended else "The recording ends here."
            frame |= {"over": True, "outcome": outcome, "stats": {}}
        yield {**frame, "scene": scene, "move": moment.move, "total": None}


# --- a person ---


class PersonGame(PageGame):
    """A person plays, one move at a time."""

    def __init__(self, entry: GameEntry, seed_text: str, options: Mapping[str, Any]) -> None:
        seed = chosen_seed(entry, seed_text)
        about = {"kind": "person", "game": entry.spec.id, "policy": "you", "seed": seed_name(entry, seed, options)}
        super().__init__(about={**about, "thinks": False})
        self.entry, self._total, self._lock = entry, 0.0, threading.Lock()
        self._game: BatchGame | None = None
        self._interface: HumanInterface | None = None
        threading.Thread(target=self._begin, args=(seed, options), name="table", daemon=True).start()

    def _begin(self, seed: int, options: Mapping[str, Any]) -> None:
        """In the background: a first start compiles the rules."""
        with self._lock:
            try:
                game = begin(self.entry, seed, options)
                self._interface = self.entry.human_interface(game) if self.entry.human_interface is not None else None
            except JimbotError as problem:
                self.complaint, self.done = str(problem), True
                return
            self.about["how"] = "Choose one of the moves." if self._interface is None else self._interface.how
            self._game = game
            self.notes.begin(game, seed, options)
            self._look(game, [])

    def close(self) -> None:
        if self._game is not None:
            self._game.close()

    def move(self, text: str) -> None:
        """Makes the move that a text means."""
        with self._lock:
            game = self._going()
            actions, total = self._actions(game, text), self._total
            words = game.describe_action(0, actions[-1])
            for action in actions:
                if not game.legal_mask[0, action]:
                    raise UsageError(f"'{text.strip()[:80]}' is not possible now.")
                self.notes.note(action)
                game.step(np.array([action]))
                self._total += float(game.reward[0])
                self.notes.paid(float(game.reward[0]))
                if game.terminated[0] or game.truncated[0]:
                    self.done = True
                    break
            self.frames[-1] |= {"move": words, **_after(game), "reward": short(self._total - total)}
            messages = self._interface.messages(self.done) if self._interface is not None else []
            if self.done:
                ending = {"scene": self.frames[-1]["scene"], **_ending(self.entry, game, self._total)}
                ending |= {"messages": messages, "offers": []}
                self.frames.append({"n": len(self.frames), **ending})
            else:
                self._look(game, messages)

    def ask(self, player: Player) -> dict[str, Any]:
        """What a policy would do now."""
        if player.game != self.entry.spec.id:
            raise UsageError(f"'{player.name}' plays {player.game}; ask a policy of {self.entry.spec.id}.")
        with self._lock:
            game = self._going()
            try:
                decision = decide(player.policy, game, game.acting)
                thought = {**think(game, decision, table=win_chances(player)), "policy": player.name}
            finally:
                _give_back(player)
            self.frames[-1] |= thought
        return thought

    def _going(self) -> BatchGame:
        if self._game is None:
            raise UsageError(self.complaint or "This game has not begun yet; wait a moment.")
        if self.done:
            raise UsageError("This game is over; begin another one.")
        return self._game

    def _actions(self, game: BatchGame, text: str) -> list[int]:
        if self._interface is not None:
            return self._interface.actions(text)
        word = text.strip()
        for action in np.flatnonzero(game.legal_mask[0]).tolist():
            if word in (game.spec.actions.label(action), game.describe_action(0, action)):
                return [action]
        raise UsageError(f"'{word[:80]}' is no move here; choose one of those shown.")

    def _look(self, game: BatchGame, messages: list[str]) -> None:
        found: Frame = {"moves": [], "value": None, "legal": int(game.legal_mask[0].sum()), "move": None, "over": False}
        found |= {"messages": messages, "total": short(self._total), "offers": self._offers(game)}
        self.frames.append({"n": len(self.frames), "scene": scene_of(self.entry, game), **found})

    def _offers(self, game: BatchGame) -> list[dict[str, str]]:
        if self._interface is not None:
            return [offer._asdict() for offer in itertools.islice(self._interface.offers(), MOST_LISTED)]
        legal = np.flatnonzero(game.legal_mask[0]).tolist()[:MOST_LISTED]
        return [Offer(game.spec.actions.label(one), game.describe_action(0, one))._asdict() for one in legal]


# --- all of them ---


class PageGames:
    """The games that pages showed lately; the oldest go first. One that was asked for before is not played again."""

    def __init__(self, most: int = MOST_TABLES) -> None:
        self._most = most
        self._tables: OrderedDict[str, PageGame] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, table: PageGame, name: str = "") -> str:
        name = name or secrets.token_hex(6)
        gone = []
        with self._lock:
            self._tables[name] = table
            while len(self._tables) > self._most:
                gone.append(self._tables.popitem(last=False)[1])
        for one in gone:
            with suppress(JimbotError):
                one.close()
        return name

    def get(self, name: str) -> PageGame:
        with self._lock:
            table = self._tables.get(name)
            if table is None:
                raise UsageError("This game is not at hand any more; open it again.")
            self._tables.move_to_end(name)
            return table

    def known(self, name: str) -> bool:
        with self._lock:
            return name in self._tables

    def goes_on(self, name: str) -> bool:
        """Whether a game is at hand and not over."""
        with self._lock:
            return name in self._tables and not self._tables[name].done

    def close(self) -> None:
        with self._lock:
            tables, self._tables = list(self._tables.values()), OrderedDict()
        for table in tables:
            with suppress(JimbotError):
                table.close()


def policy_reference(name: str, checkpoint: str, roots: tuple[Path, ...]) -> tuple[str, Path]:
    """(what `find_player` is asked for, where it looks for runs): runs go by their key, everything else by name."""
    root, _, run = name.partition("/")
    if is_count(root) and run and int(root) < len(roots):
        folder = roots[int(root)]
        return (str(folder / run / "checkpoints" / checkpoint) if checkpoint else run), folder
    return name, roots[0]


def short(value: Any) -> float:
    number = float(value)
    return float(f"{number:.5g}") if np.isfinite(number) else 0.0
