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
        config = TrainConfig(**run_job.training_settings(settings_of(values, Place("article", nodes, 1), {})))
        kind = TASKS[values["task"]].kind
        if fault := recipe_fault(config, kind, nodes * int(values["nproc_per_node"])):
            yield fault
            return


def run_id(benchmark: str, place: Place) -> str:
    """Return the name of a run."""
    return f"{benchmark}-{place.recipe}-{place.nodes}n-{place.repeat}"


def settings_of(values: Mapping[str, Any], place: Place, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run at a place: those of a training that make the same run.

    Args:
        values: converted settings of the user.
        place: the run's place.
        defaults: what the settings are where the user gives none.
    """
    found = {**values, "recipe": place.recipe, "measure_only": True}
    if not values["global_batch_size"] and not values["per_device_batch_size"]:
        found["per_device_batch_size"] = DEFAULT_BATCH
    if place.recipe == "article":
        found["launcher"] = "torchrun"
        fields = TrainConfig.__dataclass_fields__
        found.update({name: defaults.get(name, fields[name].default) for name in TUNING})
    return found


def places(
    values: Mapping[str, Any], counts: Sequence[int], defaults: Mapping[str, Any], benchmark: str
) -> list[dict[str, Any]]:
    """Return the runs in their order: ``run_id``, ``recipe``, ``nodes``, ``repeat`` and ``settings`` of each.

    Args:
        values: converted settings of the user.
        counts: numbers of nodes.
        defaults: what the settings are where the user gives none.
        benchmark: name of the benchmark.
    """
    order = benchmark_order.interleaved(benchmark_order.recipe_names(values["recipes"]), counts, int(values["repeats"]))
    return [
        {
            "run_id": run_id(benchmark, place),
            "recipe": place.recipe,
            "nodes": place.nodes,
            "repeat": place.repeat,
            "settings": {**settings_of(values, place, defaults), "run_id": run_id(benchmark, place)},
        }
        for place in order
    ]
