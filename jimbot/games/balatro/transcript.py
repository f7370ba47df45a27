"""Games written down: a log people can read, and a recording that plays again exactly.

A recording is JSON: format and game version, seed, deck, stake, challenge, options and the list of moves, each as short
text (`move_text.py`). Luck is all in the seed, so nothing else is needed; a fingerprint of the last state proves that a
replay ended where the game did.

    run = RecordedRun("4WAX5M4D")
    run.do("select")
    run.do("play 1 2 3")
    Path("game.json").write_text(run.transcript().to_json())
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import IllegalActionError, TranscriptError, UnreadableError, UsageError
from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.options import VERSION
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.content import BLINDS, CHALLENGES, DECKS, HANDS, STAKES, TAGS, VOUCHERS
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import GAME_OVER, PHASE_NAMES, ROUND_EVAL, SHOP, WON, new_games
from jimbot.games.balatro.states.document import read_state, whole_state
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.move_text import Move, read_move, write_move
from jimbot.games.balatro.view.names import find_deck, find_id, find_stake
from jimbot.games.contract import BatchGame
from jimbot.reading.plain import LARGEST_TEXT, file_text, json_value

FORMAT = "jimbot-balatro-transcript"
FORMAT_VERSION = 1
_NONE = np.uint64(0)


@dataclass
class Transcript:
    """A recorded game."""

    seed: str
    deck: str = "b_red"
    stake: str = "stake_white"
    challenge: str = ""
    endless: bool = False
    moves: list[str] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)
    """Phase, ante, round, money and fingerprint after the last move."""
    game_version: int = VERSION

    def to_json(self) -> str:
        """The recording as text."""
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "game": "balatro",
            "game_version": self.game_version,
            "seed": self.seed,
            "deck": self.deck,
            "stake": self.stake,
            "challenge": self.challenge,
            "options": {"endless": self.endless},
            "moves": self.moves,
            "end": self.end,
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "The transcript") -> Transcript:
        """Reads a recording; `name` is what a complaint calls it."""
        try:
            document = json_value(text)
        except UnreadableError as problem:
            raise TranscriptError(f"{name} is damaged: {problem}; expected JSON.") from problem
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise TranscriptError(f"{name} is no transcript of a Balatro game; expected the format '{FORMAT}'.")
        for what, known in (("format_version", FORMAT_VERSION), ("game_version", VERSION)):
            if document.get(what) != known:
                raise TranscriptError(
                    f"{name} has {what} {document.get(what)!r}; this JimBot replays {known}. Use the one that wrote it."
                )
        moves, end, options = document.get("moves"), document.get("end", {}), document.get("options", {})
        good = isinstance(moves, list) and all(isinstance(move, str) for move in moves)
        if not good or not isinstance(end, dict) or not isinstance(options, dict):
            raise TranscriptError(
                f"{name} is damaged: expected 'moves' as a list of texts, 'options' and 'end' as objects."
            )
        for what in ("seed", "deck", "stake"):
            if not isinstance(document.get(what), str):
                raise TranscriptError(f"{name} is damaged: '{what}' is {document.get(what)!r}; expected a text.")
        return cls(
            document["seed"],
            document["deck"],
            document["stake"],
            str(document.get("challenge", "")),
            bool(options.get("endless", False)),
            moves,
            end,
        )

    @classmethod
    def load(cls, path: Path) -> Transcript:
        """Reads a recording from a file."""
        try:
            text = file_text(path, LARGEST_TEXT)
        except UnreadableError as problem:
            raise TranscriptError(f"'{path}' cannot be read ({problem}); expected a transcript in JSON.") from problem
        return cls.from_json(text, f"'{path}'")

    def start(self) -> RecordedRun:
        """The game at its first decision."""
        return RecordedRun(self.seed, self.deck, self.stake, self.challenge, self.endless)

    def replay(self) -> Iterator[tuple[RecordedRun, str, Step | None]]:
        """Plays the game again: (the run, the next move, what the last one did), before every move and at the end.

        The last one has an empty move. A move that is not legal, or another end than the recorded one, is an error.
        """
        game, last = self.start(), None
        for number, text in enumerate(self.moves, 1):
            yield game, text, last
            try:
                last = game.do(text)
            except (UsageError, IllegalActionError) as problem:
                raise TranscriptError(f"Move {number} of the transcript cannot be played: {problem}") from problem
        found = self.end.get("fingerprint")
        if found is not None and found != fingerprint(game.g):
            raise TranscriptError(
                f"The transcript of seed {self.seed} does not end as recorded after {len(self.moves)} moves; it was "
                "changed, or written by other rules."
            )
        yield game, "", last

    def play(self) -> RecordedRun:
        """Plays the game again to its end."""
        *_, (game, _, _) = self.replay()
        return game


@dataclass(frozen=True)
class Step:
    """One move and what it did."""

    number: int
    move: str
    words: str
    """The move in the situation it was made in."""
    effects: tuple[str, ...]
    """What changed, in words."""

    def __str__(self) -> str:
        return f"{self.number:4}  {self.words}" + (f": {'; '.join(self.effects)}" if self.effects else "")


class RecordedRun:
    """One game played from Python, move by move, that writes itself down."""

    def __init__(
        self,
        seed: str,
        deck: str = "b_red",
        stake: str | int = "stake_white",
        challenge: str = "",
        endless: bool = False,
    ) -> None:
        self.g: Any = new_games(1)[0]
        self.s: Any = new_scratch()[0]
        self.g.seed, self.g.seed_length = seed_bytes(seed)
        self.g.deck, self.g.stake = DECKS.id(find_deck(deck)), STAKES.id(find_stake(stake))
        self.g.challenge = find_id(CHALLENGES, challenge) if challenge else 0
        self.g.endless = endless
        decisions.apply(self.g, self.s, decisions.START, 0, _NONE)
        self.steps: list[Step] = []

    @property
    def over(self) -> bool:
        return self.g.phase in (GAME_OVER, WON)

    def do(self, move: str | Move) -> Step:
        """Makes a move, given as text (`play 1 3 5`) or as the engine has it."""
        move = read_move(move) if isinstance(move, str) else move
        text = write_move(*move)
        said = words.describe_move(self.g, *move)
        before = _Facts(self.g)
        if not decisions.apply(self.g, self.s, *move.encoded()):
            phase = PHASE_NAMES[self.g.phase].replace("_", " ")
            raise IllegalActionError(f"'{text}' ({said}) is not legal now ({phase}). Make a move the rules allow.")
        step = Step(len(self.steps) + 1, text, said, tuple(_effects(before, self.g, self.s, move)))
        self.steps.append(step)
        return step

    def allows(self, move: str | Move) -> bool:
        """Whether a move is legal now."""
        move = read_move(move) if isinstance(move, str) else move
        return bool(decisions.is_legal(self.g, *move.encoded()))

    def state(self) -> dict[str, Any]:
        """The whole state by the game's keys: what recordings write, and what else its player can know."""
        return whole_state(self.g)

    def describe(self) -> str:
        """The situation in words."""
        return words.describe(self.g)

    def transcript(self) -> Transcript:
        """The recording of the game so far."""
        return _transcript(self.g, [step.move for step in self.steps])


