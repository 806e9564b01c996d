"""The page of a benchmark, made of benchmark.json's content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from icefield_train.page import document
from icefield_train.ratio_chart import nodes_chart
from icefield_train.split_chart import split_chart

_CHARTS = (
    ("Speed-up against the recipe's own single node", "speedup_own", "times as fast", True),
    ("Throughput of the whole job", "job_samples_per_second", "samples/s", False),
)
_SPLIT = "Time of a step, by what it is spent on"


def build(summary: Mapping[str, Any], table: Sequence[Sequence[str]], words: Sequence[str]) -> str:
    """Return the page: how to read it, a chart of the medians of each figure that is there, the table.

    Args:
        summary: content of benchmark.json.
        table: cells of the table, the heads first.
        words: what has to be known to read it, a sentence each.
    """
    rows = summary["rows"]
    what = f"{summary.get('model')} fine-tuned on {summary.get('task')}"
    parts = ["<h1>Benchmark</h1>", f'<p class="lead">{escape(what)}</p>', f"<p>{escape(' '.join(words))}</p>"]
    metrics = [(f"Metric: {name}", name, name, False) for name in summary["metrics"]]
    for title, figure, label, ideal in (*_CHARTS, *metrics):
        chart = nodes_chart(_medians(rows, figure), title=title, y_label=label, ideal=ideal)
        parts.append(f"<h2>{escape(title)}</h2>{chart}" if chart else "")
    split = split_chart(_splits(rows), title=_SPLIT, unit="ms")
    parts.append(f"<h2>{_SPLIT}</h2>{split}" if split else "")
    parts += ["<h2>All figures</h2>", f'<div class="wide">{_table(table)}</div>', "<h2>Runs</h2>", _runs(rows)]
    if summary.get("command"):
        parts.append(f"<h2>Repeat</h2><pre>{escape(summary['command'])}</pre>")
    return document("Benchmark", parts)


def _runs(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return links to the reports of the runs, whose folders lie beside the page."""
    lines = []
    for row in rows:
        links = (f'<a href="{escape(name)}/report.html">{escape(name)}</a>' for name in row["run_ids"])
        lines.append(f"<li>{', '.join(links)}</li>")
    return f"<ul>{''.join(lines)}</ul>"


def _splits(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return milliseconds by bar and part."""
    return {
        f"{row['recipe']}, {row['nodes']}": {name: part["median"] * 1000 for name, part in row["step_seconds"].items()}
        for row in rows
        if "step_seconds" in row
    }


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
