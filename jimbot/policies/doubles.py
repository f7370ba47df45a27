"""The `doubles` network: for battles in which two slots each choose a move and a target, a switch or nothing.

Every Pokémon becomes a vector by one shared encoder (ids embedded, its four moves encoded by another one, and what it
and each opponent would do to each other), so what is learned about a move holds for every team. The trunk sees
the active ones, the sums of both teams and the rest of the observation.

A slot's codes are judged by what they are about, all by the same small net: a move aimed somewhere by the move, its
target, the slot's situation and what the hit would do (the damage, how much of it counts, whether it knocks out); a
switch by the Pokémon coming in and how it would stand. The joint order of both slots adds the two, a low-rank product
of what they do together (one protects while the other attacks), and whether they knock out together what neither does
alone, or both what one would have:

    logit(a, b) = slot_a(a) + slot_b(b) + ⟨pair(a), gate · pair(b)⟩ + together(a, b)

One softmax over all legal pairs is then exactly "slot a, then slot b given a", with the exact pair mask, and the same
masked arithmetic as in every other game. Both slots share their weights. A preview is built from the four Pokémon it
brings: two leads, their pair, two behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np

from jimbot.games.spec import GameSpec
from jimbot.policies import items
from jimbot.policies.layers import dense

WIDTH, SLOT_WIDTH, CODE_WIDTH, RANK = 64, 128, 64, 16
EMBEDDING = 16  # the gradient of a lookup is dear: narrow tables, widened by the dense layer behind them
OWN, FOE, ROWS = 6, 6, 12  # own Pokémon come first; the first two of each side are on the field
MOVES, PLACES, COLUMNS = 4, 4, 5
AIMED = MOVES * 2 * COLUMNS
CODES = AIMED + PLACES + 1
PREVIEWS = tuple(p for p in permutations(range(OWN), 4) if p[0] < p[1] and p[2] < p[3])
FACTS = 3  # of a hit: see `_hits`
TABLES = {"table_untargeted": (1, WIDTH), "table_gimmick": (2, RANK), "table_pass": (1, RANK)}
_ROWS_FIELD, _MOVE = "pokemon", "move_"

VICTIMS: dict[str, tuple[int, ...]] = {
    "damage": tuple(row for slot in range(2) for _ in range(MOVES) for row in (OWN, OWN + 1, 1 - slot)),
    "threat": (0, 1) * (2 * MOVES),
    "matchup": tuple(range(OWN, ROWS)) * OWN,
    "matchup_threat": tuple(row for row in range(OWN) for _ in range(FOE)),
}
"""For every entry of the game's tables of expected damage the row of the Pokémon that would be hit."""


def suits(spec: GameSpec) -> bool:
    """Whether a game's actions are joint orders and previews."""
    return [(b.name, len(b.labels)) for b in spec.actions.blocks] == [("order", CODES**2), ("preview", len(PREVIEWS))]


