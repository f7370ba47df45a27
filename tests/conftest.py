"""Settings for all tests, made before JAX is imported so that worker and child processes inherit them.

Compiling is most of what JAX tests cost, so compiled programs are kept in `.jimbot-cache/` inside the repository and
shared by all workers, all child processes and the next run.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]
DATA_PREFIX = os.path.join(tempfile.gettempdir(), "jimbot-data-")
"""Where tests keep what belongs to a user, the knowledge graph for one."""

with contextlib.suppress(ValueError):  # in a background job Ctrl+C is ignored, and child processes would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Under nohup a lost terminal is ignored. Children inherit what is ignored but not what is caught, so it is caught here.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN or os.environ.get("JIMBOT_TESTS_NOHUP"):
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGHUP, lambda *_: None)
        os.environ["JIMBOT_TESTS_NOHUP"] = "1"  # for the workers of this run

os.environ["JAX_COMPILATION_CACHE_DIR"] = str(REPOSITORY / ".jimbot-cache" / "tests")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
os.environ["JAX_PLATFORMS"] = "cpu"  # bit-exactness is promised on CPU
# Tiny programs: compiling them is what costs, and the new fusion emitters double that.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # idle threads sleep: two workers share the cores
# Modules are compiled once, not in every child and every run: a third of what collecting the tests costs.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["JIMBOT_CACHE_DIR"] = str(REPOSITORY / ".jimbot-cache" / "tests")
os.environ.setdefault("JIMBOT_IDLE_SIMULATORS", "2")  # starting one costs seconds; the next test takes it over
for name in (
    "WANDB_MODE",
    "WANDB_API_KEY",
    "WANDB_IDENTITY_TOKEN_FILE",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "JIMBOT_GRAPH",
    "RAY_ADDRESS",
):
    os.environ.pop(name, None)  # no test may speak to a server
os.environ["NETRC"] = os.devnull
if not os.environ.get("XDG_DATA_HOME", "").startswith(DATA_PREFIX):  # worker processes share that of their parent
    os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(
        dir=os.path.dirname(DATA_PREFIX), prefix=os.path.basename(DATA_PREFIX)
    )
    atexit.register(shutil.rmtree, os.environ["XDG_DATA_HOME"], ignore_errors=True)

# Random examples are the same in every run, and no example is judged by its time.
settings.register_profile("jimbot", derandomize=True, deadline=None, database=None)
settings.load_profile("jimbot")


def pytest_sessionstart(session: pytest.Session) -> None:
    """The Showdown simulator is installed into the tests' cache once; where that fails, tests that need it say why."""
    from jimbot.errors import JimbotError
    from jimbot.games.vgc import simulator

    with contextlib.suppress(JimbotError):
        simulator.install()


def needs(game: str) -> None:
    """Skips a test of a game whose simulator could not be installed here."""
    from jimbot.games.contract import game_entry

    installation = game_entry(game).installation
    if installation is not None and not installation.is_installed():
        pytest.skip("needs the battle simulator")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files about training first: they take longest, and no worker should be left alone with one of them at the end."""
    training = REPOSITORY / "tests" / "training"
    items.sort(key=lambda item: not item.path.is_relative_to(training))


WORKER_MEMORY = max(3 * 2**29, psutil.virtual_memory().total // 8)
"""Bytes from which a worker gives back what it compiled. What the tests import is 0.9 GB already, and a file that finds
nothing compiled traces and loads it all again: seconds for each that steps HackMatrix or trains."""


@pytest.fixture(scope="module", autouse=True)
def memory_given_back() -> Generator[None]:
    """Every operation JAX compiles stays in its cache with about 2 MB, and workers grew to 4 GB with programs of tests
    long past. The disk cache brings back those that are needed again."""
    yield
    if "jax" in sys.modules and psutil.Process().memory_info().rss > WORKER_MEMORY:
        from jimbot.training.memory import give_back

        sys.modules["jax"].clear_caches()
        give_back()


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Generator[None]:
    """What one test lets be told (`--log-level`, setup_logging) is not told in those after it."""
    logger = logging.getLogger("jimbot")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield
    logger.setLevel(before[0])
    logger.propagate, logger.handlers = before[1:]


RunJimbot = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_jimbot(tmp_path: Path) -> RunJimbot:
    """Runs the real command in a child process, inside an empty folder: run_jimbot("evaluate", "random", …)."""

    def run(*arguments: object, stdin: str | None = None, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jimbot", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "120"},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run
