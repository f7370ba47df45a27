"""MDBO: numbers, choice strings and labels say the same, and the worked examples hold."""

from __future__ import annotations

import pytest

from jimbot.errors import UsageError
from jimbot.games.vgc import orders

EXAMPLES = (
    ("move 1 1, move 2 2 terastallize", 3, 19, 154),
    ("move 3, move 1 -1", 22, 1, 991),
    ("move 1 -2, move 1 2", 0, 4, 4),
    ("move 4 terastallize, switch 3", 37, 42, 1707),
    ("switch 3, switch 4", 42, 43, 1933),
    ("switch 4, pass", 43, 44, 1979),
    ("pass, move 1 1", 44, 3, 1983),
    ("pass, pass", 44, 44, 2024),
)


@pytest.mark.parametrize(("text", "a", "b", "joint"), EXAMPLES)
def test_worked_examples(text: str, a: int, b: int, joint: int) -> None:
    assert orders.join(a, b) == joint
    assert orders.split(joint) == (a, b)
    assert orders.order_text(joint) == text
    assert orders.order_number(text) == joint


def test_every_order_and_preview_reads_back_from_its_own_label() -> None:
    labels = orders.SPEC.labels
    assert len(labels) == orders.ACTIONS == 2115
    assert len(set(labels)) == len(labels)
    assert [orders.action_number(label) for label in labels] == list(range(orders.ACTIONS))
    assert [orders.action_text(action) for action in range(orders.ACTIONS)] == list(labels)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "team 1234"),
        (1, "team 1235"),
        (2, "team 1236"),
        (3, "team 1245"),
        (5, "team 1256"),
        (6, "team 1324"),
        (89, "team 5634"),
    ],
)
def test_previews_are_numbered_lexicographically(number: int, text: str) -> None:
    assert orders.preview_text(number) == text
    assert orders.preview_number(text) == number


def test_the_order_inside_a_pair_does_not_matter_but_the_pairs_do() -> None:
    assert orders.preview_number("team 3142") == orders.preview_number("team 1324") == 6
    assert orders.preview_number("team 2413") != 6
    assert orders.preview_number("team 132456") == 6, "a server may echo all six digits"


def test_target_and_gimmick_come_in_either_order_and_other_gimmicks_set_the_same_bit() -> None:
    assert orders.slot_code("move 2 terastallize 2") == orders.slot_code("move 2 +2 mega") == 19
    assert orders.order_text(154, "mega") == "move 1 1, move 2 2 mega"


def test_the_sentinel_is_the_simulators_own_choice() -> None:
    assert orders.order_text(orders.DEFAULT) == "default"
    assert orders.order_number(" Default ") == orders.DEFAULT == -1


@pytest.mark.parametrize(
    "text",
    [
        "move 5, pass",
        "move 1 3, pass",
        "switch 5, pass",
        "switch 3 1, pass",
        "pass",
        "jump, pass",
        "move 1 zmove, pass",
    ],
)
def test_what_is_no_choice_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected|neither"):
        orders.order_number(text)


@pytest.mark.parametrize("text", ["team 1123", "team 123", "team 1237", "1234"])
def test_what_is_no_preview_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="team preview"):
        orders.preview_number(text)


@pytest.mark.parametrize("number", [-2, orders.ORDERS])
def test_numbers_outside_the_table_are_refused(number: int) -> None:
    with pytest.raises(UsageError, match="joint order"):
        orders.order_text(number)
