"""The compressed store of remembered steps: bounded in bytes, oldest gone first, drawn from by priority.

Steps are kept in segments: a few consecutive steps of one stream of play (one game of a batch, one episode), each row
the observation's float32 bytes followed by its legal mask as packed bits, compressed together by zstd. Neighbouring
steps differ in few numbers, so even level 1 finds nearly all that repeats, and a draw decompresses only the segments
it touches. All frames live in one ring of bytes that is allocated once; the small things (actions, rewards, priorities)
are plain arrays beside it, counted in the same limit.

A row's number is `segment serial × steps per segment + place`; its slot in every table is that number modulo the
capacity. A segment knows the one that follows it in its stream. Segments are evicted in the order they were put, so a
link never points to one that is gone.

A draw returns n-step windows. One ends early where the game ended; where it was truncated, or where the stream has not
come further, it ends at the last row known, with the discount that belongs to its real length. A truncated step itself
is never learned from: what was legal in the position it was cut off at is not known.

Draws by priority go through a sum tree, in NumPy and for whole batches. Every inner node is recomputed from its two
children, never adjusted by a difference: the tree is a function of its leaves alone, so no rounding error gathers and a
restored tree is bit for bit the one that was saved.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import zstandard

from jimbot.errors import CheckpointError, SettingsError, TrainingError


class SumTree:
    """`capacity` leaves, all 0 at first.

    >>> tree = SumTree(4)
    >>> tree.set(np.array([0, 2, 3]), np.array([1.0, 2.0, 5.0]))
    >>> tree.total, tree.find(np.array([0.0, 0.99, 1.0, 7.9])).tolist()
    (8.0, [0, 0, 2, 3])
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._levels = max(1, int(capacity - 1).bit_length())
        self._first = 1 << self._levels  # place of leaf 0; node i has the children 2 i and 2 i + 1
        self._nodes = np.zeros(2 * self._first)

    @staticmethod
    def bytes_needed(capacity: int) -> int:
        return 16 << max(1, int(capacity - 1).bit_length())

    @property
    def total(self) -> float:
        return float(self._nodes[1])

    @property
    def leaves(self) -> np.ndarray:
        """(capacity,) float64; read only."""
        view = self._nodes[self._first : self._first + self.capacity]
        view.flags.writeable = False
        return view

    def set(self, index: np.ndarray, value: np.ndarray | float) -> None:
        """Gives leaves new values (≥ 0). Of a leaf named twice the last value counts."""
        place = self._first + np.asarray(index, np.int64)
        self._nodes[place] = value
        for _ in range(self._levels):
            place = place >> 1
            if len(place) > 64:  # siblings meet on the way up; for few leaves looking for them costs more than it saves
                place = np.unique(place)
            self._nodes[place] = self._nodes[2 * place] + self._nodes[2 * place + 1]

    def set_all(self, leaves: np.ndarray) -> None:
        """Every leaf anew."""
        self._nodes[self._first : self._first + self.capacity] = leaves
        for level in range(self._levels - 1, -1, -1):
            start = 1 << level
            children = self._nodes[2 * start : 4 * start]
            self._nodes[start : 2 * start] = children[0::2] + children[1::2]

    def find(self, mass: np.ndarray) -> np.ndarray:
        """(B,) int64: the leaves in which the running sum passes `mass` (B,), each in [0, total)."""
        place, rest = np.ones(len(mass), np.int64), np.array(mass, np.float64)
        for _ in range(self._levels):
            place = 2 * place
            left = self._nodes[place]
            # An empty right branch is never taken, whatever rounding left in `rest`.
            goes_right = (rest >= left) & (self._nodes[place + 1] > 0)
            rest = np.where(goes_right, rest - left, rest)
            place = place + goes_right
        return place - self._first


SEGMENT_STEPS = 8
LEVEL = 1
BEST_RATIO = 48  # tables are sized for observations that compress so well
SMALLEST_PRIORITY = 1e-6
LARGEST_FRAME_EXTRA = 64  # what zstd adds at most to a segment it cannot compress
TERMINATED, TRUNCATED = 1, 2

