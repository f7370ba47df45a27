"""Everything at once: what dies is started again, what keeps dying is given up, and nothing survives its supervisor."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from jimbot.cli.main import run
from jimbot.cli.shared.common import ports_of
from jimbot.errors import UnknownNameError, UsageError, install_command
from jimbot.services.stack import Component, StackSettings, State, Status, Supervisor, components
from jimbot.services.stack.components import EXTRAS, PORTS
from jimbot.services.stack.supervisor import RestartPolicy
from tests.services.buses import free_port

QUICK = RestartPolicy(check=0.02, first_pause=0.02, longest_pause=0.1, deaths=3, unwell=0.2, settled=0.3, leave=1.0)
STAYS = "import sys, time; print('here I am', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {STAYS}"


def fine() -> str:
    return "fine"


def script(name: str, text: str, check: Callable[[], str] = fine) -> Component:
    return Component(name, "for a test", "nowhere", check, (text,))


def supervisor(tmp_path: Path, *parts: Component, policy: RestartPolicy = QUICK) -> Supervisor:
    def command(part: Component) -> list[str]:
        return [sys.executable, "-c", *part.words]

    return Supervisor(parts, tmp_path, policy, command)


def until(running: Supervisor, met: Callable[[dict[str, Status]], Any], seconds: float = 20.0) -> dict[str, Status]:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = {one.name: one for one in running.tick()}
        if met(found):
            return found
        time.sleep(0.01)
    raise AssertionError(f"never came: {found}")


def gone(pid: int, seconds: float = 20.0) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_what_dies_is_started_again_and_all_ends_with_the_supervisor(tmp_path: Path) -> None:
    with supervisor(tmp_path, script("a", STAYS), script("b", STUBBORN)) as running:
        first = until(running, lambda found: all(one.state is State.WELL for one in found.values()))
        assert running.well
        assert first["a"].says == "fine"
        os.kill(first["a"].pid or 0, signal.SIGKILL)
        second = until(running, lambda found: found["a"].state is State.WELL and found["a"].pid != first["a"].pid)
        assert (second["a"].restarts, second["b"].restarts) == (1, 0)
        until(running, lambda found: "here" in (tmp_path / "b.log").read_text())
    assert gone(second["a"].pid or 0)
    assert gone(second["b"].pid or 0)  # asked kindly it would have stayed


def test_what_can_wait_stands_back_for_what_answers(tmp_path: Path) -> None:
    with supervisor(tmp_path, script("answers", STAYS), replace(script("learns", STAYS), nice=3)) as running:
        found = until(running, lambda found: all(one.state is State.WELL for one in found.values()))
        priority = {name: os.getpriority(os.PRIO_PROCESS, one.pid or 0) for name, one in found.items()}
    assert priority["learns"] == min(19, priority["answers"] + 3)


def test_what_keeps_dying_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    def away() -> str:
        raise ConnectionRefusedError("nobody there")

    failing = script("bad", "import sys; print('Port 9 is taken.', file=sys.stderr); sys.exit(2)", away)
    with supervisor(tmp_path, failing, script("good", STAYS)) as running:
        found = until(running, lambda found: found["bad"].state is State.GIVEN_UP)
        assert found["bad"].says == "ended with code 2: Port 9 is taken."
        assert found["bad"].restarts == QUICK.deaths - 1
        until(running, lambda found: found["good"].state is State.WELL)
        assert running.settled
        assert not running.well


def test_earlier_deaths_are_forgotten_after_a_while_of_health(tmp_path: Path) -> None:
    with supervisor(tmp_path, script("a", STAYS)) as running:
        for _ in range(QUICK.deaths + 1):
            found = until(running, lambda found: found["a"].state is State.WELL)
            until(running, lambda found, since=time.monotonic(): time.monotonic() - since > QUICK.settled + 0.1)
            os.kill(found["a"].pid or 0, signal.SIGKILL)
            until(running, lambda found: found["a"].state is not State.WELL)
        assert until(running, lambda found: found["a"].state is State.WELL)


def test_what_no_longer_answers_is_started_again(tmp_path: Path) -> None:
    asked: list[int] = []

    def check() -> str:
        asked.append(1)
        if 5 < len(asked) < 12:
            raise TimeoutError("no answer")
        return "fine"

    with supervisor(tmp_path, script("a", STAYS, check), policy=replace(QUICK, unwell=0.05)) as running:
        first = until(running, lambda found: found["a"].state is State.WELL)
        found = until(running, lambda found: found["a"].restarts == 1 and found["a"].state is State.WELL)
        assert found["a"].pid != first["a"].pid


def test_what_is_not_installed_is_listed_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "ui", ("web", ("no_such_module",)))
    ports = {name: free_port() for name in PORTS}
    parts = components(StackSettings(runs_dir=tmp_path, ports=ports))
    assert [one.name for one in parts] == ["bus", "serve", "ui", "graph", "events", "host"]
    with supervisor(tmp_path, *(one for one in parts if one.name in ("bus", "ui"))) as running:
        found = until(running, lambda found: found["bus"].state is State.WELL)
        assert found["ui"].state is State.MISSING
        assert found["ui"].says == install_command("web")
        assert found["bus"].says == "0 events, 0 behind"
        assert running.well


def test_wrong_names_and_taken_ports_are_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'serve'"):
        components(StackSettings(without=["server"]))
    with pytest.raises(UnknownNameError, match="Did you mean 'ui'"):
        components(StackSettings(ports={"uii": 8600}))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        others = {name: free_port() for name in PORTS}
        with pytest.raises(UsageError, match=rf"Port {port}, which ui needs, is taken .*--port ui=PORT"):
            components(StackSettings(ports={**others, "ui": port}))
        with pytest.raises(UsageError, match=rf"Port {port}, which serve needs, is taken .*--port metrics=PORT"):
            components(StackSettings(ports={**others, "metrics": port}))


# --- the command, with real children ---


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--port", "ui=0"], "--port ui is 0; expected a number from 1 to 65535"),
        (["--port", "ui"], "expected --port name=value"),
        (["--without", "pages"], "Unknown component 'pages'"),
        (["--bus", "carrier-pigeon:"], "Unknown bus 'carrier-pigeon'"),
    ],
)
def test_wrong_use_is_a_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["up", "--runs-dir", str(tmp_path), *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def up(folder: Path) -> subprocess.Popen[str]:
    """Only what starts quickly: bus and event ingest."""
    left_out = [word for name in ("serve", "ui", "graph", "host") for word in ("--without", name)]
    words = ["up", "--json", "--runs-dir", str(folder), "--port", f"events={free_port()}", *left_out]
    return subprocess.Popen([sys.executable, "-m", "jimbot", *words], stdout=subprocess.PIPE, text=True)


def told(process: subprocess.Popen[str], met: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        found = json.loads(line)
        if met(found):
            return found
    raise AssertionError("it ended before")


def test_no_child_survives_a_killed_supervisor(tmp_path: Path) -> None:
    process = up(tmp_path)
    try:
        found = told(process, lambda one: one["name"] == "events" and one["state"] == "well")
    finally:
        process.kill()
    assert gone(found["pid"])


def test_sigterm_ends_everything_in_order(tmp_path: Path) -> None:
    process = up(tmp_path)
    found = told(process, lambda one: one["name"] == "events" and one["state"] == "well")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert gone(found["pid"], 0.1)
    assert "0 events taken" in (tmp_path / ".up" / "events.log").read_text()  # it said goodbye itself


def test_a_port_by_the_name_it_had_is_understood() -> None:
    assert ports_of(["figures=9200", "ui=8700"]) == {"metrics": 9200, "ui": 8700}
