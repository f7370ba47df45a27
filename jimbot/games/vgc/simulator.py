"""Where the Showdown simulator lives, and how it gets there.

The package is taken from npm unchanged, in one exact version (formats are renamed and removed between releases), into
JimBot's cache directory. Nothing is compiled and its optional parts stay out. A folder is complete or absent: npm works
in a temporary folder beside it, which is checked and then renamed. After that everything runs offline.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from jimbot.errors import SimulatorError, UsageError
from jimbot.machine import cache_folder
from jimbot.processes import last_line

PACKAGE = "pokemon-showdown"
VERSION = "0.11.11"
OLDEST_NODE = 18
NODE_FILES = Path(__file__).resolve().parent / "node"
INSTALL_SECONDS = 600.0
CHECK_SECONDS = 120.0
_NPM_FLAGS = ("--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error")
_CHECK = "const {Dex} = require(process.argv[1]); process.stdout.write(Dex.formats.get(process.argv[2]).name || '');"
_CHECKED_FORMAT = "gen9vgc2023regc"


def install_folder() -> Path:
    return cache_folder("vgc") / f"{PACKAGE}-{VERSION}"


def package_folder() -> Path:
    """The installed package; a sentence with the command where there is none."""
    folder = _package_in(install_folder())
    if not (folder / "package.json").is_file():
        raise UsageError("The battle simulator of game 'vgc' is not installed here. Install it with: jimbot setup vgc")
    return folder


def is_installed() -> bool:
    return (_package_in(install_folder()) / "package.json").is_file()


def node_program() -> str:
    """The path of Node.js, checked for its age."""
    program = shutil.which("node")
    if program is None:
        raise UsageError(
            f"Game 'vgc' runs its simulator on Node.js, which is not installed; install version {OLDEST_NODE} or newer "
            "(https://nodejs.org, or your system's package 'nodejs') and try again."
        )
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=CHECK_SECONDS)
    match = re.match(r"v(\d+)\.", answer.stdout)
    if match is None or int(match[1]) < OLDEST_NODE:
        raise UsageError(
            f"Game 'vgc' needs Node.js {OLDEST_NODE} or newer, but '{program}' is {answer.stdout.strip() or 'broken'}; "
            "install a newer one."
        )
    return program


def install(force: bool = False) -> Path:
    """Installs the simulator unless it is there; returns the folder of the package."""
    node = node_program()
    if is_installed() and not force:
        return package_folder()
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError("Node.js is there but its installer 'npm' is not; install npm and type: jimbot setup vgc")
    root = cache_folder("vgc")
    try:
        root.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix="install-", dir=root))
    except OSError as problem:
        raise SimulatorError(f"The simulator's folder {root} cannot be written: {problem.strerror}.") from problem
    try:
        _fetch(npm, workshop)
        check(node, _package_in(workshop))
        _put_in_place(workshop, install_folder(), force)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    return package_folder()


def check(node: str, package: Path) -> None:
    """Loads the package once and looks for its version and the default format."""
    try:
        version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
        done = subprocess.run(
            [node, "-e", _CHECK, str(package), _CHECKED_FORMAT], capture_output=True, text=True, timeout=CHECK_SECONDS
        )
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as problem:
        raise SimulatorError(f"The simulator in {package} cannot be read or started: {problem}") from problem
    if version != VERSION or done.returncode != 0 or not done.stdout:
        cause = last_line(done.stderr) or f"version {version}, format '{_CHECKED_FORMAT}' missing"
        raise SimulatorError(f"The simulator in {package} does not work: {cause}. Repeat: jimbot setup vgc --force")


def _fetch(npm: str, workshop: Path) -> None:
    (workshop / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    command = [npm, "install", f"{PACKAGE}@{VERSION}", *_NPM_FLAGS]
    try:
        done = subprocess.run(
            command, cwd=workshop, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired as problem:
        raise SimulatorError(
            f"npm did not finish installing {PACKAGE} {VERSION} within {INSTALL_SECONDS:.0f} s; check the network and "
            "type: jimbot setup vgc"
        ) from problem
    if done.returncode != 0:
        raise SimulatorError(
            f"npm could not install {PACKAGE} {VERSION} ({_npm_cause(done.stderr)}); check that its registry can be "
            "reached and type: jimbot setup vgc"
        )


def _put_in_place(workshop: Path, folder: Path, force: bool) -> None:
    """Renames the finished folder; where another process was quicker, its work is as good as ours."""
    staged = workshop / "finished"
    staged.mkdir()
    (workshop / "node_modules").rename(staged / "node_modules")
    if force and folder.exists():
        folder.rename(workshop / "replaced")  # goes away with the workshop
    try:
        staged.rename(folder)
    except OSError:
        if not is_installed():
            raise


def _package_in(folder: Path) -> Path:
    return folder / "node_modules" / PACKAGE


def _npm_cause(stderr: str) -> str:
    """The line of npm's complaint that says why, without its prefix."""
    lines = [re.sub(r"^npm (error|ERR!)\s*", "", line).strip() for line in stderr.splitlines()]
    reasons = [line for line in lines if line and not line.startswith("A complete log")]
    return next(
        (line for line in reasons if "code" in line or "request" in line), reasons[0] if reasons else "no reason"
    )
