"""A NATS server for one machine: started by the first process that uses a store, ended when none does for a while.

A store is a folder that only its user can read: JetStream's files, the server's configuration and log, and
`server.json` with port and token. Beside the server runs a small supervisor, which is this module as a program. It
holds a lock for as long as it lives, starts a killed server again on the same port, so that clients find it again, and
ends it once no program has been connected for `IDLE_SECONDS`. It has a session of its own: the command that started it
may end or be killed, and the next one joins. Two commands at once start one server.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil

from jimbot.background import Backoff
from jimbot.errors import BusError, MissingExtraError, NotWritableError
from jimbot.machine import try_lock
from jimbot.processes import HOST, Child, free_port, last_line, listens, tail, wait_for

IDLE_SECONDS = 5.0
LOOK_EVERY = 0.5  # seconds between two looks at who is connected
START_SECONDS = 20.0
PAUSES = Backoff(0.2, 5.0)
DEATHS = 5  # of a server that never listened, before its supervisor gives up
STATE, CONFIGURATION, LOG, STARTING, SUPERVISED = "server.json", "server.conf", "server.log", "start.lock", "lock"


class Server(NamedTuple):
    """What a store says of its server."""

    port: int
    token: str
    pid: int = 0
    supervisor: int = 0

    @property
    def address(self) -> str:
        return f"nats://{self.token}@{HOST}:{self.port}"


def program() -> str:
    """The server's program: of the wheel beside Python, or on the path."""
    beside = Path(sys.executable).parent / ("nats-server.exe" if os.name == "nt" else "nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise MissingExtraError("The NATS server", "nats")
    return found


def join(store: Path, power_safe: bool = False) -> Server:
    """The server of a store, started where none runs. `power_safe`, for a new one: sync the disk at every event."""
    program()
    try:
        store.mkdir(parents=True, exist_ok=True)
        store.chmod(0o700)
        with _alone(store):
            if not _is_supervised(store):
                _start(store, power_safe)
            os.utime(store / STATE)  # a client is about to connect
            server = read_state(store)
    except OSError as problem:
        raise NotWritableError(f"The bus's folder {store} cannot be used: {problem.strerror or problem}.") from problem
    assert server is not None
    return server


def stop(store: Path) -> bool:
    """Ends the server of a store; whether one ran."""
    if not (store / STATE).exists():
        return False
    with _alone(store):
        server, ran = read_state(store), _is_supervised(store)
        if server is not None:
            _end(server.supervisor, store)
            _end(server.pid, store)
    return ran


def read_state(store: Path) -> Server | None:
    with suppress(OSError, ValueError, TypeError):
        return Server(**json.loads((store / STATE).read_text()))
    return None


def _start(store: Path, power_safe: bool) -> None:
    sync = "always" if power_safe else "2m"
    command = [sys.executable, "-m", "jimbot.services.bus.local_server", str(store), sync, str(IDLE_SECONDS)]
    with open(store / LOG, "ab", opener=_private) as log:
        detached = getattr(subprocess, "DETACHED_PROCESS", 0)
        supervisor = Child(command, log, session=True, creationflags=detached)
    if not supervisor.becomes(lambda: getattr(read_state(store), "supervisor", 0) == supervisor.pid, START_SECONDS):
        said = last_line(tail(store / LOG))
        raise BusError(f"The NATS server in {store} does not start: {said or 'it says nothing'}. See {LOG} there.")
    threading.Thread(target=supervisor.wait, name="jimbot-reaper", daemon=True).start()


def supervise(store: Path, sync: str, idle: float) -> int:
    """The supervisor's work, until nobody is left or SIGTERM; its exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(store / SUPERVISED, "ab", opener=_private) as lock:
        if not try_lock(lock.fileno()):
            return 1
        old, deaths = read_state(store), 0
        if old is not None:
            _end(old.pid, store)  # its supervisor was killed
        own = old if old is not None and _is_free(old.port) else Server(free_port(), secrets.token_urlsafe(24))
        _write(store / CONFIGURATION, _configuration(own, store, sync))
        while deaths < DEATHS:
            server = Child([program(), "-c", str(store / CONFIGURATION)], None, with_parent=True)
            try:
                _write(store / STATE, json.dumps(own._replace(pid=server.pid, supervisor=0)._asdict()))
                if not server.becomes(partial(listens, own.port), math.inf):
                    deaths += 1
                    time.sleep(PAUSES.pause(deaths))
                    continue
                deaths = 0
                _write(store / STATE, json.dumps(own._replace(pid=server.pid, supervisor=os.getpid())._asdict()))
                _watch(store, server, idle)
            finally:
                server.end(START_SECONDS)
    return 1


def _watch(store: Path, server: Child, idle: float) -> None:
    """Returns when the server was killed, and leaves when nobody uses it any more."""
    used = time.time()
    while True:
        with suppress(subprocess.TimeoutExpired):
            server.wait(LOOK_EVERY)
            return
        if _has_clients(server.pid):
            used = time.time()
        if time.time() - max(used, (store / STATE).stat().st_mtime) > idle:
            with open(store / STARTING, "ab", opener=_private) as lock:
                if try_lock(lock.fileno()) and not _has_clients(server.pid):  # else a client joins this moment
                    server.end(START_SECONDS)
                    os._exit(0)  # with both locks held until the end


def _configuration(server: Server, store: Path, sync: str) -> str:
    """JSON is NATS' own format, too. The limits of the disk are those of the stream."""
    return json.dumps({
        "listen": f"{HOST}:{server.port}", "authorization": {"token": server.token}, "logfile_size_limit": 2**20,
        "log_file": str(store / LOG),
        "jetstream": {"store_dir": str(store), "max_file_store": 2**40, "sync_interval": sync},
    })  # fmt: skip


def _has_clients(pid: int) -> bool:
    with suppress(psutil.Error):
        return any(one.status == psutil.CONN_ESTABLISHED for one in psutil.Process(pid).net_connections("tcp"))
    return False


def _end(pid: int, store: Path) -> None:
    """Ends a process that was started for a store; numbers are given again."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if any(word.startswith(str(store)) for word in process.cmdline()):
            process.terminate()
            process.wait(START_SECONDS)


def _is_free(port: int) -> bool:
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return True
    return False


@contextmanager
def _alone(store: Path) -> Generator[None]:
    """Nobody else starts, joins or ends the server meanwhile."""
    with open(store / STARTING, "ab", opener=_private) as lock:
        if not wait_for(lambda: try_lock(lock.fileno()), START_SECONDS):
            raise BusError(f"Another program has been starting the bus in {store} for {START_SECONDS:g} s.")
        yield


def _is_supervised(store: Path) -> bool:
    with open(store / SUPERVISED, "ab", opener=_private) as lock:
        return not try_lock(lock.fileno())


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    with open(part, "w", opener=_private) as file:
        file.write(text)
    os.replace(part, path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


if __name__ == "__main__":
    sys.exit(supervise(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
