"""Run as a program: kills a saving process at random instants and checks after each kill what a reader finds.

Usage: python -m tests.runs.kill_while_saving DIRECTORY KILLS SEED swap|rename. Prints one JSON line; `rename` does
without the swapping of names that not every system has. It is a program of its own, importing only the checkpoint code,
so that forking a saving process costs milliseconds and not the start of an interpreter.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from jimbot.runs import files
from jimbot.runs.checkpoint import CheckpointStore, load_checkpoint
from jimbot.runs.files import TEMPORARY
from tests.runs.checkpoint_making import arrays, save

STEP = 100
SIZE = 50_000


def keep_saving(root: Path, acknowledge: int) -> None:
    """Saves for ever, as a trainer does, beginning after the newest checkpoint; replaces each one once, too."""
    store = CheckpointStore(root, keep_last=2)
    newest = store.latest()
    step = load_checkpoint(newest).manifest.step if newest else 0
    os.write(acknowledge, bytes(8))  # the loop begins
    while True:
        step += STEP
        for _ in range(2):
            save(store, step, is_best=step % (3 * STEP) == 0, size=SIZE)
        os.write(acknowledge, step.to_bytes(8, "little"))


def all_acknowledged(pipe: int) -> list[int]:
    """The steps whose saves came back before the end."""
    data = b""
    while block := os.read(pipe, 65536):
        data += block
    return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) - 7, 8)]


def main(root: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    struck_inside = promised = 0
    best_promised = False  # a save that is the best so far came back; one that was killed may not have been marked
    longest = 0.1  # seconds a life may last; follows the speed of the machine so that most end inside a save
    for _ in range(kills):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                keep_saving(root, writing)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(writing)
        os.read(reading, 8)
        time.sleep(rng.uniform(0.0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the saving process ended by itself"
        acknowledged = all_acknowledged(reading)
        longest *= 0.9 if acknowledged else 1.2
        promised = max([promised, *acknowledged])
        best_promised |= any(step % (3 * STEP) == 0 for step in acknowledged)
        os.close(reading)
        if root.is_dir():
            struck_inside += any(entry.name.startswith(TEMPORARY) for entry in root.iterdir())

        store = CheckpointStore(root)
        newest = store.latest()
        if newest is None:
            assert promised == 0, f"step {promised} was saved but nothing loads"
            continue
        for path in (newest, store.best()):
            if path is not None:
                checkpoint = load_checkpoint(path)
                for found in (checkpoint.params(), checkpoint.state()):
                    for name, expected in arrays(checkpoint.manifest.step, size=SIZE).items():
                        assert np.array_equal(found[name], expected), f"{path}: {name} is of another step"
        assert load_checkpoint(newest).manifest.step >= promised, f"step {promised} was saved but is lost"
        assert not best_promised or store.best() is not None, "the best checkpoint is lost"
    print(json.dumps({"kills": kills, "struck_inside": struck_inside, "reached": promised}))


if __name__ == "__main__":
    if sys.argv[4] == "rename":
        files._exchange = lambda one, other: False  # ty: ignore[invalid-assignment]
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
