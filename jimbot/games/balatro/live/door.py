"""The door to live games: JSON-RPC around a table, and what a program that plays through it needs to know.

An `id` is needed: a whole number or a text. Where it cannot be used the answer has none at all. What goes wrong before
a request is understood (HTTP) is answered with the id of the request before it. Batches and notifications do not exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from jimbot.errors import UsageError
from jimbot.games.balatro.live.follower import sight_of
from jimbot.games.balatro.live.methods import METHODS
from jimbot.games.balatro.live.refusals import CODES, NeverAnsweredError, RefusedError, bad, read_traps
from jimbot.games.balatro.live.table import LiveTable, warm_up
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.content import CHALLENGES
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.states import dialects as d
from jimbot.games.hooks.programs import HostedGame, HostFiles, LiveCall, Silence, Standing

_LOOKS = ("health", "gamestate", "rpc.discover", "screenshot", "save")  # nothing changes, so nothing is lost
SECONDS = {"start": 2.0, "menu": 1.0, "load": 1.5, "select": 1.5, "skip": 1.0, "reroll_boss": 1.0, "play": 3.0,
           "discard": 1.2, "use": 1.5, "sell": 0.5, "buy": 0.5, "buy_and_use": 1.5, "pack": 1.0, "reroll": 0.5,
           "cash_out": 1.5, "next_round": 1.0, "sort": 0.2, "rearrange": 0.1}  # fmt: skip
"""About how long the game takes at its default speed; no measurements are published."""


class Session:
    """The protocol as one server speaks it."""

    def __init__(self, table: LiveTable) -> None:
        self.table = table
        self.seconds = 0.0
        self._id: Any = None
        self._last_answered: Any = None
        self._changes = self._answers = self._drops = 0

    def answer(self, body: bytes) -> bytes | Silence:
        """The answer to a request, unless a trap swallows it."""
        self.seconds = 0.0
        try:
            request = self._read(body)
        except RefusedError as refusal:
            return self._wrapped(_error(refusal))
        method = request.get("method")
        trap = self._trap(method)
        if trap == "before":
            return Silence.BROKEN
        try:
            content = '"result":' + self.table.call(method, request.get("params"))
            self.seconds = SECONDS.get(method, 0.0)
        except RefusedError as refusal:
            content = _error(refusal)
        except NeverAnsweredError:
            return Silence.HELD
        if trap:
            return Silence.BROKEN if trap == "after" else Silence.HELD
        return self._wrapped(content)

    def complaint(self, message: str) -> bytes:
        """The body of an HTTP error: with the id of the last request."""
        return self._wrapped(_error(bad(message)))

    def _read(self, body: bytes) -> dict[str, Any]:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict | list):
            self._id = None
            raise bad("Invalid JSON in request body")
        if isinstance(request, list):  # Lua's tables have no such difference: one without named members
            request = {}
        if request.get("jsonrpc") != "2.0":
            self._id = request.get("id")
            raise bad("Invalid JSON-RPC version: expected '2.0'")
        identity, self._id = request.get("id"), None
        if identity is None:
            raise bad("Invalid Request: 'id' field is required")
        if isinstance(identity, bool) or not isinstance(identity, int | float | str):
            raise bad("Invalid Request: 'id' must be an integer or string")
        if isinstance(identity, float):
            if not identity.is_integer():
                raise bad("Invalid Request: 'id' must be an integer, not a float")
            identity = int(identity)
        self._id = identity
        return request

    def _trap(self, method: Any) -> str:
        """What happens to this call beside being done."""
        if method in _LOOKS or method not in METHODS[self.table.dialect.name]:
            return ""
        self._changes += 1
        traps = self.table.traps
        if traps.hang and self._changes % traps.hang == 0:
            return "hang"
        if traps.drop and self._changes % traps.drop == 0:
            self._drops += 1
            return "before" if self._drops % 2 else "after"
        return ""

    def _wrapped(self, content: str) -> bytes:
        self._answers += 1
        shown, stale = self._id, self.table.traps.stale_id
        if stale and self._answers % stale == 0:
            shown = self._last_answered
        self._last_answered = self._id
        identity = "" if shown is None else f',"id":{json.dumps(shown)}'
        return f'{{"jsonrpc":"2.0",{content}{identity}}}'.encode()


def _error(refusal: RefusedError) -> str:
    body = {"code": CODES[refusal.name], "message": refusal.message, "data": {"name": refusal.name}}
    return f'"error":{json.dumps(body)}'


_SIMPLE = {
    d.BLIND_SELECT: LiveCall("select", {}),
    d.ROUND_EVAL: LiveCall("cash_out", {}),
    d.SHOP: LiveCall("next_round", {}),
    d.PACK: LiveCall("pack", {"skip": True}),
}


def dialect_name(discovered: Any) -> str:
    return d.dialect_of(discovered).name


def start_call(dialect: str, options: Options, seed: str) -> LiveCall:
    """The call that starts a run with these options."""
    names = d.find_dialect(dialect)
    seeded = {"seed": seed} if seed else {}
    if not options.challenge:
        return LiveCall(
            "start", {"deck": names.decks[options.deck_id], "stake": names.stakes[options.stake_level], **seeded}
        )
    if dialect != d.DEV.name:
        raise UsageError(f"Dialect {dialect} cannot start challenges; leave out challenge '{options.challenge}'.")
    return LiveCall("start", {"challenge": CHALLENGES.key(options.challenge_id), **seeded})


def standing(state: Any) -> Standing:
    """What a state asks for. An unknown state is waited out: the game has more of them than are written down."""
    name = state.get("state") if isinstance(state, dict) else None
    if name == d.MENU:
        return Standing.IDLE
    if name == d.GAME_OVER or (name == d.ROUND_EVAL and state.get("won") is True):
        return Standing.OVER
    return Standing.ASKING if name in d.RUN_STATES else Standing.PASSING


def seed_of(state: Any) -> str:
    return str(state.get("seed", "")) if isinstance(state, dict) else ""


def simple_move(state: Any) -> LiveCall | None:
    """The plainest move there is: it looks at nothing but the name of the state and how many cards are held."""
    name = state.get("state") if isinstance(state, dict) else None
    if name != d.SELECTING_HAND:
        return _SIMPLE.get(str(name))
    hand = state.get("hand")
    cards = hand.get("cards") if isinstance(hand, dict) else None
    if not isinstance(cards, list) or not cards:
        return None
    # What a boss holds up must be played; it is the only card that shows as chosen.
    places = sorted(range(len(cards)), key=lambda place: (not _chosen(cards[place]), place))
    return LiveCall("play", {"cards": sorted(places[:MAX_PLAYED])})


def _chosen(card: Any) -> bool:
    state = card.get("state") if isinstance(card, dict) else None
    return isinstance(state, dict) and bool(state.get("highlight"))


# --- hosting and reading ---


def host(dialect: str, fair: bool, traps: Iterable[str], files: HostFiles) -> HostedGame:
    """Our simulator in the place of the bought game."""
    table = LiveTable(dialect, fair, read_traps(traps), files)
    warm_up(saves=True)
    return Session(table)


def warm(options: Options) -> None:
    """Reads states in the words of the protocol, so that no request waits for what the first one compiles."""
    warm_up()
    table = LiveTable(rng_seed=0)
    table.begin(0, 1, 0, None)
    for method in ("gamestate", "select"):
        sight_of(table.call(method).encode(), table.dialect.name, options)
