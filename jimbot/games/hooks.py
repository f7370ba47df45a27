"""What a game may offer beyond being played. Each is an optional field of its `GameEntry`; nothing outside asks a game
for its name, so a new game gets whatever it brings along.

| hook | who uses it |
|---|---|
| `Milestones` | the curriculum: `use_curriculum`, `CurriculumGame`, `CurriculumWrapper` |
| `RareEvent` | prioritised replay |
| `Plans` | `--plan`: what looking ahead spends on which decisions |
| `Variety` | how various play is: metrics of training, the health watch, `jimbot analyze` |
| `Figure` | `info` of wrapped environments |
| `RecordingForm` | `--record` of play and watch, `jimbot replay` |
| `Sitting` | `jimbot play` and `jimbot ui`: moves as people type them |
| `Scene` (`scenes.py`) | `jimbot ui`: what is on the table, to be drawn |
| `SeedForm` | `--seed` and seed files; whatever names a seed |
| `Installation` | `jimbot setup` |
| `Online` | `jimbot play --server` |
| `PublicReplays` | `jimbot record --replays` |
| `PlainStates` | `jimbot serve`: requests that carry a state instead of an observation |
| `LiveProtocol` | `jimbot host`: the game in the protocol its bought edition is driven by |
| `Glossary` | `jimbot mcp`: what a thing of the game does |
| `SeedPages` | `jimbot mcp` and `jimbot ui`: what seeds hold, without playing them |
| `ReadForeign` | `jimbot serve`: the same in the words of another program |
| `Knowledge` | `jimbot graph`: what a build is made of, and what works together as the rules measure it |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from jimbot.games.batch_game import BatchGame

# --- how far a game is played ---


@dataclass(frozen=True)
class Milestones:
    """Numbered points of a game of one player at which playing may stop, as a success: antes, stages, rounds.

    A game that is won by its own rules says so by the episode statistic `won`.
    """

    name: str
    """One of them in a word: ante, stage."""
    last: int
    """The one whose end wins the game."""
    reached: Callable[[BatchGame], np.ndarray]
    """game → (N,) int: the milestone each row is working on, from 1."""
    cut_off: Callable[[BatchGame, np.ndarray], None]
    """(game, rows): right after a step, these rows end here and their next games begin. Sets `truncated`,
    `final_observation` and `final_stats` of the rows; the reward of the step stays."""
    seen: Callable[[np.ndarray], np.ndarray] | None = None
    """observation (N, D) → (N,) int: the same, for those who have nothing else."""
    streams: tuple[str, ...] = ()
    """Parts of a snapshot that say which games a row begins next: they stay with their row when a game is put into
    another one."""


# --- what is worth remembering ---

Found = tuple[np.ndarray, np.ndarray]
"""(rows (M,), keys (M,)): in which rows it happened, and to what (for instance which joker)."""


@dataclass(frozen=True)
class RareEvent:
    """One kind of event that is worth more than it is frequent, seen in two observations: that before a step and that
    after it."""

    name: str
    boost: float
    """How many times an ordinary step it is worth."""
    first: int | None
    """So many times per key; None: every time."""
    keys: int
    """Keys are below this."""
    find: Callable[[np.ndarray, np.ndarray], Found]
    """(observation before (N, D), after (N, D)) → where it happened."""


@dataclass(frozen=True)
class Variety:
    """A kind of thing that games are played with and that tells ways to play apart."""

    name: str
    title: str
    """In a few words, for reports."""
    keys: int
    """Keys are below this."""
    find: Callable[[np.ndarray], Found]
    """observation (N, D) → which rows have which keys."""
    name_of: Callable[[int], str]
    """A key in words."""


@dataclass(frozen=True)
class Plans:
    """Kinds of decisions, and what looking ahead should spend on each."""

    kinds: tuple[str, ...]
    """Each in a word."""
    find: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """((N, D) observations, (N, A) legal masks) → (N,) int: which of the kinds each decision is."""
    settings: tuple[Mapping[str, Any], ...]
    """Per kind, what differs from the usual settings of a plan, by their names (`jimbot.planning.PlanSettings`)."""
    player: str | None = None
    """The scripted player who plays tries out best; None: the policy itself does."""


# --- where a game stands ---


@dataclass(frozen=True)
class Figure:
    """One number about where a game stands."""

    read: Callable[[BatchGame, int], Any]
    """(game, row) → its value now."""
    stat: str | None = None
    """The episode statistic that has it when the game is over; None: then nobody knows."""


class Table(NamedTuple):
    """A situation told to somebody who does not read observations."""

    words: str
    parts: dict[str, Any] | None = None
    """By key, where the game knows its parts (`Knowledge.read_state`)."""
    snapshot: Mapping[str, np.ndarray] | None = None
    """Of the one game that stands there."""


class Sight(NamedTuple):
    """What the player of one state sees and may do."""

    observation: np.ndarray  # (D,) float32
    legal_mask: np.ndarray  # (A,) bool
    words: Callable[[int], str | None] | None = None
    """A legal action in the words of the situation."""
    game: BatchGame | None = None
    """A batch of one game that stands there, where reading the state made one; it may stand elsewhere afterwards."""
    table: Table | None = None
    """The situation itself, where whoever reads asked for it."""


@dataclass(frozen=True)
class PlainStates:
    """States as plain values by the game's own keys, for programs that know the game but not our observation of it."""

    write: Callable[[BatchGame, int], dict[str, Any]]
    """(game, row) → its state, ready for JSON."""
    read: Callable[[Mapping[str, Any], Any], Sight]
    """(the same values, the game's options) → what its player sees; a UsageError where they are no state."""
    guessed: tuple[str, ...] = ()
    """Observation fields that the values do not tell and reading has to assume."""
    tell: Callable[[Mapping[str, Any], Any], str] | None = None
    """(the same values, the game's options) → the situation in words, where `read` makes no game that could tell it."""


