"""A Showdown server of one's own on the loopback interface, for poke-env's network players.

The package ships without its configuration and some folders; both are made inside the installed copy. The server is a
tree of processes, which is ended as a whole.
"""

from __future__ import annotations

from jimbot.errors import SimulatorError
from jimbot.games.vgc import simulator
from jimbot.processes import Child, free_port, listens, tail, temporary_log

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
_READY = "now listening"


class ShowdownServer:
    """`with ShowdownServer() as server:` … `server.websocket` is what clients connect to."""

    def __init__(self, port: int | None = None, keep_logs: bool = False) -> None:
        self.port = port or free_port()
        self.keep_logs = keep_logs
        self._process: Child | None = None

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
        options = ["--skip-build", "--no-security"]
        command = [simulator.node_program(), "pokemon-showdown", "start", *options, str(self.port)]
        self._said = temporary_log()
        self._process = Child(command, self._said, cwd=package)
        try:
            self._wait(self._process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.end(LEAVE_SECONDS)
            self._said.close()

    def _wait(self, process: Child) -> None:
        # It says that it listens a little too early.
        if process.becomes(lambda: _READY in tail(self._said) and listens(self.port), START_SECONDS):
            return
        if process.returncode is not None:
            raise SimulatorError(f"The Showdown server ended at once: {tail(self._said).strip()[-500:]}")
        raise SimulatorError(f"The Showdown server did not listen on port {self.port} within {START_SECONDS:.0f} s.")
