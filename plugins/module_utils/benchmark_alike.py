"""Refuses to compare runs that are not alike. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Files = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run of a benchmark."""

    run_id: str
    recipe: str
    nodes: int
    repeat: int
    files: Files
    """``config``, ``metrics``, ``environment`` and ``result``: the content of these files of the run's folder."""


def held_batch(files: Files) -> str:
    """Return which batch a run's settings hold constant as nodes are added, and its rows: ``32 per rank``."""
    config = files["config"]
    each = int(config.get("per_device_batch_size") or 0)
    if each and not config.get("global_batch_size"):
        return f"{each * int(config.get('gradient_accumulation_steps') or 1)} per rank"
    return f"{files['metrics'].get('global_batch_size')} in all"


def _setting(name: str) -> Callable[[Files], Any]:
    return lambda files: files["config"].get(name)


def _processor(files: Files) -> Any:
    """Return what the head calculates with."""
    hosts = files["environment"].get("hosts") or [{}]
    return f"{hosts[0].get('cpus')} of {hosts[0].get('cpu')}"


def _ranks_per_node(files: Files) -> Any:
    found = files["metrics"]
    return found["world_size"] / found["nodes"] if "world_size" in found else None


_RATE = ("learning_rate", "lr_scaling", "lr_reference_batch_size", "warmup_ratio", "weight_decay")
_EVERYWHERE: dict[str, Callable[[Files], Any]] = {
    "model": _setting("model_digest"),
    "data": _setting("data_digest"),
    "sequence length": _setting("max_length"),
    "passes per step": lambda files: files["config"].get("gradient_accumulation_steps", 1),
    "batch": held_batch,
    "ranks per node": _ranks_per_node,
    "training rows": lambda files: files["metrics"].get("train_rows"),
    "dev rows": lambda files: files["metrics"].get("dev_rows"),
    "epochs": _setting("epochs"),
    "limit of steps": _setting("max_steps"),
    "learning rate": lambda files: [files["config"].get(name) for name in _RATE],
    "adapters": _setting("lora"),
    "seed": lambda files: files["metrics"].get("seed"),
    "processor": _processor,
    "versions": lambda files: files["environment"].get("versions"),
}
# The article's recipe is fp32 by design.
_WITHIN_RECIPE: dict[str, Callable[[Files], Any]] = {
    "precision": lambda files: files["metrics"].get("precision"),
}


def check_alike(runs: Sequence[Run]) -> None:
    """Refuse runs that are unlike in what a comparison takes for granted.

    Precision may differ between recipes, and nothing else that is looked at; a value that a run does not tell is
    unlike one that another tells.

    Raises:
        ValueError: two runs differ; with both runs, the field and both values.
    """
    firsts: dict[str, Run] = {}
    for run in runs:
        _compare(runs[0], run, _EVERYWHERE)
        _compare(firsts.setdefault(run.recipe, run), run, _WITHIN_RECIPE)


def _compare(one: Run, other: Run, fields: Mapping[str, Callable[[Files], Any]]) -> None:
    for name, value in fields.items():
        left, right = value(one.files), value(other.files)
        if left == right:
            continue
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            part = next(key for key in sorted({*left, *right}) if left.get(key) != right.get(key))
            name, left, right = f"{name} ({part})", left.get(part), right.get(part)
        raise ValueError(
            f"runs '{one.run_id}' and '{other.run_id}' are not alike and not compared: "
            f"{name} is {left} in the one and {right} in the other"
        )
