"""Checking the simulator against recordings: of a reference, of the real game, of anybody's own games."""

from jimbot.games.balatro.verify.recordings import find_recordings, verify_directory, verify_file
from jimbot.games.verification import Difference, FileReport

__all__ = ["Difference", "FileReport", "find_recordings", "verify_directory", "verify_file"]
