"""The wheel is whole: built, installed where nothing but the core's libraries can be imported, and used.

Nothing is downloaded. The core's libraries are those of this environment, found by following the requirements that the
wheel itself states, and linked into a folder that the fresh environment sees; extras are not there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[2]
EXTRAS = ("torch", "ray", "wandb", "stable_baselines3", "pettingzoo", "optuna", "pytest")

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what git has, as a release would be: what lies around in the folder cannot get in."""
    copy, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in tracked("."):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((REPOSITORY / name).read_bytes())
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", built, copy)
    (found,) = built.glob("*.whl")
    return found


def tracked(folder: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", folder], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (REPOSITORY / name).is_file()]


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def core_libraries(wheel: Path) -> set[str]:
    """What the wheel requires without extras, and what those require in turn."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        stated = HeaderParser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    found: set[str] = set()
    waiting = [Requirement(line) for line in stated]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        try:
            waiting += [Requirement(line) for line in distribution(name).requires or []]
        except PackageNotFoundError:
            continue
        found.add(name)
    return found


def link(libraries: set[str], folder: Path) -> None:
    for name in libraries:
        library = distribution(name)
        for top in {file.parts[0] for file in library.files or () if file.parts[0] not in ("..", "__pycache__")}:
            source, target = Path(str(library.locate_file(top))), folder / top
            if source.exists() and not target.exists():
                target.symlink_to(source)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has the wheel and the core's libraries."""
    home = tmp_path_factory.mktemp("fresh")
    libraries, environment = home / "libraries", home / "venv"
    libraries.mkdir()
    link(core_libraries(wheel), libraries)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=120)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(f"{libraries}\n")
    pip("--python", environment / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    return environment / "bin"


def run(program: Path, *arguments: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [program, *arguments],
        cwd=cwd,
        env={**environment, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
    assert not set(tracked("jimbot")) - there
    assert not [name for name in there if name.startswith("tests/")]


def test_the_core_is_all_there_is(installed: Path, tmp_path: Path) -> None:
    code = "import importlib.util as u, sys; print([name for name in sys.argv[1:] if u.find_spec(name)])"
    assert run(installed / "python", "-c", code, *EXTRAS, cwd=tmp_path).strip() == "[]"
    assert "venv" in run(installed / "python", "-c", "import jimbot; print(jimbot.__file__)", cwd=tmp_path)


def test_the_installed_command_trains_judges_and_exports(installed: Path, tmp_path: Path) -> None:
    jimbot = installed / "jimbot"
    assert "train" in run(jimbot, "--help", cwd=tmp_path)
    run(jimbot, "train", "probe", "--total-timesteps", "512", "--num-envs", "8", "--num-steps", "16", cwd=tmp_path)
    assert (tmp_path / "runs" / "probe-jax-ppo" / "checkpoints" / "latest").exists()
    assert "mean_return" in run(jimbot, "evaluate", "probe-jax-ppo", "--games", "4", "--json", cwd=tmp_path)
    run(jimbot, "export", "probe-jax-ppo", "--output", "policy.onnx", cwd=tmp_path)


def test_the_shipped_policies_tables_and_presets_are_found(installed: Path, tmp_path: Path) -> None:
    code = """
from jimbot.games.contract import available_games, game_entry
from jimbot.policies.players import find_player
from jimbot.runs.checkpoint import shipped_games
from jimbot.training.settings.layers import resolve
assert len(shipped_games()) == 3, shipped_games()
for game in shipped_games():
    assert find_player(game).game == game
    assert resolve({}, {}, {"game": game}).preset, game
for game in available_games():
    assert game_entry(game).spec.actions.size
from jimbot.games.vgc.teams import split_teams
print(len(split_teams("held-out")))
"""
    assert run(installed / "python", "-c", code, cwd=tmp_path).split()[-1] == "80"
