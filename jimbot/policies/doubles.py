"""The `doubles` network: for battles in which two slots each choose a move and a target, a switch or nothing.

Every Pokémon becomes a vector by one shared encoder (ids embedded, its four moves encoded by another one), so what is
learned about a move or an item holds for every team. The trunk sees the active ones, the sums of both teams and the
rest of the observation. A slot's codes are built from what they are about: a move's logit from the move, what it is
aimed at, and the damage it would do there; a switch's from the Pokémon coming in. The joint order of both slots adds
the two and a low-rank product of what they do together (both on the same foe, one protects while the other attacks):

    logit(a, b) = slot_a(a) + slot_b(b) + ⟨pair(a), gate · pair(b)⟩

One softmax over all legal pairs is then exactly "slot a, then slot b given a", with the exact pair mask, and the same
masked arithmetic as in every other game. Both slots share their weights. A preview is built from the four Pokémon it
brings: two leads, their pair, two behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np

from jimbot.games.spec import GameSpec
from jimbot.policies import items
from jimbot.policies.layers import dense

WIDTH, SLOT_WIDTH, RANK = 64, 128, 16
OWN, FOE, ROWS = 6, 6, 12  # own Pokémon come first; the first two of each side are on the field
MOVES, PLACES, COLUMNS = 4, 4, 5
CODES = MOVES * 2 * COLUMNS + PLACES + 1
PREVIEWS = tuple(p for p in permutations(range(OWN), 4) if p[0] < p[1] and p[2] < p[3])
TABLES = {"table_untargeted": (1, WIDTH), "table_gimmick": (2, RANK), "table_pass": (1, RANK)}
_ROWS_FIELD, _MOVE = "pokemon", "move_"


def suits(spec: GameSpec) -> bool:
    """Whether a game's actions are joint orders and previews."""
    return [(b.name, len(b.labels)) for b in spec.actions.blocks] == [("order", CODES**2), ("preview", len(PREVIEWS))]