ReadForeign = Callable[[bytes, Any], Sight]
"""(a state as another program wrote it, the game's options) → what its player sees; a UsageError where it is none."""


# --- games written down ---


class Moment(NamedTuple):
    """One moment of a recorded game."""

    game: BatchGame
    """A batch of one game that stands there; valid until the next moment is asked for."""
    move: str | None
    """The move that follows, in words; None at the end."""
    effects: tuple[str, ...] = ()
    """What the move before it did."""
    over: bool = False
    """The move before it ended the game, so `game` shows something else."""


class RecordedGame(Protocol):
    """One game written down, as `jimbot replay` shows it. Playing it again checks every move and the end."""

    @property
    def game(self) -> str: ...

    @property
    def count(self) -> int: ...  # moves

    def to_json(self) -> str:
        """The file's text."""
        ...

    def title(self) -> str:
        """Which game this is, in one line."""
        ...

    def lines(self) -> Iterator[str]:
        """Each move and what it did, in words; then how it ended."""
        ...

    def picture(self, step: int) -> Iterator[Any]:
        """The board after so many moves and the move that follows: things rich can print, text without markup."""
        ...

    def moments(self) -> Iterator[Moment]:
        """The game again, before every move and at its end."""
        ...

    def document(self, step: int | None) -> dict[str, Any]:
        """Everything as plain values, or one step only."""
        ...


class Recorder(Protocol):
    """One game on its way into a recording; made at the first move."""

    def note(self, action: int) -> None:
        """The action about to be taken."""
        ...

    def finish(self, total_return: float) -> RecordedGame:
        """The game as far as it was noted."""
        ...


@dataclass(frozen=True)
class RecordingForm:
    """A game's own form of a recording, where a list of actions does not say enough."""

    begin: Callable[[BatchGame], Recorder]
    """A batch of one game at its first move → what writes it down."""
    read: Callable[[str, str], RecordedGame]
    """(the file's text, what a complaint calls it) → the game."""


# --- a person plays ---


class Offer(NamedTuple):
    """Something a person may type now."""

    text: str
    words: str
    zone: str = ""
    """The cards it is done to are named after it: by place in this zone of the scene."""
    group: str = ""
    """One offer of every group makes a move."""


