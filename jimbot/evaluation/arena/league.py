"""The folder of an arena.

`arena.json` names the game, the cells (sets of options that are played), the players with the hash of what they are,
and the rounds. A round is drawn when the hashes of its players stand in the file, from entropy that nobody had before:
so no player can have been chosen with its seeds in view. Who comes later plays the old rounds, too, and its games
there are marked: their seeds were known. `results/PLAYER/*.jsonl` has a line per game, with the moves that prove it.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import StorageError, UnknownNameError, UsageError
from jimbot.evaluation.identity import engine_hash, player_hash
from jimbot.games.contract import game_entry
from jimbot.games.seeds import HELD_OUT, bank_seeds
from jimbot.planning import planning
from jimbot.policies.players import Player, find_player
from jimbot.runs.files import make_directory, read_json, storing, write_atomically

FORMAT, FORMAT_VERSION = "jimbot-arena", 1
FILE, RESULTS = "arena.json", "results"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")
_SEED_SPACE = 2**40  # small enough for every game
_DIGEST = 24


@dataclass(frozen=True)
class Entrant:
    """A player of the arena."""

    name: str
    reference: str
    """What `find_player` is asked for."""
    hash: str
    plan: int | None = None
    plan_set: dict[str, Any] = field(default_factory=dict)
    added: str = ""

    def player(self, game: str, options: Mapping[str, Any], runs_root: str | Path = "runs") -> Player:
        """The player, under the options of a cell; an error if it is not what was entered any more."""
        found = _found(self.reference, game, self.plan, self.plan_set, runs_root)
        if player_hash(found) != self.hash:
            raise UsageError(
                f"'{self.name}' was entered as {self.hash}, but {self.reference} is {player_hash(found)} now (another "
                "checkpoint, or other code). Enter it under another name."
            )
        return found.under({**found.options, **options})


def _found(reference: str, game: str, plan: int | None, plan_set: Mapping[str, Any], runs_root: str | Path) -> Player:
    return planning(find_player(reference, game, None, runs_root), plan, None, plan_set)


@dataclass(frozen=True)
class Round:
    """Seeds that were drawn once."""

    entropy: str
    drawn: str
    players: dict[str, str]
    """Whose hashes stood before the draw."""

    def seeds(self, count: int) -> np.ndarray:
        """The first `count` seeds, all of the held-out bank, none twice."""
        found: dict[int, None] = {}
        number = 0
        while len(found) < count:
            drawn = hashlib.sha256(f"{self.entropy}:{number}".encode()).digest()
            start = int.from_bytes(drawn[:8], "big") % _SEED_SPACE
            found[int(bank_seeds(HELD_OUT, 1, start=start)[0])] = None
            number += 1
        return np.array(list(found), np.uint64)


@dataclass(frozen=True)
class Result:
    """One game that was played."""

    round: int
    cell: str
    seed: int
    player: str
    player_hash: str
    engine: str
    moves: str
    """The actions, packed (`pack`)."""
    stats: dict[str, float]
    total_return: float
    milliseconds: float
    """Of a decision, on average over those that were played together."""
    worker: str = ""

    @property
    def digest(self) -> str:
        """Of all that decides the game and all that came of it."""
        told = [self.engine, self.player_hash, self.seed, self.cell, self.moves, self.stats, self.total_return]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:_DIGEST]

    def to_line(self) -> str:
        return json.dumps({**asdict(self), "digest": self.digest}) + "\n"

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Result:
        """A line of a file; a line that was changed is an error."""
        try:
            found = cls(**{name: value for name, value in document.items() if name != "digest"})
        except TypeError as problem:
            raise StorageError(f"A result of the arena cannot be read: {problem}.") from problem
        if document.get("digest") != found.digest:
            raise StorageError(
                f"The result of {found.player} on seed {found.seed} has digest {document.get('digest')}; what stands "
                f"there has {found.digest}. It was changed."
            )
        return found


def pack(actions: Sequence[int]) -> str:
    """Actions as text.

    >>> unpack(pack([3, 500, 3])).tolist()
    [3, 500, 3]
    """
    return b64encode(zlib.compress(np.asarray(actions, "<u2").tobytes(), 9)).decode()


def unpack(text: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(b64decode(text)), "<u2").astype(np.int64)


class Arena:
    """One league."""

    def __init__(self, folder: Path) -> None:
        document = read_json(folder / FILE)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise UsageError(f"There is no arena in '{folder}'. Begin one: jimbot arena new GAME --folder {folder}")
        if document["format_version"] != FORMAT_VERSION:
            raise UsageError(f"The arena in '{folder}' has format_version {document['format_version']}; known is 1.")
        self.folder = folder
        self.game: str = document["game"]
        self.games: int = document["games"]
        """Of each player per round and cell; of each pair where two play."""
        self.cells: dict[str, dict[str, Any]] = document["cells"]
        self.engine: str = document["engine"]
        self.players = {name: Entrant(**one) for name, one in document["players"].items()}
        self.rounds = [Round(**one) for one in document["rounds"]]
        self.entry = game_entry(self.game)

    @classmethod
    def new(cls, folder: Path, game: str, cells: Mapping[str, Mapping[str, Any]], games: int) -> Arena:
        """An empty one."""
        if (folder / FILE).exists():
            raise UsageError(f"There is an arena in '{folder}' already; choose another folder.")
        spec = game_entry(game).spec
        for options in cells.values():
            spec.parse_options(dict(options))
        if games < 1:
            raise UsageError(f"--games is {games}; expected 1 or more.")
        document = {
            "format": FORMAT, "format_version": FORMAT_VERSION, "game": game, "games": games,
            "cells": {name: dict(options) for name, options in cells.items()},
            "engine": engine_hash(game), "players": {}, "rounds": [],
        }  # fmt: skip
        make_directory(folder)
        write_atomically(folder / FILE, json.dumps(document, indent=1).encode())
        return cls(folder)

    def save(self) -> None:
        document = {
            "format": FORMAT, "format_version": FORMAT_VERSION, "game": self.game, "games": self.games,
            "cells": self.cells, "engine": self.engine,
            "players": {name: asdict(one) for name, one in self.players.items()},
            "rounds": [asdict(one) for one in self.rounds],
        }  # fmt: skip
        write_atomically(self.folder / FILE, json.dumps(document, indent=1).encode())

    def require_same_rules(self) -> None:
        if engine_hash(self.game) != self.engine:
            raise UsageError(
                f"The arena's games were played by the rules {self.engine}, and these are {engine_hash(self.game)}. "
                "Results of both cannot stand in one table: begin another arena, or use the version that played it."
            )

    def add(
        self,
        name: str,
        reference: str,
        plan: int | None = None,
        plan_set: Mapping[str, Any] | None = None,
        runs_root: str | Path = "runs",
    ) -> Entrant:
        """Enters a player: from now on its hash stands."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"'{name}' is no name of a player; expected letters, digits, and . _ + - between them.")
        if name in self.players:
            raise UsageError(f"A player '{name}' is in the arena already; choose another name.")
        player = _found(reference, self.game, plan, plan_set or {}, runs_root)
        for options in self.cells.values():
            player.shown(player.under({**player.options, **options}).options)
        found = Entrant(name, reference, player_hash(player), plan, dict(plan_set or {}), _now())
        self.players[name] = found
        self.save()
        return found

    def draw(self) -> Round:
        """A new round: seeds that nobody could know when the players were entered."""
        if not self.players:
            raise UsageError("The arena has no players; add some before seeds are drawn.")
        found = Round(secrets.token_hex(16), _now(), {name: one.hash for name, one in self.players.items()})
        self.rounds.append(found)
        self.save()
        return found

    def known_before(self, result: Result) -> bool:
        """Whether the seeds of a result had been drawn when its player was entered."""
        return self.rounds[result.round].players.get(result.player) != result.player_hash

    # --- results ---

    def _file(self, player: str, number: int, cell: str) -> Path:
        return self.folder / RESULTS / player / f"{number}-{cell}.jsonl"

    def add_results(self, results: Sequence[Result]) -> None:
        """Appends games that were played."""
        for one in results:
            path = self._file(one.player, one.round, one.cell)
            make_directory(path.parent)
            with storing(path), path.open("ab") as file:
                if file.tell() and not _ends_a_line(path):
                    file.write(b"\n")  # a line that was cut off by a kill stays behind and counts for nothing
                file.write(one.to_line().encode())

    def results(self, player: str | None = None) -> Iterator[Result]:
        """All games, or those of one player; one seed counts once."""
        if player is not None and player not in self.players:
            raise UnknownNameError("player of the arena", player, self.players)
        for name in self.players if player is None else (player,):
            for number in range(len(self.rounds)):
                for cell in self.cells:
                    yield from self.of(name, number, cell).values()

    def of(self, player: str, number: int, cell: str) -> dict[int, Result]:
        """The games of one player in one cell of a round, by seed."""
        path, found = self._file(player, number, cell), {}
        if not path.exists():
            return {}
        with storing(path):
            lines = path.read_text().splitlines()
        for line in lines:
            try:
                document = json.loads(line)
            except ValueError:  # cut off
                continue
            result = Result.from_document(document)
            found.setdefault(result.seed, result)
        return found


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
