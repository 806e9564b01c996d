"""The runs of a benchmark: their names and settings, each by its place. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from icefield_train.config import TrainConfig
from icefield_train.recipe_fit import TUNING, recipe_fault
from icefield_train.rules import refusal
from icefield_train.tasks import TASKS
from plugins.module_utils import benchmark_order, run_job
from plugins.module_utils.benchmark_order import Place
from plugins.module_utils.tunables import AUTO, untuned

# Rows of a rank where the user names no batch: as in the article, as many on any number of nodes.
DEFAULT_BATCH = 32
# A run's name is the benchmark's, its place, and at most so long.
_MOST_NAME = 100
# What a benchmark decides itself, or can't do.
_ALONE = {
    "attach": "nothing: a benchmark goes on only as long as it is watched; follow one run of it by train.yml",
    "script": "nothing: of a script's runs nobody knows what to compare",
    "recipe": "recipes, a list, in place of it",
}


def faults(values: Mapping[str, Any], counts: Sequence[int]) -> Iterator[str]:
    """Yield a line for each setting that a benchmark on these numbers of nodes can't follow.

    Args:
        values: converted settings of the user.
        counts: numbers of nodes.
    """
    for name, words in _ALONE.items():
        if values[name] not in ("", "icefield"):
            yield refusal(name, values[name], words)
    last = run_id(values["run_id"], Place("icefield", max(counts, default=1), int(values["repeats"])))
    if len(last) > _MOST_NAME:
        yield refusal(
            "run_id", values["run_id"], f"at most {_MOST_NAME - len(last) + len(values['run_id'])} characters"
        )
    if "article" not in benchmark_order.recipe_names(values["recipes"]):
        return
    for nodes in counts:
        settings = settings_of(completed(values, nodes), Place("article", nodes, 1), {})
        config = TrainConfig(**run_job.training_settings(settings))
        kind = TASKS[values["task"]].kind
        if fault := recipe_fault(config, kind, nodes * int(settings["nproc_per_node"])):
            yield fault
            return


def run_id(benchmark: str, place: Place) -> str:
    """Return the name of a run."""
    return f"{benchmark}-{place.recipe}-{place.nodes}n-{place.repeat}"


def completed(values: Mapping[str, Any], cluster_nodes: int) -> dict[str, Any]:
    """Return the settings of a benchmark: ``nodes`` is the list of its numbers of nodes, and a batch is named.

    What autotune.yml found is for one number of nodes; settings that are left open get their built-in values.

    Args:
        values: converted settings of the user.
        cluster_nodes: number of nodes that the cluster has.
    """
    found = {**untuned(values), "measure_only": True}
    found["nodes"] = list(values.get("nodes") or benchmark_order.doubled(cluster_nodes))
    if not values["global_batch_size"] and not values["per_device_batch_size"]:
        found["per_device_batch_size"] = DEFAULT_BATCH
    return found


def settings_of(values: Mapping[str, Any], place: Place, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run at a place: those of a training that make the same run.

    Args:
        values: settings of the benchmark, see ``completed``.
        place: the run's place.
        defaults: what the settings are where the user gives none.
    """
    found = {**values, "nodes": place.nodes, "recipe": place.recipe}
    if place.recipe == "article":
        found["launcher"] = "torchrun"
        fields = TrainConfig.__dataclass_fields__
        found.update({name: defaults.get(name, fields[name].default) for name in TUNING})
        found["threads_per_process"] = AUTO
    return untuned(found)


def places(job: Mapping[str, Any], values: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the runs in their order, each by its ``run_id``.

    Each has ``number`` (from 1), ``recipe``, ``nodes``, ``repeat``, ``settings``, ``job`` (the benchmark's, under the
    run's name) and ``folder`` (where it goes below the folder of all runs).

    Args:
        job: what the action ``run_job`` found; its ``run_id`` is the name of the benchmark.
        values: settings of the benchmark, see ``completed``.
        defaults: what the settings are where the user gives none.
    """
    names = benchmark_order.recipe_names(values["recipes"])
    found = []
    for number, place in enumerate(benchmark_order.interleaved(names, values["nodes"], int(values["repeats"])), 1):
        name = run_id(job["run_id"], place)
        settings = {**settings_of(values, place, defaults), "run_id": name}
        found.append(
            {
                "run_id": name,
                "number": number,
                "recipe": place.recipe,
                "nodes": place.nodes,
                "repeat": place.repeat,
                "settings": settings,
                "job": {**job, "run_id": name},
                "folder": f"{job['run_id']}/{name}",
            }
        )
    return found
