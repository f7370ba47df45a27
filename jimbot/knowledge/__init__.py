"""What works together and why a build wins: a graph that the simulator measures, games confirm, and play asks.

`KnowledgeGraphClient` is the way in for programs; `jimbot graph` the one for people.
"""

from jimbot.knowledge.client import KnowledgeGraphClient
from jimbot.knowledge.records import Edge, Graph, Hints, Node, Strategy

__all__ = ["Edge", "Graph", "Hints", "KnowledgeGraphClient", "Node", "Strategy"]
