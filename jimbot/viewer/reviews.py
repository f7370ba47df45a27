"""Reviews on the page: made in the background, looked at while they grow, asked what another move would have given."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from typing import Any

import numpy as np

from jimbot.errors import JimbotError, UsageError
from jimbot.evaluation.review import Reviewer
from jimbot.games.hooks.people import LoggedGame
from jimbot.policies.players import Player
from jimbot.policies.win_chances import win_chances

MOST_KEPT = 6
MOST_LISTED = 250
SECONDS = 25.0
FORGOTTEN_SECONDS = 120.0

_log = logging.getLogger("jimbot.viewer")


class OpenReview:
    """One game under review."""

    def __init__(self, game: LoggedGame, player: Player, seconds: float = SECONDS) -> None:
        self._game, self._player, self._seconds = game, player, seconds
        self._reviewer: Reviewer | None = None
        self._lock = threading.Lock()
        self._wanted, self._looked = True, time.monotonic()
        self._document: dict[str, Any] | None = None
        self._done, self._complaint = False, ""
        threading.Thread(target=self._work, name="review", daemon=True).start()

    def document(self) -> dict[str, Any]:
        """As far as it is."""
        self._looked = time.monotonic()
        return {"review": self._document, "done": self._done, "complaint": self._complaint}

    def scenes(self) -> list[Any]:
        """The table before every move, and after the last."""
        return [] if self._reviewer is None else list(self._reviewer.positions.scenes)

    def moves(self, number: int) -> list[dict[str, Any]]:
        """What could have been done at a move."""
        with self._lock:
            reviewer = self._ready(number)
            table = reviewer.positions.table(number - 1)
            try:
                legal = np.flatnonzero(table.legal_mask[0])[:MOST_LISTED].tolist()
                return [{"action": action, "words": table.describe_action(0, action)} for action in legal]
            finally:
                table.close()

    def what_if(self, number: int, action: int) -> dict[str, Any]:
        with self._lock:
            reviewer = self._ready(number)
            if not 0 <= action < len(reviewer.positions.batch.legal_mask[0]):
                raise UsageError(f"There is no action {action}.")
            return reviewer.what_if(number, action)

    def close(self) -> None:
        self._wanted = False
        with self._lock:
            if self._reviewer is not None:
                self._reviewer.close()

    def _ready(self, number: int) -> Reviewer:
        if self._reviewer is None:
            raise UsageError(self._complaint or "The review has not begun yet; wait a moment.")
        if not 1 <= number <= len(self._reviewer.review.verdicts):
            raise UsageError(f"The game has no move {number}.")
        return self._reviewer

    def _work(self) -> None:
        try:
            self._review()
        except JimbotError as problem:
            self._complaint = str(problem)
        except Exception as problem:  # the page outlives it, and says what happened
            _log.exception("A review on the page failed.")
            self._complaint = f"The review failed: {type(problem).__name__}: {problem}"
        self._done = True

    def _review(self) -> None:
        chances = win_chances(self._player)
        if chances is None:
            raise UsageError(f"How often {self._player.name} wins was never measured; choose another reviewer.")
        notes = (self._game.note,) if self._game.note else ()
        with self._lock:
            reviewer = Reviewer(self._game.recorded, self._player, chances, notes=notes)
            self._reviewer = reviewer
            self._document = reviewer.review.to_dict()
        looks = reviewer.go_on(self._seconds)
        while self._wanted and time.monotonic() - self._looked < FORGOTTEN_SECONDS:
            with self._lock:
                review = next(looks, None)
                if review is None:
                    return
                self._document = review.to_dict()


class OpenReviews:
    """The last few; the oldest is given back."""

    def __init__(self) -> None:
        self._reviews: OrderedDict[str, OpenReview] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, review: OpenReview) -> str:
        name, gone = secrets.token_hex(6), []
        with self._lock:
            self._reviews[name] = review
            while len(self._reviews) > MOST_KEPT:
                gone.append(self._reviews.popitem(last=False)[1])
        for one in gone:
            one.close()
        return name

    def get(self, name: str) -> OpenReview:
        with self._lock:
            if name not in self._reviews:
                raise UsageError("This review is not at hand any more; open the game again.")
            self._reviews.move_to_end(name)
            return self._reviews[name]

    def close(self) -> None:
        with self._lock:
            reviews, self._reviews = list(self._reviews.values()), OrderedDict()
        for one in reviews:
            one.close()
