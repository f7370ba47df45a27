"""A Showdown server of one's own on the loopback interface, for poke-env's network players.

The package ships without its configuration and some folders; both are made inside the installed copy. The server is a
tree of processes in a session of its own, which is ended as a whole.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from types import TracebackType

from jimbot.errors import SimulatorError
from jimbot.games.vgc import simulator

START_SECONDS = 120.0
LEAVE_SECONDS = 5.0
_FOLDERS = ("config/chat-plugins", "logs/repl", "logs/modlog", "databases")
_CONFIG = {
    "bindaddress": "'127.0.0.1'",  # the default listens on every interface
    "wsdeflate": "null",
    "loginserver": "''",
    "reportjoins": "false",
    "reportbattles": "false",
    "repl": "false",
    "watchconfig": "false",
    "autolockdown": "false",
    "nothrottle": "true",
    "noguestsecurity": "true",
    "noipchecks": "true",
}
_READY = b"now listening"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ShowdownServer:
    """`with ShowdownServer() as server:` … `server.websocket` is what clients connect to."""

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def websocket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/showdown/websocket"

    def __enter__(self) -> ShowdownServer:
        package = simulator.package_folder()
        for name in _FOLDERS:
            (package / name).mkdir(parents=True, exist_ok=True)
        lines = [f"exports.port = {self.port};", *(f"exports.{name} = {value};" for name, value in _CONFIG.items())]
        (package / "config" / "config.js").write_text("\n".join(lines) + "\n", encoding="utf-8")
        # Without --skip-build it calls a bundler that the small install leaves out.
        command = [
            simulator.node_program(),
            "pokemon-showdown",
            "start",
            "--skip-build",
            "--no-security",
            str(self.port),
        ]
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, cwd=package, stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        if process is None:
            return
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LEAVE_SECONDS)
        self._process = None
        self._said.close()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            said = self._output()
            if _READY in said:
                return
            if self._process is None or self._process.poll() is not None:
                raise SimulatorError(
                    f"The Showdown server ended at once: {said.decode(errors='replace').strip()[-500:]}"
                )
            time.sleep(0.1)
        raise SimulatorError(f"The Showdown server did not listen on port {self.port} within {START_SECONDS:.0f} s.")

    def _output(self) -> bytes:
        return os.pread(self._said.fileno(), 1 << 20, 0)
