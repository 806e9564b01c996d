"""Reads GLUE's data from the hub, where the user gives no folder. A local folder of that name is never looked at."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from icefield_train import hub
from icefield_train.doctor.findings import Findings
from icefield_train.glue import rows_of, tell_count, wanted
from icefield_train.part import Part
from icefield_train.readers.arrow import read_parquet
from icefield_train.rules import refusal
from icefield_train.task import Split, Task

NAME = "nyu-mll/glue"


def read_hub(task: Task, empty_cells: str, cache: Path, findings: Findings) -> dict[str, Part]:
    """Return all splits of a task, by their names.

    Args:
        task: a task of GLUE.
        empty_cells: as for ``read_glue``.
        cache: folder of copies of what the hub has.
        findings: gets what is odd about the data.

    Raises:
        ValueError: the hub can't be reached and there is no copy, or it has something else.
    """
    splits = {**task.splits, **task.predict}
    folder = _folder([split.hub for split in splits.values()], wanted(task), cache, findings)
    policy = "empty" if empty_cells == "auto" else empty_cells
    parts = {}
    for name, split in splits.items():
        part = _read(folder, split, task, policy if name in task.splits else "empty", name in task.splits, findings)
        parts[name] = part
        tell_count(part, split, findings)
    return parts


def _folder(names: list[str], files: str, cache: Path, findings: Findings) -> Path:
    patterns = [f"{name}-*.parquet" for name in names]
    try:
        hub.ask("dataset", NAME)
        return hub.snapshot("dataset", NAME, patterns, cache)
    except hub.HubError as fault:
        try:
            folder = hub.snapshot("dataset", NAME, patterns, cache, cached_only=True)
        except hub.HubError:
            raise ValueError(refusal("data_dir", "", f"a folder with {files} ({fault})")) from None
        findings.warn(f"{fault}; the copy of {NAME} that was fetched earlier is taken")
        return folder


def _read(folder: Path, split: Split, task: Task, policy: str, labelled: bool, findings: Findings) -> Part:
    paths = sorted(folder.glob(f"{split.hub}-*.parquet"))
    if not paths or task.hub_layout is None:
        raise ValueError(refusal("data_dir", "", f"a folder with {wanted(task)} ({NAME} of the hub lacks {split.hub})"))
    layout = task.hub_layout if labelled else dataclasses.replace(task.hub_layout, label="")
    # Classes are indices there; that they are GLUE's is known, and their names are the table's.
    return rows_of(read_parquet(paths, findings), layout, task, policy, findings)
