"""Checkpoints: directories that are complete or invisible, found, verified and kept to a number.

    checkpoints/
      000000032768/            named by environment steps
        manifest.json          see manifest.py; written last
        policy.onnx            portable inference
        params_32768.npz       the parameters for plain NumPy; enough by itself to rebuild the policy
        state/state.npz        everything exact resume needs
      latest, best             text files with the name of a directory

Which checkpoint is newest is decided by the directories themselves (the save counter in their manifests), not by
`latest`: a kill between making a checkpoint visible and updating the pointer costs nothing.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from jimbot.errors import CheckpointError, UnreadableError, nearest
from jimbot.reading.plain import LARGEST_TEXT, file_bytes, file_text, json_value
from jimbot.runs import files
from jimbot.runs.arrays import read_npz, write_npz
from jimbot.runs.manifest import FileRecord, Manifest, check_matches, parse_manifest, platform_info

_BY_NAME = {
    ".onnx": "a policy for playing (`jimbot watch`, `evaluate`, `compare` take it)",
    ".pt": "a file of tensors (`jimbot evaluate` takes those that `jimbot export` wrote)",
    ".yaml": "a file of settings (`--config` takes it)",
    ".yml": "a file of settings (`--config` takes it)",
    ".jsonl": "a log of metrics; its run is the folder it lies in",
    ".html": "a report to be opened in a browser",
}


def what_is(path: Path) -> str:
    """A file in a few words, and which command takes it."""
    if not path.is_file():
        return "neither a file nor a folder"
    if path.stat().st_size == 0:
        return "an empty file"
    if path.name == "manifest.json":
        return "the manifest of a checkpoint; give the folder it lies in"
    if path.suffix == ".npz":
        return _archive(path)
    if path.suffix in _BY_NAME:
        return _BY_NAME[path.suffix]
    try:
        if file_bytes(path)[:4] == b"PK\x03\x04":
            return _archive(path)
        document = json_value(file_text(path, LARGEST_TEXT))
    except UnreadableError:
        return "a file of another kind"
    if isinstance(document, dict) and "game" in document:
        return f"a recorded game of {document['game']} (`jimbot replay` shows it)"
    return "a JSON file"


def _archive(path: Path) -> str:
    from jimbot.reading.arrays import open_archive

    try:
        with open_archive(path) as archive:
            names = set(archive.namelist())
    except UnreadableError as problem:
        return f"a damaged archive ({problem})"
    if "info.json" in names:
        return "a dataset of recorded games (`jimbot clone` learns from it)"
    if "__manifest__.npy" in names:
        return "the parameters of a policy (`jimbot evaluate` and `export` take them)"
    return "an archive of another program"


__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "Manifest",
    "check_matches",
    "find_checkpoint",
    "load_checkpoint",
    "manifest_in_npz",
    "platform_info",
    "publish",
    "run_names",
    "run_of",
]

MANIFEST = "manifest.json"
POLICY = "policy.onnx"
STATE = "state/state.npz"
LATEST, BEST = "latest", "best"
CHECKPOINTS = "checkpoints"
MANIFEST_ENTRY = "__manifest__"

_log = logging.getLogger("jimbot.runs")


def params_name(step: int) -> str:
    return f"params_{step}.npz"


def directory_name(step: int) -> str:
    return f"{step:012d}"


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint; the arrays are read when asked for."""

    path: Path
    manifest: Manifest

    def policy_onnx(self) -> bytes:
        return (self.path / POLICY).read_bytes()

    def params(self) -> dict[str, np.ndarray]:
        arrays = read_npz(self.params_path)
        arrays.pop(MANIFEST_ENTRY, None)
        return arrays

    def state(self) -> dict[str, np.ndarray]:
        if STATE not in self.manifest.files:
            raise CheckpointError(
                f"{self.path} is a published policy without training state: it can be watched and judged, not resumed."
            )
        return read_npz(self.path / STATE)

    @property
    def params_path(self) -> Path:
        return self.path / params_name(self.manifest.step)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Opens a checkpoint directory and verifies every file in it against the manifest."""
    path = Path(path)
    checkpoint = _open(path)
    for name, record in checkpoint.manifest.files.items():
        try:
            sound = _record(path / name).sha256 == record.sha256
        except OSError as problem:
            raise CheckpointError(f"{path / name} cannot be read: {problem.strerror}.") from problem
        if not sound:
            raise CheckpointError(
                f"{path / name} is damaged: its content differs from what the manifest says. "
                "Use another checkpoint of the run."
            )
    return checkpoint


def manifest_in_npz(path: str | Path) -> tuple[Manifest, dict[str, np.ndarray]]:
    """The manifest and parameters inside a params_<step>.npz file."""
    arrays = read_npz(Path(path))
    if MANIFEST_ENTRY not in arrays:
        raise CheckpointError(f"{path} has no '{MANIFEST_ENTRY}' entry; expected a params_<step>.npz of JimBot.")
    return parse_manifest(str(arrays.pop(MANIFEST_ENTRY)), path), arrays


def publish(checkpoint: Checkpoint, folder: str | Path) -> None:
    """The checkpoint without its training state: small, and all that playing needs."""
    kept = {name: record for name, record in checkpoint.manifest.files.items() if name != STATE}
    manifest = checkpoint.manifest.model_copy(update={"files": kept})

    def fill(temporary: Path) -> None:
        for name in kept:
            (temporary / name).write_bytes((checkpoint.path / name).read_bytes())
        (temporary / MANIFEST).write_text(manifest.model_dump_json(indent=1), encoding="utf-8")

    files.write_directory_atomically(Path(folder), fill)


class CheckpointStore:
    """The checkpoints of one run. One process writes (see RunDirectory), any number may read."""

    def __init__(
        self, root: str | Path, keep_last: int = 3, keep_every: int = 0, guard: Callable[[], None] | None = None
    ) -> None:
        """`keep_every` (environment steps, 0 for none) keeps for ever the first checkpoint past each multiple; `guard`
        raises where the store must not be written to any more."""
        self.root = Path(root)
        self._guard = guard or (lambda: None)
        self.keep_last = max(1, keep_last)
        self.keep_every = keep_every
        self._warned: set[Path] = set()

    def save(
        self,
        manifest: Manifest,
        policy_onnx: bytes,
        params: Mapping[str, np.ndarray],
        state: Mapping[str, np.ndarray],
        is_best: bool = False,
    ) -> Path:
        """Makes one more checkpoint, then drops those no longer kept. One of the same step is replaced."""
        manifest = self._numbered(manifest)
        names = (POLICY, params_name(manifest.step), STATE)

        def fill(folder: Path) -> None:
            (folder / "state").mkdir()
            (folder / POLICY).write_bytes(policy_onnx)
            write_npz(folder / names[1], {**params, MANIFEST_ENTRY: np.array(manifest.portable_text())})
            write_npz(folder / STATE, state)
            complete = manifest.model_copy(update={"files": {name: _record(folder / name) for name in names}})
            (folder / MANIFEST).write_text(complete.model_dump_json(indent=1), encoding="utf-8")

        return self._put(manifest.step, fill, is_best)

    def adopt(self, checkpoint: Checkpoint, is_best: bool = False) -> Path:
        """A copy of another store's checkpoint becomes this store's newest: training goes on from there."""
        manifest = self._numbered(checkpoint.manifest)

        def fill(folder: Path) -> None:
            for name in manifest.files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(checkpoint.path / name, folder / name)
            (folder / MANIFEST).write_text(manifest.model_dump_json(indent=1), encoding="utf-8")

        return self._put(manifest.step, fill, is_best)

    def mark_best(self, path: str | Path) -> None:
        """Records a checkpoint of this store as the best so far; it is kept until another one is."""
        self._guard()
        name = Path(path).name.removeprefix(files.ASIDE)
        if name not in files.visible_directories(self.root):
            raise CheckpointError(f"{path} is not a checkpoint of {self.root}; only one of its own can be its best.")
        files.write_atomically(self.root / BEST, name.encode())

    def note_metrics(self, path: Path, metrics: Mapping[str, float]) -> None:
        """Metrics that were not known when a checkpoint of this store was written, added to what it says of itself."""
        known = _open(path).manifest
        found = known.metrics | {name: float(value) for name, value in metrics.items() if value == value}
        if found != known.metrics:
            self._guard()
            text = known.model_copy(update={"metrics": found}).model_dump_json(indent=1)
            files.write_atomically(path / MANIFEST, text.encode())

    def paths(self) -> list[Path]:
        """The complete checkpoints, by step."""
        return [path for path, _ in sorted(self._complete(), key=lambda found: found[1].step)]

    def latest(self) -> Path | None:
        """The newest checkpoint that is whole; damaged ones are passed over with a warning."""
        for path, _ in sorted(self._complete(), key=lambda found: found[1].serial, reverse=True):
            if self._is_sound(path):
                return path
        return None

    def refuse_damage(self) -> None:
        """Raises where there were checkpoints and none can be used: starting over would bury what can be rescued."""
        damaged = sorted(name for name in files.visible_directories(self.root) if name.isdigit())
        if not damaged and not (self.root / LATEST).is_file():
            return
        state = f"all are damaged: {', '.join(damaged[-5:])}" if damaged else "they are gone"
        raise CheckpointError(
            f"The run at {self.root.parent} had checkpoints, but {state}. Nothing was changed. Bring one back from a "
            "copy, start over with --fresh (this run is kept aside), or give another --run-name."
        )

    def rewind(self, step: int, score: Callable[[Manifest], float | None]) -> None:
        """Training goes on from `step`: `best` must not lie on the line that was left, so it becomes the best of what
        came before by `score`, or nobody."""
        pointed = self._pointed(BEST)
        complete = self._complete()
        if pointed is None or all(manifest.step <= step for path, manifest in complete if path == pointed):
            return
        before = [(value, path) for path, m in complete if m.step <= step and (value := score(m)) is not None]
        if before:
            self.mark_best(max(before)[1])
        else:
            with files.storing(self.root):
                (self.root / BEST).unlink()

    def best(self) -> Path | None:
        """The checkpoint last marked best, or None."""
        path = self._pointed(BEST)
        return path if path is not None and self._is_sound(path) else None

    def _put(self, step: int, fill: Callable[[Path], None], is_best: bool) -> Path:
        """One more checkpoint, written by `fill` as a whole or not at all, becomes the newest."""
        path = self.root / directory_name(step)
        files.write_directory_atomically(path, fill)
        files.write_atomically(self.root / LATEST, path.name.encode())
        if is_best:
            self.mark_best(path)
        self._prune(path, step)
        return path

    def _numbered(self, manifest: Manifest) -> Manifest:
        """The manifest of the next checkpoint to be written here."""
        self._guard()
        files.make_directory(self.root)
        with files.storing(self.root):
            files.sweep(self.root)
        serial = 1 + max((manifest.serial for _, manifest in self._complete()), default=0)
        return manifest.model_copy(update={"serial": serial})

    def _pointed(self, pointer: str) -> Path | None:
        name = (files.read_text(self.root / pointer) or "").strip()
        return files.visible_directories(self.root).get(name) if name else None

    def _complete(self) -> list[tuple[Path, Manifest]]:
        found = []
        for name, path in files.visible_directories(self.root).items():
            if not name.isdigit():
                continue
            try:
                found.append((path, _open(path).manifest))
            except CheckpointError as problem:
                self._warn(path, problem)
        return found

    def _is_sound(self, path: Path) -> bool:
        try:
            load_checkpoint(path)
        except CheckpointError as problem:
            self._warn(path, problem)
            return False
        return True

    def _warn(self, path: Path, problem: Exception) -> None:
        if path not in self._warned:
            self._warned.add(path)
            _log.warning("Skipping a checkpoint: %s", problem)

    def _prune(self, newest: Path, step: int) -> None:
        """Deletes what is not kept. Checkpoints past the newest one's `step` belong to a line of training that was
        left; they stay until this one reaches them."""
        older = sorted((m.step, path) for path, m in self._complete() if m.step <= step)
        kept = {path for _, path in older[-self.keep_last :]} | {newest, self._pointed(BEST)}
        if self.keep_every > 0:
            first_of: dict[int, Path] = {}
            for at, path in older:
                first_of.setdefault(at // self.keep_every, path)
            kept |= {path for multiple, path in first_of.items() if multiple > 0}
        for _, path in older:
            if path not in kept:
                try:
                    files.remove_directory(path)
                except OSError as problem:
                    _log.warning("Could not delete the old checkpoint %s: %s", path, problem)


# --- the policies that come with JimBot ---

PRETRAINED = Path(__file__).parents[1] / "pretrained"


def shipped_games() -> list[str]:
    """Games that have a ready-made policy."""
    return sorted(path.parent.name for path in PRETRAINED.glob("*/manifest.json"))


def shipped_policy(game_id: str) -> Path:
    """The directory of a game's ready-made policy."""
    if game_id not in shipped_games():
        known = ", ".join(shipped_games()) or "none"
        raise CheckpointError(
            f"There is no ready-made policy for '{game_id}' (there are: {known}). Train one: jimbot train {game_id}"
        )
    return PRETRAINED / game_id


