"""Compiles the largest programs before the test workers start, instead of each in every worker: those of Balatro,
HackMatrix in the batch size most tests share, and what its heuristic player thinks with.
Installs the Showdown simulator for VGC, too, if it is not there yet.

`make test` runs it; with a warm cache it takes a few seconds. Plain `pytest` does without.
"""

from __future__ import annotations

import os
import subprocess
import sys

from jimbot.games.balatro.compiling import ahead
from jimbot.games.vgc import simulator
from tests.conftest import REPOSITORY  # also sets the cache directory that the tests use

BALATRO = (
    *(f"from {ahead.__name__} import PROGRAMS; PROGRAMS[{name!r}]()" for name in ahead.PROGRAMS),
    "from jimbot.games.balatro.verify.recorded_seeds import StagedRun; StagedRun('TESTSEED', 'b_red', 'stake_white')",
    "from jimbot.games.balatro.entry import KNOWLEDGE;"
    "list(KNOWLEDGE.measure(pairs=[('j_baron', 'j_mime')], effort=0.1))",
)
HACKMATRIX = (
    "import numpy as np; from jimbot.games import make; from tests.envs.games import COMPILED_ROWS;"
    "game = make('hackmatrix', COMPILED_ROWS); game.reset(); game.step(np.argmax(game.legal_mask, axis=1))",
    "import numpy as np; from jimbot.games.hackmatrix import heuristic, spec;"
    "blank = np.zeros((1, spec.SPEC.observation.size), np.float32);"
    "heuristic.Heuristic(2).act(blank, np.ones((1, spec.SPEC.actions.size), bool))",
)
PROGRAMS = {"Balatro": BALATRO, "HackMatrix": HACKMATRIX}
"""What is compiled one after the other, in a process per game: Balatro's programs share what they are linked from."""


def main() -> None:
    simulator.install()
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    children = [
        subprocess.Popen([sys.executable, "-c", "\n".join(code)], env=environment) for code in PROGRAMS.values()
    ]
    for name, child in zip(PROGRAMS, children, strict=True):
        if child.wait() != 0:
            sys.exit(f"The programs of {name} did not compile; see above.")


if __name__ == "__main__":
    main()