_DTYPES = {"action": np.int32, "reward": np.float32, "flags": np.uint8, "boost": np.float32}
_SEGMENT_DTYPES = {"offset": np.int64, "size": np.int32, "count": np.int32, "following": np.int64}


class Randomness(Protocol):
    """A source of uniform draws: a NumPy generator, or the module `numpy.random`."""

    def random(self, size: int) -> np.ndarray: ...


class Segments(NamedTuple):
    """S segments of K rows; rows past a segment's count are zero."""

    rows: np.ndarray  # (S, K, R) uint8, see `ReplayStore.pack`
    count: np.ndarray  # (S,) rows in use
    action: np.ndarray  # (S, K) int32
    reward: np.ndarray  # (S, K) float32
    flags: np.ndarray  # (S, K) uint8
    boost: np.ndarray  # (S, K) float32, factor on the priority
    previous: np.ndarray  # (S,) int64, serial of the segment before it in its stream, or -1


class Drawn(NamedTuple):
    """B windows of remembered steps."""

    index: np.ndarray  # (B,) int64, row numbers, for `update_priorities`
    observation: np.ndarray  # (B, D) float32
    legal_mask: np.ndarray  # (B, A) bool
    action: np.ndarray  # (B,) int32
    reward: np.ndarray  # (B,) float32, discounted sum over the window
    discount: np.ndarray  # (B,) float32, of what follows the window; 0 where the game terminated
    steps: np.ndarray  # (B,) int64, length of the window
    terminated: np.ndarray  # (B,) bool
    next_observation: np.ndarray  # (B, D) float32, at the end of the window
    next_legal_mask: np.ndarray  # (B, A) bool
    weight: np.ndarray  # (B,) float32, importance weight, at most 1


def annealed(beta: float, stored: int, steps: int | None) -> float:
    """How much of the bias of priorities is corrected once so many steps were stored: all of it after `steps`, when the
    net settles and the bias would be learned; None: always as much.

    >>> annealed(0.4, 0, 100), annealed(0.4, 50, 100), annealed(0.4, 200, 100), annealed(0.4, 50, None)
    (0.4, 0.7, 1.0, 0.4)
    """
    return beta if steps is None else beta + (1.0 - beta) * min(1.0, stored / steps)


