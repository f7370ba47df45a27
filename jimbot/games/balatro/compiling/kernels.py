"""The one way this package compiles: decorator options, fast linking, and a disk cache that cannot go stale.

**Kernels.** Plain `numba.njit` optimises and emits machine code for every function together with everything below it,
again and again at each level of the call graph: a hundred small functions took 80 s. A kernel made by `njit` here is
lowered once to unoptimised LLVM code when another kernel calls it. Only a kernel that is called from Python becomes
machine code: it links each kernel below it once, and the whole is optimised once. Rules can then be cut into as many
small functions as reads well. This uses three inner classes of Numba (its version is pinned); with
`JIMBOT_PLAIN_NUMBA=1`, or if they change, the same code compiles the slow way.

**Cache.** Numba notices a change in the file of a function, but not a change in another module's constant, in a JSON
table or in the options; all of these end up inside the machine code here. So the cache lives in a directory named by a
hash of every table, every option and every source that can reach machine code (all but `PLAIN` and `APART`): any change
means a new directory, and old ones are swept away when they were not used for a month. Where the package lies does
not matter (`CachePlace`): clones and worktrees of the same sources share the machine code. The heuristic player and
what synergies are measured with (`APART`) compile by themselves: their machine code lies in directories below, each
named by a hash of its own sources, so a change of one leaves the code of the rules in use.

Environment:
- `NUMBA_DISABLE_JIT=1` runs the same functions as plain Python (debugger, tests).
- `JIMBOT_BOUNDSCHECK=1` compiles with array bounds checks (the long tests).
- `JIMBOT_CACHE_DIR` moves the cache; by default the user's cache directory.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.core.caching import UserProvidedCacheLocator
from numba.core.imputils import lower_constant
from numba.extending import models, register_model, typeof_impl

from jimbot import machine
from jimbot.games.balatro.compiling import meanwhile
from jimbot.machine import cache_folder, user_name

linking: Any
try:
    from jimbot.games.balatro.compiling import linking
except ImportError:  # another Numba: its inner classes moved
    linking = None

_numba_settings: Any = numba.config  # its members are made at run time
PACKAGE = Path(__file__).resolve().parents[1]
PLAIN = ("view", "verify", "live", "entry", "transcript", "synergy")
"""Modules and folders no compiled module imports from: words, pictures, protocols and statistics, which may change
without a new compile."""
APART = ("heuristic", "arms")
"""Folders of kernels that the rules do not call."""
_UNUSED_AFTER_SECONDS = 30 * 24 * 3600

JIT_DISABLED = bool(_numba_settings.DISABLE_JIT)


def _switched_on(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


FEW = 4
"""Games for which kernels may run as plain Python while they are compiled (`meanwhile`)."""
BOUNDSCHECK = _switched_on("JIMBOT_BOUNDSCHECK")
FAST_LINKING = linking is not None and not _switched_on("JIMBOT_PLAIN_NUMBA")

# fastmath stays off for ever: draws must be bit-exact and scores must overflow to inf, not to garbage.
# error_model "numpy": a division by zero gives inf or nan as in the original game instead of raising.
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy", "boundscheck": BOUNDSCHECK}


def source_fingerprint(package: Path = PACKAGE, options: dict[str, Any] = OPTIONS) -> str:
    """A hash of everything that can change the compiled code of this package."""
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.json")]):
        name = path.relative_to(package)
        if name.with_suffix("").parts[0] in (*PLAIN, *APART):
            continue
        digest.update(str(name).encode() + b"\0")
        digest.update(path.read_bytes())
    digest.update(repr(sorted(options.items())).encode())
    digest.update(f"{numba.__version__} {sys.version_info[:3]} {FAST_LINKING}".encode())
    return digest.hexdigest()[:20]


def _usable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        os.utime(directory)  # the sweep below goes by this date
    except OSError:
        return False
    return os.access(directory, os.W_OK)


def _sweep(root: Path, keep: Path) -> None:
    """Removes caches that were not used for a month; a failure only leaves an old directory behind."""
    for old in root.iterdir():
        try:
            if old != keep and old.is_dir() and time.time() - old.stat().st_mtime > _UNUSED_AFTER_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
        except OSError:
            continue


def prepare_cache() -> Path:
    """The cache directory of exactly this code, made if need be."""
    directory = cache_folder("balatro") / source_fingerprint()
    if not _usable(directory):  # a read-only home: compile anew per user and boot rather than fail
        directory = Path(tempfile.gettempdir()) / f"jimbot-{user_name()}" / "balatro" / directory.name
        directory.mkdir(parents=True, exist_ok=True)
    _sweep(directory.parent, directory)
    return directory


CACHE_DIRECTORY = None if JIT_DISABLED else prepare_cache()


@functools.cache
def _directory_of(module: str) -> Path | None:
    """Where the machine code of a module's kernels is kept."""
    apart = next((folder for folder in APART if f".{folder}." in f"{module}."), None)
    if CACHE_DIRECTORY is None or apart is None:
        return CACHE_DIRECTORY
    return CACHE_DIRECTORY / f"{apart}-{source_fingerprint(PACKAGE / apart)}"


