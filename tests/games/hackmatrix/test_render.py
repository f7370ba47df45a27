"""The picture of a game: everything the player may know, nothing he may not, on any terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from jimbot.games import game_entry, make
from jimbot.games.drawing import CELL_WIDTH, draw, picture
from jimbot.games.hackmatrix import make_state, spec
from jimbot.games.hackmatrix.scene import scene_of

WIDTH = 2 + CELL_WIDTH * spec.SIDE


def text(state: Any, width: int = 80) -> list[str]:
    """The lines of a picture, without colour."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(draw(scene_of(state)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def cell(lines: list[str], row: int, col: int) -> tuple[str, str]:
    """The two lines of a cell, stripped."""
    top = 2 * (spec.SIDE - 1 - row)
    start = 2 + CELL_WIDTH * col
    upper, lower = (lines[top + i].ljust(WIDTH)[start : start + CELL_WIDTH].strip() for i in range(2))
    return upper, lower


def test_row_5_is_on_top_and_every_thing_lies_where_it_is() -> None:
    lines = text(
        make_state(
            player=(0, 0),
            exit=(5, 5),
            pickups=[(0, 5)],
            enemies=[
                {"type": "virus", "row": 3, "col": 1},
                {"type": "daemon", "row": 2, "col": 2, "hp": 1, "stunned": True},
            ],
            transmissions=[{"row": 4, "col": 4, "turns": 2}],
            blocks=[
                {"row": 1, "col": 1, "type": "data", "points": 7},
                {"row": 1, "col": 3, "type": "program", "program": "RESET"},
            ],
            resources=[{"row": 5, "col": 0, "credits": 3}, {"row": 0, "col": 5, "energy": 2}],
        )
    )
    assert lines[0].startswith("5")
    assert lines[10].startswith("0")
    assert cell(lines, 0, 0)[0] == "@"
    assert cell(lines, 5, 5)[1] == "EXIT"
    assert cell(lines, 0, 5) == ("", "◆ 2e")
    assert cell(lines, 5, 0) == ("", "3c")
    assert cell(lines, 3, 1)[0] == "V2"
    assert cell(lines, 2, 2)[0] == "D1z"
    assert cell(lines, 4, 4)[0] == "!2"
    assert cell(lines, 1, 1) == ("7p", "▒▒×7")
    assert cell(lines, 1, 3) == ("RESET", "▒▒×2")


@pytest.mark.parametrize(
    ("place", "show", "seen"), [((3, 4), False, False), ((3, 4), True, True), ((1, 4), False, True)]
)
def test_cryptog_shows_only_in_line_or_under_show(place: tuple[int, int], show: bool, seen: bool) -> None:
    cryptog = {"type": "cryptog", "row": place[0], "col": place[1]}
    lines = text(make_state(player=(1, 1), enemies=[cryptog], show=show))
    without = text(make_state(player=(1, 1), show=show))
    assert (cell(lines, *place)[0] == "C2") == seen
    assert (lines == without) != seen


def test_hidden_cryptog_on_another_enemy_leaves_no_trace() -> None:
    virus, cryptog = {"type": "virus", "row": 4, "col": 4}, {"type": "cryptog", "row": 4, "col": 4}
    alone = text(make_state(player=(1, 1), enemies=[virus]))
    assert text(make_state(player=(1, 1), enemies=[virus, cryptog])) == alone
    assert text(make_state(player=(1, 1), enemies=[cryptog, virus])) == alone
    assert cell(text(make_state(player=(1, 4), enemies=[virus, cryptog])), 4, 4)[0] == "V2C2"


def test_question_blocks_look_alike_whatever_they_hold() -> None:
    contents = ({"points": 1}, {"points": 9}, {"program": "ATK+"}, {"program": "WAIT"})
    pictures = [text(make_state(blocks=[dict(row=2, col=2, type="question", **content)])) for content in contents]
    assert cell(pictures[0], 2, 2) == ("?", "▒▒▒▒")
    assert all(lines == pictures[0] for lines in pictures)


def test_transmissions_look_alike_whatever_they_become_even_under_show() -> None:
    for show in (False, True):
        pictures = [
            text(make_state(transmissions=[{"row": 2, "col": 2, "type": name}], show=show)) for name in spec.ENEMY_NAMES
        ]
        assert cell(pictures[0], 2, 2)[0] == "!1"
        assert all(lines == pictures[0] for lines in pictures)


