"""Specs: everything derives from the declared fields and blocks, and fingerprints follow what matters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec


@dataclass(frozen=True)
class Options:
    size: int = 3

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size is {self.size}; expected 1 or more.")


OBSERVATION = ObservationSpec(
    (Field("board", (2, 3), "cells"), Field("kind", (4,), "ids of cards", ids=9), Field("score", (1,), "symlog"))
)
ACTIONS = ActionSpec((ActionBlock("move", ("up", "down")), ActionBlock("wait", ("wait",))))
SPEC = GameSpec("toy", 1, 1, OBSERVATION, ACTIONS, ("win",), ("turns",), Options)


def test_offsets_and_sizes_follow_the_fields() -> None:
    assert OBSERVATION.size == 11
    assert OBSERVATION.offsets == {"board": 0, "kind": 6, "score": 10}
    assert OBSERVATION.span("kind") == slice(6, 10)


def test_a_view_has_the_shape_of_its_field() -> None:
    batch = np.arange(22, dtype=np.float32).reshape(2, 11)
    assert OBSERVATION.view(batch, "board").shape == (2, 2, 3)
    assert OBSERVATION.view(batch, "board")[1].tolist() == [[11, 12, 13], [14, 15, 16]]
    assert OBSERVATION.view(batch[0], "score").tolist() == [10]


def test_labels_and_numbers_map_both_ways() -> None:
    assert [ACTIONS.index(ACTIONS.label(action)) for action in range(ACTIONS.size)] == [0, 1, 2]
    assert ACTIONS.block_of.tolist() == [0, 0, 1]


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'score'"):
        OBSERVATION.span("scor")
    with pytest.raises(UnknownNameError, match="Did you mean 'down'"):
        ACTIONS.index("dawn")
    with pytest.raises(UnknownNameError, match="Did you mean 'size'"):
        SPEC.parse_options({"siz": 4})


def test_options_are_checked_by_their_own_record() -> None:
    assert SPEC.parse_options({"size": 5}) == Options(5)
    assert SPEC.parse_options(None) == Options()
    with pytest.raises(UsageError, match="size is 0; expected 1 or more"):
        SPEC.parse_options({"size": 0})
    with pytest.raises(UsageError, match="do not fit game 'toy'"):
        SPEC.parse_options({"size": "many"})


@pytest.mark.parametrize(
    "changed",
    [
        ObservationSpec((*OBSERVATION.fields, Field("more", (1,), "new"))),
        ObservationSpec(OBSERVATION.fields[::-1]),
        ObservationSpec((replace(OBSERVATION.fields[0], shape=(3, 2)), *OBSERVATION.fields[1:])),
        ObservationSpec((replace(OBSERVATION.fields[0], name="grid"), *OBSERVATION.fields[1:])),
        ObservationSpec((OBSERVATION.fields[0], replace(OBSERVATION.fields[1], ids=10), OBSERVATION.fields[2])),
    ],
    ids=["field added", "order", "shape", "name", "number of ids"],
)
def test_the_observation_fingerprint_changes_with_the_table(changed: ObservationSpec) -> None:
    assert changed.fingerprint != OBSERVATION.fingerprint


def test_the_observation_fingerprint_ignores_wording() -> None:
    reworded = ObservationSpec((replace(OBSERVATION.fields[0], meaning="the board"), *OBSERVATION.fields[1:]))
    assert reworded.fingerprint == OBSERVATION.fingerprint


def test_the_action_fingerprint_changes_with_labels_and_order() -> None:
    swapped = ActionSpec((ActionBlock("move", ("down", "up")), ACTIONS.blocks[1]))
    renamed = ActionSpec((ActionBlock("walk", ("up", "down")), ACTIONS.blocks[1]))
    assert len({ACTIONS.fingerprint, swapped.fingerprint, renamed.fingerprint}) == 3


def test_fingerprints_are_the_same_for_ever() -> None:
    """Checkpoints carry them; a change of the recipe would make every released checkpoint foreign."""
    assert (OBSERVATION.fingerprint, ACTIONS.fingerprint) == ("39601d4c8fb7c001", "2a6362a6448a55ae")
