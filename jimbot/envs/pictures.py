"""Render modes: what a game draws with rich, as text ("ansi"), on the terminal ("human") or as pixels ("rgb_array")."""

from __future__ import annotations

import io
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
        from jimbot.envs.raster import raster

        return raster(picture, canvas)
    from jimbot.foreign_text import Terminal

    if render_mode == "human":
        Terminal().print(picture)
        return None
    text = io.StringIO()
    Terminal(file=text, width=WIDTH).print(picture)
    return text.getvalue()
