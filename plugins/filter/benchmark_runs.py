"""Ansible filters: the runs of a benchmark, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from plugins.module_utils import benchmark_places, run_plan, tunables

# What every run of a benchmark has of itself, or of its place, and what none of them takes.
_OF_A_RUN = ("recipe", "measure_only", "autotune")


def benchmark_command(
    job: Mapping[str, Any], values: Mapping[str, Any], defaults: Mapping[str, Any], options: Mapping[str, Any]
) -> str:
    """Return the command that repeats a benchmark from anywhere.

    Args:
        job: what the action ``run_job`` found.
        values: settings of the benchmark.
        defaults: what the settings are where the user gives none.
        options: ``cluster`` and ``inventory`` for the command.
    """
    used = {*run_plan.used_settings(values), "recipes", "repeats"} - {*_OF_A_RUN}
    nodes = ",".join(map(str, values["nodes"]))
    told = {**values, **job["sources"]}
    return run_plan.repeat_command(told, tunables.untuned(defaults), nodes, options, used, "benchmark")


class FilterModule:
    """Filters on benchmarks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"benchmark_runs": benchmark_places.places, "benchmark_command": benchmark_command}
