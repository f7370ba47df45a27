"""README's first ten minutes work with what README's own command installs: the core, no extra.

The fast test blocks every library that the core does not bring and types the lines with small numbers; the long one
makes the virtual environment itself, as a reader does, and types them there.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from jimbot.processes import free_port
from tests.docs.commands import Line, of_page
from tests.docs.pages import REPOSITORY
from tests.docs.test_running import smaller

README = REPOSITORY / "README.md"
WAITS = r"jimbot ui|jimbot play"
"""Lines that wait for a person: the page is started and asked, the keys are pressed by tests/cli/test_play.py."""
BLOCK_AND_RUN = """
import importlib.machinery, shlex, sys
blocked = set(sys.argv[1].split(","))
class CoreOnly(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in blocked else super().find_spec(name, path, target)
sys.meta_path[:] = [CoreOnly if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
from jimbot.cli.main import run
for line in sys.argv[2:]:
    print(">", line, flush=True)
    if code := run(shlex.split(line)[1:]):
        sys.exit(code)
"""


def lines() -> list[Line]:
    """What README's first ten minutes type, except the game that is not in the package (`jimbot setup vgc`)."""
    return [line for line in of_page(README) if line.program == "jimbot" and "vgc" not in line.text]


def core() -> set[str]:
    """Distributions that come with the core, with what they ask for themselves."""
    wanted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"]
    found: set[str] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        wanted += metadata.requires(name) or []
    return found


def not_in_core() -> list[str]:
    """Modules of this machine that README's command does not install."""
    mine = core() | {"jimbot"}
    return [
        module
        for module, owners in metadata.packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & mine and module.isidentifier()
    ]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "XDG_DATA_HOME": str(folder / "data"), "COLUMNS": "110"}


def answer(child: subprocess.Popen[str], port: int) -> str:
    while child.poll() is None:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read().decode()
        except OSError:
            time.sleep(0.2)
    raise AssertionError(child.communicate()[0])


@contextmanager
def page(words: list[str], folder: Path, variables: dict[str, str]) -> Generator[str]:
    """`jimbot ui` as it answers; it must end in order at Ctrl+C."""
    port = free_port()
    child = subprocess.Popen(
        [*words, "--port", str(port)], cwd=folder, env=variables, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        yield answer(child, port)
        child.send_signal(signal.SIGINT)
        assert child.wait(60) in (0, 130)
    finally:
        child.kill()
        child.wait()


def test_the_core_brings_what_the_first_minutes_import(tmp_path: Path) -> None:
    blocked = ",".join(not_in_core())
    assert {"torch", "ray", "strawberry"} <= set(blocked.split(",")), "nothing is blocked: this test cannot fail"
    typed = [smaller(line) for line in lines() if not re.search(WAITS, line.text)]
    assert len(typed) >= 8
    done = subprocess.run(
        [sys.executable, "-c", BLOCK_AND_RUN, blocked, *typed],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    command = "import sys; sys.argv[2:] = [' '.join(sys.argv[2:])]\n" + BLOCK_AND_RUN
    words = [sys.executable, "-c", command, blocked, "jimbot", "ui", "--no-open"]
    with page(words, tmp_path, environment(tmp_path)) as shown:
        assert "<html" in shown


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_readme_works_after_readmes_own_install(tmp_path: Path) -> None:
    checkout = tmp_path / "jimbot"
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(lambda name: name and (REPOSITORY / name).is_file(), files):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, checkout / name)
    variables = {name: value for name, value in environment(tmp_path).items() if name != "PYTHONPATH"}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=checkout, env=variables, capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    made = subprocess.run(["make", "setup"], cwd=checkout, env=variables, capture_output=True, text=True, timeout=1800)
    if made.returncode and "No matching distribution" not in made.stderr and "Connection" in made.stderr:
        pytest.skip("needs a package index")
    assert made.returncode == 0, made.stderr[-3000:]
    jimbot = str(checkout / ".venv" / "bin" / "jimbot")
    assert "pip" not in run(jimbot, "train", "probe", "--total-timesteps", "256", "--no-wandb")
    for line in lines():
        if not re.search(WAITS, line.text):
            run(jimbot, *Line(line.place, smaller(line)).words[1:])
    with page([jimbot, "ui", "--no-open"], checkout, variables) as shown:
        assert "<html" in shown
    refused = subprocess.run(
        [jimbot, "train", "probe", "--learner", "sb3"], cwd=checkout, env=variables, capture_output=True, text=True
    )
    assert refused.returncode == 2
    command = refused.stderr.partition("Install it with: ")[2].strip().replace("install", "install --dry-run --no-deps")
    done = subprocess.run(command, shell=True, cwd=checkout, env=variables, capture_output=True, text=True)
    assert "Would install" in done.stdout, f"{command}\n{done.stdout}\n{done.stderr}"


INSTALLERS = {"uv": "uv installed jimbot", "pipx": "pipx installed jimbot", "": "Linked "}


@pytest.mark.parametrize("installer", INSTALLERS)
def test_make_install_puts_jimbot_on_the_path(tmp_path: Path, installer: str) -> None:
    tools, venv = tmp_path / "tools", tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    tools.mkdir()
    (venv / "bin" / "jimbot").write_text("#!/bin/sh\necho ours\n")
    (venv / "bin" / "jimbot").chmod(0o755)
    (venv / ".core").touch()
    for name in ("sh", "mkdir", "ln", "dirname", "make"):
        (tools / name).symlink_to(str(shutil.which(name)))
    if installer:
        (tools / installer).write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
        (tools / installer).chmod(0o755)

    def install() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", "--no-print-directory", "-C", str(REPOSITORY), "install", f"VENV={venv}"],
            env={"PATH": str(tools), "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    done = install()
    assert done.returncode == 0, done.stderr
    assert INSTALLERS[installer] in done.stdout
    link = tmp_path / ".local" / "bin" / "jimbot"
    if installer:
        assert "--editable ." in (tmp_path / "asked").read_text()
        assert not link.exists()
    else:
        assert subprocess.run([link], capture_output=True, text=True).stdout == "ours\n"
        assert "is not on your PATH yet" in done.stdout
        assert install().returncode == 0
        link.unlink()
        link.write_text("somebody else's")
        assert install().returncode == 2
        assert link.read_text() == "somebody else's"