def find_checkpoint(
    reference: str | Path, runs_root: str | Path = "runs", which: Literal["latest", "best"] = "latest"
) -> Path:
    """The checkpoint meant by `reference`, verified; `which` chooses inside a run (no best yet: the latest).

    The name of a game is its ready-made policy, even where a folder has the same name: write ./NAME for that.
    """
    if str(reference) in shipped_games():
        return load_checkpoint(shipped_policy(str(reference))).path
    for candidate in (Path(reference), Path(runs_root) / reference):
        if candidate.exists() and not candidate.is_dir():
            kind = what_is(candidate)
            raise CheckpointError(f"{candidate} is {kind}; expected a checkpoint directory, a run or a game.")
        if not candidate.is_dir():
            continue
        if (candidate / MANIFEST).is_file():
            return load_checkpoint(candidate).path
        store = _store_at(candidate)
        if store is not None:
            found = (store.best() if which == "best" else None) or store.latest()
            if found is None:
                raise CheckpointError(
                    f"{store.root} holds no complete checkpoint yet; train longer or name another run."
                )
            return found
        raise CheckpointError(f"{candidate} is neither a checkpoint nor a run: it has no {MANIFEST} or {CHECKPOINTS}/.")
    raise CheckpointError(_not_found(str(reference), Path(runs_root)))


