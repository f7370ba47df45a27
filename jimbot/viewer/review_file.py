"""A review as one file: the page's own board with its data inside, so it needs neither a server nor a network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from jimbot.reading.plain import file_text

_STATIC = Path(__file__).resolve().parent / "static"


def review_page(document: Mapping[str, Any], scenes: Sequence[Any]) -> str:
    """The whole file."""
    data = json.dumps({**document, "scenes": list(scenes)}, ensure_ascii=False).replace("<", "\\u003c")
    script = file_text(_STATIC / "review.js").replace("</script", "<\\/script")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(str(document['title']))}</title><style>{file_text(_STATIC / 'app.css')}</style></head>"
        f'<body><div id="app"></div><script type="application/json" id="review">{data}</script>'
        f"<script>{script}</script></body></html>\n"
    )
