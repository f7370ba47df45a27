"""Child processes: ready in time or not, killed with what they started, and their last words kept."""

from __future__ import annotations

import os
import signal
import sys
import time

import psutil

from jimbot.processes import Child, last_line, tail, temporary_log, wait_for

STUBBORN = """import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)"""


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_what_does_not_end_is_killed_with_all_it_started() -> None:
    with temporary_log() as log:
        child = Child(python(STUBBORN), log)
        assert child.becomes(lambda: "\n" in tail(log), 60)
        grandchild = int(last_line(tail(log)))
        child.end(0.1)
        child.end()
    assert child.returncode == -signal.SIGKILL
    assert wait_for(lambda: is_gone(grandchild), 20)


def test_what_ends_before_it_is_ready_says_why() -> None:
    with temporary_log() as log:
        child = Child(python("import sys; sys.exit('Port 9 is taken.\\n\\n')"), log)
        began = time.monotonic()
        assert not child.becomes(lambda: False, 600)
        assert time.monotonic() - began < 300
        assert last_line(tail(log)) == "Port 9 is taken."
        child.end()


def test_a_child_stands_in_a_group_of_its_own_and_dies_with_its_parent() -> None:
    middle = "from jimbot.processes import Child; import os\nlost = Child(['sleep', '600'], with_parent=True)\n"
    with temporary_log() as log:
        parent = Child(python(f"{middle}print(lost.pid, flush=True); lost.wait()"), log)
        assert parent.becomes(lambda: "\n" in tail(log), 60)
        pid = int(last_line(tail(log)))
        assert os.getpgid(pid) == pid
        parent.kill()
        assert sys.platform != "linux" or wait_for(lambda: is_gone(pid), 20)
        parent.end()
