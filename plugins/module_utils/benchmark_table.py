"""A benchmark's table, in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Head, name in benchmark.json, factor, format.
_COLUMNS = (
    ("wall s", "wall_seconds", 1.0, ".1f"),
    ("samples/s", "samples_per_second", 1.0, ".1f"),
    ("tokens/s", "tokens_per_second", 1.0, ".0f"),
    ("against 1 node tuned", "speedup_tuned", 1.0, ".2f"),
    ("against 1 node article", "speedup_article", 1.0, ".2f"),
    ("against article, same nodes", "speedup_article_same_nodes", 1.0, ".2f"),
    ("efficiency %", "efficiency", 100.0, ".0f"),
    ("MB sent per step and rank", "bytes_sent_per_step", 1e-6, ".1f"),
    ("$ per run", "usd", 1.0, ".4f"),
)


def cells(summary: Mapping[str, Any]) -> list[list[str]]:
    """Return the table of benchmark.json's content, heads first: the median, in brackets the repeats' least and most.

    A column that no row has a figure for is left out.
    """
    metric = summary["metric"]
    rows = summary["rows"]
    columns = [column for column in (*_COLUMNS, (metric, metric, 1.0, ".4f")) if any(column[1] in row for row in rows)]
    table = [["recipe", "nodes", "precision", "steps", "global batch", *(column[0] for column in columns)]]
    for row in rows:
        facts = [str(row[name]) for name in ("recipe", "nodes", "precision", "steps", "global_batch_size")]
        table.append([*facts, *(_cell(row.get(name), factor, form) for _, name, factor, form in columns)])
    return table


def markdown(summary: Mapping[str, Any]) -> str:
    """Return the table in Markdown, and below it what was held constant."""
    head, *body = cells(summary)
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, body)]
    notes = [f"Held constant: a batch of {summary['batch']}."]
    if len({row["precision"] for row in summary["rows"]}) > 1:
        notes.append("Precision differs between recipes by design, not within one.")
    return "\n".join([*lines, "", " ".join(notes), ""])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(figure: Mapping[str, float] | None, factor: float, form: str) -> str:
    if figure is None:
        return ""
    middle, least, most = (format(figure[name] * factor, form) for name in ("median", "least", "most"))
    return middle if least == most else f"{middle} ({least} to {most})"
