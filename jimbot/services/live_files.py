"""Where a hosted game's saves and pictures go: one folder, and whatever others somebody named.

A client says the path, and a client may be anything that reaches the port. So a path that leads out of the folders is
refused, whether by its dots or through a link; so is everything that is no plain file, and a file that is there already
is replaced only if it was written here.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LARGEST_SAVE = 1 << 24
_HEAD = 256  # bytes of a file that say what it is
_OURS = re.compile(rb"jimbot-[a-z]+-save\n|\x89PNG\r\n\x1a\n.{29}tEXtSoftware\0JimBot", re.DOTALL)
"""How everything begins that is written here: a save, or a picture that names us first."""


def own_folder() -> Path:
    """Where files of hosted games are by default."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "jimbot" / "hosted"


class FolderFiles:
    """Files inside some folders; names without a folder belong into the first."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = tuple(folder.absolute() for folder in folders) or (own_folder(),)
        self._is_own = not folders

    def read(self, path: str) -> bytes:
        place = self._inside(path)
        number = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)  # a pipe must not block
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise OSError("it is not a plain file")
        with open(number, "rb") as file:
            return file.read(LARGEST_SAVE)

    def write(self, path: str, data: bytes) -> None:
        place = self._inside(path)
        if os.path.lexists(place) and not _OURS.match(self.read(path)[:_HEAD]):
            raise FileExistsError("a file that was not written here is there already; choose another name")
        number, temporary = tempfile.mkstemp(prefix=".jimbot-", dir=os.path.dirname(place))
        try:
            with open(number, "wb") as file:
                file.write(data)
            os.replace(temporary, place)
        except OSError:
            os.unlink(temporary)
            raise

    def picture(self, drawing: Any) -> bytes:
        from jimbot.envs.raster import png

        return png(drawing)

    def _inside(self, path: str) -> str:
        """The one place a path means; refused where that is in none of the folders."""
        if not path or "\0" in path or not path.isprintable():
            raise PermissionError("it is no name of a file")
        if self._is_own:
            self.folders[0].mkdir(parents=True, exist_ok=True)
        place = os.path.realpath(self.folders[0] / path)
        for folder in map(os.path.realpath, self.folders):
            if place.startswith(os.path.join(folder, "")):
                return place
        shown = ", ".join(map(str, self.folders))
        raise PermissionError(f"only files inside {shown} may be used (jimbot host --files FOLDER names another)")
