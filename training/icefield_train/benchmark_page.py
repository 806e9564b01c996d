"""The page of a benchmark, made of benchmark.json's content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from icefield_train.page import document
from icefield_train.ratio_chart import nodes_chart

_CHARTS = (
    ("Speed-up against the recipe's own single node", "speedup_own", "times as fast", True),
    ("Throughput of training", "samples_per_second", "samples/s", False),
    ("Time of the whole run", "wall_seconds", "seconds", False),
)


def build(summary: Mapping[str, Any], table: Sequence[Sequence[str]]) -> str:
    """Return the page: what was held constant, the table, and a chart of the medians of each figure that is there.

    Args:
        summary: content of benchmark.json.
        table: cells of the table, the heads first.
    """
    rows, metric = summary["rows"], summary["metric"]
    words = f"Held constant: a batch of {summary['batch']}. Medians of the repeats; the least and the most in brackets."
    if len({row["precision"] for row in rows}) > 1:
        words += " Precision differs between recipes by design, not within one."
    parts = ["<h1>Benchmark</h1>", f'<p class="lead">{escape(words)}</p>', _table(table)]
    for title, figure, label, ideal in (*_CHARTS, (f"Metric: {metric}", metric, metric, False)):
        chart = nodes_chart(_medians(rows, figure), title=title, y_label=label, ideal=ideal)
        parts.append(f"<h2>{escape(title)}</h2>{chart}" if chart else "")
    return document("Benchmark", parts)


def _medians(rows: Sequence[Mapping[str, Any]], figure: str) -> dict[str, dict[int, float]]:
    lines: dict[str, dict[int, float]] = {}
    for row in rows:
        if figure in row:
            lines.setdefault(row["recipe"], {})[row["nodes"]] = row[figure]["median"]
    return lines


def _table(table: Sequence[Sequence[str]]) -> str:
    head, *body = table
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f'<td class="figure">{escape(cell)}</td>' for cell in row) for row in body]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
