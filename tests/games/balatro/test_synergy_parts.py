"""What the knowledge hook tells of Balatro without measuring anything."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from jimbot.games.balatro.entry import GAME, KNOWLEDGE
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.rules.content import JOKERS, VOUCHERS


def test_parts_are_the_tables_of_the_game():
    parts = KNOWLEDGE.parts()
    counted = Counter(part.kind for part in parts)
    assert counted == {"joker": 150, "consumable": 52, "voucher": 32, "hand": 12, "boss": 28, "deck": 15, "tag": 24}
    assert len({(part.kind, part.key) for part in parts}) == len(parts)
    assert all(part.words and part.name for part in parts)


def test_no_two_jokers_look_alike_to_a_network_unless_they_are_the_same_but_for_a_number():
    features = [part.features for part in KNOWLEDGE.parts() if part.kind == "joker"]
    assert len({len(row) for row in features}) == 1
    assert len(set(features)) >= 140


def test_read_state_names_what_a_game_holds():
    game = BalatroGame(2, 0, GAME.spec.options())
    game.reset(np.array([5, 6], np.uint64))
    game.games["joker_id"][1, :2] = [JOKERS.id("j_blueprint"), JOKERS.id("j_baron")]
    game.games["joker_count"][1] = 2
    game.games["voucher_owned"][1, VOUCHERS.id("v_telescope")] = 1
    state = json.loads(json.dumps(KNOWLEDGE.read_state(game, 1)))
    assert state["jokers"] == ["j_blueprint", "j_baron"]
    assert state["vouchers"] == ["v_telescope"]
    assert state["deck"] == "b_red"
    assert state["ante"] == 1
    assert state["levels"] == {}
    assert KNOWLEDGE.read_state(game, 0)["jokers"] == []