class Sitting(Protocol):
    """One person at one game whose table of actions is not what people would type."""

    @property
    def how(self) -> str:
        """How moves are typed, in a few sentences."""
        ...

    def choices(self) -> Any:
        """What can be typed now: something rich can print."""
        ...

    def offers(self) -> Iterator[Offer]:
        """The same as plain values, to be clicked."""
        ...

    def actions(self, text: str) -> list[int]:
        """The actions that make the move a text means now; a UsageError in a sentence where it means none."""
        ...

    def told(self, ended: bool) -> list[str]:
        """What happened since this was last asked, the last move included. `ended`: with it the game was over, and the
        batch shows the next one already."""
        ...


# --- its own way with seeds ---


@dataclass(frozen=True)
class SeedForm:
    """How the game itself writes its seeds."""

    example: str
    read: Callable[[str], int]
    """A text → the seed that means it here; refuses what is none in a sentence."""
    write: Callable[[int], str]
    """A seed → the game's text of it."""


@dataclass(frozen=True)
class SeedPages:
    """What a seed holds can be told without playing it, and seeds can be searched by it."""

    how: str
    """How a question is written, in a few sentences."""
    preview: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """(seed as the game writes it, options of its own) → what it holds, ready for JSON."""
    search: Callable[[str, int, Mapping[str, Any]], Iterator[tuple[int, list[str]]]]
    """(question, seeds wanted, options of its own) → (seeds looked at so far, new ones found), again and again."""
    chapters: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """(seed, options of its own) → the same to be drawn: {"title", "words", "chapters": [{"title", "zones"}]}, zones as
    in `scenes`."""
    choices: Callable[[], Mapping[str, Sequence[str]]]
    """Options of its own that have a list of values, by name."""
    places: Callable[[str, str, Mapping[str, Any]], list[str]]
    """(question, a seed that answers it, options of its own) → where what was asked for lies, in words."""


# --- what its words mean ---


class Explanation(NamedTuple):
    """One thing of a game: a card, a program, an enemy."""

    kind: str
    key: str
    """The game's own key."""
    name: str
    effect: str
    facts: dict[str, Any]
    """What else is known of it, by name: price, rarity, …"""


@dataclass(frozen=True)
class Glossary:
    """The things of a game by name."""

    kinds: tuple[str, ...]
    explain: Callable[[str, str], list[Explanation]]
    """(name or key, one of the kinds or nothing) → all it may mean; an UnknownNameError with the nearest where it
    means none."""


# --- what works together ---


@dataclass(frozen=True)
class Part:
    """Something a build is made of or meets."""

    kind: str
    """joker, consumable, voucher, hand, boss, deck: one of a few words of the game."""
    key: str
    """The game's own key."""
    name: str
    words: str
    """What it does."""
    features: tuple[float, ...] = ()
    """What a small network may know of it; as many numbers for all parts of a kind."""


@dataclass(frozen=True)
class Interaction:
    """One thing that was measured about two or more parts."""

    relation: str
    """synergizes, counters or favours."""
    a: str
    b: str
    """Keys. Of two that synergize, a comes first in the alphabet."""
    channel: str
    """Through what they act on each other, as the game calls it: score, money, growth, …"""
    strength: float
    """In the channel's unit; positive where they help each other."""
    low: float
    high: float
    """Ends of its interval of 95 %."""
    samples: int
    order: str = ""
    """"a_left" or "b_left" where it matters which of them lies left of the other."""
    others: tuple[str, ...] = ()
    """The third and further parts of a group."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What else the measurement found, by name."""


@dataclass(frozen=True)
class Held:
    """Which parts tell a run's strategy: what it holds and what it plays most."""

    keys: Callable[[], tuple[str, ...]]
    find: Callable[[np.ndarray], Found]
    """observation (N, D) → which rows have which of the keys, by their place; nothing of rows that tell too little."""


Measure = Callable[..., Iterator[Interaction]]


