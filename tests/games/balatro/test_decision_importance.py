"""How much depends on a decision: what stays for the run counts in full, a hand the more the fewer are left."""

from __future__ import annotations

import numpy as np

from jimbot.games.contract import game_entry, make


def test_shops_count_in_full_and_hands_by_how_many_are_left() -> None:
    entry = game_entry("balatro")
    game = make("balatro", 1)
    game.reset(np.array([5], np.uint64))
    assert entry.decision_importance is not None
    labels, told = entry.spec.actions, {}
    for label in ("select", "play 1", "play 1", "play 1"):
        words = game.describe(0)
        hands = int(words.split(" hands")[0].split()[-1]) if " hands" in words else 0
        told[hands] = float(entry.decision_importance(game.observation, game.legal_mask)[0])
        game.step(np.array([labels.index(label)]))
    assert told == {0: 1.0, 4: 1 / 4, 3: 1 / 3, 2: 1 / 2}
