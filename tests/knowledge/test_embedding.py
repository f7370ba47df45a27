"""Rows made from a graph: alike for jokers that act alike, the same every time, nothing where nothing is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jimbot.knowledge import first_params as module
from jimbot.knowledge.first_params import embedding
from jimbot.knowledge.records import SYNERGY, Graph, Node
from jimbot.policies import networks
from tests.knowledge.samples import GAME, edge, sample

KEYS = ("", "j_baron", "j_mime", "j_loner", "c_mercury", "unknown")


def test_the_same_graph_gives_the_same_rows_in_any_order() -> None:
    graph = sample()
    turned = replace(graph, nodes=graph.nodes[::-1], edges=graph.edges[::-1])
    rows = embedding(graph, KEYS, 16)
    assert rows.shape == (6, 16)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(embedding(turned, KEYS, 16), rows, atol=1e-6)


def test_only_what_is_known_has_numbers() -> None:
    rows = embedding(sample(), KEYS, 16)
    assert [bool(np.abs(row).sum() > 0) for row in rows[[0, 1, 2, 4, 5]]] == [False, True, True, False, False]
    assert not embedding(Graph(GAME), KEYS, 4).any()


def test_jokers_that_act_alike_have_rows_alike() -> None:
    names = [f"j_{letter}" for letter in "abcdefgh"]
    nodes = tuple(Node("Joker", name, name) for name in names)
    partners = {"j_a": 1.0, "j_b": 1.1, "j_c": -1.0}  # a and b like the same ones, c the opposite
    edges = tuple(edge(SYNERGY, one, other, liking) for one, liking in partners.items() for other in names[4:])
    rows = embedding(Graph(GAME, nodes, edges), names, 4)

    def likeness(one: int, other: int) -> float:
        return float(rows[one] @ rows[other] / np.linalg.norm(rows[one]) / np.linalg.norm(rows[other]))

    assert likeness(0, 1) > 0.99
    assert likeness(0, 2) < -0.99
    assert rows[3] == pytest.approx(0)


def test_networks_and_rows_agree_on_version_and_width() -> None:
    assert (module.VERSION, module.DEFAULT_DIM) == (networks.GRAPH_VERSION, networks.GRAPH_WIDTH)