@dataclass(frozen=True)
class Knowledge:
    """What there is to know about a game, as far as its rules can tell."""

    parts: Callable[[], tuple[Part, ...]]
    read_state: Callable[[BatchGame, int], dict[str, Any]]
    """(game, row) → which parts it has, by key, ready for JSON."""
    measure: Measure | None = None
    """(pairs=None, seed=0, effort=1.0, channels=None, progress=None) → what the simulator says about pairs, as it is
    found. `pairs`: keys, or None for all; `progress`: told (done, of) now and then."""
    measure_group: Callable[..., Interaction] | None = None
    """(keys, seed=0, effort=1.0) → what three or more do together beyond their pairs."""
    measure_top: Callable[..., Iterator[Interaction]] | None = None
    """({(a, b): strength}, seed=0, effort=1.0) → groups around the strongest pairs, what a whole measurement ends
    with."""
    read_observation: Callable[[np.ndarray], dict[str, Any]] | None = None
    """(D,) observation → which parts it shows, by key, as `read_state` names them."""
    vocabulary: Callable[[], Mapping[str, tuple[str, ...]]] | None = None
    """For each vocabulary of the observation's ids (`Field.vocabulary`): the key of every id, or nothing."""
    give: Callable[[BatchGame, int, Sequence[str]], None] | None = None
    """(game, row, keys): hands parts over to a run."""
    held: Held | None = None
    """What many observations show, at once."""
    profiles: Callable[..., Mapping[str, tuple[float, ...]]] | None = None
    """(seed=0, effort=1.0) → what every part of the first kind does by itself, in one situation after the other: what
    it takes to say how two that were never measured together might do."""


# --- what lies outside Python ---


@dataclass(frozen=True)
class Installation:
    """What a game needs beside Python, installed once per machine."""

    name: str
    version: str
    how: str
    """With what it is installed and how long that takes, for the note before it."""
    is_installed: Callable[[], bool]
    install: Callable[[bool], Path]
    """(even if it is there) → where it is, checked to work."""


Decide = Callable[[np.ndarray, np.ndarray], int]
"""(observation (D,), legal_mask (A,)) → action"""


@dataclass(frozen=True)
class Visit:
    """Whom to play on a server, and how."""

    server: str
    challenge: str | None = None
    """Whom to challenge; None: whoever challenges us."""
    name: str = "JimBot"
    team: Path | None = None
    battles: int = 1
    patience: float = 300.0
    """Seconds of silence before we give up."""


class PlayedOnline(Protocol):
    """One game that was finished on a server."""

    @property
    def rival(self) -> str: ...

    @property
    def won(self) -> bool: ...

    @property
    def tied(self) -> bool: ...

    @property
    def turns(self) -> int: ...


@dataclass(frozen=True)
class Online:
    """Playing against others on a server."""

    example: str
    """An address, for complaints."""
    check: Callable[[str], None]
    """Refuses an address nobody listens at."""
    play: Callable[[Visit, Any, Decide, Callable[[PlayedOnline], None]], str]
    """(whom, the game's options, who decides, told after each game) → how it went, in a sentence."""


class ReplaySide(Protocol):
    """What one side of a public replay saw, and which of its actions agree with what everybody saw."""

    @property
    def observation(self) -> np.ndarray: ...  # (n, D) float32

    @property
    def legal_mask(self) -> np.ndarray: ...  # (n, A) bool

    @property
    def labels(self) -> np.ndarray: ...  # (n, A) bool, inside legal_mask, at least one each

    @property
    def result(self) -> int: ...  # 1 won, -1 lost, 0 neither

    @property
    def stats(self) -> np.ndarray: ...  # (S,) float32, the episode statistics


class PublicReplay(Protocol):
    """One game of other people."""

    @property
    def sides(self) -> tuple[ReplaySide, ReplaySide]: ...

    @property
    def over(self) -> bool: ...  # whether it goes on to the end of the game

    @property
    def unexplained(self) -> int: ...  # decisions left out because no legal action agrees with what was seen


class PublicReplays(NamedTuple):
    """Replay files being read."""

    count: int
    games: Iterable[tuple[Path, PublicReplay | Exception]]
    """Each file with what it holds, or why it is left out."""