class ReplayStore:
    """See the module's docstring. `max_steps` also bounds the number of steps; `alpha` 0 draws uniformly."""

    def __init__(
        self, observation_size: int, num_actions: int, max_bytes: int, max_steps: int | None = None, alpha: float = 0.6
    ) -> None:
        self.observation_size, self.num_actions, self.alpha = observation_size, num_actions, alpha
        self.max_steps = max_steps
        self.row_bytes = 4 * observation_size + (num_actions + 7) // 8
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)
        self._decompressor = zstandard.ZstdDecompressor()
        self._allocate(max_bytes)
        self.oldest = self.newest = 0  # serials: oldest ≤ serial < newest are held
        self.head = 0  # where the next frame goes
        self.largest = 1.0  # highest priority ever given, which new steps start with
        self.frame_bytes = self.steps = self.steps_put = 0

    # Putting

    def pack(self, observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        """(…, R) uint8 rows of observations (…, D) and masks (…, A)."""
        numbers = np.ascontiguousarray(observation, np.float32).view(np.uint8)
        return np.concatenate([numbers, np.packbits(legal_mask, axis=-1)], axis=-1)

    def put(self, segments: Segments) -> np.ndarray:
        """Stores segments and returns their serials; the oldest make room."""
        serials = np.arange(self.newest, self.newest + len(segments.count))
        for number, serial in enumerate(serials.tolist()):
            frame = self._compressor.compress(np.ascontiguousarray(segments.rows[number]).data)
            self._place(frame)
            slot = serial % self.num_segments
            self._segment["count"][slot] = segments.count[number]
            self._segment["following"][slot] = -1
            rows = slice(slot * SEGMENT_STEPS, (slot + 1) * SEGMENT_STEPS)
            for name in _DTYPES:
                self._row[name][rows] = getattr(segments, name)[number]
            self.newest = serial + 1
            self.steps += int(segments.count[number])
        self.steps_put += int(segments.count.sum())
        self._link(segments.previous, serials)
        self._make_drawable(np.concatenate([serials, segments.previous[segments.previous >= 0]]))
        return serials

    # Drawing

    def draw(self, count: int, rng: Randomness, n_step: int = 1, gamma: float = 0.99, beta: float = 0.4) -> Drawn:
        """Windows of up to `n_step` steps, by priority: one draw from each of `count` equal shares of the whole."""
        total = self.tree.total
        if total <= 0:
            raise TrainingError(
                f"The replay has nothing to learn from yet ({self.steps:,} steps are stored); "
                "raise learning_starts or play longer before learning."
            )
        mass = (np.arange(count) + rng.random(count)) * (total / count)
        leaf = self.tree.find(np.minimum(mass, np.nextafter(total, 0)))
        index = self._number(leaf)
        reward, discount, steps, terminated, end = self._windows(index, n_step, gamma)
        observation, legal_mask, next_observation, next_legal_mask = self._look(index, end)
        chance = self.tree.leaves[leaf] / total
        weight = (chance.min() / chance) ** beta
        return Drawn(
            index,
            observation,
            legal_mask,
            self._row["action"][leaf],
            reward,
            discount,
            steps,
            terminated,
            next_observation,
            next_legal_mask,
            weight.astype(np.float32),
        )

    def update_priorities(self, index: np.ndarray, error: np.ndarray) -> None:
        """New priorities of drawn rows: how wrong the learner was about them. Rows evicted since are passed over."""
        held = index >= self.oldest * SEGMENT_STEPS
        leaf = index[held] % self.capacity
        priority = np.abs(np.asarray(error, np.float64)[held]) + SMALLEST_PRIORITY
        self.largest = max(self.largest, float(priority.max(initial=0.0)))
        self.tree.set(leaf, priority**self.alpha * self._row["boost"][leaf])

    def rows(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((B, D) float32, (B, A) bool): what was seen and legal in rows that are held."""
        observation, legal_mask, _, _ = self._look(index, index)
        return observation, legal_mask

    @property
    def nbytes(self) -> int:
        """Memory held, whether in use or not."""
        tables = sum(array.nbytes for array in (*self._row.values(), *self._segment.values()))
        return self.arena.nbytes + tables + SumTree.bytes_needed(self.capacity)

    @property
    def ratio(self) -> float:
        """Bytes of the stored observations as raw float32 per byte they take here, masks not counted but paid for."""
        return 4 * self.observation_size * self.steps / max(1, self.frame_bytes)

    def resize(self, max_bytes: int) -> None:
        """Another limit; what no longer fits is forgotten, oldest first."""
        state = self.arrays(newest_bytes=max_bytes)
        del self.arena, self.tree, self._row, self._segment
        self._allocate(max_bytes)
        self.load_arrays(state)

    # Storing

    def arrays(self, newest_bytes: int | None = None) -> dict[str, np.ndarray]:
        """All that is held, oldest first, for a checkpoint; `newest_bytes`: only frames of so many bytes in all."""
        serials = np.arange(self.oldest, self.newest)
        slots = serials % self.num_segments
        if newest_bytes is not None:
            kept = np.cumsum(self._segment["size"][slots][::-1])[::-1] <= newest_bytes
            serials, slots = serials[kept], slots[kept]
        offset, size = self._segment["offset"][slots], self._segment["size"][slots]
        frames = [self.arena[start : start + many] for start, many in zip(offset.tolist(), size.tolist(), strict=True)]
        rows = (slots[:, None] * SEGMENT_STEPS + np.arange(SEGMENT_STEPS)).ravel()
        return {
            "frames": np.concatenate(frames) if frames else np.zeros(0, np.uint8),
            **{name: table[slots] for name, table in self._segment.items()},
            **{name: table[rows] for name, table in self._row.items()},
            "leaf": self.tree.leaves[rows],
            "counters": np.array([int(serials[0]) if len(serials) else self.newest, self.newest, self.steps_put]),
            "largest": np.array(self.largest),
            "ring": np.array([self.head, len(self.arena), self.num_segments, self.row_bytes]),
        }

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `arrays`. In a ring of the same size all comes back exactly where it was; a smaller one keeps
        the newest."""
        check_arrays(arrays, self.row_bytes)
        first, newest, steps_put = arrays["counters"].tolist()
        size = arrays["size"].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(size)]).tolist()
        same = arrays["ring"].tolist()[1:3] == [len(self.arena), self.num_segments]
        self.tree.set_all(np.zeros(self.capacity))
        self.oldest = self.newest = first
        self.head = self.frame_bytes = self.steps = 0
        for number, serial in enumerate(range(first, newest)):
            frame = arrays["frames"][starts[number] : starts[number + 1]]
            check_frame(frame.data, SEGMENT_STEPS * self.row_bytes)
            if same:
                self._write(frame, int(arrays["offset"][number]))
            else:
                self._place(frame.data)
            slot = serial % self.num_segments
            rows = slice(slot * SEGMENT_STEPS, (slot + 1) * SEGMENT_STEPS)
            theirs = slice(number * SEGMENT_STEPS, (number + 1) * SEGMENT_STEPS)
            for name in _DTYPES:
                self._row[name][rows] = arrays[name][theirs]
            for name in ("count", "following"):
                self._segment[name][slot] = arrays[name][number]
            self.newest = serial + 1
            self.steps += int(arrays["count"][number])
        if same:
            self.head = int(arrays["ring"][0])
        held = np.arange(self.oldest, self.newest)
        rows = ((held % self.num_segments)[:, None] * SEGMENT_STEPS + np.arange(SEGMENT_STEPS)).ravel()
        leaves = np.zeros(self.capacity)
        leaves[rows] = arrays["leaf"][(self.oldest - first) * SEGMENT_STEPS :]
        self.tree.set_all(leaves)
        self.largest, self.steps_put = float(arrays["largest"]), steps_put

    # Inside

    def _allocate(self, max_bytes: int) -> None:
        """Splits the limit between the tables and the ring of frames."""
        raw = SEGMENT_STEPS * self.row_bytes
        self.max_bytes = max_bytes
        # Twice the tree: its size is a power of two.
        best = max(raw / BEST_RATIO, LARGEST_FRAME_EXTRA) + _table_bytes(1) + 16 * SEGMENT_STEPS
        self.num_segments = max(2, int(max_bytes / best))
        if self.max_steps is not None:
            self.num_segments = min(self.num_segments, -(-self.max_steps // SEGMENT_STEPS) + 1)
        largest = raw + LARGEST_FRAME_EXTRA
        tables = _table_bytes(self.num_segments)
        ring = min(max_bytes - tables, self.num_segments * largest)
        if ring < 2 * largest:
            raise SettingsError(
                f"A replay of {max_bytes / 1e6:.2f} MB is too small for steps of {self.row_bytes:,} bytes. "
                f"Give it at least {4 * largest / 1e6:.2f} MB (buffer_gb)."
            )
        self.capacity = self.num_segments * SEGMENT_STEPS
        self.arena = np.empty(ring, np.uint8)
        self.tree = SumTree(self.capacity)
        self._row = {name: np.zeros(self.capacity, dtype) for name, dtype in _DTYPES.items()}
        self._segment = {name: np.zeros(self.num_segments, dtype) for name, dtype in _SEGMENT_DTYPES.items()}

    def _place(self, frame: bytes | memoryview) -> None:
        """Writes the frame of segment `newest` behind the last one, over the oldest if it must."""
        size = len(frame)
        if self.head + size > len(self.arena):
            # The rest of the ring stays empty for this round; what lies there is the oldest.
            while self.oldest < self.newest and self._segment["offset"][self.oldest % self.num_segments] >= self.head:
                self._evict()
            self.head = 0
        while self.oldest < self.newest and (
            self._overlaps(self.head, size) or self.newest - self.oldest >= self.num_segments
        ):
            self._evict()
        self._write(np.frombuffer(frame, np.uint8), self.head)
        self.head += size

    def _write(self, frame: np.ndarray, offset: int) -> None:
        slot = self.newest % self.num_segments
        self.arena[offset : offset + len(frame)] = frame
        self._segment["offset"][slot], self._segment["size"][slot] = offset, len(frame)
        self.frame_bytes += len(frame)

    def _overlaps(self, start: int, size: int) -> bool:
        slot = self.oldest % self.num_segments
        offset = int(self._segment["offset"][slot])
        return offset < start + size and start < offset + int(self._segment["size"][slot])

    def _evict(self) -> None:
        slot = self.oldest % self.num_segments
        self.tree.set(slot * SEGMENT_STEPS + np.arange(SEGMENT_STEPS), 0.0)
        self.frame_bytes -= int(self._segment["size"][slot])
        self.steps -= int(self._segment["count"][slot])
        self.oldest += 1

    def _link(self, previous: np.ndarray, serials: np.ndarray) -> None:
        held = previous >= self.oldest
        self._segment["following"][previous[held] % self.num_segments] = serials[held]

    def _make_drawable(self, serials: np.ndarray) -> None:
        """Gives rows that have become complete the priority of new ones. Rows that are drawable already keep theirs:
        of a segment that was linked, only the last row changes."""
        serials = serials[serials >= self.oldest]
        rows = (serials[:, None] * SEGMENT_STEPS + np.arange(SEGMENT_STEPS)).ravel()
        leaf = rows % self.capacity
        waiting = (self.tree.leaves[leaf] == 0) & self._usable(rows)
        leaf = leaf[waiting]
        self.tree.set(leaf, self.largest**self.alpha * self._row["boost"][leaf])

    def _usable(self, rows: np.ndarray) -> np.ndarray:
        """(B,) bool: what came of the step is known."""
        place, segment = rows % SEGMENT_STEPS, (rows // SEGMENT_STEPS) % self.num_segments
        terminated = (self._row["flags"][rows % self.capacity] & TERMINATED) > 0
        return (place < self._segment["count"][segment]) & (terminated | (self._after(rows) >= 0))

    def _after(self, rows: np.ndarray) -> np.ndarray:
        """(B,) int64: the rows that follow in the same game, -1 where none is known."""
        place, segment = rows % SEGMENT_STEPS, (rows // SEGMENT_STEPS) % self.num_segments
        inside = place + 1 < self._segment["count"][segment]
        following = self._segment["following"][segment]
        after = np.where(inside, rows + 1, np.where(following >= 0, following * SEGMENT_STEPS, -1))
        return np.where(self._row["flags"][rows % self.capacity] == 0, after, -1)

    def _windows(self, index: np.ndarray, n_step: int, gamma: float) -> tuple[np.ndarray, ...]:
        """(reward, discount, steps, terminated, row at the end) of the windows that begin at `index`."""
        at, end = index.copy(), index.copy()
        reward, steps = np.zeros(len(index)), np.zeros(len(index), np.int64)
        terminated, running = np.zeros(len(index), bool), np.ones(len(index), bool)
        for step in range(n_step):
            leaf, after = at % self.capacity, self._after(at)
            ends = (self._row["flags"][leaf] & TERMINATED) > 0
            counts = running & (ends | (after >= 0))
            reward += np.where(counts, gamma**step * self._row["reward"][leaf], 0.0)
            steps += counts
            terminated |= counts & ends
            running = counts & ~ends
            end = np.where(running, after, end)
            at = np.where(running, after, at)
            if not running.any():
                break
        discount = np.where(terminated, 0.0, float(gamma) ** steps)
        return reward.astype(np.float32), discount.astype(np.float32), steps, terminated, end

    def _look(self, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Observation and mask of two lists of rows; every segment touched is decompressed once."""
        rows = np.concatenate([one, other])
        order = np.argsort(rows)
        slots = (rows[order] // SEGMENT_STEPS) % self.num_segments
        starts, sizes = self._segment["offset"][slots].tolist(), self._segment["size"][slots].tolist()
        places = ((rows[order] % SEGMENT_STEPS) * self.row_bytes).tolist()
        found = np.empty((len(rows), self.row_bytes), np.uint8)
        ring, decompress, last, segment = self.arena.data, self._decompressor.decompress, -1, b""
        for to, start, size, place in zip(order.tolist(), starts, sizes, places, strict=True):
            if start != last:
                segment, last = decompress(ring[start : start + size]), start
            found[to] = np.frombuffer(segment, np.uint8, self.row_bytes, place)
        split = 4 * self.observation_size
        observation = np.ascontiguousarray(found[:, :split]).view(np.float32)
        legal_mask = np.unpackbits(found[:, split:], axis=1, count=self.num_actions).view(bool)
        many = len(one)
        return observation[:many], legal_mask[:many], observation[many:], legal_mask[many:]

    def _number(self, leaf: np.ndarray) -> np.ndarray:
        """(B,) int64: row numbers of slots in the tables."""
        slot = leaf // SEGMENT_STEPS
        first = self.oldest % self.num_segments
        serial = self.oldest + (slot - first) % self.num_segments
        return serial * SEGMENT_STEPS + leaf % SEGMENT_STEPS


def _table_bytes(segments: int) -> int:
    per_row = sum(np.dtype(dtype).itemsize for dtype in _DTYPES.values())
    per_segment = sum(np.dtype(dtype).itemsize for dtype in _SEGMENT_DTYPES.values())
    tree = SumTree.bytes_needed(segments * SEGMENT_STEPS) if segments > 1 else 16 * SEGMENT_STEPS
    return segments * (SEGMENT_STEPS * per_row + per_segment) + tree


def check_frame(frame: memoryview, size: int) -> None:
    """Refuses a stored segment that would unpack to anything but its rows."""
    try:
        announced = zstandard.get_frame_parameters(frame).content_size
    except zstandard.ZstdError as problem:
        raise CheckpointError(f"The stored replay is damaged: {problem}. Use another checkpoint.") from problem
    if announced != size:
        raise CheckpointError(
            f"The stored replay is damaged: a segment unpacks to {announced:,} bytes instead of {size:,}. Use another "
            "checkpoint."
        )


def check_arrays(arrays: dict[str, np.ndarray], row_bytes: int) -> None:
    """Refuses stored arrays that do not fit together, or are of other observations and actions."""
    try:
        first, newest, _ = arrays["counters"].tolist()
        head, ring, _, width = arrays["ring"].tolist()
        segments = newest - first
        if width != row_bytes:
            raise CheckpointError(
                f"The stored replay has rows of {width} bytes, this game's have {row_bytes}: it is of another game or "
                "version. Start over with --fresh."
            )
        size, offset, following = arrays["size"].astype(np.int64), arrays["offset"], arrays["following"]
        sound = (
            segments >= 0
            and 0 <= head <= ring
            and all(len(arrays[name]) == segments for name in _SEGMENT_DTYPES)
            and all(len(arrays[name]) == segments * SEGMENT_STEPS for name in (*_DTYPES, "leaf"))
            and bool((size > 0).all() and (offset >= 0).all() and (offset + size <= ring).all())
            and int(size.sum()) == len(arrays["frames"])
            and bool(((arrays["count"] >= 1) & (arrays["count"] <= SEGMENT_STEPS)).all())
            and bool(((following == -1) | ((following > np.arange(first, newest)) & (following < newest))).all())
            and bool((np.isfinite(arrays["leaf"]) & (arrays["leaf"] >= 0)).all())
        )
    except (KeyError, ValueError, TypeError) as problem:
        raise CheckpointError(f"The stored replay is damaged: {problem}. Use another checkpoint.") from problem
    if not sound:
        raise CheckpointError("The stored replay is damaged: its parts do not fit together. Use another checkpoint.")
