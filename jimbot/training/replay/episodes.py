"""Writes games that come by themselves, whole or piece by piece, into the store: each is one stream of segments."""

from __future__ import annotations

import numpy as np

from jimbot.training.replay.store import SEGMENT_STEPS, TERMINATED, TRUNCATED, ReplayStore, Segments


class EpisodeWriter:
    """A piece continues where the last one with the same name ended; its first observation is that one's last."""

    def __init__(self, store: ReplayStore) -> None:
        self.store = store
        self.running: dict[str, int] = {}  # name of an episode that goes on → serial of its last segment

    def add(
        self,
        name: str,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        terminated: bool,
        truncated: bool,
        boost: np.ndarray | float = 1.0,
    ) -> None:
        """T steps: observations (T, D) they were taken at and masks (T, A), actions, rewards, how the piece ended."""
        steps = len(action)
        if steps == 0:
            return
        many = -(-steps // SEGMENT_STEPS)
        flags = np.zeros(steps, np.uint8)
        flags[-1] = TERMINATED * terminated | TRUNCATED * (truncated and not terminated)
        count = np.full(many, SEGMENT_STEPS)
        count[-1] = steps - (many - 1) * SEGMENT_STEPS
        previous = self.store.newest + np.arange(many) - 1
        previous[0] = self.running.pop(name, -1)
        serials = self.store.put(
            Segments(
                rows=_folded(self.store.pack(observation, legal_mask), many),
                count=count,
                action=_folded(np.asarray(action, np.int32), many),
                reward=_folded(np.asarray(reward, np.float32), many),
                flags=_folded(flags, many),
                boost=_folded(np.broadcast_to(np.asarray(boost, np.float32), steps), many),
                previous=previous,
            )
        )
        if not (terminated or truncated):
            self.running[name] = int(serials[-1])
        if len(self.running) > self.store.num_segments:  # episodes nobody ever finished
            self.running = {name: serial for name, serial in self.running.items() if serial >= self.store.oldest}


def _folded(values: np.ndarray, many: int) -> np.ndarray:
    """(T, …) as (segments, steps per segment, …), zeros behind the last."""
    padded = np.zeros((many * SEGMENT_STEPS, *values.shape[1:]), values.dtype)
    padded[: len(values)] = values
    return padded.reshape(many, SEGMENT_STEPS, *values.shape[1:])
