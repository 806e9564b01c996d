"""The frame of a page: self-contained, no script, no font, no network."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_STYLE = """
:root{--ink:#1a2733;--soft:#5b6b7a;--line:#d9e1e8;--accent:#0b6fb8;--bad:#b3261e;--paper:#fff}
@media(prefers-color-scheme:dark){:root{
--ink:#e6edf3;--soft:#9aa9b8;--line:#33404d;--accent:#5cb3f0;--bad:#ff8a80;--paper:#10171e}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:780px;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 .5rem}
.lead{color:var(--soft);margin:.2rem 0 1.2rem}.failure{color:var(--bad);font-weight:600}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .8rem .25rem 0;
border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600;color:var(--soft)}td.figure{font-variant-numeric:tabular-nums}
pre{border:1px solid var(--line);border-radius:4px;padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere}
svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}.grid{stroke:var(--line)}
polyline{fill:none}.raw{stroke:var(--accent);opacity:.3}.smooth{stroke:var(--accent);stroke-width:2}
.line1{stroke:var(--bad)}circle{fill:var(--paper)}
.wide{overflow-x:auto}.wide td,.wide th{overflow-wrap:normal;white-space:nowrap}
.part0{fill:var(--accent)}.part1{fill:var(--bad)}.part2{fill:var(--soft)}.part3{fill:var(--line)}
"""


def document(title: str, parts: Iterable[str]) -> str:
    """Return a whole page of parts that are HTML already; empty ones are left out."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n" + "\n".join(filter(None, parts))
    ) + "\n</body></html>\n"
