"""The runs under a root: what each is, and what may be done to it as a whole: rename, delete, tag, prune.

A run that some process is writing (it holds the lock) is left alone: renaming, deleting and pruning take the lock
themselves, so they are refused with the sentence a second trainer would get.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from jimbot.errors import CheckpointError, SettingsError, UsageError
from jimbot.machine import read_holder, try_lock
from jimbot.runs import files
from jimbot.runs.checkpoint import BEST, LATEST, run_names
from jimbot.runs.directory import RunDirectory, is_plain_name
from jimbot.runs.manifest import parse_manifest
from jimbot.runs.sinks.jsonl import last_row, read_rows

EVALUATION, TAGS, NOTES = "evaluation.json", "tags.json", "notes.txt"
LONGEST_NOTE = 10_000
RETURN = "train/mean_episode_return"
_TAG = re.compile(r"[\w.:+-]{1,40}")


class Headline(NamedTuple):
    """One metric of a run; without an interval where it was not evaluated."""

    name: str
    mean: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        share = self.name == "won"
        shown = [f"{100 * value:.1f}" if share else f"{value:.2f}" for value in self[1:] if value is not None]
        unit = " %" if share else ""
        span = f" ({shown[1]}–{shown[2]})" if len(shown) > 1 else ""
        return f"{self.name} {shown[0]}{unit}{span}"


@dataclass(frozen=True)
class RunSummary:
    """A run in a list."""

    name: str
    game: str
    learner: str
    algorithm: str
    step: int
    best: Headline | None
    """How well its policy played when it was judged; before that the best mean return while learning."""
    changed: float
    """Seconds since the epoch: when it last wrote something."""
    size: int
    """Bytes, checkpoints included."""
    live: int | None
    """The process that writes it now."""
    tags: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        best = None if self.best is None else self.best._asdict()
        return {**self.__dict__, "best": best, "live": self.live is not None, "process": self.live}


@dataclass(frozen=True)
class RunDetails:
    """Everything a page about a run begins with."""

    summary: RunSummary
    path: Path
    checkpoints: tuple[Path, ...]
    best_checkpoint: Path | None
    config: Mapping[str, Any] = field(default_factory=dict)
    evaluation: Mapping[str, Any] | None = None
    latest: Mapping[str, Any] = field(default_factory=dict)
    """The newest log row."""
    events: tuple[str, ...] = ()
    note: str = ""


def list_runs(root: str | Path = "runs") -> list[RunSummary]:
    """All runs, the one that wrote last first; a folder with a name no run can have is none."""
    names = filter(is_plain_name, run_names(root))
    return sorted((summary(root, name) for name in names), key=lambda one: -one.changed)


def summary(root: str | Path, name: str) -> RunSummary:
    run = find_run(root, name)
    config, manifest = _config(run), _newest_manifest(run)
    row = last_row(run.metrics_path) or {}
    return RunSummary(
        name=name,
        game=str(config.get("game") or manifest.get("game", "?")),
        learner=str(manifest.get("learner") or config.get("learner", "?")),
        algorithm=str(config.get("algorithm") or manifest.get("algorithm", "?")),
        step=max(row.get("step", 0), manifest.get("step", 0)),
        best=best_headline(run),
        changed=_changed(run),
        size=_size(run.path),
        live=holder(run),
        tags=tags_of(run),
    )


def details(root: str | Path, name: str, events: int = 8) -> RunDetails:
    run = find_run(root, name)
    store = run.checkpoints()
    lines = run.events_path.read_text("utf-8", "replace").splitlines() if run.events_path.exists() else []
    return RunDetails(
        summary(root, name),
        run.path,
        tuple(store.paths()),
        store.best(),
        _config(run),
        files.read_json(run.path / EVALUATION),
        last_row(run.metrics_path) or {},
        tuple(lines[-events:]),
        note_of(run),
    )


def find_run(root: str | Path, name: str) -> RunDirectory:
    """An existing run; the sentence for one that does not exist names those that do."""
    run = RunDirectory(root, name)
    if not (run.checkpoints_path.is_dir() or run.config_path.is_file()):
        known = ", ".join(run_names(root)) or "none"
        raise CheckpointError(f"There is no run '{name}' under {root} (runs there: {known}). Check the name.")
    return run


def holder(run: RunDirectory) -> int | None:
    """The process that writes a run now, or None.

    The lock is tried only where the process it names is alive: a page that polls runs must not hold the lock for
    the instant in which a trainer that was killed starts again.
    """
    try:
        descriptor = os.open(run.path / "lock", os.O_RDONLY)
    except OSError:
        return None
    try:
        text = read_holder(descriptor)
        if not text.isdigit() or not psutil.pid_exists(int(text)) or try_lock(descriptor):
            return None
        return int(text)
    finally:
        os.close(descriptor)


def best_headline(run: RunDirectory) -> Headline | None:
    if (best := evaluated_headline(run)) is not None:
        return best
    returns = [row[RETURN] for row in read_rows(run.metrics_path) if isinstance(row.get(RETURN), float)]
    return Headline("return", max(returns)) if returns else None


def evaluated_headline(run: RunDirectory) -> Headline | None:
    """Of the run's evaluation; None before there is one."""
    with suppress(AttributeError, KeyError, TypeError):  # a file of another program
        return headline(files.read_json(run.path / EVALUATION))
    return None