def describe(spec: GameSpec) -> dict[str, Any]:
    """Where everything lies in the observation."""
    fields, offsets = spec.observation.fields, spec.observation.offsets
    of_rows = [field for field in fields if field.items == _ROWS_FIELD]
    moves = [[f for f in of_rows if f.name.startswith(f"{_MOVE}{number}")] for number in range(1, MOVES + 1)]
    pokemon = [field for field in of_rows if not field.name.startswith(_MOVE)]
    columns = spec.observation[_ROWS_FIELD].columns
    loose = [field for field in fields if field.items != _ROWS_FIELD]
    return {
        "tables": {items.table_of(f): f.ids for f in of_rows if f.ids > items.EMBEDDED_ABOVE},
        "pokemon": items.group_of(pokemon, offsets),
        "moves": [items.group_of(group, offsets) for group in moves],
        "loose": items.group_of(loose, offsets),
        "per_slot": [[offsets[name], spec.observation[name].size // 2] for name in ("slot", "outspeeds")],
        "estimates": {name: offsets[name] for name in VICTIMS},
        "hp": [offsets[_ROWS_FIELD] + row * len(columns) + columns.index("hp") for row in range(ROWS)],
    }


# --- shapes ---


def _known_size(group: Mapping[str, Any]) -> int:
    """Width of one thing before its encoder."""
    return items.encoded_size(group) + EMBEDDING * sum(columns for _, columns, _ in group["embedded"])


def layer_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of every dense layer."""
    d, hidden = network["doubles"], network["hidden"]
    seen = FACTS * (len(VICTIMS["damage"]) + len(VICTIMS["threat"]))
    widths = [items.encoded_size(d["loose"]) + seen + 6 * WIDTH, *hidden]
    slot = hidden[-1] + 2 * WIDTH + sum(size for _, size in d["per_slot"]) + seen + 2
    return {
        "move": (_known_size(d["moves"][0]), WIDTH),
        "pokemon": (_known_size(d["pokemon"]), WIDTH),
        "prospects": (2 * FACTS * FOE, WIDTH),
        "moveset": (MOVES * WIDTH, WIDTH),
        "deeper": (WIDTH, WIDTH),
        **{f"trunk_{i}": (widths[i], widths[i + 1]) for i in range(len(hidden))},
        "actor_slot": (slot, SLOT_WIDTH),
        "actor_situation": (SLOT_WIDTH, CODE_WIDTH),
        "actor_move": (WIDTH, CODE_WIDTH),
        "actor_aim": (WIDTH, CODE_WIDTH),
        "actor_hit": (2 * FACTS, CODE_WIDTH),
        "actor_switch": (WIDTH, CODE_WIDTH),
        "actor_standing": (2 * FACTS * 2, CODE_WIDTH),
        "policy_move": (CODE_WIDTH, 2),
        "policy_switch": (CODE_WIDTH, 1),
        "policy_pass": (SLOT_WIDTH, 1),
        "left_pair": (CODE_WIDTH, RANK),
        "gate_pair": (hidden[-1], RANK),
        "gate_together": (hidden[-1], 4),
        "actor_preview": (WIDTH + 2 * FOE, WIDTH),
        "policy_lead": (hidden[-1], WIDTH),
        "policy_back": (hidden[-1], WIDTH),
        "left_lead": (WIDTH, RANK),
        "right_lead": (WIDTH, RANK),
        "gate_lead": (hidden[-1], RANK),
        "value": (hidden[-1], 1),
    }


_TIMES = {
    "move": ROWS * MOVES, "pokemon": ROWS, "prospects": ROWS, "moveset": ROWS, "deeper": ROWS, "actor_slot": 2,
    "actor_situation": 2, "actor_move": 2 * MOVES, "actor_aim": 2 * COLUMNS, "actor_hit": AIMED,
    "actor_switch": 2 * PLACES, "actor_standing": 2 * PLACES, "policy_move": AIMED, "policy_switch": 2 * PLACES,
    "policy_pass": 2, "left_pair": AIMED + 2 * PLACES, "actor_preview": OWN, "left_lead": OWN, "right_lead": OWN,
}  # fmt: skip
"""How often a layer runs for one observation, where more than once."""


def table_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(entries, width) of every embedding."""
    return {f"table_{name}": (ids, EMBEDDING) for name, ids in network["doubles"]["tables"].items()} | TABLES


def forward_flops(network: Mapping[str, Any]) -> int:
    """Floating-point operations of the matrix products for one observation."""
    layers = sum(2 * _TIMES.get(name, 1) * a * b for name, (a, b) in layer_shapes(network).items())
    return layers + 2 * RANK * (CODES * CODES + OWN * OWN) + 2 * 3 * OWN * len(PREVIEWS)


def input_flops(network: Mapping[str, Any]) -> int:
    """Of these, the products with what comes straight from the observation."""
    shapes, loose = layer_shapes(network), items.encoded_size(network["doubles"]["loose"])
    plain = ("move", "pokemon", "prospects", "actor_hit", "actor_standing")
    per_item = sum(2 * _TIMES.get(name, 1) * shapes[name][0] * shapes[name][1] for name in plain)
    return per_item + 2 * loose * network["hidden"][0]


# --- the function ---

Hits = Mapping[str, list[Any]]


def features(ops: Any, network: Mapping[str, Any], seen: Any, observation: Any) -> Any:
    """(N, F): what is seen and, where that is normalised, damage and HP as they are.

    Facts compare the two, and each entry is scaled by itself: of normalised numbers one in five was wrong.
    """
    if not network.get("normalize"):
        return seen
    d = network["doubles"]
    estimates = [at + entry for name, at in d["estimates"].items() for entry in range(len(VICTIMS[name]))]
    return ops.concat([seen, ops.take(observation, [*estimates, *d["hp"]])])


def _places(network: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description, with `estimates` and `hp` where facts read them: see `features`."""
    d = network["doubles"]
    if not network.get("normalize"):
        return d
    at, estimates = network["observation_size"], {}
    for name in d["estimates"]:
        estimates[name] = at
        at += len(VICTIMS[name])
    return {**d, "estimates": estimates, "hp": list(range(at, at + ROWS))}


def outputs(ops: Any, network: Mapping[str, Any], params: Mapping[str, Any], observation: Any) -> tuple[Any, Any]:
    """(N, F) features → ((N, A) logits before masking, (N, 1) value), in the arithmetic of `ops`."""
    d = _places(network)
    hits = {name: _hits(ops, d, name, observation) for name in VICTIMS}
    moves = [ops.relu(dense(params, "move", _known(ops, params, group, observation))) for group in d["moves"]]
    pokemon = _pokemon(ops, params, d, moves, hits, observation)
    hidden = _trunk(ops, network, params, pokemon, hits, observation)
    own, foes = ops.columns(pokemon, 0, 2), ops.columns(pokemon, OWN, OWN + 2)
    untargeted = ops.lookup(params["table_untargeted"], _zero(ops, observation))
    # In the order of the target columns: own slot b, own slot a, nothing, foe a, foe b.
    aims = ops.concat([ops.columns(own, 1, 2), ops.columns(own, 0, 1), untargeted, foes], axis=1)
    slots = [_slot(ops, params, d, slot, hidden, pokemon, moves, aims, hits, observation) for slot in range(2)]
    (logits_a, pair_a), (logits_b, pair_b) = slots
    gate = ops.reshape(dense(params, "gate_pair", hidden), (-1, 1, RANK))
    joint = ops.reshape(logits_a, (-1, CODES, 1)) + ops.reshape(logits_b, (-1, 1, CODES))
    joint = joint + (pair_a * gate) @ ops.swapped(pair_b)
    joint = joint + _together(ops, d, dense(params, "gate_together", hidden), hits, observation)
    orders = ops.reshape(joint, (-1, CODES * CODES))
    previews = _previews(ops, params, hidden, pokemon, hits)
    return ops.concat([orders, previews]) + params["actions.bias"], dense(params, "value", hidden)


def _zero(ops: Any, observation: Any) -> Any:
    """(N, 1) the index 0, as often as there are rows."""
    return ops.to_index(ops.columns(observation, 0, 1) * 0.0)


def _knocks_out(ops: Any, damage: Any, hp: Any) -> Any:
    return ops.above_zero(damage - hp + 0.005) * ops.above_zero(hp)


def _hits(ops: Any, d: Mapping[str, Any], name: str, observation: Any) -> list[Any]:
    """Of every entry of a table of expected damage (N, entries): the damage, what of it counts, a knock-out or not."""
    victims, at = VICTIMS[name], d["estimates"][name]
    damage = ops.columns(observation, at, at + len(victims))
    hp = ops.take(observation, [d["hp"][row] for row in victims])
    return [damage, damage - ops.relu(damage - hp), _knocks_out(ops, damage, hp)]


def _known(ops: Any, params: Mapping[str, Any], group: Mapping[str, Any], observation: Any) -> Any:
    """(N, rows, …): all that the observation tells about each thing of a group."""
    rows, parts = group["rows"], items.expanded(ops, group, observation)
    for offset, columns, table in group["embedded"]:
        ids = ops.to_index(ops.columns(observation, offset, offset + rows * columns))
        parts.append(ops.reshape(ops.lookup(params[f"table_{table}"], ids), (-1, rows, columns * EMBEDDING)))
    return ops.concat(parts)


def _pokemon(
    ops: Any, params: Mapping[str, Any], d: Mapping[str, Any], moves: list[Any], hits: Hits, observation: Any
) -> Any:
    """(N, rows, width)"""
    dealt, taken = (
        [ops.reshape(fact, (-1, OWN, FOE)) for fact in hits[name]] for name in ("matchup", "matchup_threat")
    )
    opponents = [ops.swapped(fact) for fact in (*taken, *dealt)]  # what an opponent deals is what we take
    prospects = ops.concat([ops.concat([*dealt, *taken]), ops.concat(opponents)], axis=1)
    hidden = dense(params, "pokemon", _known(ops, params, d["pokemon"], observation))
    hidden = hidden + dense(params, "prospects", prospects) + dense(params, "moveset", ops.concat(moves))
    return ops.relu(dense(params, "deeper", ops.relu(hidden)))


def _trunk(
    ops: Any, network: Mapping[str, Any], params: Mapping[str, Any], pokemon: Any, hits: Hits, observation: Any
) -> Any:
    loose = network["doubles"]["loose"]
    own, foe = ops.columns(pokemon, 0, OWN), ops.columns(pokemon, OWN, ROWS)
    hidden = ops.concat([
        ops.reshape(ops.concat(items.expanded(ops, loose, observation)), (-1, items.encoded_size(loose))),
        *hits["damage"],
        *hits["threat"],
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
    hits: Hits,
    observation: Any,
) -> tuple[Any, Any]:
    """((N, codes) logits of a slot, (N, codes, rank) what each code means to the other slot)"""
    who, partner = (ops.reshape(ops.columns(pokemon, s, s + 1), (-1, WIDTH)) for s in (slot, 1 - slot))
    own = [ops.columns(observation, at + slot * size, at + (slot + 1) * size) for at, size in d["per_slot"]]
    doing = [_of_slot(ops, fact, s, "damage") for s in (slot, 1 - slot) for fact in hits["damage"]]
    suffering = [_of_slot(ops, fact, s, "threat") for s in (slot, 1 - slot) for fact in hits["threat"]]
    worst = [ops.maximum_over(suffering[at], 1) for at in (0, FACTS)]
    seen = ops.concat([hidden, who, partner, *own, *doing, *suffering, *worst])
    context = ops.relu(dense(params, "actor_slot", seen))
    situation = ops.reshape(dense(params, "actor_situation", context), (-1, 1, CODE_WIDTH))

    known = ops.concat([ops.columns(move, slot, slot + 1) for move in moves], axis=1)  # (N, moves, width)
    aimed = ops.concat(doing[:FACTS]) @ ops.constant(_aims(slot))
    code = ops.reshape(dense(params, "actor_move", known) + situation, (-1, MOVES, 1, CODE_WIDTH))
    code = code + ops.reshape(dense(params, "actor_aim", aims), (-1, 1, COLUMNS, CODE_WIDTH))
    code = code + dense(params, "actor_hit", ops.reshape(aimed, (-1, MOVES, COLUMNS, 2 * FACTS)))
    code = ops.relu(code)
    scores = ops.swapped(ops.reshape(dense(params, "policy_move", code), (-1, MOVES * COLUMNS, 2)))
    plain, gimmick = (ops.reshape(ops.columns(scores, i, i + 1), (-1, MOVES, 1, COLUMNS)) for i in range(2))

    bench = ops.columns(pokemon, 0, PLACES)
    standing = [
        ops.reshape(ops.take(f, _STANDING), (-1, PLACES, 2)) for f in (*hits["matchup"], *hits["matchup_threat"])
    ]
    coming = dense(params, "actor_switch", bench) + dense(params, "actor_standing", ops.concat(standing)) + situation
    coming = ops.relu(coming)
    logits = [
        ops.reshape(ops.concat([plain, plain + gimmick], axis=2), (-1, AIMED)),
        ops.reshape(dense(params, "policy_switch", coming), (-1, PLACES)),
        dense(params, "policy_pass", context),
    ]
    how = ops.reshape(params["table_gimmick"], (1, 1, 2, 1, RANK))
    pair = [
        ops.reshape(
            ops.reshape(dense(params, "left_pair", code), (-1, MOVES, 1, COLUMNS, RANK)) + how, (-1, AIMED, RANK)
        ),
        dense(params, "left_pair", coming),
        ops.lookup(params["table_pass"], _zero(ops, observation)),
    ]
    return ops.concat(logits), ops.concat(pair, axis=1)


def _of_slot(ops: Any, fact: Any, slot: int, table: str) -> Any:
    """The entries of a fact that are about an own slot: what it does, or what it suffers."""
    half = len(VICTIMS[table]) // 2
    return ops.columns(fact, slot * half, (slot + 1) * half) if table == "damage" else ops.take(fact, _THREATS[slot])


def _together(ops: Any, d: Mapping[str, Any], weights: Any, hits: Hits, observation: Any) -> Any:
    """(N, codes, codes): knock-outs of two hits where neither hit is enough, and of two where either is; by weights."""
    damage = [ops.reshape(_of_slot(ops, hits["damage"][0], slot, "damage"), (-1, MOVES, 3)) for slot in range(2)]
    worth = []
    for foe in range(2):
        hp = ops.reshape(ops.take(observation, [d["hp"][OWN + foe]]), (-1, 1, 1))
        a, b = ops.take(damage[0], [foe]), ops.swapped(ops.take(damage[1], [foe]))  # (N, moves, 1) and (N, 1, moves)
        gain = _knocks_out(ops, a + b, hp) - _knocks_out(ops, a, hp) - _knocks_out(ops, b, hp)
        only, twice = (ops.reshape(ops.columns(weights, at, at + 1), (-1, 1, 1)) for at in (foe, 2 + foe))
        worth.append((ops.relu(gain) * only + ops.relu(gain * -1.0) * twice) @ ops.constant(_striking(foe).T))
    return ops.constant(np.concatenate([_striking(foe) for foe in range(2)], axis=1)) @ ops.concat(worth, axis=1)


def _previews(ops: Any, params: Mapping[str, Any], hidden: Any, pokemon: Any, hits: Hits) -> Any:
    matchups = [ops.reshape(hits[name][0], (-1, OWN, FOE)) for name in ("matchup", "matchup_threat")]
    team = ops.relu(dense(params, "actor_preview", ops.concat([ops.columns(pokemon, 0, OWN), *matchups])))

    def asked(layer: str) -> Any:
        return ops.sum_over(team * ops.reshape(dense(params, layer, hidden), (-1, 1, WIDTH)), 2)

    gate = ops.reshape(dense(params, "gate_lead", hidden), (-1, 1, RANK))
    pairs = (dense(params, "left_lead", team) * gate) @ ops.swapped(dense(params, "right_lead", team))
    scores = ops.concat([asked("policy_lead"), asked("policy_back"), ops.reshape(pairs, (-1, OWN * OWN))])
    return scores @ ops.constant(_preview_incidence())


# --- fixed tables ---

_THREATS = tuple([2 * entry + slot for entry in range(2 * MOVES)] for slot in range(2))
_STANDING = [place * FOE + foe for place in range(PLACES) for foe in range(2)]


@cache
def _aims(slot: int) -> np.ndarray:
    """(facts · moves · 3, moves · columns · 2 facts): what a hit on foe a, foe b or the partner means to each aim.

    First what it does to foes (untargeted: to both), then what it does to the partner.
    """
    table = np.zeros((FACTS, MOVES, 3, MOVES, COLUMNS, 2 * FACTS), np.float32)
    for fact, move in product(range(FACTS), range(MOVES)):
        for target, column in ((0, 3), (0, 2), (1, 4), (1, 2)):
            table[fact, move, target, move, column, fact] = 1
        for column in (slot, 2):
            table[fact, move, 2, move, column, FACTS + fact] = 1
    return table.reshape(FACTS * MOVES * 3, -1)


@cache
def _striking(foe: int) -> np.ndarray:
    """(codes, moves): 1 where a code uses a move on a foe, aimed at it or at all."""
    table = np.zeros((CODES, MOVES), np.float32)
    for move, gimmick, column in product(range(MOVES), range(2), (2, 3 + foe)):
        table[(move * 2 + gimmick) * COLUMNS + column, move] = 1
    return table


@cache
def _preview_incidence() -> np.ndarray:
    """(leads + backs + lead pairs, previews): 1 where a preview has it."""
    table = np.zeros((2 * OWN + OWN * OWN, len(PREVIEWS)), np.float32)
    for number, (lead, second, *back) in enumerate(PREVIEWS):
        table[[lead, second], number] = 1
        table[[OWN + place for place in back], number] = 1
        table[2 * OWN + lead * OWN + second, number] = 1
    return table
