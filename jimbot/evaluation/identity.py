"""Which rules and which player, in a few characters: results may be put together only where both are the same.

Whatever decides a game is in it: every file of the game's rules and heuristics, the bytes of a network, the settings
and the code of a plan. Where a file lies and what a run is called are not.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import jimbot.planning
from jimbot.games.contract import game_entry
from jimbot.policies.players import Player

_CHARACTERS = 16
_SOURCES = (".py", ".json", ".js", ".txt", ".npz")


def _digest(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:_CHARACTERS]


@lru_cache
def _files_hash(where: Path) -> str:
    """Of a module's file, or of all sources of a package."""
    files = sorted(where.rglob("*")) if where.is_dir() else [where]
    kept = [file for file in files if file.suffix in _SOURCES and "__pycache__" not in file.parts]
    return _digest(part for file in kept for part in (file.name.encode(), file.read_bytes()))


def engine_hash(game: str) -> str:
    """Of everything that is in the game's folder, or in its one module."""
    file = sys.modules[game_entry(game).spec.options.__module__].__file__
    assert file is not None, "a game without a file cannot have been registered"
    where = Path(file)
    return _files_hash(where.parent if where.parent.name == game else where)


def player_hash(player: Player) -> str:
    """Of whoever plays; a heuristic is part of its game."""
    return _digest((engine_hash(player.game).encode(), _described(player.policy).encode()))


def _described(part: Any) -> str:
    """A network is its bytes; a plan is its code and what it is made of."""
    made_of = getattr(part, "made_of", ())
    if made_of:
        code = _files_hash(Path(jimbot.planning.__file__).parent)
        return f"{code}({', '.join(map(_described, made_of))})"
    return getattr(part, "digest", "") or getattr(part, "name", "") or repr(part)
