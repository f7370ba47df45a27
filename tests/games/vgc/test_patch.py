"""The handler patch changes no line of any battle, and refuses other versions of the simulator."""

from __future__ import annotations

import subprocess

import pytest

from jimbot.games.vgc import simulator
from tests.games.vgc.lab import run_jobs


def digests(count: int, patch: bool, seed: int) -> list[str]:
    (found,) = run_jobs({"job": "logs", "count": count, "seed": seed}, patch=patch)
    return found


def test_battles_are_the_same_line_by_line_with_and_without_it() -> None:
    plain, patched = digests(20, False, 2), digests(20, True, 2)
    assert plain == patched
    assert len(set(plain)) == 20


@pytest.mark.long
def test_three_hundred_battles_are_the_same() -> None:
    assert digests(300, False, 9) == digests(300, True, 9)


def test_another_version_is_refused() -> None:
    code = f"require({str(simulator.NODE_FILES / 'patch.js')!r}).apply({{}}, '0.11.12', {{}})"
    done = subprocess.run([simulator.node_program(), "-e", code], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "compared with pokemon-showdown 0.11.11, but this is 0.11.12" in done.stderr
