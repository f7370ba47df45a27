"""Names fit the boxes they are drawn in."""

from __future__ import annotations

import pytest

from jimbot.games.balatro.rules.content import CONSUMABLES, JOKERS, VOUCHERS
from jimbot.games.drawing import TILE, folded


@pytest.mark.parametrize("things", [JOKERS, CONSUMABLES, VOUCHERS])
def test_no_name_is_cut(things) -> None:
    names = [str(row["name"]) for row in things.rows if row["name"]]
    cut = []
    for name in names:
        lines = folded(name, TILE - 2)
        whole = "".join(lines).replace("-", "").replace(" ", "") == name.replace("-", "").replace(" ", "")
        if not whole or max(map(len, lines)) > TILE - 2:
            cut.append(lines)
    assert not cut
