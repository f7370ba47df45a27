"""The version of the rules. It changes when the same seed and moves give another game, not when code is tidied."""

VERSION = 1
