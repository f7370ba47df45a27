"""A graph as GraphML, for programs that draw and analyse graphs."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from jimbot.knowledge import schema
from jimbot.knowledge.engine_rows import edge_row, node_row
from jimbot.knowledge.records import Graph

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
TYPES: dict[type, str] = {str: "string", int: "long", float: "double", bool: "boolean"}


def graphml_of(graph: Graph) -> bytes:
    """The whole graph; labels and relations are the attribute `label`."""
    root = ET.Element("graphml", xmlns=NAMESPACE)
    node_columns = {"label": str, **schema.NODE_COLUMNS}
    for columns in schema.NODES.values():
        node_columns |= columns
    for domain, columns in (("node", node_columns), ("edge", {"label": str, **schema.EDGE_COLUMNS})):
        for name, kind in columns.items():
            ET.SubElement(
                root, "key", id=f"{domain}_{name}", **{"for": domain, "attr.name": name, "attr.type": TYPES[kind]}
            )
    drawn = ET.SubElement(root, "graph", id=graph.game, edgedefault="directed")
    for node in graph.nodes:
        _data(ET.SubElement(drawn, "node", id=node.key), "node", {"label": node.label, **node_row(node)})
    for edge in graph.edges:
        line = ET.SubElement(drawn, "edge", source=edge.a, target=edge.b)
        _data(line, "edge", {"label": edge.type, **edge_row(edge)})
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True)


def _data(parent: ET.Element, domain: str, values: dict[str, object]) -> None:
    for name, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        ET.SubElement(parent, "data", key=f"{domain}_{name}").text = "".join(
            letter if letter >= " " or letter in "\n\t\r" else "�" for letter in text
        )