def run_names(runs_root: str | Path = "runs") -> list[str]:
    """The runs under a root, newest first."""
    try:
        found = [path for path in Path(runs_root).iterdir() if (path / CHECKPOINTS).is_dir()]
    except OSError:
        return []
    return [path.name for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)]


def run_of(checkpoint: Path | None) -> Path | None:
    """The directory of the run a checkpoint lies in; None for one that lies elsewhere.

    >>> run_of(Path("/runs/mine/checkpoints/000000032768")).name, run_of(Path("/exported/mine"))
    ('mine', None)
    """
    folder = None if checkpoint is None else checkpoint.absolute().parent
    return folder.parent if folder is not None and folder.name == CHECKPOINTS else None


def _open(path: Path) -> Checkpoint:
    """Everything short of the digests: manifest readable, all files there with the right size."""
    if not path.is_dir():
        raise CheckpointError(f"There is no checkpoint directory at {path}.")
    try:
        text = (path / MANIFEST).read_bytes()
    except OSError as problem:
        raise CheckpointError(f"{path} is not a checkpoint: {MANIFEST} cannot be read.") from problem
    manifest = parse_manifest(text, path)
    for name in (POLICY, params_name(manifest.step)):
        if name not in manifest.files:
            raise CheckpointError(f"{path} is damaged: its manifest does not list {name}.")
    for name, record in manifest.files.items():
        try:
            size = (path / name).stat().st_size
        except OSError as problem:
            raise CheckpointError(f"{path / name} is missing; the checkpoint is incomplete.") from problem
        if size != record.size:
            raise CheckpointError(f"{path / name} is damaged: it has {size} bytes, the manifest says {record.size}.")
    return Checkpoint(path, manifest)


def _record(path: Path) -> FileRecord:
    with open(path, "rb") as file:
        return FileRecord(sha256=hashlib.file_digest(file, "sha256").hexdigest(), size=path.stat().st_size)


def _store_at(folder: Path) -> CheckpointStore | None:
    if (folder / CHECKPOINTS).is_dir():
        return CheckpointStore(folder / CHECKPOINTS)
    store = CheckpointStore(folder)
    looks_like_one = folder.name == CHECKPOINTS or (folder / LATEST).is_file() or store.paths()
    return store if looks_like_one else None


def _not_found(reference: str, runs_root: Path) -> str:
    names = run_names(runs_root)
    if close := nearest(Path(reference).name, names):
        return f"There is no checkpoint or run '{reference}'. Did you mean the run '{close}'?"
    known = f"the runs under {runs_root} are: {', '.join(names)}" if names else f"there are no runs under {runs_root}"
    return f"There is no checkpoint or run '{reference}'; {known}. Give a checkpoint directory or a run name."
