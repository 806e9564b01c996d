"""The figures of a benchmark: medians, spreads, speed-ups and efficiencies of its runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from plugins.module_utils.benchmark_alike import Run, check_alike, held_batch

# In metrics.json by these names, where the run tells them; dollars in result.json.
_MEASURED = (
    "job_seconds",
    "train_seconds",
    "evaluate_seconds",
    "job_samples_per_second",
    "job_tokens_per_second",
    "samples_per_second",
    "tokens_per_second",
    "cpu_utilisation",
    "bytes_sent_per_step",
    "wire_bytes_per_step",
    "gemm_share",
    "gemm_peak_flops",
)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return ``median``, ``least`` and ``most`` of at least one value."""
    return {"median": median(values), "least": min(values), "most": max(values)}


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the content of benchmark.json.

    Speed-ups are ratios of the whole job's samples per second, from the launch of the ranks until the metrics are
    there, within a repeat, where the machine was in a like state; their median and spread are told. Efficiency is the
    speed-up of a recipe against its own single node, per node.

    Args:
        runs: finished runs, at least one.

    Raises:
        ValueError: runs are not alike.
    """
    check_alike(runs)
    metrics = list(runs[0].files["metrics"].get("baseline", {}))
    pairs = sorted({(run.recipe, run.nodes) for run in runs})
    rows = [_row(runs, [run for run in runs if (run.recipe, run.nodes) == pair], metrics) for pair in pairs]
    config, facts = runs[0].files["config"], runs[0].files["metrics"]
    return {
        "task": config.get("task"),
        "model": config.get("model_name"),
        "train_rows": facts.get("train_rows"),
        "epochs": config.get("epochs"),
        "max_steps": config.get("max_steps"),
        "seed": facts.get("seed"),
        "batch": held_batch(runs[0].files),
        "metrics": metrics,
        "runs_done": len(runs),
        "rows": rows,
    }


def _row(everything: Sequence[Run], runs: Sequence[Run], metrics: Sequence[str]) -> dict[str, Any]:
    first = runs[0]
    facts, hosts = first.files["metrics"], first.files["environment"].get("hosts") or [{}]
    row: dict[str, Any] = {
        "recipe": first.recipe,
        "nodes": first.nodes,
        "repeats": len(runs),
        "precision": facts.get("precision"),
        "threads": hosts[0].get("threads"),
        "steps": facts.get("steps"),
        "global_batch_size": facts.get("global_batch_size"),
        "run_ids": [run.run_id for run in runs],
    }
    row |= _spreads(runs, "metrics", (*_MEASURED, *metrics)) | _spreads(runs, "result", ("usd",))
    padding = [_padding(run.files["metrics"]) for run in runs]
    if None not in padding:
        row["padding"] = spread([share for share in padding if share is not None])
    parts = [run.files["metrics"].get("step_seconds") for run in runs]
    if None not in parts:
        row["step_seconds"] = {name: spread([part[name] for part in parts if part]) for name in parts[0] or {}}
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


def _spreads(runs: Sequence[Run], file: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the spread of each figure; a median of some of the runs would stand beside medians of all."""
    found = {}
    for name in names:
        values = [run.files[file].get(name) for run in runs]
        if None not in values:
            found[name] = spread([value for value in values if value is not None])
    return found


def _padding(metrics: Mapping[str, Any]) -> float | None:
    """Return the share of the calculated tokens that are padding."""
    padded = metrics.get("padded_tokens")
    return 1 - metrics["tokens"] / padded if padded else None


def _ratios(runs: Sequence[Run], everything: Sequence[Run], recipe: str, nodes: int) -> list[float]:
    """Return how many times as fast as the peer of the same repeat each run was; [] where a repeat has none."""
    peers = {run.repeat: _speed(run) for run in everything if (run.recipe, run.nodes) == (recipe, nodes)}
    if any(run.repeat not in peers for run in runs):
        return []
    return [_speed(run) / peers[run.repeat] for run in runs]


def _speed(run: Run) -> float:
    return float(run.files["metrics"]["job_samples_per_second"])
