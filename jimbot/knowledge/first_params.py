"""What a network that looks things up in the knowledge graph begins with: the rows of the graph as it is now.

They are parameters like all others from then on: fixed or learned, in every checkpoint, in the ONNX file. So a run goes
on and a policy plays wherever it likes, whatever becomes of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.knowledge.records import COUNTER, FAVOUR, PREDICTED, SYNERGY, Edge, Graph

VERSION = 1
"""Changes when the same graph gives other rows."""
DEFAULT_DIM = 128


def embedding(graph: Graph, keys: Sequence[str], dim: int) -> np.ndarray:
    """(len(keys), dim) float32: a row per key; zeros for keys the graph knows nothing about."""
    known = sorted(node.key for node in graph.nodes if node.label == "Joker")
    rows = np.zeros((len(keys), dim), np.float32)
    blocks = _blocks(graph, known)
    if not blocks:
        return rows
    factors = _factors(np.concatenate(blocks, axis=1), dim)
    place = {key: number for number, key in enumerate(known)}
    for number, key in enumerate(keys):
        if key in place:
            rows[number] = factors[place[key]]
    return rows


def _blocks(graph: Graph, known: Sequence[str]) -> list[np.ndarray]:
    """Matrices with a row per joker, each of Frobenius norm 1; those without content are left out."""
    pairs = [edge for edge in graph.edges if edge.type == SYNERGY and not edge.others and edge.evidence != PREDICTED]
    found = []
    for channel in sorted({edge.channel for edge in pairs}):
        chosen = [edge for edge in pairs if edge.channel == channel]
        found.append(_matrix(chosen, known, known) + _matrix(chosen, known, known, turned=True))
    for relation in (FAVOUR, COUNTER):
        chosen = [edge for edge in graph.edges if edge.type == relation and edge.a in set(known)]
        found.append(_matrix(chosen, known, sorted({edge.b for edge in chosen})))
    found.append(_features(graph, known))
    return [block / norm for block in found if (norm := np.linalg.norm(block)) > 0]


def _features(graph: Graph, known: Sequence[str]) -> np.ndarray:
    """What the game tells of each joker, around its mean."""
    features = {node.key: node.features for node in graph.nodes if node.label == "Joker"}
    table = np.zeros((len(known), max(map(len, features.values()), default=0)))
    for number, key in enumerate(known):
        table[number, : len(features[key])] = features[key]
    return table - table.mean(axis=0) if len(known) else table


def _matrix(edges: Sequence[Edge], rows: Sequence[str], columns: Sequence[str], turned: bool = False) -> np.ndarray:
    """Strengths of edges as a matrix; of several for the same pair the mean."""
    row, column = ({key: number for number, key in enumerate(keys)} for keys in (rows, columns))
    total, count = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
    for edge in edges:
        a, b = (edge.b, edge.a) if turned else (edge.a, edge.b)
        total[row[a], column[b]] += edge.strength
        count[row[a], column[b]] += 1
    return total / np.maximum(count, 1)


def _factors(matrix: np.ndarray, dim: int) -> np.ndarray:
    """(rows, dim): leading factors, mean row norm 1, signs fixed by the largest entry of each column."""
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    factors = (left * values)[:, :dim]
    largest = np.abs(factors).argmax(axis=0)
    factors = factors * np.where(factors[largest, np.arange(factors.shape[1])] < 0, -1.0, 1.0)
    norm = np.linalg.norm(factors, axis=1).mean()
    whole = np.zeros((len(matrix), dim))
    whole[:, : factors.shape[1]] = factors / max(norm, 1e-12)
    return whole.astype(np.float32)


def graph_tables(network: Mapping[str, Any], game: str) -> dict[str, np.ndarray]:
    """The parameters of a network (`networks.describe_network`) that come from the graph, by name."""
    wanted = network.get("graph")
    if not wanted:
        return {}
    knowledge = game_entry(game).knowledge
    keys = knowledge.vocabulary()[wanted["vocabulary"]] if knowledge is not None and knowledge.vocabulary else ()
    if len(keys) != wanted["shape"][0]:
        raise SettingsError(f"graph_embeddings: game '{game}' does not say which of its ids are what in a graph.")
    client = KnowledgeGraphClient(game=game)
    try:
        return {wanted["table"]: embedding(client.whole(), keys, wanted["shape"][1])}
    finally:
        client.close()
