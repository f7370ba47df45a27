"""A run with rows of the knowledge graph begins with them, keeps or learns them, and needs no graph afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ladybug")

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.knowledge.first_params import embedding, graph_tables
from jimbot.knowledge.first_use import nodes_of
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.records import SYNERGY, Edge, Graph
from jimbot.policies.networks import describe_network

GAME = "balatro"


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    edges = (Edge(SYNERGY, "j_baron", "j_mime", 1.0, 0.9, 1.1, "score"), Edge(SYNERGY, "j_blueprint", "j_brainstorm",
             0.5, 0.4, 0.6, "copying"))  # fmt: skip
    graph = Graph(GAME, tuple(nodes_of(GAME)), edges)
    LadybugStore(tmp_path / "graph.lbug", GAME).replace(graph)
    monkeypatch.setenv("JIMBOT_GRAPH", str(tmp_path / "graph.lbug"))
    return graph


def test_the_rows_are_those_of_the_graph_by_the_ids_of_the_observation(graph: Graph) -> None:
    entry = game_entry(GAME)
    network = describe_network(entry.spec, graph_embeddings="fixed", memgraph_embedding_dim=16)
    assert network["kind"] == "items"
    rows = graph_tables(network, GAME)["table_graph"]
    assert entry.knowledge is not None
    assert entry.knowledge.vocabulary is not None
    keys = entry.knowledge.vocabulary()["item"]
    np.testing.assert_array_equal(rows, embedding(graph, keys, 16))
    assert np.abs(rows[keys.index("j_baron")]).sum() > 0
    assert graph_tables(describe_network(entry.spec), GAME) == {}


def test_a_game_without_a_graph_is_one_sentence() -> None:
    with pytest.raises(SettingsError, match="does not say which of its ids"):
        graph_tables({"graph": {"vocabulary": "item", "shape": [3, 4], "table": "table_graph"}}, "probe")


@pytest.mark.long
@pytest.mark.parametrize(("learner", "network"), [("jax", "items"), ("sb3", "BalatroNet"), ("ray", "items")])
@pytest.mark.parametrize("choice", ["fixed", "trainable"])
def test_a_run_begins_with_the_rows_and_goes_on_without_the_graph(
    graph: Graph, tmp_path: Path, learner: str, network: str, choice: str
) -> None:
    from jimbot.cli import main
    from jimbot.runs import find_checkpoint, load_checkpoint

    words = ["train", GAME, "--learner", learner, "--network", network, "--graph-embeddings", choice, "--run", "r",
             "--num-envs", "4", "--num-steps", "16", "--memgraph-embedding-dim", "16", "--runs-dir", str(tmp_path),
             "--no-wandb", "--num-minibatches", "2", "--save-interval", "64"]  # fmt: skip
    assert main.run([*words, "--total-timesteps", "128"]) == 0
    checkpoint = load_checkpoint(find_checkpoint("r", tmp_path))
    table = checkpoint.manifest.network["graph"]["table"]
    expected = graph_tables(checkpoint.manifest.network, GAME)[table]
    kept = np.array_equal(checkpoint.params()[table], expected)
    assert kept is (choice == "fixed")
    np.testing.assert_allclose(checkpoint.params()[table], expected, atol=0.1)
    (tmp_path / "graph.lbug").unlink()
    assert main.run([*words, "--total-timesteps", "192"]) == 0
    assert main.run(["export", "r", "--output", str(tmp_path / "p.onnx"), "--runs-dir", str(tmp_path)]) == 0
