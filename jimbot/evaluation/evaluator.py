"""`evaluate`: one policy, however named, evaluated on seeds it was never trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from jimbot.errors import UnreadableError, UsageError
from jimbot.evaluation.play import Progress, Witness, play_games
from jimbot.evaluation.summary import Evaluation
from jimbot.games.contract import game_entry
from jimbot.games.seeds import HELD_OUT, bank_seeds, seed_number
from jimbot.policies.players import Named, find_player
from jimbot.reading.plain import LARGEST_TEXT, file_text

Bank = str | Sequence[str | int]
"""A bank by name, or the seeds themselves: numbers, or texts as the game writes them."""


def choose_seeds(
    bank: Bank = HELD_OUT,
    games: int | None = None,
    seeds_file: str | Path | None = None,
    default_games: int = 256,
    game_id: str | None = None,
) -> tuple[np.ndarray, str]:
    """The seeds to play as uint64, and what to call them in a report.

    From a file or list all seeds are taken, or the first `games`; from a bank the first `games`, the same on every
    machine. `game_id` is whose own seed texts are understood.
    """
    if seeds_file is None and isinstance(bank, str):
        return bank_seeds(bank, default_games if games is None else games), bank
    if seeds_file is not None:
        seeds, called = read_seeds_file(seeds_file, game_id), str(seeds_file)
    else:
        seeds, called = _read(((f"Seed {number}", word) for number, word in enumerate(bank, 1)), game_id), "chosen"
    if games is not None:
        if not 1 <= games <= len(seeds):
            where = seeds_file or "the list"
            raise UsageError(f"Asked for {games} games but {where} has {len(seeds)} seeds; give 1 to that many.")
        seeds = seeds[:games]
    return seeds, called


def read_seeds_file(path: str | Path, game_id: str | None = None) -> np.ndarray:
    """One seed per line; blank lines and everything after # are ignored. A seed given twice is an error: it would
    count one game as two."""
    try:
        text = file_text(path, LARGEST_TEXT)
    except UnreadableError as problem:
        raise UsageError(f"The seeds file {path} cannot be read: {problem}.") from problem
    lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    seeds = _read(((f"{path}, line {number}", word) for number, word in lines if word), game_id)
    if not len(seeds):
        raise UsageError(f"The seeds file {path} holds no seeds; expected one per line.")
    return seeds


def _read(words: Iterable[tuple[str, str | int]], game_id: str | None) -> np.ndarray:
    """(where, word) → the seeds in order; no seed may be there twice."""
    entry = game_entry(game_id) if game_id is not None else None
    place_of: dict[int, str] = {}
    for where, word in words:
        try:
            seed = seed_number(entry, word)
        except UsageError as problem:
            raise UsageError(f"{where}: {problem}") from problem
        if seed in place_of:
            raise UsageError(f"{where}: seed {word} was already given in {place_of[seed].rpartition(', ')[2]}.")
        place_of[seed] = where
    return np.array(list(place_of), dtype=np.uint64)


class HowToPlay(TypedDict, total=False):
    """How games are played; the same for everyone who is compared. See `play_games`."""

    deterministic: bool
    num_envs: int
    rng_seed: int
    witness: Witness | None


def evaluate(
    policy: Named,
    game_id: str | None = None,
    games: int | None = None,
    *,
    bank: Bank = HELD_OUT,
    seeds_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    against: float | None = None,
    progress: Progress | None = None,
    runs_root: str | Path = "runs",
    which: Literal["latest", "best"] = "latest",
    threads: int = 1,
    **how: Unpack[HowToPlay],
) -> Evaluation:
    """Plays `games` games (default 256, or the whole seeds file) and reports metrics with intervals.

    `policy` is a policy or anything `load_policy` understands: a game means the policy shipped for it. The game and
    its options come from the checkpoint unless given. `against` is a win rate to compare this policy's with.
    """
    if against is not None and not 0 < against < 1:
        raise UsageError(f"A win rate of {against} cannot be compared with; expected one between 0 and 1.")
    player = find_player(policy, game_id, None, runs_root, which, threads).under(options)
    seeds, called = choose_seeds(bank, games, seeds_file, game_id=player.game)
    played = play_games(player.policy, player.game, seeds, options=player.options, progress=progress, **how)
    return Evaluation(played, called, how.get("deterministic", True), player.options, against)
