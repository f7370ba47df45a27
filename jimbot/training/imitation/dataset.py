"""Datasets of recorded games: one compressed npz file, read a chunk at a time.

    info.json                      format version, game, teacher, counts, results (see DatasetInfo)
    chunk_00000/observation.npy    (R, D) float32        what the teacher saw
    chunk_00000/legal_mask.npy     (R, ⌈A/8⌉) uint8      packed bits; left out where observations tell it
    chunk_00000/action.npy         (R,) int32            what the teacher chose
    chunk_00000/trajectory.npy     (R,) int32            whose decision: game number × players + player
    chunk_00000/probabilities.npy  (R, A) float16        how likely the teacher found each action; optional
    chunk_00000/labels.npy         (R, ⌈A/8⌉) uint8      packed bits: the actions it may have been; optional
    chunk_00000/weight.npy         (R,) float32          how much a clone shall care; optional, else 1
    reward.npy                     (all rows,) float32   raw reward from each decision to the next
    trajectories/….npy             seed, return, length, ended and stats of every trajectory

Any NumPy reads it (`numpy.load`). A chunk is a stretch of many games played side by side, ordered by game; its
observations are stored column by column, where long runs of equal values deflate to almost nothing without losing a
bit. Rows of games that never came to their end (recording was stopped) are in the chunks but are never handed out.
Rewards are kept instead of returns, so discount and reward transform are chosen when learning.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import Field, ValidationError

import jimbot
from jimbot.errors import DatasetError, UnreadableError, UsageError
from jimbot.games.spec import GameSpec
from jimbot.reading.arrays import HEADER, entry_bytes, entry_of, npy_array, open_archive
from jimbot.reading.plain import json_value
from jimbot.runs.files import file_in_progress, storing
from jimbot.runs.manifest import MadeForGame

FORMAT_VERSION, WITHOUT_MASKS = 1, 2
"""Raised when a reader of the version before could not read the new files; its reader then stays. Only files whose
masks are left out have the second."""
INFO = "info.json"
UNFINISHED, TERMINATED, TRUNCATED = 0, 1, 2  # how a trajectory ended
LegalMasks = Callable[[np.ndarray], np.ndarray]
"""(R, D) observations → (R, A) bool."""

_DEFLATE_LEVEL = 6
_LARGEST_CHUNK = 1 << 20  # rows; a file that announces more is not ours
_LARGEST_INFO = 1 << 26  # bytes
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_MOST_ROWS_PER_BYTE = 16  # of the whole file; no row is ever packed into a sixteenth of a byte


class DatasetInfo(MadeForGame):
    """What a dataset says about itself."""

    format_version: int = FORMAT_VERSION
    masks: bool = True
    """Whether masks are stored; else they are computed from the observations, except in chunks where that would not
    give the same."""
    players: int = Field(default=1, ge=1)
    policy: str
    deterministic: bool = True
    noise: float = 0.0
    """Share of moves played at random instead of the teacher's; what is stored is always the teacher's choice."""
    seed: int
    probabilities: bool = False
    labels: bool = False
    """Whether rows tell of sets of actions one of which was chosen, where nobody saw which; `action` is one of them."""
    weights: bool = False
    """Whether rows have a weight each."""
    games: int = Field(default=0, ge=0)
    """Games played to their end."""
    rows: int = Field(default=0, ge=0)
    """Decisions in them."""
    chunks: list[int] = Field(default=[])
    """Rows in each chunk, those of unfinished games included."""
    trajectories: int = Field(default=0, ge=0)
    """Trajectories begun, finished or not."""
    stopped: str | None = None
    """Why fewer games than asked for were recorded."""
    truncated: int = 0
    mean_return: float | None = None
    mean_length: float | None = None
    stats: dict[str, float] = Field(default={})
    """Means over finished games; `highest_…`: the maximum."""
    observation_ratio: float | None = None
    """Bytes of the observations in memory per byte in the file."""
    seconds: float = 0.0


class Chunk(NamedTuple):
    """Rows read back; all of finished games."""

    rows: np.ndarray  # (R,) int64, their numbers in the dataset
    observation: np.ndarray  # (R, D) float32
    legal_mask: np.ndarray  # (R, A) bool
    action: np.ndarray  # (R,) int32
    probabilities: np.ndarray | None  # (R, A) float32
    labels: np.ndarray | None  # (R, A) bool
    weight: np.ndarray | None = None  # (R,) float32


class DatasetWriter:
    """Fills a dataset chunk by chunk; use through `writing_dataset`."""

    def __init__(self, archive: zipfile.ZipFile, path: Path, legal_masks: LegalMasks | None = None) -> None:
        self._archive = archive
        self._path = path
        self._legal_masks = legal_masks
        self.chunks: list[int] = []
        self._sizes = [0, 0]  # bytes of observations in memory, in the file

    def add_chunk(self, arrays: Mapping[str, np.ndarray]) -> None:
        """One stretch of rows: observation, legal_mask (bool), action, trajectory; maybe probabilities, labels,
        weight."""
        folder = f"chunk_{len(self.chunks):05d}"
        known = self._legal_masks is not None and np.array_equal(
            self._legal_masks(arrays["observation"]), arrays["legal_mask"]
        )
        for name, array in arrays.items():
            if known and name == "legal_mask":
                continue
            if name in ("legal_mask", "labels"):
                array = np.packbits(array, axis=1)
            self._write(f"{folder}/{name}", array)
        observation = self._archive.getinfo(f"{folder}/observation.npy")
        self._sizes[0] += observation.file_size
        self._sizes[1] += observation.compress_size
        self.chunks.append(len(arrays["action"]))

    def finish(self, info: DatasetInfo, reward: np.ndarray, trajectories: Mapping[str, np.ndarray]) -> DatasetInfo:
        """What is only known at the end; `reward` is of all rows written."""
        self._write("reward", reward)
        for name, array in trajectories.items():
            self._write(f"trajectories/{name}", array)
        ratio = self._sizes[0] / self._sizes[1] if self._sizes[1] else None
        masks = self._legal_masks is None
        version = FORMAT_VERSION if masks else WITHOUT_MASKS
        info = info.model_copy(
            update={"chunks": self.chunks, "observation_ratio": ratio, "masks": masks, "format_version": version}
        )
        with storing(self._path):
            self._archive.writestr(zipfile.ZipInfo(INFO, _EARLIEST), info.model_dump_json(indent=1))
        return info

    def _write(self, name: str, array: np.ndarray) -> None:
        entry = zipfile.ZipInfo(f"{name}.npy", _EARLIEST)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry._compresslevel = _DEFLATE_LEVEL  # ty: ignore[missing-attribute] - no public way in Python 3.11
        with storing(self._path), self._archive.open(entry, "w", force_zip64=True) as file:
            # Column by column: neighbouring rows differ in few columns.
            np.lib.format.write_array(file, np.asfortranarray(array), allow_pickle=False)


@contextmanager
def writing_dataset(path: Path, legal_masks: LegalMasks | None = None) -> Generator[DatasetWriter]:
    """A dataset that appears at `path` when the body ends, or not at all; with `legal_masks` the masks it computes from
    observations are left out."""
    with file_in_progress(path) as temporary:
        with storing(path):
            archive = zipfile.ZipFile(temporary, "w")
        with archive:
            yield DatasetWriter(archive, path, legal_masks)


class Dataset:
    """A dataset for reading. Small things (actions, rewards, whose row it is) are in memory, observations on disk."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, info: DatasetInfo, spec: GameSpec) -> None:
        self.path = path
        self.info = info
        self.spec = spec
        self._archive = archive
        self._legal_masks = None if info.masks else masks_from_observations(info.game)
        self._starts: Sequence[int] = np.cumsum([0, *info.chunks]).tolist()
        self.trajectory = self._all_chunks("trajectory", np.int32)  # (rows,) int32
        self.action = self._all_chunks("action", np.int32)  # (rows,) int32
        self.reward = self._array("reward", np.float32, (self._starts[-1],))  # (rows,) float32
        count = info.trajectories
        self.ended = self._array("trajectories/ended", np.uint8, (count,))
        self.returns = self._array("trajectories/return", np.float64, (count,))
        self.lengths = self._array("trajectories/length", np.int64, (count,))
        self.seeds = self._array("trajectories/seed", np.uint64, (count,))
        # Its own names: a game may report more by now than when it was recorded.
        self.stats = self._array("trajectories/stats", np.float32, (count, len(info.stats)))
        if len(self.trajectory) and not (self.trajectory.min() >= 0 and self.trajectory.max() < count):
            raise self._damaged("a row belongs to no trajectory")
        if len(self.action) and not (self.action.min() >= 0 and self.action.max() < spec.actions.size):
            raise self._damaged("an action lies outside the action table")
        self.usable = self.ended[self.trajectory] != UNFINISHED  # (rows,) bool
        if not self.usable.any():
            raise DatasetError(f"Dataset {path} is empty: it holds no finished game. Record one: jimbot record.")

    @classmethod
    def open(cls, path: str | Path, spec: GameSpec | None = None) -> Self:
        """Opens a dataset of `spec` (default: the game it names) and checks that it belongs to it."""
        from jimbot.games.contract import available_games, game_entry

        path = Path(path)
        try:
            archive = open_archive(path)
        except FileNotFoundError as problem:
            raise DatasetError(f"There is no dataset {path}. Make one with: jimbot record GAME.") from problem
        except UnreadableError as problem:
            raise DatasetError(f"{path} is damaged or not a dataset of JimBot: {problem}.") from problem
        try:
            info = read_info(archive, path)
            if spec is None:
                if info.game not in available_games():
                    raise DatasetError(f"Dataset {path} is of game '{info.game}', which this JimBot does not have.")
                spec = game_entry(info.game).spec.under(info.game_options)
            check_dataset(info, spec, path)
            return cls(path, archive, info, spec)
        except BaseException:
            archive.close()
            raise

    def close(self) -> None:
        self._archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def game_of_row(self) -> np.ndarray:
        """(rows,) int32: the number of the game each row is from."""
        return self.trajectory // self.info.players

    def chunk(self, number: int) -> Chunk:
        """The finished games' rows of one chunk."""
        start, stop = self._starts[number], self._starts[number + 1]
        count, spec = stop - start, self.spec
        observation = self._chunk_array(number, "observation", np.float32, spec.observation.size)
        legal_mask = self._masks(number, observation)
        labels = self._bits(number, "labels") & legal_mask if self.info.labels else None
        probabilities = None
        if self.info.probabilities:
            probabilities = self._chunk_array(number, "probabilities", np.float16, spec.actions.size)
        action = self.action[start:stop]
        if not legal_mask[np.arange(count), action].all():
            raise self._damaged(f"chunk {number} holds an action that was not legal")
        if labels is not None and not labels[np.arange(count), action].all():
            raise self._damaged(f"chunk {number} holds an action outside its labels")
        weight = self._chunk_array(number, "weight", np.float32) if self.info.weights else None
        if weight is not None and not (np.isfinite(weight) & (weight >= 0)).all():
            raise self._damaged(f"chunk {number} holds a weight that is none")
        kept = np.flatnonzero(self.usable[start:stop])
        return Chunk(
            rows=start + kept,
            observation=observation[kept],
            legal_mask=legal_mask[kept],
            action=action[kept],
            probabilities=None if probabilities is None else probabilities[kept].astype(np.float32),
            labels=None if labels is None else labels[kept],
            weight=None if weight is None else weight[kept],
        )

    def discounted_returns(self, gamma: float, reward: np.ndarray) -> np.ndarray:
        """(rows,) float32: from each row to the end of its trajectory, of `reward` (rows,) as the learner sees it."""
        order = np.argsort(self.trajectory, kind="stable")  # a trajectory's rows stay in the order they were played
        returns = np.zeros(len(reward), np.float32)
        later, whose = 0.0, -1
        for row, trajectory, now in zip(
            order[::-1].tolist(), self.trajectory[order][::-1].tolist(), reward[order][::-1].tolist(), strict=True
        ):
            later = now + gamma * (later if trajectory == whose else 0.0)
            whose = trajectory
            returns[row] = later
        return returns

    def _masks(self, number: int, observation: np.ndarray) -> np.ndarray:
        """Stored, or computed again where they were left out."""
        if self._legal_masks is None or f"chunk_{number:05d}/legal_mask.npy" in self._archive.NameToInfo:
            return self._bits(number, "legal_mask")
        return self._legal_masks(observation)

    def _bits(self, number: int, name: str) -> np.ndarray:
        size = self.spec.actions.size
        packed = self._chunk_array(number, name, np.uint8, (size + 7) // 8)
        return np.unpackbits(packed, axis=1, count=size).astype(bool)

    def _all_chunks(self, name: str, dtype: Any) -> np.ndarray:
        parts = [self._chunk_array(number, name, dtype) for number in range(len(self.info.chunks))]
        return np.concatenate(parts) if parts else np.zeros(0, dtype)

    def _chunk_array(self, number: int, name: str, dtype: Any, width: int | None = None) -> np.ndarray:
        rows = self.info.chunks[number]
        return self._array(f"chunk_{number:05d}/{name}", dtype, (rows,) if width is None else (rows, width))

    def _array(self, name: str, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        """One array, which must be exactly what is expected: a file cannot ask for more memory than that."""
        expected = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        try:
            entry = entry_of(self._archive, f"{name}.npy")
            array = npy_array(entry_bytes(self._archive, entry, expected + HEADER), name)
        except UnreadableError as problem:
            raise self._damaged(str(problem)) from problem
        if array.shape != shape or array.dtype != dtype:
            raise self._damaged(f"{name} is {array.dtype}{array.shape}, expected {np.dtype(dtype)}{shape}")
        return array

    def _damaged(self, what: str) -> DatasetError:
        return DatasetError(f"Dataset {self.path} is damaged: {what}. Record it again.")


def read_info(archive: zipfile.ZipFile, path: Path) -> DatasetInfo:
    """What the dataset says about itself, in any released format."""
    try:
        raw = json_value(entry_bytes(archive, entry_of(archive, INFO), _LARGEST_INFO))
    except UnreadableError as problem:
        raise DatasetError(f"{path} is damaged or not a dataset of JimBot: {problem}.") from problem
    version = raw.get("format_version") if isinstance(raw, dict) else None
    if version not in (FORMAT_VERSION, WITHOUT_MASKS):
        raise DatasetError(
            f"Dataset {path} has format {version}; JimBot {jimbot.__version__} reads formats {FORMAT_VERSION} and "
            f"{WITHOUT_MASKS}. Use a newer JimBot, or record it again."
        )
    try:
        info = DatasetInfo.model_validate(raw)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise DatasetError(f"Dataset {path} is damaged: field '{field}': {first['msg']}.") from problem
    if any(not 0 < rows <= _LARGEST_CHUNK for rows in info.chunks):
        raise DatasetError(f"Dataset {path} is damaged: a chunk of {max(info.chunks)} rows. Record it again.")
    if sum(info.chunks) > _MOST_ROWS_PER_BYTE * path.stat().st_size:
        raise DatasetError(f"Dataset {path} is damaged: {sum(info.chunks):,} rows in so small a file. Record it again.")
    return info


def masks_from_observations(game_id: str) -> LegalMasks:
    """What computes the masks of a game from its observations; a sentence for games where nothing can."""
    from jimbot.games.contract import game_entry, games_with

    legal_masks = game_entry(game_id).legal_masks
    if legal_masks is None:
        raise UsageError(
            f"Masks of game '{game_id}' cannot be left out: what is legal there depends on more than its observation "
            f"shows. They can for {' and '.join(games_with('legal_masks'))}; record without --no-masks."
        )
    return legal_masks


def check_dataset(info: DatasetInfo, spec: GameSpec, path: Path) -> None:
    """Refuses a dataset of another game, game version, observation or action table."""
    for what, found, expected in info.compared(spec):
        if found != expected:
            raise DatasetError(
                f"The {what} of dataset {path} is '{found}' but '{expected}' is needed here (game {spec.id}); "
                "record it again with this JimBot."
            )
