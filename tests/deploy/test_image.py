"""deploy/Dockerfile without Docker: its steps, one by one, in a clean Debian made with debootstrap.

What is not tried: the base image itself (a Debian of the same release with its own Python stands in for it), layers,
and how an engine mounts volumes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import REPOSITORY
from tests.services.buses import free_port

pytestmark = pytest.mark.long
DEBIAN = "bookworm"
PACKAGES = "ca-certificates,python3,python3-pip,python3-venv"
STANDS_FOR_THE_BASE = {"PIP_BREAK_SYSTEM_PACKAGES": "1", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
"""Debian keeps pip from the Python of the system; the base image has one of its own."""
OF_THE_MACHINE = ("/etc/pip.conf", "/etc/resolv.conf", "/etc/hosts", "/etc/apt/sources.list", "/etc/apt/apt.conf.d")
"""How this machine reaches packages."""


class Image:
    """A folder in which the instructions of a Dockerfile are carried out."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder, self.user = root, "/", "root"
        self.environment = {**STANDS_FOR_THE_BASE, **_certificates(root)}
        self.arguments: dict[str, str] = {}
        self.entry: list[str] = []

    def follow(self, dockerfile: Path) -> None:
        text = re.sub(r"\\\n", " ", dockerfile.read_text())
        for line in text.splitlines():
            if line.strip() and not line.startswith("#"):
                word, _, rest = line.partition(" ")
                getattr(self, f"_{word.lower()}")(rest.strip())

    def run(self, *words: str) -> str:
        done = subprocess.run(self.command(*words), capture_output=True, text=True, env=self._all())
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def command(self, *words: str) -> list[str]:
        inside = f"cd {shlex.quote(self.folder)} && exec {shlex.join(words)}"
        return ["chroot", f"--userspec={self.user}", str(self.root), "/bin/sh", "-c", inside]

    def _all(self) -> dict[str, str]:
        return {**self.environment, **self.arguments, "HOME": "/root" if self.user == "root" else f"/home/{self.user}"}

    # --- instructions ---

    def _from(self, rest: str) -> None:
        assert DEBIAN in rest, "the base has moved on; so should DEBIAN"

    def _arg(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        self.arguments[name] = value

    def _env(self, rest: str) -> None:
        self.environment |= dict(word.partition("=")[::2] for word in shlex.split(rest))

    def _workdir(self, rest: str) -> None:
        self.folder = rest
        (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _copy(self, rest: str) -> None:
        *sources, target = rest.split()
        place = self.root / self.folder.lstrip("/") / target
        for source in sources:
            path = REPOSITORY / source
            if path.is_dir():
                shutil.copytree(path, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(path, place / path.name)

    def _run(self, rest: str) -> None:
        self.run("/bin/sh", "-c", rest)

    def _user(self, rest: str) -> None:
        self.user = rest

    def _volume(self, rest: str) -> None:
        assert (self.root / rest.lstrip("/")).is_dir()

    def _entrypoint(self, rest: str) -> None:
        self.entry = json.loads(rest)

    def _cmd(self, rest: str) -> None:
        self.run(*self.entry, *json.loads(rest))


def _certificates(root: Path) -> dict[str, str]:
    """What the machine's own variables say of certificates, with the files they name."""
    found = {name: value for name, value in os.environ.items() if name.endswith(("_CERT", "_CERT_FILE", "_CA_BUNDLE"))}
    for value in found.values():
        if Path(value).is_file():
            target = root / value.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(value, target)
    return found


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    if os.geteuid() != 0:
        pytest.skip("only root can change the root folder")
    debootstrap = shutil.which("debootstrap")
    assert debootstrap, "debootstrap is missing; install it: apt-get install debootstrap"
    root = tmp_path_factory.mktemp("image")
    root.chmod(0o755)
    sites = subprocess.check_output(["apt-get", "indextargets", "--format", "$(SITE)"], text=True).split()
    made = [debootstrap, "--variant=minbase", f"--include={PACKAGES}", DEBIAN, str(root), sites[0]]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    for path in map(Path, OF_THE_MACHINE):
        if path.is_dir():
            shutil.copytree(path, root / path.relative_to("/"), dirs_exist_ok=True)
        elif path.exists():
            shutil.copy(path, root / path.relative_to("/"))
    for name in ("dev", "proc"):
        subprocess.run(["mount", "--bind", f"/{name}", str(root / name)], check=True)
    try:
        found = Image(root)
        found.follow(REPOSITORY / "deploy" / "Dockerfile")
        yield found
    finally:
        for name in ("dev", "proc"):
            subprocess.run(["umount", "--lazy", str(root / name)], check=False)


def test_the_image_runs_as_nobody_special_and_finds_what_it_needs(image: Image) -> None:
    assert image.user != "root"
    assert image.run("id", "-u").strip() != "0"
    assert "0.1.0" in image.run(*image.entry, "--version")
    assert "There are no runs" in _said(image, "runs")
    assert json.loads(_said(image, "doctor", "--json"))["works"]
    image.run("wget", "--version")  # what Ray's operator asks its containers with


def test_the_page_of_the_image_answers_on_its_port(image: Image, tmp_path: Path) -> None:
    port = free_port()
    served = subprocess.Popen(image.command(*image.entry, "ui", "--port", str(port)), env=image._all())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        answer: Any = None
        while served.poll() is None and answer is None:
            try:
                answer = json.load(opener.open(f"http://127.0.0.1:{port}/api/hello", timeout=5))
            except (OSError, urllib.error.URLError):
                continue
        assert answer is not None
    finally:
        served.terminate()
        served.wait(60)


def _said(image: Image, *words: str) -> str:
    done = subprocess.run(image.command(*image.entry, *words), capture_output=True, text=True, env=image._all())
    return done.stdout or done.stderr
