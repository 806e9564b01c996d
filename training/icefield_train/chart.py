"""Line charts as inline SVG. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

Point = tuple[float, float]

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 12, 36
# More points than pixels would only make the page heavy.
_MAX_POINTS = 600


def line_chart(points: Sequence[Point], *, title: str, x_label: str, y_label: str, from_zero: bool = False) -> str:
    """Return an SVG of the points (fine line) and their moving average (thick line); "" for less than two points.

    Args:
        points: x ascending; points that are not finite are left out.
        title: what the chart shows, for readers that can't see it.
        x_label: name of the x axis.
        y_label: name of the y axis.
        from_zero: let the y axis begin at 0.
    """
    finite = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    if len(finite) < 2:
        return ""
    smooth = _thinned(moving_average(finite, max(1, len(finite) // 25)))
    raw = _thinned(finite)
    x_ticks = ticks(finite[0][0], finite[-1][0], 6)
    low, high = min(y for _, y in raw), max(y for _, y in raw)
    y_ticks = ticks(0.0 if from_zero else low, high if high > low else low + 1.0, 5)
    x_range = (finite[0][0], finite[-1][0])
    y_range = (min(y_ticks[0], 0.0 if from_zero else low), max(y_ticks[-1], high))

    def place(point: Point) -> str:
        x = _LEFT + (point[0] - x_range[0]) / (x_range[1] - x_range[0] or 1.0) * (_WIDTH - _LEFT - _RIGHT)
        y = _TOP + (y_range[1] - point[1]) / (y_range[1] - y_range[0] or 1.0) * (_HEIGHT - _TOP - _BOTTOM)
        return f"{x:.1f},{y:.1f}"

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">']
    for value in y_ticks:
        x, y = place((x_range[0], value)).split(",")
        parts.append(f'<line class="grid" x1="{x}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y}" dy="4" text-anchor="end">{value:g}</text>')
    for value in x_ticks:
        x = place((value, y_range[0])).split(",")[0]
        parts.append(f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<polyline class="raw" points="{" ".join(map(place, raw))}"/>')
    parts.append(f'<polyline class="smooth" points="{" ".join(map(place, smooth))}"/>')
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">{escape(x_label)}</text>')
    parts.append(f'<text x="{_LEFT + 6}" y="{_TOP + 10}">{escape(y_label)}</text></svg>')
    return "".join(parts)


def moving_average(points: Sequence[Point], window: int) -> list[Point]:
    """Return each point with the mean of itself and of those up to ``window`` before it."""
    result = []
    total = 0.0
    for place, (x, y) in enumerate(points):
        total += y
        if place > window:
            total -= points[place - window - 1][1]
        result.append((x, total / min(place + 1, window + 1)))
    return result


def ticks(low: float, high: float, count: int) -> list[float]:
    """Return about ``count`` round numbers from ``low`` to ``high``, at least one."""
    if high <= low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # Of decimal steps, so that 3 * 0.1 is shown as 0.3.
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)] or [low]


def _thinned(points: Sequence[Point]) -> list[Point]:
    stride = math.ceil(len(points) / _MAX_POINTS)
    kept = list(points[::stride])
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]
