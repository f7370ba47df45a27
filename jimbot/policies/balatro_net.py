"""`BalatroNet`: the network of fixed sizes that Balatro agents are often described with.

cards   52 × 4    → 256 → 128    each card of the deck: still unseen, owned, in hand, selected
jokers  150 × 8   → 512 → 256    each joker: held, and seven numbers about it
the rest of the observation → 128
shared  512 → 512 → 512, then policy (1000, of which the game's actions are used) and value (1)

With `memgraph_embedding_dim` each joker in play also has a row of so many numbers, learned from nothing or given by the
knowledge graph (`graph_embeddings`); their mean and maximum over the jokers in play join the shared layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jimbot.errors import SettingsError
from jimbot.games.spec import GameSpec
from jimbot.policies.network_program import JOKER_GRAPH_TABLE, Program

CARDS, JOKERS, REST, SHARED, POLICY = (256, 128), (512, 256), 128, (512, 512), 1000
DECK, JOKER_KINDS = 52, 150
FIRST_CARD, FIRST_JOKER = 1, 54  # ids of the first front and the first joker in Balatro's numbering of items
HAND_COLUMNS = ("present", "selected")
JOKER_COLUMNS = ("present", "debuffed", "eternal", "perishable", "rental", "value", "counter", "sell_value")
_NEEDED = ("deck_left", "deck_total", "hand_card", "hand", "joker_id", "jokers")


def balatro_net(spec: GameSpec, memgraph_embedding_dim: int = 0, fixed: bool = False) -> list[dict[str, Any]]:
    """The program for a game with Balatro's fields."""
    known = spec.observation.offsets
    if any(name not in known for name in _NEEDED):
        raise SettingsError(f"Network 'BalatroNet' is made for Balatro; game '{spec.id}' has no cards and jokers.")
    program = Program(spec.observation.size)
    hand = _by_id(program, spec, "hand_card", _columns(program, spec, "hand", HAND_COLUMNS), FIRST_CARD, DECK)
    decks = [program.flatten(_field(program, spec, name)) for name in ("deck_left", "deck_total")]
    cards = program.layers(program.concat([*decks, program.flatten(hand)]), "card", CARDS)
    held = _columns(program, spec, "jokers", JOKER_COLUMNS)
    table = _by_id(program, spec, "joker_id", held, FIRST_JOKER, JOKER_KINDS)
    jokers = program.layers(program.flatten(table), "joker", JOKERS)
    others = [f.name for f in spec.observation.fields if f.name not in _NEEDED]
    rest = program.dense(
        program.concat([program.flatten(_field(program, spec, name)) for name in others]), "rest", REST
    )
    parts = [cards, jokers, rest]
    if memgraph_embedding_dim:
        joker = _field(program, spec, "joker_id")
        ids = spec.observation["joker_id"].ids
        parts.append(program.pool(program.embed(joker, JOKER_GRAPH_TABLE, ids, memgraph_embedding_dim, fixed)))
    shared = program.layers(program.concat(parts), "shared", SHARED)
    actions = spec.actions.size
    program.dense(shared, "policy", max(POLICY, actions), relu=False, out="all_logits")
    program.slice(0, (actions,), of="all_logits", out="logits")
    program.dense(shared, "value", 1, relu=False, out="value")
    return program.steps


def _field(program: Program, spec: GameSpec, name: str) -> str:
    return program.slice(spec.observation.offsets[name], spec.observation[name].shape)


def _by_id(program: Program, spec: GameSpec, name: str, values: str, first: int, rows: int) -> str:
    """The numbers of each slot in the row of its id."""
    return program.table(_field(program, spec, name), values, spec.observation[name].ids, first, rows)


def _columns(program: Program, spec: GameSpec, name: str, columns: Sequence[str]) -> str:
    """Some columns of a field of slots; their names are in the field's meaning."""
    field = spec.observation[name]
    names = field.meaning.partition(": ")[2].split(", ")
    return program.take(program.slice(spec.observation.offsets[name], field.shape), [names.index(c) for c in columns])
