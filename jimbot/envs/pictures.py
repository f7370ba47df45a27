"""Render modes "ansi" and "human": what a game draws with rich, as text or on the terminal."""

from __future__ import annotations

import io
from typing import Any

from jimbot.errors import UsageError

RENDER_MODES = ("ansi", "human")
WIDTH = 120  # columns of "ansi" text, the same wherever it is made


def check_render_mode(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise UsageError(f"render_mode is {render_mode!r}; expected one of {', '.join(RENDER_MODES)}, or None.")
    return render_mode


def draw(picture: Any, render_mode: str | None) -> str | None:
    """The picture as text ("ansi"), or printed ("human")."""
    if render_mode is None:
        return None
    from rich.console import Console

    if render_mode == "human":
        Console().print(picture)
        return None
    text = io.StringIO()
    Console(file=text, width=WIDTH).print(picture)
    return text.getvalue()
