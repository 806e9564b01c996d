"""Charts of amounts and what they are made of, as inline SVG. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

_WIDTH, _BAR, _GAP = 720, 18, 8
_LEFT, _RIGHT, _TOP = 110, 70, 26


def split_chart(bars: Mapping[str, Mapping[str, float]], *, title: str, unit: str) -> str:
    """Return an SVG with a bar for each name, divided into its parts, with its sum behind it; "" without any bar.

    Args:
        bars: amounts, not negative, by name and part; all have the same parts, at most four.
        title: what the chart shows, for readers that can't see it.
        unit: of the amounts.
    """
    if not bars:
        return ""
    most = max(sum(parts.values()) for parts in bars.values()) or 1.0
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    height = _TOP + len(bars) * (_BAR + _GAP)
    drawn = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title, quote=True)}">']
    for number, name in enumerate(next(iter(bars.values()))):
        left = _LEFT + number * 130
        drawn.append(f'<rect class="part{number}" x="{left}" y="4" width="10" height="10"/>')
        drawn.append(f'<text x="{left + 15}" y="13">{escape(name)}</text>')
    for place, (name, parts) in enumerate(bars.items()):
        x, y = float(_LEFT), _TOP + place * (_BAR + _GAP)
        drawn.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        for number, (part, amount) in enumerate(parts.items()):
            told = f"<title>{escape(part)} {amount:.1f} {escape(unit)}</title>"
            drawn.append(
                f'<rect class="part{number}" x="{x:.1f}" y="{y}" width="{amount * scale:.1f}" height="{_BAR}">'
                f"{told}</rect>"
            )
            x += amount * scale
        drawn.append(f'<text x="{x + 6:.1f}" y="{y + 13}">{sum(parts.values()):.1f} {escape(unit)}</text>')
    return "".join([*drawn, "</svg>"])
