"""The page itself: style sheet and the few HTML shapes all sections are made of. Nothing is loaded from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
:root{--paper:#faf8f4;--card:#fff;--ink:#1d2126;--quiet:#6b7280;--hair:#e4dfd6;--accent:#c8413a;--soft:#c8413a22;
--good:#21845b;--bad:#c8413a;--c0:#c8413a;--c1:#2f76b5;--c2:#d49b27;--c3:#2f9170;--c4:#7d5ba6;--c5:#dd7f3b;--c6:#5aa9c4;
--c7:#9aa0a8;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--paper:#14171b;--card:#1c2026;--ink:#e8e6e1;--quiet:#98a0ab;--hair:#2c323a;
--accent:#ff6b60;--soft:#ff6b6028;--good:#4cc38f;--bad:#ff6b60;--c0:#ff6b60;--c1:#5aa7ea;--c2:#e6b84f;--c3:#4cc38f;
--c4:#ab8bdc;--c5:#f0985a;--c6:#7cc7df;--c7:#7d8590}}
*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1060px;margin:0 auto;padding:48px 28px 80px}
h1{font:600 40px/1.1 Georgia,"Iowan Old Style","Liberation Serif",serif;letter-spacing:-.01em;margin:0 0 6px}
h2{font:600 25px/1.2 Georgia,"Iowan Old Style","Liberation Serif",serif;margin:64px 0 4px;padding-top:18px;
border-top:1px solid var(--hair)}
h3{font-size:15px;margin:26px 0 6px}h4{font-size:13px;letter-spacing:.04em;color:var(--quiet);margin:18px 0 4px}
p{max-width:72ch;margin:6px 0 14px}.lead,.note{color:var(--quiet)}.note{font-size:13.5px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:28px 0 0}
.tile{background:var(--card);border:1px solid var(--hair);border-radius:10px;padding:14px 16px}
.tile b{display:block;font:600 30px/1.15 Georgia,"Liberation Serif",serif}.tile span{font-size:13px;color:var(--quiet)}
.tile.first b{color:var(--accent)}
.many{display:grid;grid-template-columns:repeat(auto-fill,minmax(285px,1fr));gap:14px;margin-top:14px}
.panel{background:var(--card);border:1px solid var(--hair);border-radius:10px;padding:12px 14px}
svg{display:block;width:100%;height:auto;overflow:visible}svg.inline{display:inline-block;height:12px}
svg text{font-size:11px;fill:var(--quiet);font-variant-numeric:tabular-nums}svg .title{font-size:12.5px;fill:var(--ink);
font-weight:600}svg .value{font-size:12.5px;fill:var(--accent);font-weight:600}svg .mark{fill:var(--ink)}
svg .axis{font-size:12.5px}.grid{stroke:var(--hair);stroke-width:1}.line,.raw{fill:none;stroke:var(--accent);
stroke-width:2;stroke-linejoin:round}.raw{opacity:.28;stroke-width:1}.band{fill:var(--soft);stroke:none}
.bar{fill:var(--c1)}.touch{fill:transparent}.touch:hover{fill:var(--soft)}.dot{fill:var(--ink)}.whisker{
stroke:var(--quiet);stroke-width:1.6}.dot.good{fill:var(--good)}.whisker.good{stroke:var(--good)}.dot.bad{fill:var(--bad)}
.whisker.bad{stroke:var(--bad)}.c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{
fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}.area{opacity:.85}.area:hover{opacity:1}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--quiet);margin:8px 0}.legend svg{display:
inline-block;width:10px;height:10px;margin-right:5px}
table{border-collapse:collapse;font-size:14px;min-width:50%}th{text-align:left;font-weight:600;font-size:12.5px;color:
var(--quiet);padding:4px 14px 4px 0;border-bottom:1px solid var(--hair)}td{padding:3px 14px 3px 0;border-bottom:1px
solid var(--hair);white-space:nowrap}td.n,th.n{text-align:right}.wide{overflow-x:auto}
details{background:var(--card);border:1px solid var(--hair);border-radius:10px;margin:12px 0;padding:0 18px}
summary{cursor:pointer;padding:13px 0;font-weight:600}summary span{font-weight:400;color:var(--quiet)}
details details{border:0;margin:0;padding:0}details details summary{font-size:13.5px;color:var(--quiet);font-weight:400}
.story{max-height:560px;overflow-y:auto;padding-bottom:16px}ol{margin:0;padding-left:46px;font-size:14px}
ol li::marker{color:var(--quiet);font-size:11.5px}li i{font-style:normal;color:var(--quiet)}.red{color:var(--bad)}
footer{margin-top:64px;font-size:13px;color:var(--quiet)}code{font:12.5px ui-monospace,Menlo,Consolas,monospace}
@media print{main{padding:0}details{break-inside:avoid}}
"""


def page(title: str, body: Sequence[str]) -> str:
    """A whole document."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def section(title: str, lead: str, *parts: str) -> str:
    """A chapter of the page; one without parts is left out."""
    if not any(parts):
        return ""
    return f'<section><h2>{escape(title)}</h2><p class="lead">{escape(lead)}</p>{"".join(parts)}</section>'


def panel(inside: str) -> str:
    return f'<div class="panel">{inside}</div>'


def many(charts: Sequence[str]) -> str:
    """Small multiples."""
    return f'<div class="many">{"".join(map(panel, charts))}</div>' if charts else ""


def tile(value: str, words: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(words)}</span></div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table; cells are HTML, `numbers` are the columns set to the right."""

    def row(cells: Sequence[str], tag: str) -> str:
        kinds = (' class="n"' if column in numbers else "" for column in range(len(cells)))
        return "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return f'<div class="wide"><table><tr>{row(heads, "th")}</tr>{body}</table></div>'


def folded(summary: str, inside: str) -> str:
    return f"<details><summary>{summary}</summary>{inside}</details>"


def legend(names: Sequence[str], colours: int) -> str:
    """Names beside the colours they are drawn in."""
    items = (
        f'<span><svg viewBox="0 0 10 10"><rect width="10" height="10" rx="2" class="c{number % colours}"/></svg>'
        f"{escape(name)}</span>"
        for number, name in enumerate(names)
    )
    return f'<div class="legend">{"".join(items)}</div>'