def describe(spec: GameSpec) -> dict[str, Any]:
    """Where everything lies in the observation."""
    fields, offsets = spec.observation.fields, spec.observation.offsets
    of_rows = [field for field in fields if field.items == _ROWS_FIELD]
    moves = [[f for f in of_rows if f.name.startswith(f"{_MOVE}{number}")] for number in range(1, MOVES + 1)]
    pokemon = [field for field in of_rows if not field.name.startswith(_MOVE)]
    per_slot = [(name, spec.observation[name].size // 2) for name in ("slot", "damage", "outspeeds")]
    per_own = [(name, spec.observation[name].size // OWN) for name in ("matchup", "matchup_threat")]
    return {
        "tables": {items.table_of(f): f.ids for f in of_rows if f.ids > items.EMBEDDED_ABOVE},
        "pokemon": items.group_of(pokemon, offsets),
        "moves": [items.group_of(group, offsets) for group in moves],
        "loose": items.group_of([field for field in fields if field.items != _ROWS_FIELD], offsets),
        "per_slot": [[offsets[name], size] for name, size in per_slot],
        "per_own": [[offsets[name], size] for name, size in per_own],
        "damage": offsets["damage"],
    }


# --- shapes ---


def layer_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of every dense layer."""
    d, hidden = network["doubles"], network["hidden"]
    widths = [items.encoded_size(d["loose"]) + 6 * WIDTH, *hidden]
    slot = hidden[-1] + 2 * WIDTH + sum(size for _, size in d["per_slot"])
    return {
        "move": (items.encoded_size(d["moves"][0]), WIDTH),
        "pokemon": (items.encoded_size(d["pokemon"]), WIDTH),
        "moveset": (MOVES * WIDTH, WIDTH),
        "deeper": (WIDTH, WIDTH),
        **{f"trunk_{i}": (widths[i], widths[i + 1]) for i in range(len(hidden))},
        "actor_slot": (slot, SLOT_WIDTH),
        "policy_move": (SLOT_WIDTH, WIDTH),
        "policy_gimmick": (SLOT_WIDTH, WIDTH),
        "policy_switch": (SLOT_WIDTH, WIDTH),
        "policy_pass": (SLOT_WIDTH, 1),
        "policy_damage": (SLOT_WIDTH, COLUMNS),
        "left_aim": (WIDTH, RANK),
        "right_aim": (WIDTH, RANK),
        "gate_aim": (SLOT_WIDTH, RANK),
        "left_pair": (WIDTH, RANK),
        "right_pair": (WIDTH, RANK),
        "gate_pair": (hidden[-1], RANK),
        "actor_preview": (WIDTH + sum(size for _, size in d["per_own"]), WIDTH),
        "policy_lead": (hidden[-1], WIDTH),
        "policy_back": (hidden[-1], WIDTH),
        "left_lead": (WIDTH, RANK),
        "right_lead": (WIDTH, RANK),
        "gate_lead": (hidden[-1], RANK),
        "value": (hidden[-1], 1),
    }


_TIMES = {
    "move": ROWS * MOVES, "pokemon": ROWS, "moveset": ROWS, "deeper": ROWS, "actor_slot": 2, "policy_move": 2,
    "policy_gimmick": 2, "policy_switch": 2, "policy_pass": 2, "policy_damage": 2, "left_aim": 2 * MOVES,
    "right_aim": 2 * COLUMNS, "gate_aim": 2, "left_pair": 2 * (MOVES + PLACES), "right_pair": 2 * COLUMNS,
    "actor_preview": OWN, "left_lead": OWN, "right_lead": OWN,
}  # fmt: skip
"""How often a layer runs for one observation, where more than once."""


def table_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(entries, width) of every embedding."""
    wide = {f"table_{name}": (count, WIDTH) for name, count in network["doubles"]["tables"].items()}
    return {**wide, **TABLES}


def forward_flops(network: Mapping[str, Any]) -> int:
    """Floating-point operations of the matrix products for one observation."""
    layers = sum(2 * _TIMES.get(name, 1) * a * b for name, (a, b) in layer_shapes(network).items())
    return layers + 2 * RANK * (CODES * CODES + 2 * MOVES * COLUMNS + OWN * OWN) + 2 * 3 * OWN * len(PREVIEWS)


def input_flops(network: Mapping[str, Any]) -> int:
    """Of these, the products with what comes straight from the observation."""
    d, shapes = network["doubles"], layer_shapes(network)
    per_item = sum(2 * _TIMES[name] * shapes[name][0] * shapes[name][1] for name in ("move", "pokemon"))
    return per_item + 2 * items.encoded_size(d["loose"]) * network["hidden"][0]


# --- the function ---


def outputs(ops: Any, network: Mapping[str, Any], params: Mapping[str, Any], observation: Any) -> tuple[Any, Any]:
    """(N, D) observation → ((N, A) logits before masking, (N, 1) value), in the arithmetic of `ops`."""
    d = network["doubles"]
    moves = [ops.relu(items.encode(ops, params, "move", group, WIDTH, observation)) for group in d["moves"]]
    pokemon = _pokemon(ops, params, d, moves, observation)
    hidden = _trunk(ops, network, params, pokemon, observation)
    own, foes = ops.columns(pokemon, 0, 2), ops.columns(pokemon, OWN, OWN + 2)
    untargeted = ops.lookup(params["table_untargeted"], ops.to_index(ops.columns(observation, 0, 1) * 0.0))
    # In the order of the target columns: own slot b, own slot a, nothing, foe a, foe b.
    aims = ops.concat([ops.columns(own, 1, 2), ops.columns(own, 0, 1), untargeted, foes], axis=1)
    slots = [_slot(ops, params, d, slot, hidden, pokemon, moves, aims, observation) for slot in range(2)]
    (logits_a, pair_a), (logits_b, pair_b) = slots
    gate = ops.reshape(dense(params, "gate_pair", hidden), (-1, 1, RANK))
    joint = ops.reshape(logits_a, (-1, CODES, 1)) + ops.reshape(logits_b, (-1, 1, CODES))
    joint = joint + (pair_a * gate) @ ops.swapped(pair_b)
    orders = ops.reshape(joint, (-1, CODES * CODES))
    previews = _previews(ops, params, d, hidden, pokemon, observation)
    return ops.concat([orders, previews]) + params["actions.bias"], dense(params, "value", hidden)


def _pokemon(ops: Any, params: Mapping[str, Any], d: Mapping[str, Any], moves: list[Any], observation: Any) -> Any:
    """(N, rows, width)"""
    told = items.encode(ops, params, "pokemon", d["pokemon"], WIDTH, observation)
    told = told + dense(params, "moveset", ops.concat(moves))
    return ops.relu(dense(params, "deeper", ops.relu(told)))


def _trunk(ops: Any, network: Mapping[str, Any], params: Mapping[str, Any], pokemon: Any, observation: Any) -> Any:
    loose = network["doubles"]["loose"]
    own, foe = ops.columns(pokemon, 0, OWN), ops.columns(pokemon, OWN, ROWS)
    hidden = ops.concat([
        ops.reshape(ops.concat(items.expanded(ops, loose, observation)), (-1, items.encoded_size(loose))),
        ops.reshape(ops.columns(own, 0, 2), (-1, 2 * WIDTH)),
        ops.reshape(ops.columns(foe, 0, 2), (-1, 2 * WIDTH)),
        ops.sum_over(own, 1),
        ops.sum_over(foe, 1),
    ])  # fmt: skip
    for layer in range(len(network["hidden"])):
        hidden = ops.relu(dense(params, f"trunk_{layer}", hidden))
    return hidden


def _slot(
    ops: Any,
    params: Mapping[str, Any],
    d: Mapping[str, Any],
    slot: int,
    hidden: Any,
    pokemon: Any,
    moves: list[Any],
    aims: Any,
    observation: Any,
) -> tuple[Any, Any]:
    """((N, codes) logits of a slot, (N, codes, rank) what each code means to the other slot)"""
    who, partner = (ops.reshape(ops.columns(pokemon, s, s + 1), (-1, WIDTH)) for s in (slot, 1 - slot))
    told = [ops.columns(observation, at + slot * size, at + (slot + 1) * size) for at, size in d["per_slot"]]
    context = ops.relu(dense(params, "actor_slot", ops.concat([hidden, who, partner, *told])))
    known = ops.concat([ops.columns(move, slot, slot + 1) for move in moves], axis=1)  # (N, 4, width)
    bench = ops.columns(pokemon, 0, PLACES)

    def asked(layer: str, things: Any) -> Any:
        query = ops.reshape(dense(params, layer, context), (-1, 1, WIDTH))
        return ops.sum_over(things * query, 2)

    gate = ops.reshape(dense(params, "gate_aim", context), (-1, 1, RANK))
    aimed = (dense(params, "left_aim", known) * gate) @ ops.swapped(dense(params, "right_aim", aims))
    per_move = MOVES * 3
    damage = ops.columns(observation, d["damage"] + slot * per_move, d["damage"] + (slot + 1) * per_move)
    hurt = ops.reshape(damage, (-1, MOVES, 3)) @ ops.constant(_damage_columns(slot))
    weight = ops.reshape(dense(params, "policy_damage", context), (-1, 1, COLUMNS))
    plain = ops.reshape(asked("policy_move", known), (-1, MOVES, 1)) + aimed + hurt * weight
    gimmick = plain + ops.reshape(asked("policy_gimmick", known), (-1, MOVES, 1))
    both = ops.concat([ops.reshape(kind, (-1, MOVES, 1, COLUMNS)) for kind in (plain, gimmick)], axis=2)
    logits = [ops.reshape(both, (-1, MOVES * 2 * COLUMNS)), asked("policy_switch", bench)]
    logits.append(dense(params, "policy_pass", context))

    doing = ops.reshape(dense(params, "left_pair", known), (-1, MOVES, 1, 1, RANK))
    at = ops.reshape(dense(params, "right_pair", aims), (-1, 1, 1, COLUMNS, RANK))
    how = ops.reshape(params["table_gimmick"], (1, 1, 2, 1, RANK))
    nothing = ops.lookup(params["table_pass"], ops.to_index(ops.columns(observation, 0, 1) * 0.0))
    pair = [
        ops.reshape(doing + at + how, (-1, MOVES * 2 * COLUMNS, RANK)),
        dense(params, "left_pair", bench),
        nothing,
    ]
    return ops.concat(logits), ops.concat(pair, axis=1)


def _previews(
    ops: Any, params: Mapping[str, Any], d: Mapping[str, Any], hidden: Any, pokemon: Any, observation: Any
) -> Any:
    told = [ops.reshape(ops.columns(observation, at, at + OWN * size), (-1, OWN, size)) for at, size in d["per_own"]]
    team = ops.relu(dense(params, "actor_preview", ops.concat([ops.columns(pokemon, 0, OWN), *told])))

    def asked(layer: str) -> Any:
        return ops.sum_over(team * ops.reshape(dense(params, layer, hidden), (-1, 1, WIDTH)), 2)

    gate = ops.reshape(dense(params, "gate_lead", hidden), (-1, 1, RANK))
    pairs = (dense(params, "left_lead", team) * gate) @ ops.swapped(dense(params, "right_lead", team))
    scores = ops.concat([asked("policy_lead"), asked("policy_back"), ops.reshape(pairs, (-1, OWN * OWN))])
    return scores @ ops.constant(_preview_incidence())


def _damage_columns(slot: int) -> np.ndarray:
    """(3, 5): damage to foe a, foe b and the partner under the target columns; the partner's depends on the slot."""
    table = np.zeros((3, COLUMNS), np.float32)
    table[0, 3] = table[1, 4] = table[2, slot] = 1
    table[:2, 2] = 0.75, 0.75  # a spread move hits both foes, each a little weaker
    return table


def _preview_incidence() -> np.ndarray:
    """(leads + backs + lead pairs, previews): 1 where a preview has it."""
    table = np.zeros((2 * OWN + OWN * OWN, len(PREVIEWS)), np.float32)
    for number, (lead, second, *back) in enumerate(PREVIEWS):
        table[[lead, second], number] = 1
        table[[OWN + place for place in back], number] = 1
        table[2 * OWN + lead * OWN + second, number] = 1
    return table
