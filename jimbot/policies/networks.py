"""Network architectures as plain data.

An architecture is a JSON-able dictionary made from a game's spec: it is stored in every checkpoint, so a file alone is
enough to rebuild the policy. `forward` is the function itself; `jax_networks` computes it for learning and `onnx_form`
writes it with the mask inside, for everything after training. Neither needs the other.

Kinds
- `mlp`: the whole observation through plain dense layers.
- `items`: for games whose moves are about things on the table; see `items`.
- `doubles`: for battles of two slots a side; see `doubles`.
- `board`: for games with a board seen from a figure on it; what it makes of the board is in `board`.
- `towers`: separate layers for policy and value over the plain observation.
- `fields`: the same over an encoded observation: ids embedded, one shared encoder per group of cards.
- `BalatroNet`: encoders of fixed sizes for Balatro's cards and jokers; see `balatro_net`.

The last three are programs of named steps (`network_program`). Any other name is a plug-in's (`own_networks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from jimbot.errors import CheckpointError, SettingsError, UnknownNameError
from jimbot.games.spec import BoardView, Field, GameSpec
from jimbot.policies import doubles, items, network_program, own_networks
from jimbot.policies.own_networks import OWN

KINDS = ("mlp", "board", "items", "doubles", "towers", "fields", "BalatroNet")
_FROM_THINGS = {"items": items, "doubles": doubles}
"""Kinds whose actions are built from things on the table."""
# How the names of parameters begin that only one of the two heads uses.
_POLICY_ONLY = ("policy", "actor", "query", "left_", "right_", "gate_", "actions.")
_VALUE_ONLY = ("value", "critic")
OFF, FIXED, TRAINABLE = GRAPH_CHOICES = ("off", "fixed", "trainable")
GRAPH_TABLES = {"items": items.GRAPH_TABLE, "BalatroNet": network_program.JOKER_GRAPH_TABLE}
"""The parameter that holds the rows of the knowledge graph, by kind."""
GRAPH_WIDTH = 128
GRAPH_VERSION = 1
"""Of the way rows are made from a graph and used; it changes with either."""
DEFAULT_WIDTH = {"mlp": 256, "board": 128, "items": 192, "doubles": 256}


def describe_network(
    spec: GameSpec,
    kind: str = "auto",
    hidden_dim: int = 0,
    num_layers: int = 2,
    policy_layers: Sequence[int] = (256, 256),
    value_layers: Sequence[int] = (256, 256),
    features_dim: int = 512,
    action_values: bool = False,
    normalize: bool = False,
    duelling: bool = False,
    memgraph_embedding_dim: int = 0,
    graph_embeddings: str = OFF,
) -> dict[str, Any]:
    """The architecture for a game: `auto` takes `board` or `items` where the game has them, else `mlp`.

    `hidden_dim` (0: the kind's own default width) and `num_layers` are of mlp, board and items, the layer lists and
    `features_dim` of towers and fields. `action_values`: the policy's numbers are values of actions (DQN), the best
    legal one is the value; `duelling`: they are advantages over the value, with mean 0 over the legal ones. `normalize`
    puts a shift and scale of the observation before everything else. `graph_embeddings` (off, fixed, trainable) gives
    things a row of `memgraph_embedding_dim` numbers (0: 128) from the knowledge graph, in `items` and `BalatroNet`;
    without it those of BalatroNet begin by chance.
    """
    board = next((field for field in spec.observation.fields if field.board), None)
    if kind == "auto":
        kind = "board" if board else "doubles" if doubles.suits(spec) else "items" if items.suits(spec) else "mlp"
    own = None if kind in KINDS else own_networks.describe(spec, kind, KINDS)
    if num_layers < 1 or hidden_dim < 0:
        raise SettingsError(f"A network of {num_layers} layers of {hidden_dim}; expected at least 1 layer.")
    graph = _describe_graph(spec, kind, memgraph_embedding_dim, graph_embeddings)
    if graph:
        memgraph_embedding_dim = graph["shape"][1]
    network: dict[str, Any] = {
        "kind": kind,
        "observation_size": spec.observation.size,
        "num_actions": spec.actions.size,
        **(own or _layers(
            spec, kind, hidden_dim, num_layers, policy_layers, () if action_values else value_layers, features_dim,
            memgraph_embedding_dim, graph_embeddings == FIXED,
        )),
    }  # fmt: skip
    if graph:
        network["graph"] = graph
    if action_values:
        network["action_values"] = True
        if duelling:
            network["duelling"] = True
    if normalize:
        network["normalize"] = True
    if kind == "board":
        if board is None or board.board is None:
            raise SettingsError(f"Network 'board' needs a game with a board; '{spec.id}' has none. Use --network mlp.")
        network["board"] = _describe_board(spec, board, board.board)
    if kind == "doubles":
        if not doubles.suits(spec):
            raise SettingsError(f"Network 'doubles' is for joint orders of two slots; '{spec.id}' has none.")
        network["doubles"] = doubles.describe(spec)
    if kind == "items":
        if not items.suits(spec):
            raise SettingsError(f"Network 'items' needs a game with items; '{spec.id}' has none. Use --network mlp.")
        network["items"] = items.describe(spec)
    return network


def _layers(
    spec: GameSpec,
    kind: str,
    hidden_dim: int,
    num_layers: int,
    policy_layers: Sequence[int],
    value_layers: Sequence[int],
    features_dim: int,
    memgraph_embedding_dim: int,
    fixed: bool,
) -> dict[str, Any]:
    """`hidden` of every kind, and the `steps` of those that are programs."""
    if kind in DEFAULT_WIDTH:
        return {"hidden": [hidden_dim or DEFAULT_WIDTH[kind]] * num_layers}
    if kind == "BalatroNet":
        from jimbot.policies.balatro_net import SHARED, balatro_net

        return {"hidden": list(SHARED), "steps": balatro_net(spec, memgraph_embedding_dim, fixed)}
    encoded = features_dim if kind == "fields" else 0
    return {
        "hidden": [features_dim, *policy_layers] if encoded else list(policy_layers),
        "steps": network_program.towers(spec, policy_layers, value_layers, encoded),
    }


def _describe_graph(spec: GameSpec, kind: str, dim: int, choice: str) -> dict[str, Any]:
    """Which table holds what the knowledge graph says; nothing where the graph is not asked."""
    if choice == OFF:
        return {}
    if choice not in GRAPH_CHOICES:
        raise UnknownNameError("graph_embeddings", choice, GRAPH_CHOICES)
    vocabulary = items.graph_vocabulary(spec)
    if kind not in GRAPH_TABLES or not vocabulary:
        known = " and ".join(GRAPH_TABLES)
        raise SettingsError(
            f"graph_embeddings is {choice}, which networks {known} of games with a graph can use; not {kind}."
        )
    ids = next(field.ids for field in spec.observation.fields if field.vocabulary == vocabulary)
    return {
        "version": GRAPH_VERSION, "table": GRAPH_TABLES[kind], "vocabulary": vocabulary,
        "shape": [ids, dim or GRAPH_WIDTH], "trainable": choice == TRAINABLE,
    }  # fmt: skip


def continuous_entries(spec: GameSpec) -> np.ndarray:
    """(D,) bool: entries of the observation that may be shifted and scaled.

    Ids are names, not amounts, and the board network reads cells and the viewer's position as they are.
    """
    entries = np.ones(spec.observation.size, bool)
    for field in spec.observation.fields:
        if field.ids or field.board:
            entries[spec.observation.span(field.name)] = False
        if field.board:
            for name, index in (field.board.row, field.board.col):
                entries[spec.observation.offsets[name] + index] = False
    return entries


def _describe_board(spec: GameSpec, field: Field, view: BoardView) -> dict[str, Any]:
    rows, cols, channels = field.shape
    offsets = spec.observation.offsets
    return {
        "offset": offsets[field.name],
        "rows": rows,
        "cols": cols,
        "channels": channels,
        "row_at": offsets[view.row[0]] + view.row[1],
        "col_at": offsets[view.col[0]] + view.col[1],
        "one_hot": [list(group) for group in view.one_hot],
        "opaque": list(view.opaque),
        "walls": list(view.walls),
        "goals": list(view.goals),
    }


def feature_size(network: Mapping[str, Any]) -> int:
    """Width of what the first dense layer sees."""
    if network["kind"] != "board":
        return network["observation_size"]
    from jimbot.policies import board

    return board.feature_size(network)


def layer_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of every dense layer, in order; parameters are `<layer>.weight` and `<layer>.bias`."""
    if OWN in network:
        return {}
    if "steps" in network:
        return network_program.layer_shapes(network["steps"])
    if network["kind"] in _FROM_THINGS:
        return _FROM_THINGS[network["kind"]].layer_shapes(network)
    widths = [feature_size(network), *network["hidden"]]
    shapes = {f"trunk_{i}": (widths[i], widths[i + 1]) for i in range(len(widths) - 1)}
    return {**shapes, "policy": (widths[-1], network["num_actions"]), "value": (widths[-1], 1)}


GAINS = {"policy": 0.01, "query": 0.01, "gate": 0.01, "value": 1.0}
"""How large a layer's first weights are, by the first word of its name; √2 for the others."""

INITIAL = {"normalize.mean": 0.0, "normalize.scale": 1.0, "normalize.limit": np.inf}
"""Parameters of normalisation, one number per entry of the observation: clip((x - mean) * scale, -limit, limit). No
gradient reaches them; they begin with these values, which change nothing."""


def param_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter."""
    shapes: dict[str, tuple[int, ...]] = {name: tuple(shape) for name, shape in _own_shapes(network).items()}
    for layer, (inputs, outputs) in layer_shapes(network).items():
        shapes[f"{layer}.weight"] = (inputs, outputs)
        shapes[f"{layer}.bias"] = (outputs,)
    if network["kind"] in _FROM_THINGS:
        tables = _FROM_THINGS[network["kind"]].table_shapes(network)
        shapes |= {**tables, "actions.bias": (network["num_actions"],)}
    if "steps" in network:
        shapes |= network_program.table_shapes(network["steps"])
    if network.get("normalize"):
        shapes |= dict.fromkeys(INITIAL, (network["observation_size"],))
    return shapes


def _own_shapes(network: Mapping[str, Any]) -> Mapping[str, Any]:
    return network[OWN]["params"] if OWN in network else {}


def part_of(parameter: str) -> Literal["trunk", "policy", "value"]:
    """The part of a network a parameter belongs to: what both heads share, or one of the heads.

    >>> [part_of(name) for name in ("trunk_0.weight", "table_cards", "query.weight", "policy.bias", "value.bias")]
    ['trunk', 'trunk', 'policy', 'policy', 'value']
    """
    if parameter.startswith(_VALUE_ONLY):
        return "value"
    return "policy" if parameter.startswith(_POLICY_ONLY) else "trunk"


def forward_flops(network: Mapping[str, Any]) -> int:
    """Floating-point operations of the matrix products for one observation."""
    if OWN in network:
        return own_networks.flops(network)
    if network["kind"] in _FROM_THINGS:
        return _FROM_THINGS[network["kind"]].forward_flops(network)
    if "steps" in network:
        return 2 * sum(network_program.products(network["steps"]))
    return sum(2 * inputs * outputs for inputs, outputs in layer_shapes(network).values())


def train_flops(network: Mapping[str, Any]) -> int:
    """The same for one forward and backward pass; what comes straight from the observation needs no gradient."""
    if OWN in network:
        return 3 * own_networks.flops(network)
    if network["kind"] in _FROM_THINGS:
        kind = _FROM_THINGS[network["kind"]]
        return 3 * kind.forward_flops(network) - kind.input_flops(network)
    if "steps" in network:
        return 6 * sum(network_program.products(network["steps"]))
    first, *others = layer_shapes(network).values()
    return 4 * first[0] * first[1] + sum(6 * inputs * outputs for inputs, outputs in others)


def check_params(network: Mapping[str, Any], params: Mapping[str, np.ndarray]) -> None:
    """Raises one clear sentence unless `params` are exactly those of this network."""
    for name, shape in param_shapes(network).items():
        found = params[name].shape if name in params else None
        if found != shape:
            have = f"has shape {found}" if found else "is missing"
            raise CheckpointError(f"Parameter '{name}' {have}; the network expects {shape}. It is of another net.")
        limits = name == "normalize.limit"  # infinite where an input is not cut off
        if params[name].dtype.kind != "f" or not (np.isfinite(params[name]) | (limits & ~np.isnan(params[name]))).all():
            raise CheckpointError(
                f"Parameter '{name}' holds values that are not finite numbers; its training went wrong or the file was "
                "changed. Use an earlier checkpoint."
            )
