"""What a graph knows, as sentences of a question; a graph that is away leaves the question as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jimbot.adviser.question import hints_from, question_in, sentences
from jimbot.games.contract import game_entry, make
from jimbot.games.hooks.learners import Knowledge
from jimbot.knowledge.records import Hints
from jimbot.policies.contract import Decision

CLAIM = {"a": "j_red", "b": "j_gold", "a_name": "Red", "b_name": "Gold", "strength": 0.4, "low": 0.3, "high": 0.5,
         "channel": "score", "evidence": "measured"}  # fmt: skip
KNOWN = Hints((CLAIM,), ({**CLAIM, "b": "bl_wall", "b_name": "The Wall"},), "Flush", {"words": "one suit"}, True)


class Graph:
    def __init__(self, found: Hints) -> None:
        self.found, self.asked = found, []

    def hints(self, state: Any) -> Hints:
        self.asked.append(state)
        return self.found


def test_synergies_counters_and_the_nearest_strategy_are_told() -> None:
    assert sentences(KNOWN) == [
        "Red with Gold: score +0.40 (+0.30 to +0.50; measured).",
        "Red against The Wall: score +0.40 (+0.30 to +0.50; measured).",
        "The nearest known strategy is Flush: one suit.",
    ]
    assert sentences(Hints()) == []


def test_a_question_asks_the_graph_about_its_parts() -> None:
    knowledge = Knowledge(parts=lambda: (), read_state=lambda game, row: {"jokers": ["j_red"]})
    entry = replace(game_entry("probe"), knowledge=knowledge)
    game = make("probe", 8)
    game.reset(np.arange(8, dtype=np.uint64))
    chances = game.legal_mask / game.legal_mask.sum(axis=1, keepdims=True)
    decision = Decision(game.legal_mask.argmax(axis=1), chances.astype(np.float32), np.zeros(8, np.float32))
    for found in (KNOWN, Hints()):
        graph = Graph(found)
        question = question_in(entry, game, 2, decision, hints_from(graph), copy=False)
        assert graph.asked == [{"jokers": ["j_red"]}]
        assert list(question.hints) == sentences(found)
    assert question.key == question_in(entry, game, 2, decision, copy=False).key  # the state is the same
