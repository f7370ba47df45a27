"""An observation shows the same parts as the game it was made of."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.entry import GAME, KNOWLEDGE
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.rules.content import JOKERS
from jimbot.games.balatro.synergy.seen import item_keys, read_observation


def test_the_observation_tells_what_the_game_holds():
    game = BalatroGame(2, 0, GAME.spec.options())
    game.reset(np.array([5, 6], np.uint64))
    game.games["joker_id"][1, :2] = [JOKERS.id("j_joker"), JOKERS.id("j_baron")]
    game.games["joker_count"][1] = 2
    draw = np.random.default_rng(0)
    held = 0
    for _ in range(40):
        game.step(np.array([draw.choice(np.flatnonzero(legal)) for legal in game.legal_mask]))
        for row in range(2):
            known, seen = KNOWLEDGE.read_state(game, row), read_observation(game.observation[row])
            held += len(seen["jokers"])
            for name in ("jokers", "consumables", "vouchers", "boss", "deck", "deck_shape"):
                assert seen[name] == known[name]
            assert seen["played"].keys() == known["played"].keys()
    assert held > 4


def test_ids_that_no_game_shows_are_left_out():
    for value in (1e9, -5.0, 0.0):
        seen = read_observation(np.full(GAME.spec.observation.size, value, np.float32))
        assert seen["jokers"] == []
        assert seen["boss"] is None


def test_the_vocabulary_names_every_joker_and_consumable():
    vocabulary = {"item": item_keys()}
    keys = {part.key for part in KNOWLEDGE.parts() if part.kind in ("joker", "consumable")}
    assert {key for key in vocabulary["item"] if key} == keys
    fields = {field.vocabulary: field.ids for field in GAME.spec.observation.fields if field.vocabulary}
    assert {name: len(found) for name, found in vocabulary.items()} == fields
