"""Charts of a few measured points by number of nodes, as inline SVG. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from icefield_train.chart import ticks

_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 90, 12, 36
_DASHES = ("", "6 3", "2 3", "8 2 2 2")
# Between two names at the ends of lines, so that both can be read.
_TEXT = 13.0


def nodes_chart(lines: Mapping[str, Mapping[int, float]], *, title: str, y_label: str, ideal: bool = False) -> str:
    """Return an SVG with a line for each name, its points by number of nodes; "" where there is no point.

    Args:
        lines: values, not negative, by name and number of nodes.
        title: what the chart shows, for readers that can't see it.
        y_label: name of the y axis.
        ideal: add the line on which N nodes have the value N.
    """
    counts = sorted({nodes for points in lines.values() for nodes in points})
    if not counts:
        return ""
    drawn = {**lines, **({"ideal": {nodes: float(nodes) for nodes in counts}} if ideal else {})}
    top = max(value for points in drawn.values() for value in points.values()) or 1.0
    y_ticks = ticks(0.0, top, 5)
    top = max(top, y_ticks[-1])
    most = counts[-1]

    def place(nodes: int, value: float) -> tuple[float, float]:
        return (
            round(_LEFT + nodes / most * (_WIDTH - _LEFT - _RIGHT), 1),
            round(_TOP + (1 - value / top) * (_HEIGHT - _TOP - _BOTTOM), 1),
        )

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">']
    for value in y_ticks:
        x, y = place(0, value)
        parts.append(f'<line class="grid" x1="{x}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}"/>')
        parts.append(f'<text x="{x - 6}" y="{y}" dy="4" text-anchor="end">{value:g}</text>')
    for nodes in counts:
        x = place(nodes, 0)[0]
        parts.append(f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{nodes}</text>')
    ends: dict[str, tuple[float, float]] = {}
    for number, (name, points) in enumerate(drawn.items()):
        if not points:
            continue
        spots = [place(nodes, points[nodes]) for nodes in sorted(points)]
        path = " ".join(f"{x},{y}" for x, y in spots)
        kind = "raw" if name == "ideal" else f"smooth line{number % 2}"
        parts.append(f'<polyline class="{kind}" stroke-dasharray="{_DASHES[number % 4]}" points="{path}"/>')
        parts += [f'<circle class="{kind}" cx="{x}" cy="{y}" r="3"/>' for x, y in spots]
        ends[name] = spots[-1]
    for name, height in _apart({name: y for name, (_, y) in ends.items()}).items():
        parts.append(f'<text x="{ends[name][0] + 8}" y="{height:g}" dy="4">{escape(name)}</text>')
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">nodes</text>')
    parts.append(f'<text x="{_LEFT + 6}" y="{_TOP + 10}">{escape(y_label)}</text></svg>')
    return "".join(parts)


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """Return heights, downwards, that are a line of text from each other at least, in the same order."""
    found: dict[str, float] = {}
    last = float(_TOP) - _TEXT
    for name in sorted(heights, key=lambda name: heights[name]):
        found[name] = last = max(heights[name], last + _TEXT)
    # What was pushed below the axis moves up, and pushes those above it.
    lowest = float(_HEIGHT - _BOTTOM)
    for name in reversed(found):
        found[name] = min(found[name], lowest)
        lowest = found[name] - _TEXT
    return found
