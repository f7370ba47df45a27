"""Render modes: what a game draws with rich, as text ("ansi"), on the terminal ("human") or as pixels ("rgb_array")."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import UsageError

RENDER_MODES = ("ansi", "human", "rgb_array")
WIDTH = 120  # columns of "ansi" text, the same wherever it is made

Picture = str | np.ndarray | None


def check_render_mode(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise UsageError(f"render_mode is {render_mode!r}; expected one of {', '.join(RENDER_MODES)}, or None.")
    return render_mode


def draw(picture: Any, render_mode: str | None, canvas: tuple[int, int]) -> Picture:
    """The picture as text ("ansi"), as (height, width, 3) uint8 of so many columns and rows of characters
    ("rgb_array"), or printed ("human")."""
    if render_mode is None:
        return None
    if render_mode == "rgb_array":
        return raster(picture, canvas)
    from jimbot.foreign_text import Terminal

    if render_mode == "human":
        Terminal().print(picture)
        return None
    text = io.StringIO()
    Terminal(file=text, width=WIDTH).print(picture)
    return text.getvalue()


# What the terminal shows as a picture of pixels (render mode "rgb_array"): for videos, notebooks and SB3's recorders.


CANVAS = (120, 44)
"""Columns and rows where nobody says what a drawing needs."""
FONT_SIZE = 15
CELL = (9, 18)  # pixels per character; the font is 9.03 wide at this size
SCREEN = (1280, 960)
FONT = "DejaVuSansMono"
INK, PAPER = (220, 220, 220), (18, 18, 24)
DIM = 0.6


def raster(picture: Any, canvas: tuple[int, int] = CANVAS) -> np.ndarray:
    """(height, width, 3) uint8, of so many columns and rows of characters."""
    return np.asarray(_image(picture, canvas))


def magnified(canvas: tuple[int, int]) -> int:
    """How many times larger than usual characters are drawn, so that a small board fills a screen too."""
    return max(1, min(pixels // (cell * count) for pixels, cell, count in zip(SCREEN, CELL, canvas, strict=True)))


def png(picture: Any, canvas: tuple[int, int] = CANVAS) -> bytes:
    """The picture as a PNG file, which says who drew it."""
    from PIL.PngImagePlugin import PngInfo

    about, file = PngInfo(), io.BytesIO()
    about.add_text("Software", "JimBot")
    _image(picture, canvas).save(file, "PNG", pnginfo=about)
    return file.getvalue()


def _image(picture: Any, canvas: tuple[int, int]) -> Any:
    from PIL import Image, ImageDraw  # comes with matplotlib, whose font it draws with
    from rich.console import Console

    (columns, rows), scale = canvas, magnified(canvas)
    console = Console(file=io.StringIO(), width=columns, color_system="truecolor", force_terminal=True)
    lines = console.render_lines(picture, pad=False)[:rows]
    image = Image.new("RGB", (columns * scale * CELL[0], rows * scale * CELL[1]), PAPER)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        column = 0
        for segment in line:
            if not segment.control:
                column = _write(draw, segment.text, segment.style, column, row, scale)
    return image


def _write(draw: Any, text: str, style: Any, column: int, row: int, scale: int) -> int:
    """Draws a piece of a line from `column` on; returns the column after it."""
    from rich.cells import get_character_cell_size

    ink, paper, bold = _look(style)
    width, height = scale * CELL[0], scale * CELL[1]
    for letter in text:
        wide = get_character_cell_size(letter)
        left, top = column * width, row * height
        if paper != PAPER:
            draw.rectangle((left, top, left + wide * width - 1, top + height - 1), fill=paper)
        if not letter.isspace():
            draw.text((left, top), letter, fill=ink, font=_font(bold, scale))
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
def _font(bold: bool, scale: int) -> Any:
    import matplotlib
    from PIL import ImageFont

    name = f"{FONT}-Bold.ttf" if bold else f"{FONT}.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), scale * FONT_SIZE)
