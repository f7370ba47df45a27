"""What the terminal shows as a picture of pixels (render mode "rgb_array"): for videos, notebooks and SB3's recorders.

Every character of the drawing goes into its cell with matplotlib's monospaced font, which has the boxes, blocks and
card suits that boards are drawn with. All pictures of an environment have one size, as videos want it:
what a drawing has beyond that is cut off.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS, ROWS = 120, 44
FONT_SIZE = 15
CELL = (9, 18)  # pixels per character; the font is 9.03 wide at this size
FONT = "DejaVuSansMono"
INK, PAPER = (220, 220, 220), (18, 18, 24)
DIM = 0.6


def raster(picture: Any) -> np.ndarray:
    """(height, width, 3) uint8."""
    return np.asarray(_image(picture))


def png(picture: Any) -> bytes:
    """The picture as a PNG file."""
    file = io.BytesIO()
    _image(picture).save(file, "PNG")
    return file.getvalue()


def _image(picture: Any) -> Any:
    from PIL import Image, ImageDraw  # comes with matplotlib, whose font it draws with
    from rich.console import Console

    console = Console(file=io.StringIO(), width=COLUMNS, color_system="truecolor", force_terminal=True)
    lines = console.render_lines(picture, pad=False)[:ROWS]
    image = Image.new("RGB", (COLUMNS * CELL[0], ROWS * CELL[1]), PAPER)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        column = 0
        for segment in line:
            if not segment.control:
                column = _write(draw, segment.text, segment.style, column, row)
    return image


def _write(draw: Any, text: str, style: Any, column: int, row: int) -> int:
    """Draws a piece of a line from `column` on; returns the column after it."""
    from rich.cells import get_character_cell_size

    ink, paper, bold = _look(style)
    for letter in text:
        wide = get_character_cell_size(letter)
        left, top = column * CELL[0], row * CELL[1]
        if paper != PAPER:
            draw.rectangle((left, top, left + wide * CELL[0] - 1, top + CELL[1] - 1), fill=paper)
        if not letter.isspace():
            draw.text((left, top), letter, fill=ink, font=_font(bold))
        column += wide
    return column


def _look(style: Any) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """(ink, paper, whether bold) of a rich style."""
    from rich.terminal_theme import MONOKAI

    if style is None:
        return INK, PAPER, False
    ink = _colour(style.color, INK, MONOKAI)
    paper = _colour(style.bgcolor, PAPER, MONOKAI)
    if style.reverse:
        ink, paper = paper, ink
    if style.dim:
        ink = tuple(round(DIM * one + (1 - DIM) * other) for one, other in zip(ink, paper, strict=True))
    return ink, paper, bool(style.bold)


def _colour(colour: Any, usual: tuple[int, ...], theme: Any) -> tuple[int, ...]:
    return usual if colour is None or colour.is_default else tuple(colour.get_truecolor(theme))


@cache
def _font(bold: bool) -> Any:
    import matplotlib
    from PIL import ImageFont

    name = f"{FONT}-Bold.ttf" if bold else f"{FONT}.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), FONT_SIZE)
