"""`jimbot train balatro` as a user types it: the core alone, and nothing written but its run and its caches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from jimbot.training.session.compile_cache import CACHE_VARIABLE
from tests.contracts.test_imports import is_door

MOST_MODULES = 200
"""Of ours, the game's included."""
MANIFEST = "jimbot.training.library_learners"  # what the learners behind it are called; none of them is imported
WATCHED = """
import json, os, sys
opened, written = set(), os.O_WRONLY | os.O_RDWR | os.O_CREAT
def notice(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        path, mode, flags = arguments
        if (flags or 0) & written or set(mode or "") & set("wax+"):
            opened.add(os.path.realpath(path))
    elif event in ("sqlite3.connect", "socket.connect"):
        opened.add(str(arguments))
sys.addaudithook(notice)
from jimbot.cli.main import run
code = run(sys.argv[1:])
modules = [name for name in sys.modules if name == "jimbot" or name.startswith("jimbot.")]
print(json.dumps({"code": code, "opened": sorted(opened), "modules": modules}))
"""


def test_a_plain_training_needs_the_core_alone_and_writes_only_its_run(tmp_path: Path) -> None:
    home, runs = tmp_path / "home", tmp_path / "runs"
    home.mkdir()
    small = ["--total-timesteps", "512", "--num-envs", "8", "--num-steps", "32", "--eval-games", "0"]
    caches = Path(os.environ.get(CACHE_VARIABLE, tmp_path / "caches")).resolve()
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "train", "balatro", *small, "--runs-dir", str(runs)],
        env={**os.environ, "HOME": str(home), CACHE_VARIABLE: str(caches)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["code"] == 0, done.stderr
    assert not [name for name in found["modules"] if is_door(name) and name != MANIFEST]
    assert len(found["modules"]) <= MOST_MODULES, sorted(found["modules"])
    allowed = (str(runs.resolve()), str(caches), os.devnull)
    assert not [path for path in found["opened"] if not path.startswith(allowed)]
    assert not list(home.iterdir()), "a training leaves nothing in the home of its user"
