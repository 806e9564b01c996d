"""What a staged folder says of its task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from icefield_train.kinds import DEFAULT_KIND, KINDS, Kind
from icefield_train.showing import shown
from icefield_train.staged_data import read_about


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedTask:
    """A task as ``task.json`` describes it."""

    kind: Kind
    labels: tuple[str, ...]
    """Names of the classes; none in a regression or for a language model."""
    metrics: tuple[str, ...]
    dev: dict[str, str]
    """Names of the dev splits and their files; the first is the one by which a model is judged."""
    name: str = ""
    """Name of the task, of ``tasks.TASKS``."""
    predict: dict[str, str] = field(default_factory=dict)
    """Names of the splits without labels and their files."""

    @property
    def num_outputs(self) -> int:
        """Outputs of the model's head; a language model's are its vocabulary."""
        return len(self.labels) or 1


def read_task(folder: Path) -> StagedTask:
    """Read the task of a staged folder.

    Raises:
        ValueError: it is no staged folder, or says what can't be.
    """
    return task_from(read_about(folder), str(folder / "task.json"))


def task_from(about: Mapping[str, Any], where: str) -> StagedTask:
    """Make a task of the content of task.json; ``where`` names it in refusals.

    Raises:
        ValueError: kind or metrics are not known, or do not go with the labels.
    """
    name = about.get("kind", DEFAULT_KIND)
    if name not in KINDS:
        raise ValueError(f"{where}: kind '{shown(name)}' found, one of {', '.join(KINDS)} expected")
    kind, labels, metrics = KINDS[name], tuple(about["labels"]), tuple(about["metrics"])
    unknown = [metric for metric in metrics if metric not in (*kind.metrics, "loss")]
    if unknown:
        raise ValueError(
            f"{where}: metric '{shown(unknown[0])}' found, of {', '.join((*kind.metrics, 'loss'))} for {name}"
        )
    if "f1" in metrics and len(labels) != 2:
        raise ValueError(f"{where}: metric 'f1' is for 2 classes, {len(labels)} found; give macro_f1 or micro_f1")
    if any(metric.startswith("entity_") for metric in metrics):
        odd = [label for label in labels if label != "O" and label[:2] not in ("B-", "I-", "E-", "S-")]
        if odd:
            raise ValueError(
                f"{where}: label '{shown(odd[0])}' found, O and names that begin with B- or I- expected for entities; "
                "give accuracy as the metric of other tags"
            )
    return StagedTask(
        kind=kind,
        labels=labels,
        metrics=metrics,
        dev=dict(about.get("dev") or {"dev": "dev.jsonl"}),
        name=str(about.get("task", "")),
        predict=dict(about.get("predict") or {}),
    )