class PlayedGame(NamedTuple):
    """A game played elsewhere, by one player, as it was told."""

    observation: np.ndarray  # (n, D) float32
    legal_mask: np.ndarray  # (n, A) bool
    action: np.ndarray  # (n,) int32
    reward: np.ndarray  # (n,) float32
    stats: np.ndarray  # (S,) float32
    total_return: float
    terminated: bool
    seed: int


# --- the protocol of the bought game ---


class Silence(Enum):
    """What a client gets instead of an answer."""

    HELD = "held"
    """None ever comes; the connection stays open until the client leaves."""
    BROKEN = "broken"
    """The connection breaks."""


class HostedGame(Protocol):
    """One game behind the protocol that programs drive its bought edition with, without any socket."""

    @property
    def seconds(self) -> float:
        """How long the last call takes the bought game, with its animations."""
        ...

    def answer(self, body: bytes) -> bytes | Silence:
        """A request → its answer."""
        ...

    def complaint(self, message: str) -> bytes:
        """The answer to something that is no request."""
        ...


class HostFiles(Protocol):
    """Where a hosted game's saves and pictures go; what fails is an OSError."""

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes) -> None: ...

    def picture(self, drawing: Any) -> bytes:
        """A drawing of rich as PNG."""
        ...


class Standing(Enum):
    """What a state of a live game asks for."""

    IDLE = "no run is going on"
    PASSING = "the game is busy, or in a state that nobody knows; wait and look again"
    ASKING = "a move"
    OVER = "nothing any more, the run is over"


class LiveCall(NamedTuple):
    """One call of the protocol."""

    method: str
    params: dict[str, Any]


class LiveResult(NamedTuple):
    """What a run came to, in the game's own measures."""

    total_return: float
    reward_terms: np.ndarray  # (K,)
    stats: np.ndarray  # (S,)


class LiveRun(Protocol):
    """One run of a live game, followed state by state."""

    @property
    def game(self) -> BatchGame:
        """A batch of one game that stands where the live one stands, with everything hidden dealt anew."""
        ...

    @property
    def unknown(self) -> list[str]:
        """What the states did not tell and had to be assumed, in words; empty where everything is known."""
        ...

    @property
    def happened(self) -> bool | None:
        """Whether the call the last state came after was made; None where that cannot be told."""
        ...

    def expects(self, state: Any, after: LiveCall) -> bool:
        """Whether exactly this state must follow that call; what is not expected may be right all the same."""
        ...

    def see(self, state: Any, after: LiveCall | None = None) -> None:
        """The state as it is now, and the call that led to it; a UsageError where it cannot be read."""
        ...

    def playable(self) -> np.ndarray:
        """(A,) bool: the legal actions that the protocol has a call for."""
        ...

    def request(self, action: int) -> LiveCall | None:
        """The call an action makes; None where it only prepares one, which is done here."""
        ...

    def result(self) -> LiveResult | None:
        """What the run came to, as far as it was seen; None where nothing of it could be read."""
        ...


@dataclass(frozen=True)
class LivePlay:
    """What playing a live game needs to know of it."""

    dialect_of: Callable[[Any], str]
    """The answer to `rpc.discover` → the dialect; a UsageError where it is another server's."""
    start: Callable[[str, Any, str], LiveCall]
    """(dialect, the game's options, a seed or nothing) → the call that starts a run."""
    follow: Callable[[str, Any], LiveRun]
    """(dialect, the game's options) → a follower of the run that begins."""
    standing: Callable[[Any], Standing]
    seed: Callable[[Any], str]
    """A state → the seed of its run, as the game writes it."""
    simple: Callable[[Any], LiveCall | None]
    """A state → a move that can be made without understanding it; None where there is none."""


@dataclass(frozen=True)
class LiveProtocol:
    """How programs talk to the bought game."""

    dialects: tuple[str, ...]
    """Its versions, the usual one first."""
    port: int
    host: Callable[[str, bool, Iterable[str], HostFiles], HostedGame]
    """(dialect, fair, traps by name, files) → our simulator in the place of the bought game."""
    play: LivePlay | None = None
    """How a policy plays it through the protocol."""


ReadReplays = Callable[[Path, Any], AbstractContextManager[PublicReplays]]
"""(a file or folder, the game's options) → its replays."""