def _transcript(g: Any, moves: list[str]) -> Transcript:
    end = {
        "phase": PHASE_NAMES[g.phase],
        "ante": int(g.ante),
        "round": int(g.rounds),
        "money": int(g.money),
        "fingerprint": fingerprint(g),
    }
    return Transcript(
        bytes(g.seed[: g.seed_length]).decode(),
        DECKS.key(int(g.deck)),
        STAKES.key(int(g.stake)),
        CHALLENGES.key(int(g.challenge)) if g.challenge else "",
        bool(g.endless),
        moves,
        end,
    )


def fingerprint(g: Any) -> str:
    """A short hash of the state of a game."""
    text = json.dumps(read_state(g), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class GameRecorder:
    """Writes down one row of a `BalatroGame` that is played with actions of the flat table.

    Make it right after `reset`, and call `note` with the row's action before every `step`.
    """

    def __init__(self, game: BatchGame, row: int = 0) -> None:
        self.g: Any = game.games[row]  # ty: ignore[missing-attribute]
        if self.g.steps != 0:
            raise UsageError(f"Row {row} is {int(self.g.steps)} actions into its game; record it from the start.")
        self._start = _transcript(self.g, [])
        self.moves: list[str] = []

    def note(self, action: int) -> None:
        """The action about to be taken; choosing and taking up cards is no move yet."""
        kind, index, targets = (int(part) for part in action_table.engine_move(self.g, action))
        if kind != action_table.NO_MOVE:
            self.moves.append(write_move(kind, index, targets))

    def transcript(self) -> Transcript:
        """The recording of the moves so far, played once more to know how it ends."""
        return replace(self._start, moves=list(self.moves), end={}).play().transcript()


# --- what a move did ---


class _Facts:
    """What is compared before and after a move."""

    def __init__(self, g: Any) -> None:
        self.money, self.phase, self.ante = int(g.money), int(g.phase), int(g.ante)
        self.jokers = [(int(g.joker_serial[i]), words.joker(g, i)) for i in range(g.joker_count)]
        self.consumables = [(int(g.consumable_serial[i]), words.consumable(g, i)) for i in range(g.consumable_count)]
        self.levels = g.hand_level.tolist()
        self.tags = [TAGS.name(int(tag)) for tag in g.tag_id[: g.tag_count]]
        self.vouchers = [VOUCHERS.name(i) for i, owned in enumerate(g.voucher_owned) if owned]
        self.cards = {int(g.card_serial[slot]): words.owned_card(g, int(slot)) for slot in g.cards[: g.card_count]}
        self.boss = int(g.boss)


def _effects(before: _Facts, g: Any, s: Any, move: Move) -> Iterator[str]:
    after = _Facts(g)
    if move.kind == decisions.PLAY:
        yield _scored(g, s)
    yield from _came_and_went(before.jokers, after.jokers)
    yield from _came_and_went(before.consumables, after.consumables)
    yield from (f"{name} redeemed" for name in after.vouchers if name not in before.vouchers)
    for hand, (was, now) in enumerate(zip(before.levels, after.levels, strict=True)):
        if was != now:
            yield f"{HANDS.key(hand)} level {was} → {now}"
    yield from _changed_cards(before.cards, after.cards)
    yield from _tags(before.tags, after.tags)
    if after.boss != before.boss and after.ante == before.ante:
        yield f"the boss is {BLINDS.name(after.boss)} now"
    if after.money != before.money:
        change = after.money - before.money
        yield f"{'+' if change > 0 else '-'}${abs(change)}, {words.dollars(after.money)} left"
    if after.phase != before.phase:
        yield from _new_phase(g)


def _scored(g: Any, s: Any) -> str:
    if s.blocked:
        return f"{HANDS.key(int(s.hand))}, vetoed by the boss"
    chips, mult = words.number(float(s.chips)), words.number(float(s.mult))
    total = f"{words.number(float(g.score))} of {words.number(float(g.requirement))}"
    return f"{HANDS.key(int(s.hand))}, {chips} × {mult} = {words.number(float(s.score))} points, {total}"


def _came_and_went(before: list[tuple[int, str]], after: list[tuple[int, str]]) -> Iterator[str]:
    was, now = dict(before), dict(after)
    yield from (f"{name} gone" for serial, name in before if serial not in now)
    yield from (f"{name} gained" for serial, name in after if serial not in was)
    for serial, name in after:
        if serial in was and was[serial] != name:
            yield f"{was[serial]} → {name}"


def _changed_cards(before: dict[int, str], after: dict[int, str]) -> Iterator[str]:
    gone = [name for serial, name in before.items() if serial not in after]
    new = [name for serial, name in after.items() if serial not in before]
    if gone:
        yield f"{' '.join(gone)} destroyed"
    if new:
        yield f"{' '.join(new)} added to the deck"
    changed = [f"{before[serial]} → {name}" for serial, name in after.items() if before.get(serial, name) != name]
    if changed:
        yield ", ".join(changed)


def _tags(before: list[str], after: list[str]) -> Iterator[str]:
    for name in dict.fromkeys([*before, *after]):
        change = after.count(name) - before.count(name)
        if change:
            yield f"{name} {'gained' if change > 0 else 'used'}"


def _new_phase(g: Any) -> Iterator[str]:
    if g.phase == ROUND_EVAL:
        yield f"the blind is beaten and pays {words.dollars(int(g.payout))}"
    elif g.phase == GAME_OVER:
        yield "the run is lost"
    elif g.phase == WON:
        yield "the run is won"
    elif g.phase == SHOP:
        offers = [words.offer(g, place) for place in range(g.shop_count)]
        yield f"in the shop: {', '.join(offers)}" if offers else "in an empty shop"


def header(transcript: Transcript) -> str:
    """Which game this is, in one line."""
    challenge = f", {CHALLENGES.row(transcript.challenge)['name']}" if transcript.challenge else ""
    deck, stake = DECKS.row(transcript.deck)["name"], STAKES.row(transcript.stake)["name"]
    endless = ", endless" if transcript.endless else ""
    return f"Balatro, seed {transcript.seed}, {deck}, {stake}{challenge}{endless}, {len(transcript.moves)} moves"
