"""A game served in the protocol of its bought edition: HTTP with one request per connection, one call at a time.

The mod looks at its socket once per frame and serves one client after the other; so does this, except that a client has
its turn when its request is whole: one that says nothing, or says it slowly, holds up nobody. A call the game never
answers keeps its turn until its client leaves. Frames and animations are waited for only when asked (`SPEEDS`).
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jimbot.doors.access import Bearers, Tokens
from jimbot.doors.guard import Door, Limits, Receive, Scope, Send, cut
from jimbot.doors.listening import Background, guarded_server, listener
from jimbot.errors import UsageError
from jimbot.games.hooks.programs import HostedGame, Silence

LARGEST_SAVE = 1 << 24
_HEAD = 256  # bytes of a file that say what it is
_OURS = re.compile(rb"jimbot-[a-z]+-save\n|\x89PNG\r\n\x1a\n.{29}tEXtSoftware\0JimBot", re.DOTALL)
"""How everything begins that is written here: a save, or a picture that names us first."""


def own_folder() -> Path:
    """Where files of hosted games are by default."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "jimbot" / "hosted"


class FolderFiles:
    """Files inside some folders; names without a folder belong into the first."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = tuple(folder.absolute() for folder in folders) or (own_folder(),)
        self._is_own = not folders

    def read(self, path: str) -> bytes:
        place = self._inside(path)
        number = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)  # a pipe must not block
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise OSError("it is not a plain file")
        with open(number, "rb") as file:
            return file.read(LARGEST_SAVE)

    def write(self, path: str, data: bytes) -> None:
        place = self._inside(path)
        if os.path.lexists(place) and not _OURS.match(self.read(path)[:_HEAD]):
            raise FileExistsError("a file that was not written here is there already; choose another name")
        number, temporary = tempfile.mkstemp(prefix=".jimbot-", dir=os.path.dirname(place))
        try:
            with open(number, "wb") as file:
                file.write(data)
            os.replace(temporary, place)
        except OSError:
            os.unlink(temporary)
            raise

    def picture(self, drawing: Any) -> bytes:
        from jimbot.envs.pictures import png

        return png(drawing)

    def _inside(self, path: str) -> str:
        """The one place a path means; refused where that is in none of the folders."""
        if not path or "\0" in path or not path.isprintable():
            raise PermissionError("it is no name of a file")
        if self._is_own:
            self.folders[0].mkdir(parents=True, exist_ok=True)
        place = os.path.realpath(self.folders[0] / path)
        for folder in map(os.path.realpath, self.folders):
            if place.startswith(os.path.join(folder, "")):
                return place
        shown = ", ".join(map(str, self.folders))
        raise PermissionError(f"only files inside {shown} may be used (jimbot host --files FOLDER names another)")


SPEEDS = ("instant", "frame", "real")
LARGEST_BODY = 65_536
FRAME = 1 / 60
_TICK = 0.25  # seconds between looks at whether the host was stopped
# what the mod answers where the guard refuses: status: (its status, its sentence)
_OF_THE_MOD = {
    405: (405, "Method not allowed. Use POST for JSON-RPC requests"),
    413: (400, "Request body too large"),
}


class _Seat:
    """One game, and whose turn it is there. Its calls are made in one thread, whatever the clients do."""

    def __init__(self, game: HostedGame) -> None:
        self.game = game
        self.turn = asyncio.Lock()
        self.thread = ThreadPoolExecutor(1, "live-game")


class LiveHost:
    """Hosts one game per port."""

    def __init__(
        self,
        games: list[HostedGame],
        address: str = "127.0.0.1",
        port: int = 0,
        speed: str = "instant",
        token_file: Path | None = None,
        limits: Limits = Limits(),
    ) -> None:
        if speed not in SPEEDS:
            raise UsageError(f"Speed '{speed}' is not known; expected one of {', '.join(SPEEDS)}.")
        self.speed = speed
        self.answered = 0
        self._stopped = threading.Event()
        access = Bearers(Tokens(token_file)) if token_file is not None else None
        door = Door(
            access, methods=("POST",), largest_body=LARGEST_BODY, untyped=True, reads_json=False, closes=True,
            refusal=self._refusal, limits=limits,
        )  # fmt: skip
        server = guarded_server(self._app, door, address, port, lifespan="off")
        places = [listener(address, port + number if port else 0) for number in range(len(games))]
        self.ports = [place.getsockname()[1] for place in places]
        self._seats = {number: _Seat(game) for number, game in zip(self.ports, games, strict=True)}
        self._background = Background(server, places)

    def start(self) -> LiveHost:
        self._background.start()
        return self

    def stop(self) -> None:
        self._stopped.set()
        self._background.stop()
        for seat in self._seats.values():
            seat.thread.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Until `stop` is called, or Ctrl+C."""
        while not self._stopped.wait(_TICK):
            pass

    # --- one request ---

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/":
            status, body = self._refusal(scope, 404, "Not found. Use POST to '/' for JSON-RPC requests")
            await _send(send, status, body)
            return
        seat, asked = self._seat(scope), await receive()
        async with seat.turn:
            begun = time.monotonic()
            answer = await asyncio.get_running_loop().run_in_executor(seat.thread, seat.game.answer, asked["body"])
            self.answered += 1
            if not isinstance(answer, bytes):
                await self._keep_silent(answer, scope, receive)
                return
            await self._take_time(begun, seat.game.seconds)
        await _send(send, 200, answer)

    async def _keep_silent(self, silence: Silence, scope: Scope, receive: Receive) -> None:
        left = asyncio.ensure_future(receive())
        while silence is Silence.HELD and not left.done() and not self._stopped.is_set():
            await asyncio.wait((left,), timeout=_TICK)
        cut(scope)
        await left

    async def _take_time(self, begun: float, seconds: float) -> None:
        if self.speed == "instant":
            return
        due = begun + (seconds if self.speed == "real" else 0.0)
        frames = int((max(due, time.monotonic()) + FRAME) / FRAME)  # served when the next frame is drawn
        while not self._stopped.is_set() and (rest := frames * FRAME - time.monotonic()) > 0:
            await asyncio.sleep(min(rest, _TICK))

    def _refusal(self, scope: Mapping[str, Any], status: int, sentence: str) -> tuple[int, bytes]:
        status, sentence = _OF_THE_MOD.get(status, (status, sentence))
        return status, self._seat(scope).game.complaint(sentence)

    def _seat(self, scope: Mapping[str, Any]) -> _Seat:
        return self._seats[scope["server"][1]]


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
