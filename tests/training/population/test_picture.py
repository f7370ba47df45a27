"""The picture of a population: the line of the best, and a file that is a picture."""

from __future__ import annotations

from pathlib import Path

from jimbot.training.population.record import Line
from jimbot.training.population.run import ancestry, draw_lineage


def history() -> list[Line]:
    """Three generations of three: 2 is replaced by 0, then 1 by 2; in the end 1 is best."""
    table = [  # generation, member, score, parent
        (0, 0, 3.0, 0), (0, 1, 2.0, 1), (0, 2, 1.0, 0),
        (1, 0, 3.5, 0), (1, 1, 2.1, 2), (1, 2, 4.0, 2),
        (2, 0, 3.6, 0), (2, 1, 6.0, 1), (2, 2, None, 2),
    ]  # fmt: skip
    lr = {0: 3e-4, 1: 1e-3, 2: 1e-4}
    return [
        Line(
            generation=generation,
            member=member,
            step=512 * (generation + 1),
            score=score,
            values={"lr": lr[member] * 0.8**generation, "gamma": 0.99},
            parent=parent,
            next_values={"lr": lr[parent], "gamma": 0.99},
            failure="" if score is not None else "a loss was not a number",
        )
        for generation, member, score, parent in table
    ]


def test_the_line_of_the_best_leads_through_its_parents() -> None:
    assert ancestry(history()) == [(0, 0), (1, 2), (2, 1)]


def test_the_picture_is_written_whole_also_where_a_member_failed(tmp_path: Path) -> None:
    path = draw_lineage(history(), tmp_path / "lineage.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [entry.name for entry in tmp_path.iterdir()] == ["lineage.png"]
