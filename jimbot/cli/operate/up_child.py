"""A command of `jimbot up` in a process of its own: the ordinary command line, which ends when its supervisor does."""

from __future__ import annotations

import sys

from jimbot.cli.main import run
from jimbot.services.stack.parent_watch import end_with_parent

if __name__ == "__main__":
    end_with_parent()
    sys.exit(run(sys.argv[1:]))
