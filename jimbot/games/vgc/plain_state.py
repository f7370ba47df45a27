"""A row of VGC as plain values: the whole numbers its observation is made of, by field, and the legal orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.hooks.programs import PlainStates, Sight
from jimbot.games.vgc import fields, orders, words

_KEYS = ("fields", "legal")
_LARGEST = 2**15 - 1  # the simulator's rows are 16 bits wide


def write_state(game: BatchGame, row: int) -> dict[str, Any]:
    """`fields`: name → whole numbers, as long as the field; `legal`: numbers of the legal orders."""
    from jimbot.games.vgc.game import VgcGame

    features = cast(VgcGame, game).features(row)
    shown = game.spec.observation
    by_name = {part.name: features[shown.span(part.name)].tolist() for part in shown.fields}
    return {"fields": by_name, "legal": np.flatnonzero(game.legal_mask[row]).tolist()}


def read_state(values: Mapping[str, Any], options: Any) -> Sight:
    """What the player of such a row sees. Fields left out are 0."""
    for name in values:
        if name not in _KEYS:
            raise UnknownNameError("key of a row", str(name), _KEYS)
    given, legal = values.get("fields"), values.get("legal")
    if not isinstance(given, Mapping) or not isinstance(legal, list):
        raise UsageError("A row needs 'fields' (name: whole numbers) and 'legal' (numbers of the legal orders).")
    shown = fields.OBSERVATION
    features = np.zeros(shown.size, np.int64)
    for name, numbers in given.items():
        features[shown.span(str(name))] = _whole(numbers, shown[str(name)].size, str(name))
    mask = np.zeros(orders.SPEC.size, bool)
    chosen = _whole(legal, len(legal), "legal")
    if ((chosen < 0) | (chosen >= len(mask))).any():
        raise UsageError(f"'legal' names orders outside 0 to {len(mask) - 1}.")
    mask[chosen] = True
    observation = (features * fields.scales()).astype(np.float32)
    return Sight(observation, mask, lambda action: words.describe_action(features, action))


def _whole(numbers: Any, size: int, name: str) -> np.ndarray:
    good = isinstance(numbers, list) and len(numbers) == size
    if not good or not all(type(number) is int and abs(number) <= _LARGEST for number in numbers):
        raise UsageError(f"'{name}' needs a list of {size} whole numbers up to {_LARGEST}.")
    return np.array(numbers, np.int64)


STATES = PlainStates(write_state, read_state)
