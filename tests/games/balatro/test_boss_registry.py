"""Bosses are written down like jokers: one place each, and no other rule names a boss."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from jimbot.games.balatro.compiling import kernels
from jimbot.games.balatro.rules.bosses import definitions, dispatch, registry
from jimbot.games.balatro.rules.content import BLINDS

BOSSES = [row["key"] for row in BLINDS if row["type"] == "boss"]
RULES = kernels.PACKAGE / "rules"


def test_all_28_bosses_have_a_rule_in_the_order_of_the_table() -> None:
    assert len(BOSSES) == 28
    assert list(registry.defined()) == BOSSES


@pytest.mark.parametrize("key", BOSSES)
def test_a_boss_does_what_its_table_row_speaks_of(key: str) -> None:
    row, does = BLINDS.row(key), registry.defined()[key]
    assert does
    assert ("on_disable" in does) == ("when_disabled" in row or key == "bl_final_acorn")
    assert ("debuffs" in does) == ("debuffed" in row["effect"] and "joker is debuffed" not in row["effect"])
    assert ("turns_down" in does) == ("face down" in row["effect"] and "jokers are turned" not in row["effect"])
    assert ("vetoes" in does) == bool(re.search("scores? nothing|Only the poker hand", row["effect"]))


def test_a_boss_cannot_be_defined_twice_nor_in_an_unknown_phase() -> None:
    with pytest.raises(ValueError, match="bl_hook is defined twice"):
        registry.define("bl_hook")
    with pytest.raises(KeyError):
        registry.define("bl_small", on_birthday=lambda g: None)


def test_every_phase_is_asked_somewhere() -> None:
    text = "".join(path.read_text() for path in RULES.rglob("*.py") if path.parent.name != "bosses")
    text += (RULES / "bosses" / "blind.py").read_text()
    for phase in registry.PHASES:
        assert hasattr(dispatch, phase)
        assert re.search(rf"(bosses|dispatch)\.{phase}\(", text), phase


def _strings(path: Path) -> list[str]:
    return [
        str(node.value)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_no_rule_outside_the_room_names_a_boss() -> None:
    """Neither by key nor by a part of it put together, as in `f"bl_{name}"`."""
    for path in RULES.rglob("*.py"):
        if path != Path(definitions.__file__):
            named = [text for text in _strings(path) if re.fullmatch(r"bl_\w*", text)]
            assert set(named) <= {"bl_small", "bl_big"}, path.name


def test_a_number_of_a_boss_is_in_its_row_and_read_from_there() -> None:
    source = Path(definitions.__file__).read_text()
    for row in BLINDS:
        for name in row.get("config", {}):
            assert re.search(rf'number\("{row["key"]}", "{name}"\)', source), json.dumps(row["config"])
