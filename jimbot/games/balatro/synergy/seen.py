"""The parts of a game that an observation shows, by key: for those who have the observation and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro.encoding import action_table, fields
from jimbot.games.balatro.encoding.scaling import LARGEST
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, DECKS, HANDS, JOKERS, VOUCHERS
from jimbot.games.hooks.learners import Found


def read_observation(observation: np.ndarray) -> dict[str, Any]:
    """(D,) observation → jokers, consumables, vouchers, boss, deck, how much each poker hand was played, and the
    few numbers that say how far the run is; what it does not show is left out."""
    from jimbot.games.balatro.synergy.parts import deck_shape

    keys = item_keys()
    hands = _field(observation, "hands")[:, fields.COLUMNS["hands"].index("played")]
    return {
        "jokers": [keys[item] for item in _ids(observation, "joker_id")],
        "consumables": [keys[item] for item in _ids(observation, "consumable_id")],
        "vouchers": [VOUCHERS.key(int(number)) for number in np.flatnonzero(_field(observation, "vouchers"))],
        "boss": next((BLINDS.key(boss - 1) for boss in _ids(observation, "boss_id")), None),
        "deck": next((DECKS.key(deck - 1) for deck in _ids(observation, "deck")), None),
        "played": {HANDS.key(hand): float(often) for hand, often in enumerate(hands) if often > 0},
        "ante": int(antes(observation[None])[0]),
        "money": _count(observation, "money", "money"),
        "cards": _count(observation, "run", "card_count"),
        "deck_shape": deck_shape(4 * np.clip(_field(observation, "deck_total"), 0, LARGEST), _enhanced(observation)),
    }


def antes(observation: np.ndarray) -> np.ndarray:
    """(N, D) observations → (N,) int."""
    scaled = observation[:, fields.OBSERVATION.offsets["run"] + fields.COLUMNS["run"].index("ante")]
    return np.rint(8 * np.clip(scaled, -LARGEST, LARGEST)).astype(np.int64)


_TAKEN = (
    ("shop_item", decisions.BUY, 0),
    ("pack_item", decisions.PICK, 0),
    ("voucher_id", decisions.REDEEM, fields.ITEM_IDS - 1),
)
"""Fields whose ids moves take: the kind of move, and where the ids begin in `offer_keys`."""


def held_keys() -> tuple[str, ...]:
    """Jokers, by their ids as items, then poker hands."""
    return (*item_keys(), *HANDS.keys)


def held(observation: np.ndarray) -> Found:
    """(N, D) observations → the jokers of each that has two or more, and the poker hand it has played most; places in
    `held_keys`."""
    jokers = np.rint(observation[:, fields.OBSERVATION.span("joker_id")]).astype(np.int64)
    pairs = np.flatnonzero((jokers >= fields.FIRST_JOKER_ITEM).sum(axis=1) >= 2)
    rows, places = np.nonzero(jokers[pairs] >= fields.FIRST_JOKER_ITEM)
    shape = (len(pairs), *fields.OBSERVATION["hands"].shape)
    played = observation[pairs][:, fields.OBSERVATION.span("hands")].reshape(shape)[
        :, :, fields.COLUMNS["hands"].index("played")
    ]
    playing = np.flatnonzero(played.max(axis=1, initial=0.0) > 0)
    hands = fields.ITEM_IDS + played[playing].argmax(axis=1)
    found = pairs[rows], jokers[pairs][rows, places]
    return np.concatenate([found[0], pairs[playing]]), np.concatenate([found[1], hands])


def offer_keys() -> tuple[str, ...]:
    """Items by their ids, then vouchers."""
    return (*item_keys(), *VOUCHERS.keys)


def offers(observation: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N, D) observations and (N, A) masks → the legal moves that buy, pick or redeem something, and what it is: places
    in `offer_keys`."""
    found = []
    for field, kind, first in _TAKEN:
        ids = np.rint(observation[:, fields.OBSERVATION.span(field)]).astype(np.int64)
        moves = action_table.FIRST[kind] + np.arange(ids.shape[1])
        rows, places = np.nonzero(legal[:, moves] & (ids > 0) & (ids < fields.OBSERVATION[field].ids))
        found.append((rows, moves[places], ids[rows, places] + first))
    rows, actions, keys = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, actions, keys


def jokers_held(observation: np.ndarray) -> Found:
    """(N, D) observations → the jokers of each, places in `offer_keys`."""
    jokers = np.rint(observation[:, fields.OBSERVATION.span("joker_id")]).astype(np.int64)
    rows, places = np.nonzero((jokers >= fields.FIRST_JOKER_ITEM) & (jokers < fields.ITEM_IDS))
    return rows, jokers[rows, places]


def _enhanced(observation: np.ndarray) -> int:
    """Cards owned that are not plain."""
    kinds = [name for name in fields.COLUMNS["deck_total_kinds"] if name.startswith("enhancement ")][1:]
    return sum(_count(observation, "deck_total_kinds", name) for name in kinds)


def _count(observation: np.ndarray, name: str, column: str) -> int:
    """A whole number, its scale (`scaling.count_log`) taken back."""
    scaled = float(np.clip(_field(observation, name)[fields.COLUMNS[name].index(column)], -LARGEST, LARGEST))
    return int(np.copysign(np.rint(np.expm1(4 * abs(scaled))), scaled))


def vocabulary() -> dict[str, tuple[str, ...]]:
    """The keys behind the ids of an observation."""
    return {"item": item_keys()}


def item_keys() -> tuple[str, ...]:
    """The key of every id of the vocabulary `item`; nothing for ids that are no joker or consumable."""
    keys = [""] * fields.ITEM_IDS
    for first, table in ((fields.FIRST_JOKER_ITEM, JOKERS), (fields.FIRST_CONSUMABLE_ITEM, CONSUMABLES)):
        for number in range(len(table)):
            keys[first + number] = table.key(number)
    return tuple(keys)


def _field(observation: np.ndarray, name: str) -> np.ndarray:
    return observation[fields.OBSERVATION.span(name)].reshape(fields.OBSERVATION[name].shape)


def _ids(observation: np.ndarray, name: str) -> list[int]:
    """The ids of a field without 0, which means nothing, and whatever no game would show."""
    ids = np.rint(_field(observation, name))
    return ids[(ids > 0) & (ids < fields.OBSERVATION[name].ids)].astype(int).tolist()