def test_siphoned_blocks_call_nobody_any_more_and_are_dimmed() -> None:
    state = make_state(
        blocks=[{"row": 2, "col": 2, "type": "data", "points": 5, "siphoned": True}], siphon_centres=[(2, 1)]
    )
    lines = text(state)
    assert cell(lines, 2, 2) == ("5p", "▒▒▒▒")
    assert cell(lines, 2, 1)[1] == "○"
    console = Console(file=io.StringIO(), width=80, color_system="truecolor", force_terminal=True)
    segments = [part for line in console.render_lines(draw(scene_of(state))) for part in line]
    assert [part.style is not None and part.style.dim for part in segments if part.text == "5p"] == [True]


def test_overlapping_things_all_show() -> None:
    lines = text(
        make_state(
            player=(2, 2),
            enemies=[{"type": "glitch", "row": 2, "col": 2, "stunned": True}, {"type": "glitch", "row": 4, "col": 1}],
            transmissions=[{"row": 2, "col": 2, "turns": 100}],
            blocks=[
                {"row": 4, "col": 1, "type": "program", "program": "D_BOM"},
                {"row": 2, "col": 2, "type": "data", "points": 3},
            ],
        )
    )
    assert cell(lines, 2, 2) == ("@!*G2z", "▒3p")
    assert cell(lines, 4, 1) == ("G2", "▒D_BOM")


def test_numbers_states_and_programs_are_listed_with_their_cost() -> None:
    state = make_state(
        hp=2,
        credits=5,
        energy=3,
        data_siphons=4,
        attack_damage=2,
        score=77,
        stage=6,
        turn=19,
        calm=True,
        owned_programs=["ROW", "RESET"],
    )
    words = " ".join(text(state))
    for part in (
        "stage 6/8",
        "HP 2/3",
        "credits 5",
        "energy 3",
        "siphons 4",
        "attack 2",
        "score 77",
        "turn 19",
        "CALM",
    ):
        assert part in words
    assert "ROW 3c1e" in words
    assert "RESET 4e" in words
    assert "PUSH" not in words


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_crowded_game_keeps_its_width(width: int) -> None:
    everywhere = [(row, col) for row in range(spec.SIDE) for col in range(spec.SIDE)]
    state = make_state(
        player={
            "row": 3,
            "col": 3,
            "credits": 123456,
            "energy": 99999,
            "score": 1000000,
            "data_siphons": 5000,
            "attack_damage": 1000,
        },
        enemies=[{"type": "daemon", "row": row, "col": col, "stunned": True} for row, col in everywhere],
        transmissions=[{"row": row, "col": col, "turns": 900} for row, col in everywhere[:4]],
        blocks=[{"row": row, "col": col, "type": "program", "program": "ANTI-V"} for row, col in everywhere[6:12]],
        resources=[{"row": row, "col": col, "credits": 60} for row, col in everywhere],
        pickups=[(0, 0), (0, 5), (5, 0)],
        siphon_centres=everywhere,
        owned_programs="all",
        turn=12345,
        stage=8,
        show=True,
        calm=True,
        step_active=True,
    )
    lines = text(state, width)
    assert max(len(line.rstrip()) for line in lines) <= WIDTH <= 40
    assert cell(lines, 5, 0) == ("D3z", "◆60c○")
    assert cell(lines, 5, 5)[1] == "EXIT"  # what stands before it in the row did not push it
    assert cell(lines, 0, 0)[0] == "!*D3z"
    words = " ".join(lines)
    for program in spec.PROGRAMS:
        assert program.name in words
    assert "SHOW  CALM  STEP" in words


def test_the_small_drawing_has_everything_beside_the_board() -> None:
    entry, game = game_entry("hackmatrix"), make("hackmatrix", 64)
    game.reset()
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(picture(entry, game, small=True))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 2 * spec.SIDE + 1
    assert "stage 1/8" in lines[0], "beside the board"
    for word in ("EXIT", "credits", "programs", "z stunned"):
        assert any(word in line for line in lines)


def test_the_registered_drawing_shows_the_rows_of_a_batch() -> None:
    entry = game_entry("hackmatrix")
    game = make("hackmatrix", 64)
    game.reset()
    pictures = set()
    for row in (0, 1, 63):
        console = Console(file=io.StringIO(), width=80, color_system=None)
        console.print(picture(entry, game, row))
        assert isinstance(console.file, io.StringIO)
        words = console.file.getvalue()
        assert words.count("@") == 2
        assert "EXIT" in words
        pictures.add(words)
    assert len(pictures) == 3
