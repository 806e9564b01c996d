"""Reads GLUE's own files from a folder."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from icefield_train.class_names import number
from icefield_train.dev_ids import listed_only
from icefield_train.doctor.findings import Faults, Findings, counted
from icefield_train.empty_cells import EmptyCells, is_empty
from icefield_train.part import Part
from icefield_train.readers.delimited import DIALECTS, read_delimited
from icefield_train.readers.table import Table
from icefield_train.showing import shown, shown_names
from icefield_train.task import GlueFile, Layout, Split, Task


def read_glue(folder: Path, task: Task, empty_cells: str, findings: Findings) -> dict[str, Part]:
    """Return the splits of a task that the folder has, by their names; those to predict by GLUE's names.

    Args:
        folder: it holds the task's files, or GLUE's folder of the task.
        task: the task.
        empty_cells: what becomes of rows with an empty text; "auto" keeps them, as GLUE does.
        findings: gets what is odd about the files.

    Raises:
        ValueError: a file is missing or malformed; the message says which, where, what was found, what is expected.
        OSError: a file can't be read.
    """
    if (folder / task.folder).is_dir() and not any(find(folder, split) for split in task.splits.values()):
        folder = folder / task.folder
    policy = "empty" if empty_cells == "auto" else empty_cells
    parts = {}
    for name, split in {**task.splits, **task.predict}.items():
        file = find(folder, split)
        if file is None:
            if name in task.predict:
                continue
            # A folder that has not one of them may be meant as that of GLUE's folders.
            alone = any(find(folder, one) for one in task.splits.values()) or folder.name == task.folder
            lacking = split.files[0].name if alone else f"{split.files[0].name} and a folder {task.folder}"
            raise ValueError(f"{folder} lacks {lacking}, {wanted(task)} expected")
        labelled = name in task.splits
        parts[name] = read_file(folder / file.name, file, task, policy if labelled else "empty", findings)
        tell_count(parts[name], split, findings)
    return parts


def wanted(task: Task) -> str:
    """Return the files that a task needs, as words."""
    return " and ".join(split.files[0].name for split in task.splits.values())


def find(folder: Path, split: Split) -> GlueFile | None:
    """Return the first of a split's forms that a folder has."""
    return next((file for file in split.files if (folder / file.name).is_file()), None)


def read_file(path: Path, file: GlueFile, task: Task, policy: str, findings: Findings) -> Part:
    """Return the rows of one file. A quotation mark is text like any other: GLUE's files hold lone ones.

    Raises:
        ValueError: the file is malformed.
        OSError: it can't be read.
    """
    layout = file.layout
    # One file may be two splits; it is told about once.
    table = read_delimited(
        path,
        DIALECTS["tsv"],
        findings if file.listed is not True else Findings(),
        header=layout.header,
        widths=layout.widths,
        # A row to predict can't be left out: the answers are numbered.
        skip_short=task.skip_short_rows and layout.label != "",
    )
    if file.listed is not None:
        table = listed_only(table, file.listed)
    part = rows_of(table, layout, task, policy, findings)
    return (
        replace(part, title=f"{'dev' if file.listed else 'train'} rows of {path.name}")
        if file.listed is not None
        else part
    )


def rows_of(table: Table, layout: Layout, task: Task, policy: str, findings: Findings) -> Part:
    """Return a table's rows by the layout of its columns.

    Raises:
        ValueError: a column is missing, a label is none of the task's, or a cell is empty and may not be.
    """
    names = [str(name) for name in (layout.text, layout.text_pair, layout.label) if name != ""]
    if missing := [name for name in names if name not in table.columns]:
        header = shown_names(table.columns)
        raise ValueError(f"{table.path} line 1: columns {header} found, {', '.join(missing)} expected among them")
    texts = [table.columns.index(str(name)) for name in (layout.text, layout.text_pair) if name != ""]
    label_at = table.columns.index(str(layout.label)) if layout.label != "" else None
    read = _reader(task)
    faults, empty = Faults(table.path, table.unit), EmptyCells(policy, table)
    rows: list[dict[str, Any]] = []
    places = []
    for place, cells in zip(table.places, table.records, strict=True):
        if not empty.keeps(place, [table.columns[at] for at in texts if is_empty(cells[at])]):
            continue
        label = None
        if label_at is not None:
            try:
                label = read(cells[label_at])
            except ValueError as error:
                faults.add(place, str(error))
        pair = cells[texts[1]] if len(texts) > 1 else None
        rows.append({"id": len(rows), "text": cells[texts[0]], "text_pair": pair, "label": label})
        places.append(place)
    faults.refuse()
    empty.finish(findings)
    return Part(path=table.path, rows=rows, places=places, unit=table.unit)


def tell_count(part: Part, split: Split, findings: Findings) -> None:
    """Warn where a split has not the rows that GLUE counts."""
    if split.rows and len(part.rows) != split.rows:
        findings.warn(f"{part.source}: {counted(len(part.rows), 'row')} found, GLUE's file has {split.rows:,}")


def _reader(task: Task) -> Callable[[Any], int | float]:
    """Return what reads a label: a class by its name or its index, or a number."""
    by_word: dict[Any, int] = {}
    for index, name in enumerate(task.labels):
        by_word |= {name: index, str(index): index, index: index}
    accepted = f"{', '.join(task.labels)} or {', '.join(str(index) for index in range(len(task.labels)))}"

    def read_class(cell: Any) -> int:
        if cell not in by_word:
            blank = isinstance(cell, str) and cell.strip() in by_word
            raise ValueError(
                f"label '{shown(cell)}' found, {'without the blank, ' if blank else ''}one of {accepted} expected"
            )
        return by_word[cell]

    low, high = task.scale or (-math.inf, math.inf)
    within = f" from {low:g} to {high:g}" if task.scale else ""

    def read_number(cell: Any) -> float:
        value = number(cell)
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(f"label '{shown(cell)}' found, a number{within} expected")
        return value

    return read_number if task.kind == "regression" else read_class
