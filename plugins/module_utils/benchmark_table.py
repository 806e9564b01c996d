"""A benchmark's table, in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plugins.module_utils.benchmark_alike import Run

_FACTS = (
    ("recipe", "recipe"),
    ("nodes", "nodes"),
    ("precision", "precision"),
    ("threads", "threads"),
    ("steps", "steps"),
    ("global batch", "global_batch_size"),
)
# Head, name in benchmark.json, factor, format.
_COLUMNS = (
    ("job s", "job_seconds", 1.0, ".1f"),
    ("samples/s", "job_samples_per_second", 1.0, ".1f"),
    ("tokens/s", "job_tokens_per_second", 1.0, ".0f"),
    ("against 1 node icefield", "speedup_tuned", 1.0, ".2f"),
    ("against 1 node article", "speedup_article", 1.0, ".2f"),
    ("against article, same nodes", "speedup_article_same_nodes", 1.0, ".2f"),
    ("efficiency %", "efficiency", 100.0, ".0f"),
    ("ms per step: compute", "compute", 1e3, ".1f"),
    ("communication", "communication", 1e3, ".1f"),
    ("data", "data", 1e3, ".1f"),
    ("other", "other", 1e3, ".1f"),
    ("CPU %", "cpu_utilisation", 100.0, ".0f"),
    ("GEMM peak %", "gemm_share", 100.0, ".0f"),
    ("padding %", "padding", 100.0, ".0f"),
    ("MB on the wire per step and node", "wire_bytes_per_step", 1e-6, ".1f"),
    ("$ per run", "usd", 1.0, ".4f"),
)


def cells(summary: Mapping[str, Any]) -> list[list[str]]:
    """Return the table of benchmark.json's content, heads first: the median, in brackets the repeats' least and most.

    A column that no row has a figure for is left out.
    """
    rows = [{**row, **row.get("step_seconds", {})} for row in summary["rows"]]
    metrics = [(name, name, 1.0, ".4f") for name in summary["metrics"]]
    columns = [column for column in (*_COLUMNS[:7], *metrics, *_COLUMNS[7:]) if any(column[1] in row for row in rows)]
    facts = [fact for fact in _FACTS if any(row.get(fact[1]) is not None for row in rows)]
    table = [[*(head for head, _ in facts), *(column[0] for column in columns)]]
    for row in rows:
        told = [str(row[name]) for _, name in facts]
        table.append([*told, *(_cell(row.get(name), factor, form) for _, name, factor, form in columns)])
    return table


def words(summary: Mapping[str, Any]) -> list[str]:
    """Return what has to be known to read the table, a sentence each."""
    rows = summary["rows"]
    counts = sorted({row["repeats"] for row in rows})
    repeats = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    planned, done = summary.get("runs_planned", 0), summary["runs_done"]
    found = [f"Unfinished: {done} of {planned} runs are done."] if done < planned else []
    found += [
        f"Median of {repeats} interleaved repeats, in brackets the least and the most."
        if counts[-1] > 1
        else "One repeat: there is no spread to tell.",
        f"Held equal: model, data, epochs, seed, versions, learning rate, and a batch of {summary['batch']}.",
    ]
    if len({row["global_batch_size"] for row in rows}) > 1:
        found.append("The global batch, and with it the number of steps, differs by the number of nodes.")
    if summary.get("max_steps"):
        found.append(f"Every run ends after {summary['max_steps']} steps, whatever its batch.")
    if len({row["precision"] for row in rows}) > 1:
        found.append("Precision differs between recipes by design, not within one.")
    if {"article", "icefield"} <= {row["recipe"] for row in rows}:
        found.append("The article's recipe pads every row to the whole length and has no tuning, by design.")
    found.append("Time is from the launch of the ranks until the metrics are there, evaluation included.")
    return found


def markdown(summary: Mapping[str, Any]) -> str:
    """Return the table in Markdown, and below it what has to be known to read it."""
    head, *body = cells(summary)
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, body)]
    return "\n".join([*lines, "", *words(summary), ""])


def lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the medians of the figures that matter most, as lines for a terminal."""
    metrics = [(name, name, 1.0, ".4f") for name in summary["metrics"]]
    columns = [
        column
        for column in (*_COLUMNS[:2], *_COLUMNS[3:7], *metrics)
        if any(column[1] in row for row in summary["rows"])
    ]
    table = [["recipe", "nodes", *(column[0] for column in columns)]]
    for row in summary["rows"]:
        figures = [
            format(row[name]["median"] * factor, form) if name in row else "" for _, name, factor, form in columns
        ]
        table.append([str(row["recipe"]), str(row["nodes"]), *figures])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def run_line(run: Run) -> str:
    """Return what a run shows by itself, in a line."""
    found = run.files["metrics"]
    scores = [f"{name} {found[name]:.4f}" for name in found.get("baseline", {})]
    speed = f"{found['job_seconds']:.1f} s, {found['job_samples_per_second']:.1f} samples/s"
    return ", ".join([f"{run.recipe} on {run.nodes} node{'s' if run.nodes > 1 else ''}: {speed}", *scores])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(figure: Mapping[str, float] | None, factor: float, form: str) -> str:
    if figure is None:
        return ""
    middle, least, most = (format(figure[name] * factor, form) for name in ("median", "least", "most"))
    return middle if least == most else f"{middle} ({least} to {most})"
