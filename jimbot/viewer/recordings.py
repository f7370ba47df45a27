"""Recorded games that lie with the runs, in the folder `recordings` beside them: those have links, others do not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jimbot.errors import CheckpointError, UsageError
from jimbot.reading.plain import is_count
from jimbot.runs.directory import is_plain_name

FOLDER = "recordings"
LARGEST = 20_000_000  # bytes
MOST_LISTED = 200


class Recordings:
    """What lies there, by a key as those of runs: the number of the folder, a slash, the file."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._folders = [Path(root) / FOLDER for root in roots]

    def listed(self) -> list[dict[str, Any]]:
        """The newest first."""
        found: list[tuple[float, dict[str, Any]]] = []
        for number, folder in enumerate(self._folders):
            try:
                with os.scandir(folder) as entries:
                    for one in entries:
                        if one.name.endswith(".json") and is_plain_name(one.name) and one.is_file():
                            about = one.stat()
                            shown = {"key": f"{number}/{one.name}", "time": about.st_mtime, "size": about.st_size}
                            found.append((about.st_mtime, shown))
            except OSError:  # there is none
                continue
        return [shown for _, shown in sorted(found, key=lambda one: -one[0])[:MOST_LISTED]]

    def text(self, key: str) -> str:
        """One of them."""
        number, _, name = key.partition("/")
        if not is_count(number) or int(number) >= len(self._folders) or not is_plain_name(name):
            raise UsageError(
                f"'{key[:80]}' is no recording; expected the number of a folder of runs, a slash and a file."
            )
        path = self._folders[int(number)] / name
        try:
            if path.stat().st_size > LARGEST:
                raise UsageError(f"The recording {name} is larger than {LARGEST:,} bytes.")
            return path.read_text()
        except (OSError, UnicodeDecodeError) as problem:
            raise CheckpointError(f"There is no recording {name} in {path.parent} any more.") from problem
