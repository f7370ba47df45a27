"""`jimbot doctor`: what works on this machine, and what to do about what does not.

Every check answers for itself and never raises: a broken part is a row in the table, not the end of the doctor.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.common import RUNS, RunsDirOption
from jimbot.errors import UnknownNameError, install_command
from jimbot.machine import usable_cores

if TYPE_CHECKING:
    from packaging.requirements import Requirement

EXAMPLES = """jimbot doctor
jimbot doctor --json"""
OLDEST_PYTHON = (3, 11)
LITTLE_MEMORY_GB = 2.0
LITTLE_DISK_GB = 1.0
SMOKE_SECONDS = 1.0


@dataclass(frozen=True)
class Finding:
    """One row: `broken` is what JimBot cannot do without, `note` what it can."""

    name: str
    state: Literal["ok", "note", "broken"]
    found: str
    advice: str = ""


def doctor(
    runs_dir: RunsDirOption = RUNS,
    as_json: Annotated[bool, "--json", "Print the findings as JSON."] = False,
) -> None:
    """Check what works on this machine.

    Looks at packages, devices, storage and games, and says what to do. Exits with 1 if something needed is broken.
    """
    findings = list(examine(runs_dir))
    works = all(finding.state != "broken" for finding in findings)
    if as_json:
        terminal.print_json({"works": works, "findings": [asdict(finding) for finding in findings]})
    else:
        _show(findings, works)
    if not works:
        raise typer.Exit(1)


register = adds(doctor, EXAMPLES)


def examine(runs_dir: Path) -> Iterator[Finding]:
    """All findings, in the order a person would ask."""
    yield _python()
    yield from _packages()
    yield from _extras()
    for name, check in (
        ("processor", _processor),
        ("memory", _memory),
        ("jax devices", _devices),
        ("onnxruntime", _onnxruntime),
        ("runs directory", lambda: _writable("runs directory", runs_dir)),
        ("compile cache", _compile_cache),
        ("games", _games),
        ("probe game", _smoke),
    ):
        yield _safely(name, check)
    yield from _installations()


def _safely(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as problem:
        # Whatever is wrong belongs in the table: this command exists for machines on which things fail oddly.
        return Finding(name, "broken", f"{type(problem).__name__}: {problem}", "Reinstall with: make clean setup")


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", "broken", version, "Install Python 3.11 or newer.")
    return Finding("python", "ok", f"{version} ({platform.system()} {platform.machine()})")


def requirements() -> Iterator[tuple[Requirement, str | None]]:
    """(package with the versions that are known to work, extra or None) of the installed JimBot; an extra that only
    gathers others is left out."""
    from packaging.requirements import Requirement

    for text in metadata.requires("jimbot") or []:
        wanted, named = Requirement(text), re.search(r"extra == ['\"]([\w-]+)['\"]", text)
        extra = named[1] if named else None
        if wanted.name != "jimbot" and (wanted.marker is None or wanted.marker.evaluate({"extra": extra or ""})):
            yield wanted, extra


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> Iterator[Finding]:
    needed = [wanted for wanted, extra in requirements() if extra is None]
    if not needed:
        yield Finding("packages", "broken", "JimBot itself is not installed", "Install it with: pip install -e .")
        return
    right = 0
    for wanted in needed:
        version, command = _installed(wanted.name), f"pip install '{wanted.name}{wanted.specifier}'"
        if version is None:
            yield Finding(wanted.name, "broken", "missing", f"Install it with: {command}")
        elif not wanted.specifier.contains(version, prereleases=True):
            yield Finding(wanted.name, "note", version, f"JimBot knows {wanted.specifier}; to get it: {command}")
        else:
            right += 1
    yield Finding("packages", "ok", f"{right} of {len(needed)} of a version that is known to work")


def _extras() -> Iterator[Finding]:
    extras: dict[str, list[str]] = {}
    for wanted, extra in requirements():
        if extra:
            extras.setdefault(extra, []).append(wanted.name)
    for extra, packages in sorted(extras.items()):
        missing = [package for package in packages if _installed(package) is None]
        if missing:
            found = f"not installed: {', '.join(missing)}"
            yield Finding(f"extra {extra}", "note", found, f"Only if wanted: {install_command(extra)}")
        else:
            yield Finding(f"extra {extra}", "ok", ", ".join(f"{package} {_installed(package)}" for package in packages))


def _processor() -> Finding:
    usable = usable_cores()
    return Finding("processor", "ok", f"{usable} of {os.cpu_count()} cores usable")


def _memory() -> Finding:
    import psutil

    memory = psutil.virtual_memory()
    free, total = memory.available / 2**30, memory.total / 2**30
    found = f"{free:.1f} of {total:.1f} GB free"
    if free < LITTLE_MEMORY_GB:
        return Finding("memory", "note", found, "Training wants about 2 GB; close something or lower --num-envs.")
    return Finding("memory", "ok", found)


def _devices() -> Finding:
    import jax

    devices = jax.devices()
    return Finding("jax devices", "ok", f"{len(devices)} × {devices[0].platform} ({devices[0].device_kind})")


def _onnxruntime() -> Finding:
    import onnxruntime

    return Finding("onnxruntime", "ok", ", ".join(onnxruntime.get_available_providers()))


def _writable(name: str, folder: Path) -> Finding:
    """Whether files can be made in `folder`, or in the nearest parent that exists, and how much room there is."""
    import shutil

    place = folder.absolute()
    while not place.exists():
        place = place.parent
    try:
        with tempfile.NamedTemporaryFile(dir=place):
            pass
    except OSError as problem:
        return Finding(name, "broken", f"{folder} cannot be written: {problem.strerror}", "Choose another --runs-dir.")
    free = shutil.disk_usage(place).free / 2**30
    found = f"{folder.absolute()}, {free:.1f} GB free"
    if free < LITTLE_DISK_GB:
        return Finding(name, "note", found, "Make room: a checkpoint that cannot be written stops a run.")
    return Finding(name, "ok", found)


def _compile_cache() -> Finding:
    import jax

    from jimbot.training.session.compile_cache import use_compile_cache

    use_compile_cache()
    chosen = jax.config.values["jax_compilation_cache_dir"]
    if chosen is None:
        return Finding(
            "compile cache", "note", "off", "Each start compiles anew; set JIMBOT_CACHE_DIR to keep programs."
        )
    folder = Path(chosen)
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files) / 2**20
    return Finding("compile cache", "ok", f"{folder}, {len(files)} files, {size:.1f} MB")


def _games() -> Finding:
    from jimbot.errors import JimbotError
    from jimbot.games import available_games, game_entry

    works, broken = [], []
    for game in available_games():
        try:
            works.append(f"{game} v{game_entry(game).spec.version}")
        except (ImportError, JimbotError) as problem:
            broken.append(f"{game}: {problem}")
    if broken:
        return Finding("games", "broken", "; ".join(broken), "Reinstall with: make clean setup")
    return Finding("games", "ok", ", ".join(works))


def _installations() -> Iterator[Finding]:
    """What games need beside Python."""
    from jimbot.games import available_games, game_entry

    for game in available_games():
        try:
            needed = game_entry(game).installation
        except Exception:
            continue
        if needed is None:
            continue
        if needed.is_installed():
            yield Finding(f"game {game}", "ok", "set up")
        else:
            yield Finding(f"game {game}", "note", "not set up", f"To play it: jimbot setup {game}")


def _smoke() -> Finding:
    """One second of random legal play, counted after compiling."""
    import numpy as np

    from jimbot.games import make
    from jimbot.games.checker import random_legal

    game = make("probe", 64, checked=True)
    rng = np.random.default_rng(0)
    game.reset()
    game.step(random_legal(rng, game.legal_mask))
    began = time.perf_counter()
    steps = 0
    while (elapsed := time.perf_counter() - began) < SMOKE_SECONDS:
        game.step(random_legal(rng, game.legal_mask))
        steps += game.num_rows
    return Finding("probe game", "ok", f"{steps / elapsed:,.0f} steps/s, {game.illegal_actions} illegal actions")


def _show(findings: list[Finding], works: bool) -> None:
    signs = {"ok": ("✓", "green"), "note": ("!", "yellow"), "broken": ("✗", "red")}
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        sign, style = signs[finding.state]
        words = Text(finding.found)
        if finding.advice:
            words.append(f"\n→ {finding.advice}", style=style)
        table.add_row(Text(sign, style=f"bold {style}"), Text(finding.name, style="bold"), words)
    console = terminal.console()
    console.print(table)
    unready = [finding.name for finding in findings if finding.name.startswith("game ") and finding.state != "ok"]
    if works and unready:
        console.print(f"\nEverything works here except {', '.join(unready)}: see ! above.", style="yellow")
    elif works:
        console.print("\nEverything JimBot needs works here. Try: jimbot watch hackmatrix", style="green")
    else:
        console.print("\nSomething JimBot needs is broken: see ✗ above.", style="red")


SETUP_EXAMPLES = """jimbot setup vgc
jimbot setup vgc --overwrite   (install again, over what is there)"""


def setup(
    game: Annotated[str, "The game; vgc takes the Showdown simulator from npm, about 150 MB."],
    overwrite: Annotated[bool, "Install again even if it is there."] = False,
    as_json: Annotated[bool, "--json", "Print where it is as JSON."] = False,
) -> None:
    """Install what a game needs beside Python; once per machine, then everything runs offline."""
    from jimbot.games.contract import available_games, game_entry, games_with

    needed = game_entry(game).installation if game in available_games() else None
    if needed is None:
        raise UnknownNameError("game to set up", game, games_with("installation"), "Other games need nothing.")
    known = needed.is_installed() and not overwrite
    if not known:
        terminal.note(f"Installing {needed.name} {needed.version} {needed.how}…")
    folder = needed.install(overwrite)
    if as_json:
        terminal.print_json({"package": needed.name, "version": needed.version, "folder": str(folder)})
        return
    state = "is installed" if known else "was installed"
    terminal.console().print(
        f"{needed.name} {needed.version} {state} and works: {folder}", soft_wrap=True, style="green"
    )


register_setup = adds(setup, SETUP_EXAMPLES)


HELP_EXAMPLES = """jimbot help
jimbot help train hackmatrix   (with the defaults of the game)"""


def show_help(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="The command to explain, and a game for its defaults.")
    ] = None,
) -> None:
    """Explain JimBot, or one of its commands."""
    parent = ctx.parent
    assert parent is not None, "the command is one of jimbot's"
    words = list(command or [])
    if not words:
        typer.echo(parent.get_help())
        return
    group = parent.command
    known = group.list_commands(parent)  # ty: ignore[missing-attribute]
    if words[0] not in known:
        raise UnknownNameError("command", words[0], known)
    found = group.get_command(parent, words[0])  # ty: ignore[missing-attribute]
    found.main([*words[1:], "--help"], prog_name=f"jimbot {words[0]}", standalone_mode=False)


register_help = adds(show_help, HELP_EXAMPLES, name="help")