class CachePlace(UserProvidedCacheLocator):
    """Where Numba keeps the machine code of a kernel (`CACHE_LOCATOR_CLASSES`): by the name of its module. A folder per
    place of the package would only compile the same code again in a second clone; Numba still hashes the own file."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(_numba_settings.CACHE_DIR, py_func.__module__)


def _cached_njit(function: Callable[..., Any], **options: Any) -> Any:
    """numba.njit with the disk cache in the package's own directory.

    Numba reads its cache settings once, when a function is decorated, so they are set for that moment only: other
    packages that use Numba in the same process keep theirs.
    """
    previous = _numba_settings.CACHE_DIR, _numba_settings.CACHE_LOCATOR_CLASSES
    _numba_settings.CACHE_DIR = str(_directory_of(function.__module__))
    _numba_settings.CACHE_LOCATOR_CLASSES = f"{__name__}.{CachePlace.__name__}"
    try:
        return numba.njit(cache=True, **OPTIONS, **options)(function)
    finally:
        _numba_settings.CACHE_DIR, _numba_settings.CACHE_LOCATOR_CLASSES = previous


class Kernel:
    """A function of the engine: callable from other kernels without machine code of its own, and from Python."""

    count = 0

    def __init__(self, function: Callable[..., Any], plain: Callable[..., Any] | None = None) -> None:
        """`plain` is what runs as Python, where the function itself cannot."""
        functools.update_wrapper(self, function)
        self.py_func = function
        self._plain = plain or function
        self.inner = numba.njit(pipeline_class=linking.InnerCompiler, **OPTIONS)(function)
        self._outer: Any = None
        self._look_again = 0.0
        Kernel.count += 1

    @property
    def outer(self) -> Any:
        """The dispatcher of the machine code, for use from Python; compiled or loaded on the first call."""
        if self._outer is None:
            self._outer = _cached_njit(self.py_func, pipeline_class=linking.OuterCompiler)
        return self._outer

    def __call__(self, *arguments: Any) -> Any:
        if meanwhile.inside() or (self._outer is None and machine.first_frame_first and not self.known()):
            return meanwhile.call(self._plain, arguments)
        return self.outer(*arguments)

    def known(self) -> bool:
        """Whether the machine code is in the cache; looked up once a second at most while it is not."""
        if time.monotonic() < self._look_again:
            return False
        found = in_cache(self.py_func)
        if not found and CACHE_DIRECTORY is not None:
            self._look_again = time.monotonic() + 1.0
            meanwhile.compile_ahead(CACHE_DIRECTORY)
        return found


def _widened(argument: Any) -> Any:
    plain = types.unliteral(argument)
    return types.int64 if isinstance(plain, types.Integer) and plain.bitwidth < 64 else plain


class _KernelType(types.Dispatcher):
    """The type of a kernel seen inside another one.

    Numba would compile a copy of the callee for every constant it is called with (`roll(g, BOSS)`, `roll(g, TAG)`, …)
    and for every width of an integer (`g.joker_id[i]` is a byte). Here an argument is not known to be constant, and
    integers narrower than 64 bits arrive as int64: one copy, and no byte arithmetic inside it that could wrap. The
    optimiser still sees constants.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        named = {name: _widened(argument) for name, argument in kws.items()}
        return super().get_call_type(context, tuple(_widened(argument) for argument in args), named)


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    return _KernelType(kernel.inner)


@lower_constant(_KernelType)
def _kernel_constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


register_model(_KernelType)(models.OpaqueModel)


Function = TypeVar("Function", bound=Callable[..., Any])


def njit(function: Function, plain: Callable[..., Any] | None = None) -> Function:
    """Makes a kernel of a function (or leaves it plain Python when compiling is switched off)."""
    if JIT_DISABLED:
        return plain or function  # ty: ignore[invalid-return-type]
    if not FAST_LINKING:
        code: Any = getattr(function, "__code__", None)
        written_out = not os.path.exists(code.co_filename)  # made by a registry: no file to cache by
        return numba.njit(**OPTIONS)(function) if written_out else _cached_njit(function)
    return Kernel(function, plain)  # ty: ignore[invalid-return-type]


def in_cache(function: Any) -> bool:
    """Whether there is machine code of a kernel: its file is written last, and complete or not at all."""
    directory, code = _directory_of(function.__module__), getattr(function, "__code__", None)
    if directory is None or code is None:
        return False
    name = f"{Path(code.co_filename).stem}.{function.__qualname__}-*.nbc"
    return any((directory / function.__module__).glob(name))


def machine_code(kernel: Any) -> Any:
    """The kernel for calls that are too large for plain Python: compiled first, if need be."""
    return kernel.outer if isinstance(kernel, Kernel) else kernel


_ready: set[int] = set()


def announce_compilation(kernel: Any, first_call: Callable[[], Any]) -> None:
    """Makes the first call of a kernel; if it has to be compiled, says so, since that takes a minute or two."""
    if JIT_DISABLED or id(kernel) in _ready:
        return
    if in_cache(kernel.py_func):
        first_call()
    else:
        _compile_aloud(first_call)
    _ready.add(id(kernel))


def _compile_aloud(first_call: Callable[[], Any]) -> None:
    """With a line that moves on a terminal, and a few lines in a pipe."""
    live, began = sys.stderr.isatty(), time.monotonic()
    done, said = 0, began

    def lowered(name: str) -> None:
        nonlocal done, said
        done, now = done + 1, time.monotonic()
        if now - said >= (0.2 if live else 10.0):
            said = now
            share = min(99, 100 * done // max(1, Kernel.count))
            what = f"\r{share:3} % compiled: {name[:50]:50}" if live else f"{share} % compiled, {now - began:.0f} s.\n"
            print(what, end="", file=sys.stderr, flush=True)

    print("Compiling the Balatro rules; once per version, about a minute …", file=sys.stderr, flush=True)
    if linking is not None:
        linking.lowered = lowered
    first_call()
    cleared = f"\r{'':70}\r" if live else ""
    print(f"{cleared}Compiled in {time.monotonic() - began:.0f} s.", file=sys.stderr, flush=True)
