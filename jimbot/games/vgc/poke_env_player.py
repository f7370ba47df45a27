"""A player on a Showdown server, through poke-env.

poke-env keeps the connection and the etiquette of battles; what the battle looks like is read by `Reader`, so the rows
are those of the simulator. poke-env waits for ever for a message that was lost and swallows what goes wrong, so
everything here has a deadline, and what the server complains about is kept and said.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from jimbot.errors import MissingExtraError, SimulatorError, UsageError
from jimbot.games.vgc.reader import Asked, Reader
from jimbot.reading.plain import json_value

try:
    from poke_env import AccountConfiguration, ServerConfiguration
    from poke_env.player import Player
    from poke_env.player.battle_order import BattleOrder, SingleBattleOrder
    from poke_env.teambuilder import Teambuilder
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which playing on a Showdown server needs,", "vgc") from problem

Decide = Callable[[np.ndarray, np.ndarray], int]
"""(observation (D,), legal_mask (A,)) → action"""
CONNECT_SECONDS = 5.0
LOGIN_SECONDS = 60.0
SHEETS_SECONDS = 10.0
"""How long an opponent may think about open team sheets before we choose without them."""
_LOOK_SECONDS = 0.1
_QUIET = 60  # a log level nothing reaches: what matters is raised
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,17}")


class CyclingTeams(Teambuilder):
    """The given packed teams, one after another."""

    def __init__(self, packed: Sequence[str]) -> None:
        self._packed = list(packed)
        self._next = 0

    def yield_team(self) -> str:
        self._next += 1
        return self._packed[self._next % len(self._packed)]


@dataclass(frozen=True)
class Played:
    """One battle that was finished."""

    battle: str
    opponent: str
    won: bool
    tied: bool
    turns: int


class NetworkPlayer(Player):
    """Plays what `decide` says; `events` counts decisions, refused and invalid choices."""

    def __init__(
        self, decide: Decide, reader: Reader, name: str, server: str, teams: Sequence[str], password: str | None = None
    ) -> None:
        self._decide = decide
        self._reader = reader
        self._news: dict[str, list[str]] = {}
        self._requests: dict[str, dict[str, Any]] = {}
        self._stuck: set[str] = set()  # battles in which our last choice was invalid
        self.events: Counter[str] = Counter()
        self.played: list[Played] = []
        self.complaints: list[str] = []
        self.invalid: list[str] = []  # what the server said about choices that could never be
        self.heard = time.monotonic()
        super().__init__(
            account_configuration=AccountConfiguration(name, password),
            battle_format=reader.options.format_id,
            server_configuration=ServerConfiguration(server, "https://play.pokemonshowdown.com/action.php?"),
            accept_open_team_sheet=reader.options.open_team_sheets,
            team=CyclingTeams(teams),
            open_timeout=LOGIN_SECONDS,
            log_level=_QUIET,
            start_listening=False,
        )
        receive = self.ps_client._handle_message

        async def overhear(message: str) -> None:
            self.heard = time.monotonic()
            self._note_complaint(message)
            await receive(message)

        self.ps_client._handle_message = overhear
        self.listening = asyncio.run_coroutine_threadsafe(self.ps_client.listen(), self.ps_client.loop)

    def _note_complaint(self, message: str) -> None:
        """What the server says to a person in a window of its own."""
        if message.startswith(("|popup|", "|nametaken|")):
            words = message.split("|", 2)[2].replace("||", " ").replace("|", ": ")
            self.complaints.append(" ".join(words.split()))

    # --- battles ---

    async def _handle_battle_message(self, split_messages: list[list[str]]) -> None:
        battle = split_messages[0][0][1:]
        for parts in split_messages[1:]:
            if len(parts) < 2:
                continue
            if parts[1] == "request":
                if text := "|".join(parts[2:]):
                    self._requests[battle] = json_value(text)
            elif parts[1] == "error":
                self._note_refusal(battle, parts[2])
            else:
                self._news.setdefault(battle, []).append("|".join(parts))
        request = self._requests.get(battle)
        if request is not None and request.get("wait"):
            self._look(battle)  # rows remember what was seen meanwhile
        if request is not None and request.get("teamPreview"):
            asyncio.get_running_loop().call_later(SHEETS_SECONDS, self._go_on, battle)
        await super()._handle_battle_message(split_messages)

    def _note_refusal(self, battle: str, words: str) -> None:
        if words.startswith("[Unavailable choice]"):
            self.events["refused_choices"] += 1
        elif words.startswith("[Invalid choice]"):
            self.events["invalid_choices"] += 1
            self.invalid.append(words)
            self._stuck.add(battle)
        elif "open team sheets" in words:
            self._go_on(battle)

    def _go_on(self, tag: str) -> None:
        """Chooses a team although no answer about team sheets came."""
        battle = self._battles.get(tag)
        if battle is not None and battle.teampreview and tag in self._requests:
            self._late = asyncio.ensure_future(self._handle_battle_request(battle))

    def _look(self, battle: str) -> Asked | None:
        return self._reader.read(battle, self._news.pop(battle, []), self._requests.pop(battle, None))

    def _choose(self, battle: str) -> str:
        """The message that answers the request a battle waits on; empty (nothing is sent) where it was answered."""
        if battle in self._stuck:
            self._stuck.discard(battle)
            return "/choose default"
        if battle not in self._requests:
            return ""
        asked = self._look(battle)
        if asked is None:
            return "/choose default"
        self.events["decisions"] += 1
        return f"/choose {asked.choices[self._decide(asked.observation, asked.legal_mask)]}"

    def choose_move(self, battle: Any) -> BattleOrder:
        return SingleBattleOrder(self._choose(battle.battle_tag))

    def teampreview(self, battle: Any) -> str:
        return self._choose(battle.battle_tag)

    def _battle_finished_callback(self, battle: Any) -> None:
        tag = battle.battle_tag
        opponent = battle.opponent_username or "somebody"
        self.played.append(Played(tag, opponent, bool(battle.won), battle.won is None, int(battle.turn)))
        self._reader.forget(tag)
        for kept in (self._news, self._requests):
            kept.pop(tag, None)


# --- the whole visit ---


def play_on_server(
    decide: Decide,
    reader: Reader,
    server: str,
    teams: Sequence[str],
    *,
    name: str = "JimBot",
    password: str | None = None,
    challenge: str | None = None,
    battles: int = 1,
    patience: float = 300.0,
    report: Callable[[Played], None] = lambda played: None,
) -> NetworkPlayer:
    """Plays so many battles: challenges a user, or accepts any challenge.

    `patience` is how many seconds the server and the opponent may be silent.
    """
    check_server(server)
    for who in (name, challenge):
        if who is not None and not _NAME.fullmatch(who):
            raise UsageError(f"'{who}' is no name on a Showdown server; expected 1 to 18 letters, digits or spaces.")
    player = NetworkPlayer(decide, reader, name, server, teams, password)
    try:
        asyncio.run(_visit(player, challenge, battles, patience, report))
    finally:
        player.listening.cancel()
    return player


def check_server(server: str) -> None:
    """Refuses an address at which no server listens; poke-env would only log it and wait."""
    parts = urlsplit(server)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise UsageError(
            f"'{server}' is no address of a Showdown server; expected one like ws://127.0.0.1:8000/showdown/websocket."
        )
    port = parts.port or (443 if parts.scheme == "wss" else 80)
    try:
        socket.create_connection((parts.hostname, port), CONNECT_SECONDS).close()
    except OSError as problem:
        raise UsageError(
            f"No Showdown server answers at {server} ({problem.strerror or problem}); start it, or correct the address."
        ) from problem


async def _visit(
    player: NetworkPlayer, challenge: str | None, battles: int, patience: float, report: Callable[[Played], None]
) -> None:
    async def logged_in() -> None:
        while not player.ps_client.logged_in.is_set():
            await asyncio.sleep(_LOOK_SECONDS)

    await _watched(player, logged_in(), LOGIN_SECONDS, "did not let us in", report)
    work = player.send_challenges(challenge, battles) if challenge else player.accept_challenges(None, battles)
    await _watched(player, work, patience, f"and {challenge or 'everybody'} were silent", report)


async def _watched(
    player: NetworkPlayer, work: Awaitable[None], patience: float, what: str, report: Callable[[Played], None]
) -> None:
    """Waits for work, as long as anything is heard."""
    task = asyncio.ensure_future(work)
    seen = len(player.played)
    player.heard = time.monotonic()
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=_LOOK_SECONDS)
            for played in player.played[seen:]:
                report(played)
            seen = len(player.played)
            if player.complaints:
                raise UsageError(f"The server says: {player.complaints[0]}")
            if player.listening.done() and not task.done():
                raise SimulatorError("The server closed the connection before the battles were over.")
            if time.monotonic() - player.heard > patience:
                raise SimulatorError(f"The server {what} for {patience:.0f} s; given up after {seen} battles.")
        await task
    finally:
        task.cancel()
