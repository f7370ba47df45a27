"""Reviews that were made before: kept by what went into them, shown again at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.evaluation.identity import player_hash
from jimbot.evaluation.review.verdicts import Review, review_game
from jimbot.games.hooks.people import LoggedGame
from jimbot.policies.players import Player
from jimbot.runs.files import make_directory, read_json, write_atomically

FOLDER = ".reviews"


def reviewed(
    game: LoggedGame,
    player: Player,
    seconds: float,
    moves: range | None = None,
    know_the_seed: bool = False,
    runs_root: Path = Path("runs"),
    tell: Callable[[Review], None] = lambda review: None,
) -> dict[str, Any]:
    """The review of a game as a document, made now or taken from those that are kept; `tell` sees it grow.

    One that was interrupted is shown and not kept.
    """
    identity = (game.recorded.to_json(), player_hash(player), seconds, moves, know_the_seed, game.note)
    kept = runs_root / FOLDER / f"{hashlib.sha256(repr(identity).encode()).hexdigest()[:24]}.json"
    if kept.exists() and isinstance(stored := read_json(kept), dict):
        return stored
    review, notes = None, (game.note,) if game.note else ()
    try:
        for review in review_game(game.recorded, player, seconds, moves, know_the_seed, notes):
            tell(review)
    except KeyboardInterrupt:
        if review is None:
            raise
        return {**review.to_dict(), "player": game.player}
    assert review is not None
    document = {**review.to_dict(), "player": game.player}
    make_directory(kept.parent)
    write_atomically(kept, json.dumps(document, ensure_ascii=False).encode())
    return document


def by_group(documents: Sequence[Mapping[str, Any]], by: str) -> list[dict[str, Any]]:
    """What games of each player (or file, or game) lost on average, by kind of move, in points of winning chance."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for document in documents:
        groups.setdefault(str(document[by]), []).append(document)
    return sorted((_row(by, *group) for group in groups.items()), key=lambda row: -(row["accuracy"] or 0.0))


def _row(by: str, name: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lost: dict[str, float] = {}
    for document in found:
        for move in document["moves"]:
            if move["kind"]:
                lost[move["kind"]] = lost.get(move["kind"], 0.0) + 100.0 * _lost(move) / len(found)
    accuracies = [document["accuracy"]["all"] for document in found if document["accuracy"]["all"] is not None]
    return {
        by: name,
        "games": len(found),
        "won": sum(document["won"] is True for document in found),
        "accuracy": float(np.mean(accuracies)) if accuracies else None,
        "lost": lost,
        "blunders": sum(document["counts"]["blunder"] for document in found) / len(found),
        "mistakes": sum(document["counts"]["mistake"] for document in found) / len(found),
    }


def _lost(move: Mapping[str, Any]) -> float:
    return move["cost"]["mean"] if move["cost"] is not None and move["cost"]["low"] > 0 else 0.0
