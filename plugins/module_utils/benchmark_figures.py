"""The figures of a benchmark: medians, spreads, speed-ups and efficiencies of its runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from plugins.module_utils.benchmark_alike import Run, check_alike, held_batch

# In metrics.json by this name, where the run tells it; dollars in result.json.
_MEASURED = (
    "wall_seconds",
    "train_seconds",
    "evaluate_seconds",
    "samples_per_second",
    "tokens_per_second",
    "bytes_sent_per_step",
    "usd",
)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return ``median``, ``least`` and ``most`` of at least one value."""
    return {"median": median(values), "least": min(values), "most": max(values)}


def summary(runs: Sequence[Run], metric: str) -> dict[str, Any]:
    """Return the content of benchmark.json.

    Speed-ups are ratios of wall time, evaluation included, within a repeat, where the machine was in a like state;
    their median and spread are told. Efficiency is the speed-up of a recipe against its own single node, per node.

    Args:
        runs: finished runs, at least one.
        metric: name of the metric that models are judged by, such as ``f1``.

    Raises:
        ValueError: runs are not alike.
    """
    check_alike(runs)
    pairs = sorted({(run.recipe, run.nodes) for run in runs})
    rows = [_row(runs, [run for run in runs if (run.recipe, run.nodes) == pair], metric) for pair in pairs]
    return {"metric": metric, "batch": held_batch(runs[0].files), "rows": rows}


def _row(everything: Sequence[Run], runs: Sequence[Run], metric: str) -> dict[str, Any]:
    first = runs[0]
    facts = first.files["metrics"]
    row: dict[str, Any] = {
        "recipe": first.recipe,
        "nodes": first.nodes,
        "repeats": len(runs),
        "precision": facts.get("precision"),
        "steps": facts.get("steps"),
        "global_batch_size": facts.get("global_batch_size"),
        "run_ids": [run.run_id for run in runs],
    }
    for name in (*_MEASURED, metric):
        file = "result" if name == "usd" else "metrics"
        values = [run.files[file].get(name) for run in runs]
        known = [value for value in values if value is not None]
        # A median of some of the runs would stand beside medians of all.
        if len(known) == len(values):
            row[name] = spread(known)
    for name, recipe, nodes in (
        ("speedup_own", first.recipe, 1),
        ("speedup_tuned", "icefield", 1),
        ("speedup_article", "article", 1),
        ("speedup_article_same_nodes", "article", first.nodes),
    ):
        found = _ratios(runs, everything, recipe, nodes)
        if found:
            row[name] = spread(found)
    if "speedup_own" in row:
        row["efficiency"] = {name: value / first.nodes for name, value in row["speedup_own"].items()}
    return row


def _ratios(runs: Sequence[Run], everything: Sequence[Run], recipe: str, nodes: int) -> list[float]:
    """Return how many times as long the peer of the same repeat took; [] where a repeat has none."""
    peers = {
        run.repeat: run.files["metrics"]["wall_seconds"]
        for run in everything
        if (run.recipe, run.nodes) == (recipe, nodes)
    }
    if any(run.repeat not in peers for run in runs):
        return []
    return [peers[run.repeat] / run.files["metrics"]["wall_seconds"] for run in runs]
