"""How things look in a notebook: what the terminal shows, as HTML."""

from __future__ import annotations

import io
from typing import Any

WIDTH = 120
FORMAT = (
    '<pre style="white-space:pre;overflow-x:auto;line-height:1.15;'
    'font-family:Menlo,DejaVu Sans Mono,Consolas,monospace">'
    "<code>{code}</code></pre>"
)


def html_of(renderable: Any, width: int = WIDTH) -> str:
    """Anything rich can print, coloured by styles of its own, so that it looks the same on every page."""
    from rich.console import Console

    console = Console(record=True, file=io.StringIO(), width=width, force_jupyter=False)
    console.print(renderable)
    return console.export_html(code_format=FORMAT, inline_styles=True)


class ShownInNotebooks:
    """Gives whatever has a form for the terminal (`__rich__`) one for notebooks."""

    def _repr_html_(self) -> str:
        return html_of(self)
