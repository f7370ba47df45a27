"""A Showdown server of one's own on the loopback interface, for poke-env's network players.

The package ships without its configuration and some folders; both are made inside the installed copy. The server is a
tree of processes in a session of its own, which is ended as a whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any

from jimbot.errors import SimulatorError
from jimbot.games.vgc import simulator

START_SECONDS = 120.0
LEAVE_SECONDS = 5.0
LOG_SECONDS = 30.0
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

    def __init__(self, port: int | None = None, keep_logs: bool = False) -> None:
        self.port = port or free_port()
        self.keep_logs = keep_logs
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def websocket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/showdown/websocket"

    def __enter__(self) -> ShowdownServer:
        package = simulator.package_folder()
        for name in _FOLDERS:
            (package / name).mkdir(parents=True, exist_ok=True)
        config = _CONFIG | {"port": str(self.port), "logchallenges": "true" if self.keep_logs else "false"}
        lines = [f"exports.{name} = {value};" for name, value in config.items()]
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

    def take_logs(self, count: int = 0) -> list[dict[str, Any]]:
        """The battles kept by servers of this installation, each with `inputLog` and `log`; their files are deleted.

        A server writes a file a moment after the battle: `count` of them are waited for.
        """
        found: list[dict[str, Any]] = []
        deadline = time.monotonic() + LOG_SECONDS
        while True:
            for path in sorted((simulator.package_folder() / "logs").glob("*/*/*/*.log.json")):
                with contextlib.suppress(json.JSONDecodeError):  # still being written
                    found.append(json.loads(path.read_text(encoding="utf-8")))
                    path.unlink()
            if len(found) >= count:
                break
            if time.monotonic() > deadline:
                raise SimulatorError(f"The server kept {len(found)} of {count} battles within {LOG_SECONDS:.0f} s.")
            time.sleep(0.1)
        return found

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
            if _READY in said and self._listens():  # it says so a little too early
                return
            if self._process is None or self._process.poll() is not None:
                raise SimulatorError(
                    f"The Showdown server ended at once: {said.decode(errors='replace').strip()[-500:]}"
                )
            time.sleep(0.1)
        raise SimulatorError(f"The Showdown server did not listen on port {self.port} within {START_SECONDS:.0f} s.")

    def _listens(self) -> bool:
        with socket.socket() as client:
            client.settimeout(1.0)
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def _output(self) -> bytes:
        return os.pread(self._said.fileno(), 1 << 20, 0)
