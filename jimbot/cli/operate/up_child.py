"""A command of `jimbot up` in a process of its own: the ordinary command line, which ends when its keeper does."""

from __future__ import annotations

import sys

from jimbot.cli.main import run
from jimbot.services.stack.leash import wait_for_the_end

if __name__ == "__main__":
    wait_for_the_end()
    sys.exit(run(sys.argv[1:]))
