"""What a deck has become, in a word or two: what a run made of the cards it began with."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.rules.content import SUITS

THIN, LARGE = 46, 58
"""Cards: at most, at least."""
_MANY = 0.36
"""Share of a deck that is of one suit; a plain deck has 0.25."""
_FACES = 0.33
_ENHANCED = 0.15
PLAIN = "plain deck"


def deck_shape(cards: np.ndarray, enhanced: int) -> str:
    """The most telling word about a deck of `cards` (13, suits), counts by rank (2 first) and suit.

    >>> deck_shape(np.ones((13, 4)), 0)
    'plain deck'
    >>> deck_shape(np.ones((13, 4)) + np.eye(4)[1] * 3, 0)
    'many Hearts'
    """
    count = max(1.0, float(cards.sum()))
    suits = cards.sum(axis=0) / count
    if suits.max() >= _MANY:
        return f"many {SUITS[int(suits.argmax())]}"
    if cards[9:12].sum() / count >= _FACES:
        return "many faces"
    if enhanced / count >= _ENHANCED:
        return "enhanced deck"
    return "thin deck" if count <= THIN else "large deck" if count >= LARGE else PLAIN
