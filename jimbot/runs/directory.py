"""One run, one directory: settings, metrics, checkpoints and report of a training run, held by one process at a time.

The lock is the kernel's (`flock`), so it ends with the process that holds it, however that process ends; there is no
stale lock to clean up. The process number in the file is only for the sentence the second trainer gets.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import yaml

from jimbot.errors import SettingsError, StorageError, UnreadableError, UsageError
from jimbot.reading.plain import file_text
from jimbot.reading.yaml_values import yaml_value
from jimbot.runs.checkpoint import CHECKPOINTS, CheckpointStore
from jimbot.runs.files import make_directory, storing, sweep, sync_directory, write_atomically


def default_name(game: str, learner: str, algorithm: str) -> str:
    """The run name when none is given: the same command finds the same run again.

    >>> default_name("hackmatrix", "jax", "PPO")
    'hackmatrix-jax-ppo'
    """
    return f"{game}-{learner}-{algorithm}".lower()


class RunDirectory:
    """`<root>/<name>/` and the names of what lies in it.

    Paths may be used at any time; whoever writes calls `open_or_create` first and `close` at the end, or uses it as
    a context: `with RunDirectory("runs", "mine").open_or_create() as run: …`.
    """

    def __init__(self, root: str | Path, name: str) -> None:
        if not name or name.startswith(".") or "/" in name or "\\" in name or "\0" in name:
            raise UsageError(f"Run name '{name}' cannot be used; expected a plain name without slashes or leading dot.")
        self.root = Path(root)
        self.name = name
        self.path = self.root / name
        self.config_path = self.path / "config.yaml"
        self.metrics_path = self.path / "metrics.jsonl"
        self.events_path = self.path / "events.log"
        self.tensorboard_path = self.path / "tensorboard"
        self.checkpoints_path = self.path / CHECKPOINTS
        self.report_path = self.path / "report.html"
        self._lock: int | None = None

    def open_or_create(self, fresh: bool = False, checkpoint_dir: str | Path | None = None) -> Self:
        """Takes the run for this process, creating what is missing.

        `fresh` starts over; the old run is kept as `<name>.old-<n>`. `checkpoint_dir` puts the checkpoints into
        `<checkpoint_dir>/<name>` instead; the run then links there, so everything still finds them.
        """
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
        return CheckpointStore(self.checkpoints_path, keep_last, keep_every)

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
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StorageError(
                f"Run '{self.name}' in {self.root} is being written by process {holder}; "
                "wait for it, stop it, or give this run another name."
            ) from problem
        if not self._is_current(descriptor, path):
            os.close(descriptor)  # the run was moved aside between opening and locking
            raise StorageError(f"Run '{self.name}' in {self.root} is being started afresh by another process.")
        with storing(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
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
        with storing(old):
            os.rename(self.path, old)
            sync_directory(self.root)
            link = old / CHECKPOINTS
            if link.is_symlink() and link.is_dir():  # checkpoints kept elsewhere move aside there, too
                target = link.resolve()
                moved = target.with_name(f"{target.name}.old-{number}")
                os.rename(target, moved)
                link.unlink()
                link.symlink_to(moved, target_is_directory=True)
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