def headline(judged: Mapping[str, Any]) -> Headline | None:
    """The metric an evaluation (as `to_dict` has it) is about: wins if there are any, how far it came, its return."""
    ladder = (judged.get("ladder") or {}).get("stat")
    candidates = [("won", judged.get("win_rate")), (ladder, (judged.get("stats") or {}).get(ladder))]
    for name, interval in [*candidates, ("return", judged.get("mean_return"))]:
        if name and interval and (name != "won" or interval["mean"]):
            return Headline(name.replace("_", " "), interval["mean"], interval["low"], interval["high"])
    return None


def store_evaluation(run: RunDirectory, judged: Mapping[str, Any], step: int) -> None:
    """Keeps how well the policy of a step played."""
    text = json.dumps({"step": step, "time": time.time(), **judged}, indent=1, default=float)
    files.write_atomically(run.path / EVALUATION, text.encode())


# --- changes ---


def rename_run(root: str | Path, name: str, new_name: str) -> None:
    target = RunDirectory(root, new_name)
    if target.path.exists():
        raise UsageError(f"There is a run '{new_name}' under {root} already; choose another name, or delete it first.")
    with find_run(root, name).open_or_create() as run, files.storing(target.path):
        os.rename(run.path, target.path)
        files.sync_directory(target.root)
        _move_linked(target, name)


def delete_run(root: str | Path, name: str) -> None:
    """Deletes a run with everything in it; of a link to a run only the link goes."""
    found = find_run(root, name)
    if found.path.is_symlink():
        with files.storing(found.path):
            found.path.unlink()
        return
    with found.open_or_create() as run, files.storing(run.path):
        link = run.checkpoints_path
        if link.is_symlink() and _is_store(link.resolve()):
            files.remove_directory(link.resolve())  # kept elsewhere, but of this run
        files.remove_directory(run.path)


def _is_store(path: Path) -> bool:
    """Whether a folder holds checkpoints and nothing else: a link of a run that was copied may lead anywhere."""
    try:
        names = [entry.name for entry in path.iterdir()]
    except OSError:
        return False
    return all(
        name.isdigit() or name in (BEST, LATEST) or name.startswith((files.TEMPORARY, files.ASIDE)) for name in names
    )


def tag_run(root: str | Path, name: str, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Adds and removes tags; returns those the run has now."""
    for tag in add:
        if not _TAG.fullmatch(tag):
            raise UsageError(f"Tag '{tag}' cannot be used; expected letters, digits or . : + - _, at most 40.")
    run = find_run(root, name)
    tags = [tag for tag in dict.fromkeys([*tags_of(run), *add]) if tag not in remove]
    files.write_atomically(run.path / TAGS, json.dumps(tags).encode())
    return tuple(tags)


def tags_of(run: RunDirectory) -> tuple[str, ...]:
    stored = files.read_json(run.path / TAGS)
    return tuple(tag for tag in stored if isinstance(tag, str)) if isinstance(stored, list) else ()


def note_of(run: RunDirectory) -> str:
    """What a user wrote down about a run."""
    return (files.read_text(run.path / NOTES) or "")[:LONGEST_NOTE].strip()


def note_run(root: str | Path, name: str, text: str) -> None:
    """Writes down what is to be remembered about a run; nothing takes the note away."""
    if len(text) > LONGEST_NOTE:
        raise UsageError(f"The note has {len(text):,} characters; expected at most {LONGEST_NOTE:,}.")
    path = find_run(root, name).path / NOTES
    if text.strip():
        files.write_atomically(path, text.strip().encode() + b"\n")
    else:
        path.unlink(missing_ok=True)


def prune_run(root: str | Path, name: str, keep: int = 1) -> tuple[list[Path], int]:
    """Deletes all checkpoints but the `keep` newest and the best one: (deleted, bytes gained)."""
    if keep < 1:
        raise UsageError(f"--keep-last is {keep}; expected at least 1, so that the run can go on.")
    with find_run(root, name).open_or_create() as run:
        store = run.checkpoints()
        kept = {store.latest(), store.best(), *store.paths()[-keep:]}
        gone = [path for path in store.paths() if path not in kept]
        gained = sum(map(_size, gone))
        with files.storing(run.checkpoints_path):
            for path in gone:
                files.remove_directory(path)
    return gone, gained


def _move_linked(run: RunDirectory, old_name: str) -> None:
    """Checkpoints that a run keeps elsewhere, under its name, go by its new name."""
    link = run.checkpoints_path
    if not link.is_symlink() or link.resolve().name != old_name:
        return
    moved = link.resolve().with_name(run.name)
    os.rename(link.resolve(), moved)
    link.unlink()
    link.symlink_to(moved, target_is_directory=True)


def _config(run: RunDirectory) -> dict[str, Any]:
    try:
        return run.read_config() or {}
    except SettingsError:  # a damaged run is listed, too
        return {}


def _newest_manifest(run: RunDirectory) -> dict[str, Any]:
    found = []
    for path in run.checkpoints_path.glob("*/manifest.json"):
        try:
            found.append(parse_manifest(path.read_bytes(), path))
        except (OSError, CheckpointError):
            continue
    newest = max(found, key=lambda manifest: manifest.serial, default=None)
    return {} if newest is None else newest.model_dump(include={"game", "learner", "algorithm", "step"})


def _changed(run: RunDirectory) -> float:
    places = (run.path, run.metrics_path, run.checkpoints_path)
    return max((path.stat().st_mtime for path in places if path.exists()), default=0.0)


def _size(path: Path) -> int:
    total = 0
    for folder, _, names in os.walk(path, followlinks=True):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except OSError:  # it was being replaced
                continue
    return total
