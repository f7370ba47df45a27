"""What a network that looks things up in the knowledge graph begins with: the rows of the graph as it is now.

They are parameters like all others from then on: fixed or learned, in every checkpoint, in the ONNX file. So a run goes
on and a policy plays wherever it likes, whatever becomes of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.knowledge.embedding import embedding


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
