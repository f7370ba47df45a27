"""One run, one directory: settings, metrics, checkpoints and report of a training run, held by one process at a time.

The lock is the kernel's, so it ends with the process that holds it, however that process ends; there is no stale lock
to clean up. The process number in the file is only for the sentence the second trainer gets. The lock also says which
directory is meant: before anything is written, `check_held` looks whether the file at its place is still the one that
was locked, so a run that was moved, deleted or replaced meanwhile is never written into or brought back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import yaml

from jimbot.errors import NotWritableError, SettingsError, StorageError, UnreadableError, UsageError
from jimbot.machine import read_holder, try_lock, write_holder
from jimbot.reading.plain import file_text
from jimbot.reading.yaml_values import yaml_value
from jimbot.runs.checkpoint import CHECKPOINTS, CheckpointStore
from jimbot.runs.files import make_directory, storing, sweep, sync_directory, write_atomically

HOUSEKEEPING = ("lock", "config.yaml", "events.log", "tensorboard", "spill", CHECKPOINTS)
"""What a run has before it has learned anything."""


def default_name(game: str, learner: str, algorithm: str) -> str:
    """The run name when none is given: the same command finds the same run again.

    >>> default_name("hackmatrix", "jax", "PPO")
    'hackmatrix-jax-ppo'
    """
    return f"{game}-{learner}-{algorithm}".lower()


def is_plain_name(name: str) -> bool:
    """Whether every file system and every terminal can bear a name.

    >>> [is_plain_name(name) for name in ("mine-2", "", ".git", "a/b", "a\\nb", "x" * 300)]
    [True, False, False, False, False, False]
    """
    return bool(name) and name.isprintable() and len(name) <= 200 and name[0] != "." and not set(name) & set("/\\")


class RunDirectory:
    """`<root>/<name>/` and the names of what lies in it.

    Paths may be used at any time; a writer calls `open_or_create` first and `close` at the end, or uses it as
    a context: `with RunDirectory("runs", "mine").open_or_create() as run: …`.
    """

    def __init__(self, root: str | Path, name: str) -> None:
        if not is_plain_name(name):
            raise UsageError(f"Run name {name!r} cannot be used; expected a plain name without slashes or leading dot.")
        self.root = Path(root)
        self.name = name
        self.path = self.root / name
        self.config_path = self.path / "config.yaml"
        self.metrics_path = self.path / "metrics.jsonl"
        self.events_path = self.path / "events.log"
        self.tensorboard_path = self.path / "tensorboard"
        self.checkpoints_path = self.path / CHECKPOINTS
        self.report_path = self.path / "report.html"
        self.created = False
        """Whether the last `open_or_create` made it."""
        self._lock: int | None = None
        self._replaced: Path | None = None  # where the run before it went

    def open_or_create(self, fresh: bool = False, checkpoint_dir: str | Path | None = None) -> Self:
        """Takes the run for this process, creating what is missing.

        `fresh` starts over; the old run is kept as `<name>.old-<n>`. `checkpoint_dir` puts the checkpoints into
        `<checkpoint_dir>/<name>` instead; the run then links there, so everything still finds them.
        """
        self.created = not self.path.exists()
        make_directory(self.path)
        self._take_lock()
        try:
            if fresh and self.has_content():
                self._move_aside()
                make_directory(self.path)
                self._take_lock()
            with storing(self.path):
                sweep(self.path)
            if checkpoint_dir is not None:
                self._link_checkpoints(Path(checkpoint_dir) / self.name)
            make_directory(self.checkpoints_path)
        except BaseException:
            self.close()
            raise
        return self

    def has_content(self) -> bool:
        """Whether anything was ever written here beside the lock."""
        return any(entry.name not in ("lock", CHECKPOINTS) for entry in self.path.iterdir()) or (
            self.checkpoints_path.is_dir() and any(self.checkpoints_path.iterdir())
        )

    def checkpoints(self, keep_last: int = 3, keep_every: int = 0) -> CheckpointStore:
        guard = None if self._lock is None else self.check_held
        return CheckpointStore(self.checkpoints_path, keep_last, keep_every, guard)

    def check_held(self) -> None:
        """Raises unless the directory at this run's place is the one that was taken."""
        if self._lock is None or self._is_current(self._lock, self.path / "lock"):
            return
        raise StorageError(
            f"Run '{self.name}' is no longer at {self.path}: it was moved, deleted or replaced while it was being "
            "written. Training stopped and wrote nothing there since; what was saved before is where the run is now."
        )

    def disk_share(self) -> float:
        """How full the disk of this run is, 0 to 1; asked of the lock that is held, so it never misses."""
        self.check_held()
        disk = shutil.disk_usage(self.path if self._lock is None or os.name == "nt" else self._lock)
        return disk.used / max(1, disk.used + disk.free)

    def discard(self) -> None:
        """Undoes `open_or_create` where nothing came of it: a directory it made that holds no work goes, and a run that
        was moved aside for it comes back. To be called after `close`."""
        if not (self.created or self._replaced) or self._holds_work():
            return
        with storing(self.path):
            link = self.checkpoints_path
            if link.is_symlink():
                with suppress(OSError):
                    link.resolve().rmdir()
            shutil.rmtree(self.path, ignore_errors=True)
            if self._replaced is not None:
                _move_run(self._replaced, self.path)
        self.created, self._replaced = False, None

    def is_free(self) -> bool:
        """Whether the name can be taken for a new run: nothing was learned here, and nobody is about to."""
        if not self.path.exists():
            return True
        lock = self.path / "lock"
        if self._holds_work() or not lock.is_file():
            return not self._holds_work()
        with storing(lock):
            descriptor = os.open(lock, os.O_RDWR)
        try:
            return try_lock(descriptor)
        finally:
            os.close(descriptor)

    def _holds_work(self) -> bool:
        """Whether anything lies here that took time to make; what cannot be looked at counts as work."""
        try:
            kept = [entry.name for entry in self.path.iterdir() if entry.name not in HOUSEKEEPING]
            return bool(kept) or (self.checkpoints_path.is_dir() and any(self.checkpoints_path.iterdir()))
        except OSError:
            return True

    def write_config(self, config: Mapping[str, Any]) -> None:
        """Stores the fully resolved settings."""
        text = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
        write_atomically(self.config_path, text.encode())

    def read_config(self) -> dict[str, Any] | None:
        """The stored settings, or None if the run has none yet."""
        if not self.config_path.exists():
            return None
        try:
            config = yaml_value(file_text(self.config_path))
        except UnreadableError as problem:
            raise SettingsError(f"{self.config_path} cannot be read: {problem}.") from problem
        if not isinstance(config, dict):
            raise SettingsError(f"{self.config_path} holds no settings; expected a mapping of names to values.")
        return config

    def close(self) -> None:
        """Lets another process have the run."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take_lock(self) -> None:
        path = self.path / "lock"
        with storing(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not try_lock(descriptor):
            holder = read_holder(descriptor) or "unknown"
            os.close(descriptor)
            raise NotWritableError(
                f"Run '{self.name}' in {self.root} is being written by process {holder}; "
                "wait for it, stop it, or give this run another name."
            )
        if not self._is_current(descriptor, path):
            os.close(descriptor)  # the run was moved aside between opening and locking
            raise NotWritableError(f"Run '{self.name}' in {self.root} is being started afresh by another process.")
        with storing(path):
            write_holder(descriptor, f"{os.getpid()}\n")
        self._lock = descriptor

    @staticmethod
    def _is_current(descriptor: int, path: Path) -> bool:
        try:
            return os.fstat(descriptor).st_ino == path.stat().st_ino
        except OSError:
            return False

    def _move_aside(self) -> None:
        number = 1
        while (old := self.root / f"{self.name}.old-{number}").exists():
            number += 1
        if os.name == "nt":
            self.close()  # Windows renames no directory with an open file in it
        with storing(old):
            _move_run(self.path, old)
        self._replaced = old
        self.close()

    def _link_checkpoints(self, target: Path) -> None:
        make_directory(target)
        here = self.checkpoints_path
        if here.is_symlink() and here.resolve() == target.resolve():
            return
        if here.is_symlink() or (here.exists() and any(here.iterdir())):
            raise UsageError(
                f"Run '{self.name}' keeps its checkpoints in {here.resolve()}, not in {target}; "
                "leave checkpoint-dir as it was, or start afresh."
            )
        with storing(here):
            if here.exists():
                here.rmdir()
            here.symlink_to(target.resolve(), target_is_directory=True)


def _move_run(source: Path, target: Path) -> None:
    """Renames a run; checkpoints that it keeps elsewhere move with it."""
    link = source / CHECKPOINTS
    elsewhere = link.resolve() if link.is_symlink() and link.is_dir() else None
    os.rename(source, target)
    sync_directory(target.parent)
    if elsewhere is not None:
        moved = elsewhere.with_name(target.name)
        os.rename(elsewhere, moved)
        (target / CHECKPOINTS).unlink()
        (target / CHECKPOINTS).symlink_to(moved, target_is_directory=True)
